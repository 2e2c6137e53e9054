//! A prepared statement, on a connection of its own or on a session's.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

use super::ffi::{Connection, Database, c_string};
use super::hidden::{Hidden, note};
use super::only_statement::{Facts, OnlyStatement};
use super::session::{Session, Ticket, Turn};
use super::statement::{Prepared, Statements};
use super::stream::{EmbeddedStream, described};
use super::transaction::Transaction;
use super::vector::{Mapping, mapping};
use super::{EmbeddedEngine, interruptible, run_command};
use boundary_bench_engine::table::{Column, SqlType};
use boundary_bench_engine::{
    BatchStream, Engine, QueryOptions, Statement, Value, check_parameter_count, unusable_parameter,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};

/// The connections that a statement may run on.
pub(super) struct Connections {
    pub(super) database: Arc<Database>,
    pub(super) session: Option<Arc<Session>>,
    pub(super) hidden: Arc<Hidden>,
    /// The place of the call in the order of the session's calls, if it was taken when the call was made.
    pub(super) place: Weak<CallPlace>,
}

/// The place of a call in the order of the calls of a session, until the call begins.
pub(super) type CallPlace = Mutex<Option<Ticket>>;

/// A connection for one call.
pub(super) enum Call {
    /// A connection of the call's own.
    Own(Connection),
    /// The turn on the connection of the session.
    InSession(Turn),
}

impl Call {
    pub(super) fn connection(&self) -> &Connection {
        match self {
            Self::Own(connection) => connection,
            Self::InSession(turn) => turn.connection(),
        }
    }

    /// The rows of a query that the call has started.
    pub(super) fn rows(self, stream: EmbeddedStream) -> Box<dyn BatchStream> {
        match self {
            Self::InSession(turn) if !stream.has_ended() => Box::new(turn.lend(stream)),
            _ => Box::new(stream),
        }
    }
}

impl Connections {
    /// The connection for a call: the session's connection if there is one already, or the call begins it.
    pub(super) fn call(&self, begins_session: bool, cancel: &CancelToken) -> Result<Call> {
        match self.turn(begins_session, cancel)? {
            Some(turn) => Ok(Call::InSession(turn)),
            None => self.database.connect().map(Call::Own),
        }
    }

    /// The place of the call in the order of the session's calls. `None` without a session.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        let session = self.session.as_ref()?;
        let taken = self.place.upgrade().and_then(|place| lock(&place).take());
        Some(taken.unwrap_or_else(|| session.ticket()))
    }

    /// The turn of a call that begins the session, or finds one.
    fn turn(&self, begins_session: bool, cancel: &CancelToken) -> Result<Option<Turn>> {
        let Some(ticket) = self.ticket() else { return Ok(None) };
        if begins_session || ticket.finds_session(cancel)? { ticket.turn(cancel).map(Some) } else { Ok(None) }
    }

    /// Ends a call that another call belongs to. The other call keeps its place if the place was taken when the call was made.
    fn end(&self, call: Call) {
        if let (Call::InSession(turn), Some(place)) = (call, self.place.upgrade()) {
            let kept = turn.keep_place();
            *lock(&place) = kept;
        }
    }
}

/// A prepared statement with its connection. DuckDB itself plans it again when the catalog was changed, and for each run with parameters.
pub(super) struct EmbeddedStatement {
    // The plan comes first, so that it is dropped before its connection.
    planned: Option<Prepared>,
    connection: Connection,
    /// Whether the connection belongs to a session.
    is_in_session: bool,
    /// The number of changes of the session when the statement was planned.
    changes: u64,
    /// Whether the statement may change what the plans of the session depend on.
    changes_session: bool,
    connections: Connections,
    sql: Arc<str>,
    facts: Facts,
    parameters: Vec<Option<SqlType>>,
    /// The types of the parameters as DuckDB names them.
    type_names: Vec<Option<String>>,
    columns: Option<Vec<Column>>,
}

impl EmbeddedStatement {
    /// Prepares the only statement of `sql`. `check` may refuse it for the connection.
    pub(super) fn prepare(
        connections: Connections,
        sql: &str,
        begins_session: bool,
        check: impl FnOnce(&Connection) -> Result<()>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let call = connections.call(begins_session, cancel)?;
        let connection = call.connection().clone();
        check(&connection)?;
        let only = OnlyStatement::parse(&connection, sql, "a prepared statement")?;
        // Nothing is to be left of what is done to plan the statement.
        let is_planned_anew = only.facts.is_planned_anew || connections.hidden.exists(&connection);
        let transaction = is_planned_anew.then(|| Transaction::begin(&connection)).transpose()?;
        let statement = only.prepare(cancel)?;
        let known: Vec<Option<Mapping>> = (1..=statement.parameter_count())
            .map(|position| match statement.parameter_name(position) {
                Some(name) if name == position.to_string() => {
                    let known = statement.parameter_type(position);
                    Ok(known.and_then(|logical| mapping(&logical)))
                }
                Some(name) => Err(Error::InvalidArgument(format!(
                    "the parameter ${name} has a name; parameters are matched by position: $1, $2, ..."
                ))),
                None => Err(unusable_parameter(position, "the statement leaves out this number")),
            })
            .collect::<Result<_>>()?;
        let columns = columns(&only.facts, &statement);
        let planned = (!is_planned_anew).then_some(statement);
        let changes = connections.session.as_ref().map_or(0, |session| session.changes());
        let is_in_session = matches!(call, Call::InSession(_));
        drop(transaction);
        connections.end(call);
        Ok(Self {
            planned,
            connection,
            is_in_session,
            changes,
            changes_session: begins_session,
            connections,
            sql: sql.into(),
            facts: only.facts,
            parameters: known.iter().map(|known| Some(known.as_ref()?.sql_type)).collect(),
            type_names: known.iter().map(|known| known.as_ref().map(Mapping::type_name)).collect(),
            columns,
        })
    }

