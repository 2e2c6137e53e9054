//! The family `sql`: small requests over the MySQL wire.
//!
//! Each requester has one connection. On the lane `call` each statement waits for the answer to the previous statement. On the lane
//! `batch` all statements of a request are sent before their answers are read, in the same order. Readers add up every value
//! within the timed part. The tables of writers are remade before each sample. After it, they are read and added up, untimed.

mod data;
#[cfg(feature = "all")]
mod mysql_async_crate;
mod ours;
mod plan;
mod reader;
mod session;
mod table;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_mysql::{Failure, SqlSession, Url};

use self::data::{Sums, TableRow, User};
#[cfg(feature = "all")]
pub(crate) use self::mysql_async_crate::MysqlAsync;
pub(crate) use self::ours::Ours;
use self::plan::{Kind, Plan, PlannedStatement, Step, Transaction, Turn, family};
use self::reader::{RowsCheck, StatementReader};
use self::session::Session;
use self::table::run;
use crate::requests::{RequestCell, RequestLane, RequestSpec, block_on};
use crate::sample::CellSample;

/// The setting that inserts many rows with one `VALUES` statement. Every server supports it.
const VALUES: &str = "values";

/// A cell of the family, connected and loaded.
struct SqlCell<S: Session> {
    shared: Arc<Shared>,
    expected: Checksum,
    /// The connections, or `None` while a sample runs and after a failed sample.
    requesters: Mutex<Option<Vec<SqlRequester<S, Sums>>>>,
    /// Connections that were made ready ahead of the next load.
    ahead: Mutex<Option<Ready<S>>>,
}

/// The connections, and the one that has restored the table of a writer.
type Ready<S> = (Vec<SqlRequester<S, Sums>>, Option<SqlSession>);

/// The data that all requesters of a cell share.
struct Shared {
    spec: RequestSpec,
    url: Url,
    plan: Plan,
    /// The name of the table, unquoted.
    table_name: String,
    /// The name of the table, quoted for SQL.
    table: String,
    /// The users to insert, made before the first sample.
    users: Vec<User>,
    /// The sums of the table before a sample.
    before: Sums,
    /// The statement that empties a table, without the table's name: the cell's option `emptying`, by default `TRUNCATE TABLE`.
    emptying: String,
}

/// A requester: one connection.
struct SqlRequester<S: Session, R> {
    shared: Arc<Shared>,
    connection: u64,
    session: S,
    /// The prepared statement of each step, if the step has one.
    prepared: Vec<Option<S::Prepared>>,
    /// The prepared inserts of several rows, each with its number of rows.
    multi_row: Vec<(usize, S::Prepared)>,
    reader: R,
    /// Whether the connection may be in a transaction.
    is_open: bool,
}

impl<S: Session, R> SqlRequester<S, R> {
    /// The same requester with another reader.
    fn with<T>(self, reader: T) -> SqlRequester<S, T> {
        let Self { shared, connection, session, prepared, multi_row, is_open, .. } = self;
        SqlRequester { shared, connection, session, prepared, multi_row, reader, is_open }
    }
}

pub(crate) fn open<S: Session>(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let table_name = format!("{}_{}", spec.prefix, spec.workload);
    let table = format!("`{}`", table_name.replace('`', "``"));
    let plan = Plan::new(spec, &table)?;
    if spec.lane == RequestLane::Batch && !S::SENDS_AHEAD && plan.steps.iter().any(|step| step.kind != Kind::Rows) {
        return Err(Error::InvalidArgument(format!("the client of {} sends no requests ahead", spec.workload)));
    }
    let expected = Checksum::from(plan.expected(spec));
    let mut url: Url = spec.url.parse()?;
    let emptying = spec.option("emptying")?.unwrap_or_else(|| "TRUNCATE TABLE".to_owned());
    let users = if plan.starts_empty { (1..=spec.operations).map(User::of).collect() } else { Vec::new() };
    let requesters = block_on(spec.runtime()?, async {
        if url.database.is_none() {
            let mut session = SqlSession::open(&url).await?;
            let database = &family()?.database;
            run(&mut session, &format!("CREATE DATABASE IF NOT EXISTS {database}")).await?;
            url.database = Some(database.clone());
        }
        let before = plan.before().sums();
        let shared = Arc::new(Shared { spec: spec.clone(), url, plan, table_name, table, users, before, emptying });
        let mut session = SqlSession::open(&shared.url).await?;
        let connect = async {
            shared.make_table(&mut session).await?;
            cancel.check()?;
            shared.connect::<S>().await
        };
        let requesters = connect.await;
        if requesters.is_err() {
            // The error that led here says more than one of dropping the table.
            let _ = shared.drop_table(&mut session).await;
        }
        requesters
    })?;
    let shared = Arc::clone(&requesters[0].shared);
    Ok(Box::new(SqlCell { shared, expected, requesters: Mutex::new(Some(requesters)), ahead: Mutex::default() }))
}

