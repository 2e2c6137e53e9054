//! Statements of the engine, prepared by the server: their rows are sent in binary. That costs both sides less than text.
//! A statement that the server can't prepare runs as text.

use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text;
use boundary_bench_engine::table::{Column, SqlType};
use boundary_bench_engine::{BatchStream, QueryOptions, Statement, Value, check_parameter_count, not_a_query};
use boundary_bench_kernel::cancel::{CancelGuard, CancelToken};
use boundary_bench_kernel::{Error, Result};

use crate::cells::{Values, put_parameters};
use crate::codec::{Failure, command};
use crate::connection::{Ended, Prepared, Started};
use crate::pool::Lease;
use crate::rows::{Form, RowBuilder, RowShape};
use crate::sql::{Mysql, Numbered, may_run_again, returns_changed_rows};
use crate::{engine_error, runtime};

/// The error number for a kind of statement that the server can't prepare.
const NOT_PREPARABLE: u16 = 1295;

/// The most bytes of rows gathered for one batch: the offsets of its texts must not overflow.
const MAX_BYTES: usize = 64 << 20;

/// The number of rows that a batch has room for from the start.
const DEFAULT_CAPACITY: usize = 1024;

/// A registered cancellation: asks the server to end what a session runs once the token is cancelled.
pub(crate) struct Running {
    /// Whether the statement still runs. The request to end it checks this.
    alive: Arc<AtomicBool>,
    guard: Option<CancelGuard>,
}

impl Running {
    pub(crate) fn new(session: &Lease, cancel: &CancelToken) -> Self {
        let alive = Arc::new(AtomicBool::new(true));
        let (pool, id, theirs) = (Arc::clone(session.pool()), session.connection.id(), Arc::clone(&alive));
        let guard = cancel.on_cancel(move || pool.cancel(id, Arc::clone(&theirs)));
        Self { alive, guard: Some(guard) }
    }

    /// Unregisters the cancellation. True if the token was cancelled: a request to end the statement may be on its way
    /// then, so the session must not be used again.
    pub(crate) fn end(mut self, cancel: &CancelToken) -> bool {
        self.guard = None;
        cancel.is_cancelled()
    }

    /// Asks the server to end what the session runs, and closes the session, since nobody reads the result.
    fn leave(session: &mut Lease) {
        session.connection.condemn();
        session.pool().end(session.connection.id());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.guard = None;
        self.alive.store(false, Ordering::Release);
    }
}

/// Starts a query. The server does not tell before a run whether a statement that changes rows returns them. The caller does.
pub(crate) fn start_query(
    mut session: Lease,
    text: &str,
    returns_changed: bool,
    options: &QueryOptions,
) -> Result<Box<dyn BatchStream>> {
    let running = Running::new(&session, &options.cancel);
    let started = runtime().block_on(async {
        let mut is_again = false;
        loop {
            let prepared = match session.prepared(text).await {
                Ok(prepared) if prepared.fields.is_empty() && !returns_changed => return Err(not_a_query().into()),
                Err(failure) if failure.code() == Some(NOT_PREPARABLE) => {
                    session.connection.send(command::QUERY, |target| target.extend_from_slice(text.as_bytes()));
                    return Ok((session.connection.started(None).await?, Form::Text));
                }
                prepared => prepared?,
            };
            session.connection.send_execute(prepared.id, |_| {});
            match session.connection.started(Some(prepared.id)).await {
                Err(failure) if failure.is_forgotten() && !is_again => {
                    session.forget(text);
                    is_again = true;
                }
                started => return Ok((started?, Form::Binary)),
            }
        }
    });
    match started {
        Ok((started, form)) => QueryRows::new(session, running, &started, form, options)?.boxed(returns_changed),
        Err(failure) => Err(failed(session, running, failure, &options.cancel)),
    }
}

/// The error for a statement that did not start. After a cancellation the session is closed, since a request to end it
/// may be on its way.
fn failed(mut session: impl BorrowMut<Lease>, running: Running, failure: Failure, cancel: &CancelToken) -> Error {
    if running.end(cancel) {
        session.borrow_mut().connection.condemn();
        return Error::cancelled(failure.is_answered());
    }
    failure.into()
}

