//! Statements with their parameters, to be run by an engine: once, or prepared and run by many callers at a time.

use std::sync::{Arc, Mutex};

use crate::table::{Column, SqlType};
use crate::{BatchStream, Engine, QueryOptions, Statement, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};

/// The most idle sessions of a prepared statement that are kept for later callers.
const KEPT_SESSIONS: usize = 4;

/// A prepared statement for many concurrent callers. If all its sessions are in use, another one is prepared.
pub struct PreparedStatement {
    shared: Arc<Shared>,
    /// The place of the only run of a statement that [`PreparedStatement::in_turn`] made.
    place: Option<Arc<dyn Engine>>,
}

struct Shared {
    parameters: Vec<Option<SqlType>>,
    columns: Option<Vec<Column>>,
    state: Mutex<Option<Open>>,
}

/// The state of a prepared statement until it is closed.
struct Open {
    engine: Arc<dyn Engine>,
    sql: Arc<str>,
    idle: Vec<Box<dyn Statement>>,
}

impl PreparedStatement {
    /// Prepares a statement.
    pub fn prepare(engine: Arc<dyn Engine>, sql: &str, cancel: &CancelToken) -> Result<Self> {
        Self::prepare_first(engine, None, sql, cancel)
    }

    /// Prepares a statement, the first time by `first`, the result of the engine's [`Engine::in_turn`].
    pub fn prepare_first(
        engine: Arc<dyn Engine>,
        first: Option<Arc<dyn Engine>>,
        sql: &str,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let in_turn = first.unwrap_or_else(|| Arc::clone(&engine));
        let first = in_turn.prepare(sql, cancel)?;
        let shared = Shared {
            parameters: first.parameters().to_vec(),
            columns: first.columns().map(<[Column]>::to_vec),
            state: Mutex::new(Some(Open { engine, sql: sql.into(), idle: vec![first] })),
        };
        Ok(Self { shared: Arc::new(shared), place: None })
    }

    /// The same statement for one run, whose place in the order of the session's calls is taken now. See [`Engine::in_turn`].
    #[must_use]
    pub fn in_turn(&self) -> Arc<Self> {
        let place = lock(&self.shared.state).as_ref().and_then(|open| open.engine.in_turn());
        Arc::new(Self { shared: Arc::clone(&self.shared), place })
    }

    /// See [`Statement::parameters`].
    pub fn parameters(&self) -> &[Option<SqlType>] {
        &self.shared.parameters
    }

    /// See [`Statement::columns`].
    pub fn columns(&self) -> Option<&[Column]> {
        self.shared.columns.as_deref()
    }

    /// Releases the engine. A second call does nothing. Runs in progress continue to their end.
    pub fn close(&self) {
        let open = lock(&self.shared.state).take();
        // The drop happens outside of the lock, since the engine may take a while to end the sessions.
        drop(open);
    }

    /// Runs `work` with exclusive use of a session.
    fn with_session<T>(
        &self,
        cancel: &CancelToken,
        work: impl FnOnce(&mut dyn Statement) -> (Result<T>, Session),
    ) -> Result<T> {
        let (idle, engine, sql) = {
            let mut state = lock(&self.shared.state);
            let open = state.as_mut().ok_or(Error::Closed("the prepared statement"))?;
            (open.idle.pop(), Arc::clone(&open.engine), Arc::clone(&open.sql))
        };
        let mut session = match idle {
            Some(mut session) => {
                self.place.iter().for_each(|place| session.take_place(place.as_ref()));
                session
            }
            None => self.place.as_ref().unwrap_or(&engine).prepare(&sql, cancel)?,
        };
        let (result, left) = work(session.as_mut());
        if left == Session::Usable
            && let Some(open) = lock(&self.shared.state).as_mut()
            && open.idle.len() < KEPT_SESSIONS
        {
            open.idle.push(session);
        }
        result
    }
}

/// The state of a session after its use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    Usable,
    Spent,
}

impl Session {
    /// The state after an error in starting the statement: parameters are refused before anything is done.
    fn after(error: &Error) -> Self {
        if matches!(error, Error::InvalidArgument(_)) { Self::Usable } else { Self::Spent }
    }
}

/// A statement with its parameters, ready to run.
pub enum BoundStatement {
    /// A text. With parameters, it is prepared for this one run.
    Text {
        /// The engine that runs the statement.
        engine: Arc<dyn Engine>,
        /// The text of one statement or, for a command without parameters, of several.
        sql: String,
        /// The values for `$1`, `$2`, ...
        parameters: Vec<Value>,
    },
    /// A prepared statement.
    Prepared {
        /// The prepared statement.
        statement: Arc<PreparedStatement>,
        /// The values for `$1`, `$2`, ...
        parameters: Vec<Value>,
    },
}

impl BoundStatement {
    /// Runs the statement as a query, whose stream `read` gets.
    pub fn query<T>(&self, options: &QueryOptions, read: impl FnOnce(&mut dyn BatchStream) -> Result<T>) -> Result<T> {
        match self {
            Self::Text { engine, sql, parameters } if parameters.is_empty() => {
                read(engine.query(sql, options)?.as_mut())
            }
            Self::Text { engine, sql, parameters } => {
                read(engine.prepare(sql, &options.cancel)?.query(parameters, options)?.as_mut())
            }
            Self::Prepared { statement, parameters } => statement.with_session(&options.cancel, |session| {
                let mut stream = match session.query(parameters, options) {
                    Ok(stream) => Tracked { stream, has_ended: false },
                    Err(error) => {
                        let left = Session::after(&error);
                        return (Err(error), left);
                    }
                };
                let result = read(&mut stream);
                let left = if stream.has_ended { Session::Usable } else { Session::Spent };
                (result, left)
            }),
        }
    }

    /// Runs the statement as a command, and returns the number of rows changed.
    pub fn execute(&self, cancel: &CancelToken) -> Result<u64> {
        match self {
            Self::Text { engine, sql, parameters } if parameters.is_empty() => engine.execute(sql, cancel),
            Self::Text { engine, sql, parameters } => engine.prepare(sql, cancel)?.execute(parameters, cancel),
            Self::Prepared { statement, parameters } => statement.with_session(cancel, |session| {
                let result = session.execute(parameters, cancel);
                let left = result.as_ref().map_or_else(Session::after, |_| Session::Usable);
                (result, left)
            }),
        }
    }
}

/// A stream that records whether it was read to its end.
struct Tracked<'statement> {
    stream: Box<dyn BatchStream + 'statement>,
    has_ended: bool,
}

impl BatchStream for Tracked<'_> {
    fn columns(&self) -> &[Column] {
        self.stream.columns()
    }

    fn schema(&self) -> arrow_schema::SchemaRef {
        self.stream.schema()
    }

    fn next_batch(&mut self) -> Result<Option<arrow_array::RecordBatch>> {
        let batch = self.stream.next_batch()?;
        self.has_ended |= batch.is_none();
        Ok(batch)
    }

    fn is_published(&self) -> bool {
        self.stream.is_published()
    }
}
