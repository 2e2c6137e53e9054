//! Many requests over one connection, sent ahead of their answers.

mod flight;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use boundary_bench_kernel::{Error, Result, response_limit};

use crate::cells::{CellLists, put_parameters};
use crate::codec::{CommandResult, Done, Failure, Field, command};
use crate::connection::{CELL_BYTES, COLUMN_BYTES, Connection, Prepared, Started};
use crate::effect::{Effect, Kind};
use crate::outcome::{Outcome, Results};
use crate::pool::Session;
use crate::rows::{Form, RowBuilder};
use crate::session_state::admit;

use self::flight::Ahead;

/// The unsent bytes from which on no further requests are encoded.
const AHEAD_BYTES: usize = 256 << 10;

/// The number of rows that a result has room for from the start.
const SMALL_RESULT: usize = 8;

/// The bytes that a further result of a request counts for, whatever it holds.
const RESULT_BYTES: usize = size_of::<Outcome>();

/// The parts of a statement's rows that are searched for one that takes further rows.
const PARTS_SEARCHED: usize = 64;

/// A statement and the lists of parameters that it is run with.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementLists {
    /// The statement, whose parameters are written `?`.
    pub sql: String,
    /// The parameters of the statement, a list for each request.
    pub lists: CellLists,
    /// Whether the statement is sent as text instead of prepared. It then has no parameters.
    pub is_text: bool,
}

/// Requests to send in one go, over one connection, in order. A request that fails does not keep the others from
/// running.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The statements that the requests run.
    pub statements: Vec<StatementLists>,
    /// The index of the statement of each request. The request takes that statement's next list.
    pub order: Vec<u32>,
}

impl Batch {
    /// The index of each request's list among the lists of its statement.
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

/// The answer to a batch of one request, which a driver has sent. `None` if the server has forgotten the statement.
pub(crate) async fn answer(session: &mut Session, batch: &Batch, prepared: Option<u32>) -> Result<Option<Results>> {
    let mut run = Run::new(batch, &[0], 0);
    match run.receive(session, 0, prepared).await {
        Ok(RequestEnd::Done) => {}
        Ok(RequestEnd::Forgotten(_)) => return Ok(None),
        Err(Failure::Lost(error)) => {
            session.connection.condemn();
            return Err(error);
        }
        Err(refused) => run.outcomes[0].error = Some(refused.into()),
    }
    run.results().map(Some)
}

/// The state of a batch that runs.
struct Run<'a> {
    batch: &'a Batch,
    /// The index of each request's list among the lists of its statement.
    lists: &'a [usize],
    max_packet: usize,
    statements: Vec<StatementState>,
    outcomes: Vec<Outcome>,
    /// The further results of the requests.
    further: Vec<Outcome>,
    /// The bytes of all rows received so far, and of all else that is kept and that the server alone has chosen.
    gathered: usize,
    again: Again,
    /// The requests that may be sent behind those in flight.
    ahead: Ahead,
    /// The end of the requests whose statements are prepared, or have an error.
    prepared_to: usize,
    /// Whether a statement was sent that may have changed what can be prepared, and what prepared statements mean.
    is_defined: bool,
    is_changed: bool,
    /// A request that failed in a transaction, which it may have ended.
    failed: Option<usize>,
}

/// The requests that are sent again, because the server had forgotten their statements.
#[derive(Default)]
struct Again {
    /// The first of them. All requests behind it that were sent have met the same, so that the order stays.
    first: Option<usize>,
    /// Whether a request behind one of them was run: none of them can be sent again in its place.
    is_late: bool,
}

/// The state of a statement of a batch.
struct StatementState {
    effect: Effect,
    /// Whether the statement only reads, once that was asked.
    only_reads: Option<bool>,
    prepared: Option<Prepared>,
    /// Whether the statement was prepared a second time.
    is_again: bool,
    /// The error for which the statement can't be run at all, and the error of preparing it.
    unusable: Option<Error>,
    unprepared: Option<Error>,
    /// The rows so far: results of other types are in parts of their own.
    parts: Vec<RowBuilder>,
}

/// The end of a request.
enum RequestEnd {
    /// The server has run the request, or refused it for its own sake.
    Done,
    /// The server no longer has the statement.
    Forgotten(Failure),
}

impl<'a> Run<'a> {
    fn new(batch: &'a Batch, lists: &'a [usize], max_packet: usize) -> Self {
        Self {
            batch,
            lists,
            max_packet,
            statements: batch.statements.iter().map(StatementState::new).collect(),
            outcomes: vec![Outcome::default(); batch.order.len()],
            further: Vec::new(),
            gathered: 0,
            again: Again::default(),
            ahead: Ahead::All,
            prepared_to: 0,
            is_defined: false,
            is_changed: false,
            failed: None,
        }
    }