/// The error for results that the caller of a statement would not get.
pub(crate) fn unreturned() -> Error {
    Error::Unsupported(
        "the statement was run, and returned results that this call does not return; SqlClient returns all results of a procedure"
            .to_owned(),
    )
}

/// The number of rows that a statement has changed, if its rows are not returned. The rows of `RETURNING` are the rows changed.
pub(crate) fn changed_rows(text: &str, ended: Ended) -> Result<u64> {
    let statements = Mysql::statements(text);
    match statements.first() {
        Some(statement) if ended.results > 0 && !Mysql::is_undoable(statement) => Err(unreturned()),
        Some(statement) if ended.results > 0 && !Mysql::is_query(statement) => Ok(ended.rows),
        _ => Ok(ended.done.affected_rows),
    }
}

/// The rows of a query that runs.
struct QueryRows<S: BorrowMut<Lease>> {
    session: S,
    /// The registered cancellation, or `None` once all rows have been read, or none will be.
    running: Option<Running>,
    rows: RowBuilder,
    batch_rows: usize,
    cancel: CancelToken,
}

impl<S: BorrowMut<Lease>> QueryRows<S> {
    fn new(mut session: S, running: Running, started: &Started, form: Form, options: &QueryOptions) -> Result<Self> {
        let rows = match started {
            Started::Rows(fields) => {
                let forms = session.borrow_mut().connection.forms();
                RowShape::new(fields, form, forms).map(|shape| RowBuilder::new(&shape, DEFAULT_CAPACITY))
            }
            _ => Err(engine_error("the server sent no rows")),
        };
        // Nobody reads the rows that follow.
        let rows = rows.inspect_err(|_| session.borrow_mut().connection.condemn())?;
        Ok(Self {
            session,
            running: Some(running),
            batch_rows: options.rows_per_batch(rows.columns()),
            rows,
            cancel: options.cancel.clone(),
        })
    }

    /// The stream of the rows. The rows of a change are read to their end first, by which the server has committed the change.
    fn boxed<'rows>(mut self, returns_changed: bool) -> Result<Box<dyn BatchStream + 'rows>>
    where
        S: Send + 'rows,
    {
        if !returns_changed {
            return Ok(Box::new(self));
        }
        let mut batches = VecDeque::new();
        loop {
            match self.next_batch() {
                Ok(Some(batch)) => batches.push_back(batch),
                Ok(None) => break,
                // The server was asked to end the statement, and its answer is not read.
                Err(Error::Cancelled) => return Err(Error::CancelledInDoubt),
                Err(error) => return Err(error),
            }
        }
        Ok(Box::new(Published { columns: self.columns().to_vec(), schema: self.schema(), batches }))
    }

    fn gather(&mut self) -> Result<Option<RecordBatch>> {
        if self.running.is_none() {
            return Ok(None);
        }
        self.cancel.check()?;
        let (rows, most) = (&mut self.rows, self.batch_rows);
        let connection = &mut self.session.borrow_mut().connection;
        let ended = runtime().block_on(connection.rows(|row| {
            rows.push(row)?;
            Ok(if rows.rows() >= most || rows.bytes() >= MAX_BYTES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        }))?;
        if ended.is_some_and(|done| done.has_more) {
            return Err(unreturned());
        }
        if ended.is_some()
            && let Some(running) = self.running.take()
            && running.end(&self.cancel)
        {
            self.session.borrow_mut().connection.condemn();
        }
        if rows.rows() == 0 { Ok(None) } else { rows.finish().map(Some) }
    }
}

impl<S: BorrowMut<Lease> + Send> BatchStream for QueryRows<S> {
    fn columns(&self) -> &[Column] {
        self.rows.columns()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(self.rows.schema())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.gather().map_err(|error| {
            self.leave();
            if self.cancel.is_cancelled() { Error::Cancelled } else { error }
        })
    }
}

impl<S: BorrowMut<Lease>> QueryRows<S> {
    /// Ends the query if it still runs. The session is closed, so that no locks stay.
    fn leave(&mut self) {
        if let Some(running) = self.running.take() {
            Running::leave(self.session.borrow_mut());
            drop(running);
        }
    }
}

impl<S: BorrowMut<Lease>> Drop for QueryRows<S> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The rows of a change that the server has committed.
struct Published {
    columns: Vec<Column>,
    schema: SchemaRef,
    batches: VecDeque<RecordBatch>,
}

impl BatchStream for Published {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.batches.pop_front())
    }

    fn is_published(&self) -> bool {
        true
    }
}

