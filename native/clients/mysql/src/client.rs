//! A client for many small requests: one at a time, or many pipelined in one call.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, response_limit};
use tokio::sync::Notify;

use crate::cells::{CellLists, put_parameters};
use crate::codec::{Done, Failure, Field, command};
use crate::connection::{CELL_BYTES, Prepared, Started};
use crate::insert::{self, Target};
use crate::pool::{Lease, Pool, Session};
use crate::rows::{Form, RowBuilder, RowShape};
use crate::sql;
use crate::submission::{Shapes, Submission};
use crate::url::Url;

/// The unsent bytes from which on no further requests are encoded.
const AHEAD_BYTES: usize = 256 << 10;

/// The number of rows that a result has room for from the start.
const SMALL_RESULT: usize = 8;

/// The options of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// The most connections open at a time; they are opened when they are needed.
    pub connections: usize,
    /// The time-out of a call; without one, a call takes as long as it needs.
    pub timeout: Option<Duration>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { connections: 10, timeout: None }
    }
}

/// A client of one server. Calls may overlap: each takes a connection of its own.
pub struct SqlClient {
    pool: Arc<Pool>,
    timeout: Option<Duration>,
    version: String,
}

/// A statement and the lists of parameters that it is run with.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementLists {
    /// The statement, whose parameters are written `?`.
    pub sql: String,
    /// The parameters of the statement, a list for each request.
    pub lists: CellLists,
    /// Whether the statement is sent as text instead of prepared; it then has no parameters.
    pub is_text: bool,
}

/// Requests to send in one go, over one connection, in order. A request that fails does not keep the others from
/// running.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The statements that the requests run.
    pub statements: Vec<StatementLists>,
    /// The index of the statement of each request, which takes that statement's next list.
    pub order: Vec<u32>,
}

/// The outcome of one request.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The index of its first row among the rows of its statement.
    pub first_row: usize,
    /// The number of rows that it returned.
    pub rows: usize,
    /// The number of rows that it changed; for an update, the rows that it matched.
    pub affected_rows: u64,
    /// The first key that the server generated.
    pub last_insert_id: u64,
    /// The error, if the request failed.
    pub error: Option<Error>,
}

/// The results of a batch.
#[derive(Debug, Default)]
pub struct Results {
    /// The rows of each statement, in the order of its requests; `None` where it returned none.
    pub rows: Vec<Option<StatementRows>>,
    /// The outcome of each request.
    pub requests: Vec<Outcome>,
}

/// The rows of all requests of one statement.
#[derive(Debug)]
pub struct StatementRows {
    /// The columns of the rows.
    pub shape: Arc<RowShape>,
    /// The rows as an Arrow batch.
    pub batch: RecordBatch,
}

impl Batch {
    /// A batch of one statement, run with each of the lists.
    #[must_use]
    pub fn of(sql: impl Into<String>, lists: CellLists) -> Self {
        let order = vec![0; lists.len()];
        Self { statements: vec![StatementLists { sql: sql.into(), lists, is_text: false }], order }
    }

    /// A batch of one statement without parameters, sent as text and run once.
    ///
    /// # Errors
    /// No error occurs: one list of no values is always valid.
    pub fn text(sql: impl Into<String>) -> Result<Self> {
        let lists = CellLists::new(Vec::new(), 1, 0)?;
        Ok(Self { statements: vec![StatementLists { sql: sql.into(), lists, is_text: true }], order: vec![0] })
    }

    /// The index of each request's list among those of its statement.
    fn lists(&self) -> Result<Vec<usize>> {
        let mut next = vec![0; self.statements.len()];
        let lists = self.order.iter().map(|statement| {
            let statement = usize::try_from(*statement).unwrap_or(usize::MAX);
            let list = next.get(statement).copied().filter(|list| *list < self.statements[statement].lists.len())?;
            next[statement] += 1;
            Some(list)
        });
        let lists = lists.collect::<Option<Vec<_>>>();
        lists.ok_or_else(|| Error::InvalidArgument("a request has no statement or no parameters".to_owned()))
    }
}