    async fn finish(mut self, session: &mut Session) -> Result<Results> {
        if let Err(lost) = self.run(session).await {
            // The outcomes received are complete. All other requests may or may not be done.
            session.connection.condemn();
            return Err(lost);
        }
        self.results()
    }

    fn results(self) -> Result<Results> {
        let parts = self.statements.into_iter().map(|state| state.parts);
        Results::of(parts.collect(), &self.batch.order, self.outcomes, self.further)
    }

    async fn run(&mut self, session: &mut Session) -> Result<()> {
        session.make_room(self.batch.statements.len());
        let (mut in_flight, mut next, count) = (VecDeque::new(), 0, self.outcomes.len());
        loop {
            if in_flight.is_empty() {
                next = match self.begin(session, next).await {
                    Err(lost) if next > 0 => {
                        session.connection.condemn();
                        self.outcomes[next..].iter_mut().for_each(|outcome| outcome.error = Some(lost.clone()));
                        count
                    }
                    begun => begun?,
                };
                if next == count {
                    return Ok(());
                }
            }
            let mut is_first = in_flight.is_empty();
            while next < count
                && self.again.first.is_none()
                && session.connection.unsent() < AHEAD_BYTES
                && (std::mem::take(&mut is_first) || self.may_go_ahead(session, next))
            {
                match self.send(session, next) {
                    Ok(id) => in_flight.push_back((next, id)),
                    Err(error) => self.outcomes[next].error = Some(error),
                }
                next += 1;
            }
            let Some((request, id)) = in_flight.pop_front() else { continue };
            let ended = match self.receive(session, request, id).await {
                Ok(RequestEnd::Done) => {
                    self.end_again();
                    continue;
                }
                Ok(RequestEnd::Forgotten(failure)) => {
                    self.note_again(session, request);
                    failure
                }
                Err(failure) => {
                    self.end_again();
                    failure
                }
            };
            match ended {
                Failure::Refused(_) => {
                    if session.connection.in_transaction() {
                        self.failed.get_or_insert(request);
                    }
                    self.outcomes[request].error = Some(ended.into());
                }
                Failure::Lost(error) => {
                    let unanswered = in_flight.drain(..).map(|(request, _)| request);
                    for lost in std::iter::once(request).chain(unanswered).chain(next..count) {
                        self.outcomes[lost].error.get_or_insert_with(|| error.clone());
                    }
                    next = count;
                }
            }
        }
    }