/// A prepared statement and the session that it was prepared on.
pub(crate) struct PreparedStatement {
    session: Lease,
    prepared: Prepared,
    numbered: Numbered,
    /// The types of the parameters. They are open until there are values.
    parameters: Vec<Option<SqlType>>,
    /// Whether the statement is a query, or returns the rows that it changes.
    returns_rows: bool,
    /// Whether the statement returns the rows that it changes.
    returns_changed: bool,
}

impl PreparedStatement {
    pub(crate) fn prepare(mut session: Lease, statement: &sql_text::Statement<'_>) -> Result<Self> {
        let numbered = Numbered::parse(statement.text)?;
        let prepared = runtime().block_on(session.prepared(&numbered.text))?;
        if usize::from(prepared.parameters) != numbered.order.len() {
            return Err(Error::InvalidArgument(
                "the statement has parameters written ?; write them $1, $2, ...".to_owned(),
            ));
        }
        let returns_changed = returns_changed_rows(statement);
        let returns_rows = returns_changed || (Mysql::is_query(statement) && !prepared.fields.is_empty());
        let parameters = vec![None; numbered.count];
        Ok(Self { session, prepared, numbered, parameters, returns_rows, returns_changed })
    }

    /// Sends the statement with these parameters, and reads the beginning of its first result. A statement that the server has forgotten
    /// is prepared again, once.
    fn start(&mut self, parameters: &[Value]) -> Result<std::result::Result<Started, Failure>> {
        let mut is_again = false;
        loop {
            self.send(parameters)?;
            let started = runtime().block_on(self.session.connection.started(Some(self.prepared.id)));
            match started {
                Err(failure) if failure.is_forgotten() && !is_again && may_run_again(&self.numbered.text) => {
                    self.session.forget(&self.numbered.text);
                    self.prepared = runtime().block_on(self.session.prepared(&self.numbered.text))?;
                    is_again = true;
                }
                started => return Ok(started),
            }
        }
    }

    fn send(&mut self, parameters: &[Value]) -> Result<()> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        if !self.session.connection.is_idle() {
            return Err(Error::Closed("the statement, whose last run did not end"));
        }
        let values = Values::new(parameters);
        let mut encoded = Vec::new();
        let cells = self.numbered.order.iter().map(|index| values.cell(*index));
        if self.session.keeps_kinds() {
            self.prepared = runtime().block_on(self.session.prepared_for(&self.numbered.text, cells.clone()))?;
        }
        put_parameters(&mut encoded, self.numbered.order.len(), cells)?;
        self.session.connection.send_execute(self.prepared.id, |target| target.extend_from_slice(&encoded));
        Ok(())
    }
}

impl Statement for PreparedStatement {
    fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        if !self.returns_rows {
            return Err(not_a_query());
        }
        options.cancel.check()?;
        let running = Running::new(&self.session, &options.cancel);
        match self.start(parameters)? {
            Ok(started) => {
                let rows = QueryRows::new(&mut self.session, running, &started, Form::Binary, options)?;
                rows.boxed(self.returns_changed)
            }
            Err(failure) => Err(failed(&mut self.session, running, failure, &options.cancel)),
        }
    }

    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        cancel.check()?;
        let running = Running::new(&self.session, cancel);
        let done = self.start(parameters)?.and_then(|started| {
            let ended = runtime().block_on(self.session.connection.skip(started))?;
            changed_rows(&self.numbered.text, ended).map_err(Failure::Lost)
        });
        match done {
            Ok(changed) => {
                if running.end(cancel) {
                    self.session.connection.condemn();
                }
                Ok(changed)
            }
            Err(failure) => Err(failed(&mut self.session, running, failure, cancel)),
        }
    }
}