impl SqlClient {
    /// Connects to a server.
    ///
    /// # Errors
    /// [`Error::Engine`] where the server can't be reached or refuses the login, [`Error::Timeout`],
    /// [`Error::Cancelled`].
    pub async fn connect(url: &Url, options: ClientOptions, cancel: Option<&CancelToken>) -> Result<Self> {
        let pool = Pool::new(url.clone(), Vec::new(), options.connections.max(1));
        let mut client = Self { pool, timeout: options.timeout, version: String::new() };
        let version = client.guarded(cancel, |call| async move {
            let session = call.lease().await?;
            Ok(session.connection.version().to_owned())
        });
        client.version = version.await?;
        Ok(client)
    }

    /// The name and version of the server.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Checks that the server answers.
    ///
    /// # Errors
    /// [`Error::Engine`] where it does not, [`Error::Timeout`], [`Error::Cancelled`].
    pub async fn ping(&self, cancel: Option<&CancelToken>) -> Result<()> {
        self.guarded(cancel, |call| async move { Ok(call.lease().await?.connection.ping().await?) }).await
    }

    /// Prepares a statement, and returns the number of its parameters.
    ///
    /// # Errors
    /// The errors of [`SqlClient::ping`].
    pub async fn prepare(&self, sql: &str, cancel: Option<&CancelToken>) -> Result<u16> {
        self.guarded(cancel, |call| async move { Ok(call.lease().await?.prepared(sql).await?.parameters) }).await
    }

    /// Runs the requests of a batch. The error of a single request is in its [`Outcome`]; where the connection is lost,
    /// every request without an answer has that error.
    ///
    /// # Errors
    /// [`Error::Engine`] where no connection can be opened, [`Error::Timeout`], [`Error::Cancelled`].
    pub async fn run(&self, batch: &Batch, cancel: Option<&CancelToken>) -> Result<Results> {
        self.guarded(cancel, |call| async move {
            let mut session = call.lease().await?;
            let max_packet = session.pool().max_packet();
            run_batch(&mut session, batch, max_packet).await
        })
        .await
    }

    /// Runs a submission from JavaScript, and returns the bytes of its results.
    ///
    /// # Errors
    /// The errors of [`SqlClient::run`].
    pub async fn perform(
        &self,
        submission: &Submission,
        shapes: &Shapes,
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<u8>> {
        self.guarded(cancel, |call| async move {
            let mut session = call.lease().await?;
            let max_packet = session.pool().max_packet();
            submission.perform(&mut session, max_packet, shapes).await
        })
        .await
    }

    /// Inserts rows into columns of a table (`table` or `database.table`), all or none of them, and returns their number.
    /// Within a transaction of the connection they become part of it.
    ///
    /// # Errors
    /// The errors of [`SqlClient::ping`], and [`Error::InvalidArgument`] for a value that the server can't hold.
    pub async fn insert_rows(
        &self,
        table: &str,
        columns: &[String],
        rows: &CellLists,
        cancel: Option<&CancelToken>,
    ) -> Result<u64> {
        self.guarded(cancel, |call| async move {
            let mut session = call.lease().await?;
            let max_packet = session.pool().max_packet();
            insert_lists(&mut session, table, columns, rows, max_packet).await
        })
        .await
    }

    /// Closes the connections that are idle, and the others once they are idle.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs a call until it ends, is cancelled or times out. In the latter two cases its connection is closed, and the
    /// server is asked to end what it still runs.
    async fn guarded<T, F>(&self, cancel: Option<&CancelToken>, work: impl FnOnce(Call) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let call = Call { pool: Arc::clone(&self.pool), connection: Arc::default() };
        if cancel.is_none() && self.timeout.is_none() {
            return work(call).await;
        }
        let connection = Arc::clone(&call.connection);
        let cancelled = Arc::new(Notify::new());
        let _guard = cancel.map(|cancel| {
            let cancelled = Arc::clone(&cancelled);
            cancel.on_cancel(move || cancelled.notify_one())
        });
        let too_long = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let error = tokio::select! {
            biased;
            () = cancelled.notified() => Error::Cancelled,
            result = work(call) => return result,
            () = too_long => Error::Timeout(format!(
                "the call took longer than {} ms; what was under way may or may not be done",
                self.timeout.unwrap_or_default().as_millis()
            )),
        };
        match connection.load(Ordering::Acquire) {
            0 => {}
            id => self.pool.end(id),
        }
        Err(error)
    }
}

/// A call and the number of the connection that it has taken, 0 before.
struct Call {
    pool: Arc<Pool>,
    connection: Arc<AtomicU32>,
}

impl Call {
    async fn lease(&self) -> Result<Lease> {
        let lease = self.pool.lease().await?;
        self.connection.store(lease.connection.id(), Ordering::Release);
        Ok(lease)
    }
}

/// Inserts rows over a session.
pub(crate) async fn insert_lists(
    session: &mut Session,
    table: &str,
    columns: &[String],
    rows: &CellLists,
    max_packet: usize,
) -> Result<u64> {
    if !rows.is_empty() && (columns.is_empty() || rows.width() != columns.len()) {
        return Err(Error::InvalidArgument(format!(
            "rows of {} values don't fit {} columns",
            rows.width(),
            columns.len()
        )));
    }
    let table: Vec<_> = table.splitn(2, '.').map(sql::identifier).collect();
    let target = Target { table: &table.join("."), columns, max_packet };
    Ok(insert::insert(session, &target, rows).await?)
}

/// Runs a batch over a session.
pub(crate) async fn run_batch(session: &mut Session, batch: &Batch, max_packet: usize) -> Result<Results> {
    let lists = batch.lists()?;
    Run::new(batch, &lists, max_packet).finish(session).await
}

/// The state of a batch that runs.
struct Run<'a> {
    batch: &'a Batch,
    /// The index of each request's list among those of its statement.
    lists: &'a [usize],
    max_packet: usize,
    statements: Vec<StatementState>,
    outcomes: Vec<Outcome>,
    /// The bytes of all rows received so far.
    gathered: usize,
}