    /// Sends a request. Returns the number of its prepared statement, if it has one.
    fn send(&mut self, session: &mut Session, request: usize) -> Result<Option<u32>> {
        let index = self.batch.order[request] as usize;
        let (statement, state) = (&self.batch.statements[index], &self.statements[index]);
        if let Some(error) = state.error() {
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
        let (effect, connection) = (state.effect, &mut session.connection);
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
        let id = state.prepared.as_ref().map(|prepared| prepared.id);
        let is_changed = session.note(effect);
        let behind = if is_changed { Ahead::Nothing } else { Ahead::behind(effect.kind) };
        self.ahead = self.ahead.min(behind);
        self.is_defined |= behind == Ahead::Nothing;
        self.is_changed |= is_changed;
        Ok(id)
    }

    /// Reads all results of a request.
    async fn receive(
        &mut self,
        session: &mut Session,
        request: usize,
        prepared: Option<u32>,
    ) -> CommandResult<RequestEnd> {
        let index = self.batch.order[request] as usize;
        let mut started = match session.connection.started(prepared).await {
            Err(failure) if prepared.is_some() && failure.is_forgotten() => return Ok(RequestEnd::Forgotten(failure)),
            started => started?,
        };
        let mut placed = 0;
        loop {
            let done = match started {
                Started::Done(done) => done,
                Started::WantsFile => session.connection.refuse_file().await?,
                Started::Rows(fields) => {
                    let (outcome, mut done) = self.receive_rows(session, index, prepared, &fields).await?;
                    if self.statements[index].effect.kind == Kind::Rows {
                        // The server counts no changed rows that it returns.
                        done.affected_rows = outcome.rows as u64;
                    }
                    self.place(request, placed, outcome);
                    placed += 1;
                    done
                }
            };
            let Done { affected_rows, last_insert_id, has_more, .. } = done;
            let outcome = &mut self.outcomes[request];
            (outcome.affected_rows, outcome.last_insert_id) = (affected_rows, last_insert_id);
            if !has_more {
                return Ok(RequestEnd::Done);
            }
            self.gather(&mut session.connection, RESULT_BYTES)?;
            started = session.connection.started(None).await?;
        }
    }

    /// Counts bytes that are kept. Beyond the limit, the connection is unusable.
    fn gather(&mut self, connection: &mut Connection, bytes: usize) -> CommandResult<()> {
        self.gathered += bytes;
        if self.gathered <= connection.most_bytes() {
            return Ok(());
        }
        connection.condemn();
        Err(response_limit::exceeded("the result", connection.most_bytes()).into())
    }

    /// Adds a result with rows to the `placed` ones that a request has.
    fn place(&mut self, request: usize, placed: usize, outcome: Outcome) {
        let Outcome { part, first_row, rows, error, .. } = outcome;
        let next = Some(self.further.len());
        let first = &mut self.outcomes[request];
        if let Some(error) = error {
            first.error.get_or_insert(error);
        }
        match (placed, self.further.last_mut()) {
            (0, _) => {
                (first.part, first.first_row, first.rows) = (part, first_row, rows);
                return;
            }
            (2.., Some(before)) => before.next = next,
            _ => first.next = next,
        }
        self.further.push(Outcome { part, first_row, rows, ..Outcome::default() });
    }

    /// Reads the rows of one result.
    async fn receive_rows(
        &mut self,
        session: &mut Session,
        index: usize,
        prepared: Option<u32>,
        fields: &Arc<[Field]>,
    ) -> CommandResult<(Outcome, Done)> {
        let (state, statement) = (&mut self.statements[index], &self.batch.statements[index].sql);
        let parts = state.parts.len();
        let (mut part, mut problem) = match state.part(session, statement, prepared, fields) {
            Ok(part) => (Some(part), None),
            Err(problem) => (None, Some(problem)),
        };
        let part_bytes = fields.iter().map(|field| COLUMN_BYTES + field.name.len()).sum::<usize>();
        if parts > 0 && state.parts.len() > parts {
            self.gathered += part_bytes;
        }
        let mut rows = part.map(|part| &mut state.parts[part]);
        let mut first_row = rows.as_ref().map_or(0, |rows| rows.rows());
        // The rows of this result, once they need a part of their own.
        let mut own: Option<RowBuilder> = None;
        let connection = &mut session.connection;
        let (gathered, most) = (&mut self.gathered, connection.most_bytes());
        let done = connection
            .rows(|row| {
                *gathered += row.len().max(fields.len() * CELL_BYTES);
                if *gathered > most {
                    return Err(response_limit::exceeded("the result", most));
                }
                // The rows behind one that can't be read are skipped.
                if problem.is_none()
                    && let Some(rows) = own.as_mut().or(rows.as_deref_mut())
                {
                    match rows.push_of(first_row, row) {
                        Ok(None) => {}
                        Ok(Some(apart)) => (own, first_row) = (Some(apart), 0),
                        Err(error) => problem = Some(error),
                    }
                }
                Ok(ControlFlow::Continue(()))
            })
            .await?;
        let rows = own.as_ref().or(rows.as_deref()).map_or(0, RowBuilder::rows) - first_row;
        if let Some(own) = own {
            self.gathered += part_bytes;
            part = Some(state.parts.len());
            state.parts.push(own);
        }
        if problem.is_some() {
            part = None;
        }
        Ok((Outcome { part, first_row, rows, error: problem, ..Outcome::default() }, done.unwrap_or_default()))
    }
}

impl StatementState {
    fn new(statement: &StatementLists) -> Self {
        let admitted = admit(&statement.sql);
        let unusable = if admitted.is_ok() && statement.is_text && statement.lists.width() > 0 {
            Some(Error::InvalidArgument("a statement sent as text has no parameters".to_owned()))
        } else {
            admitted.as_ref().err().cloned()
        };
        Self {
            // One that is refused is not sent.
            effect: admitted.unwrap_or_else(|_| Effect::of("SELECT")),
            only_reads: None,
            prepared: None,
            is_again: false,
            unusable,
            unprepared: None,
            parts: Vec::new(),
        }
    }

    fn error(&self) -> Option<&Error> {
        self.unusable.as_ref().or(self.unprepared.as_ref())
    }

    /// The part for rows with these columns.
    fn part(
        &mut self,
        session: &mut Session,
        sql: &str,
        prepared: Option<u32>,
        fields: &Arc<[Field]>,
    ) -> Result<usize> {
        let form = if prepared.is_some() { Form::Binary } else { Form::Text };
        if let Some(part) = self.parts.iter().take(PARTS_SEARCHED).position(|rows| rows.takes(fields, form)) {
            return Ok(part);
        }
        let shape = match prepared {
            Some(id) => session.shape(sql, id, fields)?,
            None => session.text_shape(fields)?,
        };
        self.parts.push(RowBuilder::new(&shape, SMALL_RESULT));
        Ok(self.parts.len() - 1)
    }
}