/// The error for a statement that the server does not support.
fn unsupported(failure: Failure) -> Error {
    match failure {
        Failure::Refused(error) => Error::Unsupported(format!("the server can't do it: {error}")),
        Failure::Lost(error) => error,
    }
}

impl Shared {
    /// Connects all requesters and prepares their statements.
    async fn connect<S: Session>(self: &Arc<Self>) -> Result<Vec<SqlRequester<S, Sums>>> {
        let mut requesters = Vec::new();
        for connection in 0..u64::from(self.spec.connections) {
            let mut session = S::open(&self.url).await?;
            let (mut prepared, mut multi_row) = (Vec::new(), Vec::new());
            for step in &self.plan.steps {
                prepared.push(match step.kind {
                    Kind::Prepared => Some(session.prepare(&step.sql).await?),
                    _ => None,
                });
                if step.kind == Kind::Rows && self.spec.setting.as_deref() == Some(VALUES) {
                    for rows in [self.spec.batch.into(), self.spec.operations % u64::from(self.spec.batch)] {
                        if rows > 0 {
                            let statement = session.prepare(&self.multi_row_insert(rows)).await?;
                            multi_row.push((usize::try_from(rows).unwrap_or(usize::MAX), statement));
                        }
                    }
                }
            }
            let shared = Arc::clone(self);
            let reader = Sums::default();
            requesters.push(SqlRequester { shared, connection, session, prepared, multi_row, reader, is_open: false });
        }
        Ok(requesters)
    }

    fn multi_row_insert(&self, rows: u64) -> String {
        let columns = self.plan.table.as_ref().map(|(_, entry)| entry.columns.as_slice()).unwrap_or_default();
        let row = format!("({})", vec!["?"; columns.len()].join(","));
        let rows = vec![row; usize::try_from(rows).unwrap_or_default()].join(",");
        format!("INSERT INTO {} ({}) VALUES {rows}", self.table, columns.join(", "))
    }
}

impl<S: Session> SqlCell<S> {
    /// Takes the connections of the previous sample, or new ones. The table of a writer is restored. The connection that did it is
    /// returned, too.
    async fn ready(&self) -> Result<Ready<S>> {
        if let Some(ready) = lock(&self.ahead).take() {
            return Ok(ready);
        }
        let kept = lock(&self.requesters).take();
        let requesters = match kept {
            Some(requesters) => requesters,
            None => self.shared.connect().await?,
        };
        if !self.shared.plan.writes {
            return Ok((requesters, None));
        }
        let mut side = SqlSession::open(&self.shared.url).await?;
        self.shared.reset(&mut side).await?;
        Ok((requesters, Some(side)))
    }
}

impl<S: Session> RequestCell for SqlCell<S> {
    fn prepare(&self, _: &CancelToken) -> Result<()> {
        let ready = block_on(self.shared.spec.runtime()?, self.ready())?;
        *lock(&self.ahead) = Some(ready);
        Ok(())
    }

    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        let shared = &self.shared;
        block_on(shared.spec.runtime()?, async {
            let (mut requesters, mut side) = self.ready().await?;
            for requester in &mut requesters {
                requester.reader = Sums::default();
            }
            let (requesters, outcome) = run_load(requesters, &shared.spec.load(), cancel).await?;
            let mut sums = Sums::default();
            for requester in &requesters {
                sums.merge(&requester.reader);
            }
            if let Some(session) = &mut side {
                sums = shared.contents(session, sums.affected).await?;
            }
            *lock(&self.requesters) = Some(requesters);
            CellSample::of_load(&outcome, sums.into())
        })
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn verify(&self, cancel: &CancelToken) -> Result<()> {
        let shared = &self.shared;
        block_on(shared.spec.runtime()?, async {
            let (requesters, side) = self.ready().await?;
            let checked = requesters.into_iter().map(|requester| requester.with(RowsCheck::default())).collect();
            let load = Load { requests: shared.spec.requests(), ..Load::default() };
            let (checked, _) = run_load(checked, &load, cancel).await?;
            let requesters = checked.into_iter().map(|requester| requester.with(Sums::default())).collect();
            *lock(&self.requesters) = Some(requesters);
            match side {
                Some(mut session) => shared.check_rows(&mut session, &shared.plan.after(&shared.spec)).await,
                None => Ok(()),
            }
        })
    }

