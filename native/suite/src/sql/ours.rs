//! Our own client.

use boundary_bench_kernel::Result;
use boundary_bench_mysql::{Cell, Prepared, RowView, SqlSession, Url};

use super::data::{TableRows, User};
use super::reader::Reader;
use super::session::Session;
use super::unsupported;

/// [`SqlSession`]. It reads rows in place.
pub(crate) struct Ours(SqlSession);

impl Session for Ours {
    const SENDS_AHEAD: bool = true;

    type Prepared = Prepared;

    async fn open(url: &Url) -> Result<Self> {
        Ok(Self(SqlSession::open(url).await?))
    }

    async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        self.0.prepare(sql).await.map_err(unsupported)
    }

    fn queue_text(&mut self, sql: &str) {
        self.0.queue_text(sql);
    }

    fn queue_ping(&mut self) {
        self.0.queue_ping();
    }

    fn queue<'a>(&mut self, prepared: &Prepared, cells: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        self.0.queue(prepared, cells)
    }

    async fn answer(&mut self, prepared: Option<&Prepared>, reader: &mut impl Reader) -> Result<u64> {
        read(&mut self.0, prepared, reader).await
    }

    async fn insert_users(&mut self, table: &str, columns: &[String], users: &[User]) -> Result<u64> {
        Ok(self.0.insert_rows(table, columns, &TableRows(users)).await?)
    }
}

/// Reads the next answer of a session into a reader, and returns the number of affected rows.
pub(super) async fn read(
    session: &mut SqlSession,
    prepared: Option<&Prepared>,
    reader: &mut impl Reader,
) -> Result<u64> {
    let mut problem = None;
    let read = |row: RowView<'_>| {
        reader.begin_row();
        if let Err(found) = row.visit(|_, cell| reader.add(cell)) {
            problem.get_or_insert(found);
        }
    };
    let done = session.answer(prepared, read).await?;
    problem.map_or(Ok(done.affected_rows), Err)
}
