//! The table of a cell: how it is made, filled, emptied and read, all untimed.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{Failure, SqlSession};

use super::data::{Sbtest, Sums, TableRows, User};
use super::plan::{Contents, TableName};
use super::reader::{Reader, RowsCheck, TableSums};
use super::{Shared, ours, unsupported};

/// The relative difference of two sums of the same doubles.
const DOUBLES_TOLERANCE: f64 = 1e-9;

/// Runs a statement whose answer does not matter.
pub(super) async fn run(session: &mut SqlSession, sql: &str) -> std::result::Result<(), Failure> {
    session.queue_text(sql);
    session.answer(None, |_| {}).await.map(drop)
}

impl Shared {
    /// Makes the table with its rows, and checks each of them.
    pub(super) async fn make_table(&self, session: &mut SqlSession) -> Result<()> {
        let Some((_, entry)) = &self.plan.table else { return Ok(()) };
        let table = &self.table;
        self.drop_table(session).await?;
        run(session, &format!("CREATE TABLE {table} ({})", entry.definition)).await.map_err(unsupported)?;
        for (name, column) in &entry.indexes {
            run(session, &format!("CREATE INDEX {name} ON {table} ({column})")).await.map_err(unsupported)?;
        }
        if !self.plan.starts_empty {
            self.fill(session).await?;
        }
        // Rows of an earlier table may be there.
        if self.check_rows(session, &self.plan.before()).await.is_err() {
            self.refill(session).await?;
            self.check_rows(session, &self.plan.before()).await?;
        }
        Ok(())
    }

    pub(super) async fn drop_table(&self, session: &mut SqlSession) -> Result<()> {
        Ok(run(session, &format!("DROP TABLE IF EXISTS {}", self.table)).await?)
    }

    async fn fill(&self, session: &mut SqlSession) -> Result<()> {
        let Some((name, entry)) = &self.plan.table else { return Ok(()) };
        match name {
            TableName::Users => {
                let rows: Vec<User> = (1..=entry.rows).map(User::of).collect();
                session.insert_rows(&self.table_name, &entry.columns, &TableRows(&rows)).await?;
            }
            TableName::Sbtest => {
                let rows: Vec<Sbtest> = (1..=entry.rows).map(|id| Sbtest::of(id, entry.rows)).collect();
                session.insert_rows(&self.table_name, &entry.columns, &TableRows(&rows)).await?;
            }
        }
        Ok(())
    }

    async fn refill(&self, session: &mut SqlSession) -> Result<()> {
        run(session, &format!("{} {}", self.emptying, self.table)).await?;
        if self.plan.starts_empty { Ok(()) } else { self.fill(session).await }
    }

    /// Restores the table of a writer to its state before a sample, and checks it by its sums.
    pub(super) async fn reset(&self, session: &mut SqlSession) -> Result<()> {
        self.refill(session).await?;
        let found = self.contents(session, 0).await?;
        let (table, before) = (&self.table, &self.before);
        // The order in which doubles are added is the server's.
        let is_close = (found.doubles - before.doubles).abs() <= DOUBLES_TOLERANCE * before.doubles.abs();
        if is_close && (Sums { doubles: before.doubles, ..found }) == *before {
            return Ok(());
        }
        Err(Error::WrongRows(format!("{table} is not as it was filled: {found:?} instead of {before:?}")))
    }

    /// Reads all rows of the table.
    async fn read_all(&self, session: &mut SqlSession, reader: &mut impl Reader) -> Result<String> {
        let columns = self.plan.table.as_ref().map(|(_, entry)| entry.columns.join(", ")).unwrap_or_default();
        let sql = format!("SELECT {columns} FROM {}", self.table);
        // Some servers write doubles as text wrongly.
        let prepared = session.prepare(&sql).await?;
        session.queue(&prepared, std::iter::empty())?;
        ours::read(session, Some(&prepared), reader).await?;
        Ok(sql)
    }

    /// Checks each row of the table.
    pub(super) async fn check_rows(&self, session: &mut SqlSession, expected: &Contents) -> Result<()> {
        let mut check = RowsCheck::default();
        let sql = self.read_all(session, &mut check).await?;
        check.compare(expected.rows(), || sql.clone())
    }

    /// The sums of the table's contents. They are made here, since few aggregates are known to every server.
    pub(super) async fn contents(&self, session: &mut SqlSession, affected: i128) -> Result<Sums> {
        let mut sums = TableSums::new(match &self.plan.table {
            Some((TableName::Sbtest, entry)) => entry.columns.iter().position(|column| column == "c"),
            _ => None,
        });
        self.read_all(session, &mut sums).await?;
        Ok(Sums { affected, ..sums.sums })
    }
}