/// The state of a statement of a batch.
#[derive(Default)]
struct StatementState {
    prepared: Option<Prepared>,
    /// The error for which the statement can't be run.
    error: Option<Error>,
    rows: Option<RowBuilder>,
}

impl<'a> Run<'a> {
    fn new(batch: &'a Batch, lists: &'a [usize], max_packet: usize) -> Self {
        Self {
            batch,
            lists,
            max_packet,
            statements: batch.statements.iter().map(|_| StatementState::default()).collect(),
            outcomes: vec![Outcome::default(); batch.order.len()],
            gathered: 0,
        }
    }

    async fn finish(mut self, session: &mut Session) -> Result<Results> {
        if let Err(lost) = self.run(session).await {
            // The outcomes received are complete; all other requests may or may not be done.
            session.connection.condemn();
            return Err(lost);
        }
        let rows = self.statements.into_iter().map(|state| {
            let Some(mut rows) = state.rows else { return Ok(None) };
            Ok(Some(StatementRows { shape: Arc::clone(rows.shape()), batch: rows.finish()? }))
        });
        Ok(Results { rows: rows.collect::<Result<_>>()?, requests: self.outcomes })
    }

    async fn run(&mut self, session: &mut Session) -> Result<()> {
        session.make_room(self.batch.statements.len());
        for (state, statement) in self.statements.iter_mut().zip(&self.batch.statements) {
            if statement.is_text {
                if statement.lists.width() > 0 {
                    state.error = Some(Error::InvalidArgument("a statement sent as text has no parameters".to_owned()));
                }
                continue;
            }
            match session.prepared(&statement.sql).await {
                Ok(prepared) => {
                    if usize::from(prepared.parameters) == statement.lists.width() {
                        state.prepared = Some(prepared);
                    } else {
                        state.error = Some(Error::InvalidArgument(format!(
                            "the statement takes {} parameters, not {}",
                            prepared.parameters,
                            statement.lists.width()
                        )));
                    }
                }
                Err(Failure::Refused(error)) => state.error = Some(Failure::Refused(error).into()),
                Err(Failure::Lost(error)) => return Err(error),
            }
        }
        let mut in_flight = VecDeque::new();
        let mut next = 0;
        while next < self.outcomes.len() || !in_flight.is_empty() {
            while next < self.outcomes.len() && session.connection.unsent() < AHEAD_BYTES {
                match self.send(session, next) {
                    Ok(()) => in_flight.push_back(next),
                    Err(error) => self.outcomes[next].error = Some(error),
                }
                next += 1;
            }
            if let Some(request) = in_flight.pop_front() {
                match self.receive(session, request).await {
                    Ok(()) => {}
                    Err(Failure::Refused(error)) => {
                        self.outcomes[request].error = Some(Failure::Refused(error).into());
                    }
                    Err(Failure::Lost(error)) => {
                        for lost in std::iter::once(request).chain(in_flight.drain(..)).chain(next..self.outcomes.len())
                        {
                            self.outcomes[lost].error.get_or_insert_with(|| error.clone());
                        }
                        next = self.outcomes.len();
                    }
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, session: &mut Session, request: usize) -> Result<()> {
        let index = self.batch.order[request] as usize;
        let (statement, state) = (&self.batch.statements[index], &self.statements[index]);
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        let list = self.lists[request];
        // The bytes of a packet beside the values: its head, and a type and a length for each value.
        let size = match &state.prepared {
            None => statement.sql.len() + 1,
            Some(_) => statement.lists.size(list) + 11 * statement.lists.width() + 16,
        };
        if size > self.max_packet {
            return Err(Error::InvalidArgument(format!(
                "the request takes {size} bytes, more than the server's max_allowed_packet of {}; raise that",
                self.max_packet
            )));
        }
        let connection = &mut session.connection;
        match &state.prepared {
            None => connection.send(command::QUERY, |target| target.extend_from_slice(statement.sql.as_bytes())),
            Some(prepared) => {
                statement.lists.check(list)?;
                let width = statement.lists.width();
                connection.send_execute(prepared.id, |target| {
                    // The values of this list were checked.
                    let _ = put_parameters(target, width, statement.lists.cells(list));
                });
            }
        }
        Ok(())
    }

    async fn receive(&mut self, session: &mut Session, request: usize) -> std::result::Result<(), Failure> {
        let index = self.batch.order[request] as usize;
        let (state, statement) = (&mut self.statements[index], &self.batch.statements[index].sql);
        let outcome = &mut self.outcomes[request];
        let connection = &mut session.connection;
        let prepared = state.prepared.as_ref().map(|prepared| prepared.id);
        let done = match connection.started(prepared).await? {
            Started::Done(done) => done,
            Started::WantsFile => connection.refuse_file().await?,
            Started::Rows(fields) => {
                let mut problem = state.expect(session, statement, &fields).err();
                let connection = &mut session.connection;
                let rows = state.rows.as_mut().filter(|_| problem.is_none());
                outcome.first_row = rows.as_ref().map_or(0, |rows| rows.rows());
                let mut rows = rows;
                let (gathered, most) = (&mut self.gathered, connection.most_bytes());
                let done = connection
                    .rows(|row| {
                        *gathered += row.len().max(fields.len() * CELL_BYTES);
                        if *gathered > most {
                            return Err(response_limit::exceeded("the result", most));
                        }
                        // The rows behind one that can't be read are skipped.
                        if problem.is_none()
                            && let Some(rows) = &mut rows
                        {
                            problem = rows.push(row).err();
                        }
                        Ok(ControlFlow::Continue(()))
                    })
                    .await?;
                match problem {
                    Some(problem) => outcome.error = Some(problem),
                    None => outcome.rows = rows.map_or(0, |rows| rows.rows()) - outcome.first_row,
                }
                done.unwrap_or_default()
            }
        };
        let Done { affected_rows, last_insert_id, .. } = done;
        (outcome.affected_rows, outcome.last_insert_id) = (affected_rows, last_insert_id);
        Ok(())
    }
}

impl StatementState {
    /// Prepares for rows with these columns, which must be those of the statement's other requests.
    fn expect(&mut self, session: &mut Session, sql: &str, fields: &Arc<[Field]>) -> Result<()> {
        let form = if self.prepared.is_some() { Form::Binary } else { Form::Text };
        match &self.rows {
            Some(rows) if rows.shape().fits(fields, form) => {}
            Some(_) => {
                return Err(Error::SchemaMismatch(
                    "the result has other columns than those of the same statement before".to_owned(),
                ));
            }
            None => {
                let shape = match form {
                    Form::Binary => session.shape(sql, fields)?,
                    Form::Text => session.text_shape(fields)?,
                };
                self.rows = Some(RowBuilder::new(&shape, SMALL_RESULT));
            }
        }
        Ok(())
    }
}