    /// Takes the turn of the session, if it exists, and moves the statement to the connection of that.
    fn call(&mut self, cancel: &CancelToken) -> Result<Call> {
        let call = match self.connections.turn(false, cancel)? {
            Some(turn) => Call::InSession(turn),
            None if self.is_in_session => Call::Own(self.connections.database.connect()?),
            None => return Ok(Call::Own(self.connection.clone())),
        };
        if !self.connection.is(call.connection()) {
            self.planned = None;
            self.connection = call.connection().clone();
        }
        // DuckDB looks for changes of the catalog, but not for changes of settings, variables, and the meaning of a name.
        let changes = self.connections.session.as_ref().map_or(0, |session| session.changes());
        if self.changes != changes {
            self.planned = None;
            self.changes = changes;
        }
        self.is_in_session = matches!(call, Call::InSession(_));
        Ok(call)
    }

    /// Binds all parameters and runs `work`. If that fails, the error names the first parameter that does not fit the
    /// statement's type, if there is one.
    fn with<T>(
        &mut self,
        parameters: &[Value],
        cancel: &CancelToken,
        work: impl FnOnce(&Facts, &Prepared, Option<Transaction>) -> Result<T>,
    ) -> Result<T> {
        let is_planned_anew = self.facts.is_planned_anew || self.connections.hidden.exists(&self.connection);
        // DuckDB 1.5.6 runs a plan without parameters again as it is, though the plan depends on the statistics of the rows that the tables had
        // (duckdb/duckdb#23704). It would miss rows, and count rows that are not there.
        if is_planned_anew || self.parameters.is_empty() {
            self.planned = None;
        }
        let (mut transaction, anew) = (None, if self.planned.is_some() { None } else { Some(self.parse()?) });
        let statement = match &anew {
            None => self.planned.as_ref(),
            Some(only) => {
                transaction = is_planned_anew.then(|| Transaction::begin(&self.connection)).transpose()?;
                Some(&*self.planned.insert(only.prepare(cancel)?))
            }
        };
        let result = statement.map_or(Err(Error::Closed("the statement")), |statement| {
            for (index, value) in parameters.iter().enumerate() {
                value.check_exact(index + 1, self.parameters[index])?;
                statement.bind(index + 1, value)?;
            }
            work(&self.facts, statement, transaction)
        });
        let result = result.map_err(|error| match error {
            Error::Engine { .. } => self.misfit(parameters).unwrap_or(error),
            _ => error,
        });
        if is_planned_anew {
            self.planned = None;
        }
        if self.changes_session
            && let Some(session) = &self.connections.session
        {
            session.note_change();
        }
        result
    }

    fn parse(&self) -> Result<OnlyStatement> {
        OnlyStatement::parse(&self.connection, &self.sql, "a prepared statement")
    }

    /// The error for the first parameter that DuckDB can't convert to its type in the statement.
    fn misfit(&self, parameters: &[Value]) -> Option<Error> {
        parameters.iter().zip(&self.type_names).enumerate().find_map(|(index, (value, expected))| {
            let sql = c_string(&format!("SELECT CAST($1 AS {})", expected.as_ref()?), "the conversion").ok()?;
            let cast = Statements::parse(&self.connection, &sql).ok()?.prepare(0).ok()?;
            cast.bind(1, value).ok()?;
            match cast.run(false, &CancelToken::default()) {
                Err(Error::Engine { message, .. }) => Some(unusable_parameter(index + 1, message)),
                _ => None,
            }
        })
    }
}

/// The columns of a statement's rows, none for a command. `None` if a column's type depends on parameters or rows, or has no counterpart
/// here.
fn columns(facts: &Facts, statement: &Prepared) -> Option<Vec<Column>> {
    if !statement.reads() && !facts.returns_changed_rows {
        return Some(Vec::new());
    }
    let (columns, _) = described(&statement.columns()).ok()?;
    (!columns.is_empty() && !facts.is_planned_anew).then_some(columns)
}

impl Statement for EmbeddedStatement {
    fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    fn take_place(&mut self, in_turn: &dyn Engine) {
        if let Some(engine) = (in_turn as &dyn Any).downcast_ref::<EmbeddedEngine>() {
            self.connections.place = engine.connections().place;
        }
    }

    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        let call = self.call(&options.cancel)?;
        let connection = self.connection.clone();
        let stream = self.with(parameters, &options.cancel, |facts, statement, transaction| {
            EmbeddedStream::run(connection, facts, statement, transaction, options)
        })?;
        Ok(call.rows(stream))
    }

    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        let _call = self.call(cancel)?;
        let interrupted = self.connection.clone();
        let guard = cancel.on_cancel(move || interrupted.interrupt());
        let text = Arc::clone(&self.sql);
        self.with(parameters, cancel, |facts, statement, transaction| {
            let changed = interruptible(cancel, || run_command(statement, &text, cancel))?;
            // From here on the work is either published as a whole or not at all. An interrupt must not disturb that.
            drop(guard);
            transaction.map_or(Ok(()), Transaction::commit)?;
            if let Some(is_temporary) = facts.hides_catalog_entries {
                note(is_temporary);
            }
            Ok(changed)
        })
    }
}
