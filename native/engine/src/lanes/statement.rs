//! Statements with their parameters, on their way into an engine: once, or prepared and run by many callers at a time.

use std::sync::{Arc, Mutex, PoisonError};

use crate::table::{Column, SqlType};
use crate::{BatchStream, Engine, QueryOptions, Statement, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// Sessions of a prepared statement that are kept for the next callers.
const KEPT_SESSIONS: usize = 4;

/// A statement that was prepared, for many callers at once: who finds all its sessions in use has another prepared.
pub struct PreparedStatement {
    parameters: Vec<Option<SqlType>>,
    columns: Option<Vec<Column>>,
    state: Mutex<Option<Open>>,
}

/// What a prepared statement holds until it is closed.
struct Open {
    engine: Arc<dyn Engine>,
    sql: Arc<str>,
    idle: Vec<Box<dyn Statement>>,
}

impl PreparedStatement {
    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Engine::prepare`].
    pub fn prepare(engine: Arc<dyn Engine>, sql: &str, cancel: &CancelToken) -> Result<Self> {
        let first = engine.prepare(sql, cancel)?;
        Ok(Self {
            parameters: first.parameters().to_vec(),
            columns: first.columns().map(<[Column]>::to_vec),
            state: Mutex::new(Some(Open { engine, sql: sql.into(), idle: vec![first] })),
        })
    }

    /// See [`Statement::parameters`].
    #[must_use]
    pub fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    /// See [`Statement::columns`].
    #[must_use]
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    /// Lets go of the engine; does nothing the second time. What runs goes on to its end.
    pub fn close(&self) {
        let open = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Behind the lock: ending the sessions may take the engine a while.
        drop(open);
    }

    /// Runs `work` on a session that nobody else uses meanwhile.
    fn with_session<T>(
        &self,
        cancel: &CancelToken,
        work: impl FnOnce(&mut dyn Statement) -> (Result<T>, Session),
    ) -> Result<T> {
        let (idle, engine, sql) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let open = state.as_mut().ok_or(Error::Closed("the prepared statement"))?;
            (open.idle.pop(), Arc::clone(&open.engine), Arc::clone(&open.sql))
        };
        let mut session = match idle {
            Some(session) => session,
            None => engine.prepare(&sql, cancel)?,
        };
        let (result, left) = work(session.as_mut());
        if left == Session::Usable
            && let Some(open) = self.state.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
            && open.idle.len() < KEPT_SESSIONS
        {
            open.idle.push(session);
        }
        result
    }
}

/// What is left of a session after its use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    Usable,
    Spent,
}

impl Session {
    /// What an error in starting the statement leaves: a refusal of its parameters comes before anything was done.
    fn after(error: &Error) -> Self {
        if matches!(error, Error::InvalidArgument(_)) { Self::Usable } else { Self::Spent }
    }
}

/// A statement with its parameters, ready to run.
pub enum BoundStatement {
    /// A text; with parameters it is prepared for this one run.
    Text {
        /// Where it runs.
        engine: Arc<dyn Engine>,
        /// One statement or, as a command without parameters, several.
        sql: String,
        /// For `$1`, `$2`, ...
        parameters: Vec<Value>,
    },
    /// A prepared statement.
    Prepared {
        /// The statement.
        statement: Arc<PreparedStatement>,
        /// For `$1`, `$2`, ...
        parameters: Vec<Value>,
    },
}

impl BoundStatement {
    /// Runs it as a query, whose rows `read` takes.
    ///
    /// # Errors
    /// As [`Statement::query`], [`Error::Closed`], and what `read` returns.
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

    /// Runs it as a command; returns the number of rows changed.
    ///
    /// # Errors
    /// As [`Statement::execute`], and [`Error::Closed`].
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

/// A stream that remembers whether it was read to its end.
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
}