    fn close(&self) -> Result<()> {
        let (requesters, ahead) = (lock(&self.requesters).take(), lock(&self.ahead).take());
        block_on(self.shared.spec.runtime()?, async {
            // Closes the connections first: their open transactions would block dropping the table.
            drop((requesters, ahead));
            if self.shared.plan.table.is_some() {
                let mut session = SqlSession::open(&self.shared.url).await?;
                // A transaction of a connection that was broken off may go on.
                let _ = run(&mut session, "ROLLBACK").await;
                self.shared.drop_table(&mut session).await?;
            }
            Ok(())
        })
    }
}

impl<S: Session, R: StatementReader> Requester for SqlRequester<S, R> {
    async fn request(&mut self, index: u64) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let (spec, plan) = (&shared.spec, &shared.plan);
        let by_sample = plan.transaction == Some(Transaction::Sample);
        let is_last = index + u64::from(spec.connections) >= spec.requests();
        self.is_open = plan.transaction.is_some();
        if by_sample && index == self.connection {
            self.run(&shared, PlannedStatement::Text("BEGIN")).await?;
        }
        let (operations, connection) = (spec.operations_of(index), self.connection);
        let statements = || operations.clone().flat_map(|operation| plan.statements(operation, connection));
        if let [step] = plan.steps.as_slice()
            && step.kind == Kind::Rows
        {
            self.insert_rows(&shared, step, index).await?;
        } else if spec.lane == RequestLane::Batch {
            for part in statements() {
                self.queue(&shared, part)?;
            }
            // All answers are read, so that the connection can still end its transaction after one that is an error.
            let mut outcome = Ok(());
            for part in statements() {
                outcome = outcome.and(self.answer(&shared, part).await);
            }
            outcome?;
        } else {
            for part in statements() {
                self.run(&shared, part).await?;
            }
        }
        if by_sample && is_last {
            self.run(&shared, PlannedStatement::Text("COMMIT")).await?;
        }
        self.is_open = by_sample && !is_last;
        Ok(())
    }

    async fn failed(&mut self, error: Error) -> Result<()> {
        // Not every server ends the transaction of a connection that is closed.
        if self.is_open {
            self.session.queue_text("ROLLBACK");
            let _ = self.session.answer(None, &mut self.reader).await;
        }
        Err(error)
    }
}

impl<S: Session, R: StatementReader> SqlRequester<S, R> {
    /// Sends a statement, and reads its answer.
    async fn run(&mut self, shared: &Shared, part: PlannedStatement<'_>) -> Result<()> {
        self.queue(shared, part)?;
        self.answer(shared, part).await
    }

    fn queue(&mut self, shared: &Shared, part: PlannedStatement<'_>) -> Result<()> {
        let session = &mut self.session;
        let (index, step, turn) = match part {
            PlannedStatement::Text(sql) => {
                session.queue_text(sql);
                return Ok(());
            }
            PlannedStatement::Step(index, step, turn) => (index, step, turn),
        };
        match (step.kind, &self.prepared[index]) {
            (Kind::Prepared, Some(prepared)) => {
                shared.plan.with_parameters(step.parameters, turn, &shared.users, |cells| {
                    session.queue(prepared, cells.iter().copied())
                })?;
            }
            (Kind::Literal, _) => session.queue_text(&shared.plan.literal(step, turn)),
            (Kind::Ping, _) => session.queue_ping(),
            _ => session.queue_text(&step.sql),
        }
        Ok(())
    }

    async fn answer(&mut self, shared: &Shared, part: PlannedStatement<'_>) -> Result<()> {
        let PlannedStatement::Step(index, step, turn) = part else {
            return self.session.answer(None, &mut self.reader).await.map(drop);
        };
        let rows_before = self.reader.rows();
        let affected = self.session.answer(self.prepared[index].as_ref(), &mut self.reader).await?;
        let is_empty = self.reader.rows() == rows_before;
        self.reader.end(&shared.plan, (step, turn), is_empty, affected)
    }

    /// Inserts the rows of a request at once: in the fastest way that the server has, or as parameters of one statement.
    async fn insert_rows(&mut self, shared: &Shared, step: &Step, index: u64) -> Result<()> {
        let users = &shared.users[shared.spec.places_of(index)];
        let prepared = self.multi_row.iter().find(|(rows, _)| *rows == users.len());
        let taken = if let Some((_, prepared)) = prepared {
            self.session.queue(prepared, users.iter().flat_map(User::cells))?;
            self.session.answer(Some(prepared), &mut self.reader).await?
        } else {
            let columns = shared.plan.table.as_ref().map(|(_, entry)| entry.columns.as_slice()).unwrap_or_default();
            self.session.insert_users(&shared.table_name, columns, users).await?
        };
        let first = shared.spec.operations_of(index).start;
        let turn = Turn { operation: first, number: first, connection: self.connection };
        self.reader.end(&shared.plan, (step, turn), true, taken)
    }
}
