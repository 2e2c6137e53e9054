//! Many requests over one connection, sent ahead of their answers.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::{Error, Result, response_limit};

use crate::cells::{CellLists, put_parameters};
use crate::codec::{Answer, Done, Failure, Field, command};
use crate::connection::{CELL_BYTES, Prepared, Started};
use crate::pool::Session;
use crate::rows::{Form, RowBuilder, RowShape};

/// The unsent bytes from which on no further requests are encoded.
const AHEAD_BYTES: usize = 256 << 10;

/// The number of rows that a result has room for from the start.
const SMALL_RESULT: usize = 8;

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

    async fn receive(&mut self, session: &mut Session, request: usize) -> Answer<()> {
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
