//! The embedded engine: DuckDB in this process, through the C API of the libduckdb that an npm package brings.
//!
//! Each call has its own connection and thus its own transaction. Queries and inserts run in parallel. A connection
//! costs little, so connections are not pooled. All state that a call leaves behind ends with its connection.
//!
//! An engine made by [`Engine::session`] does so until a call changes the state of a session, such as a temporary table. From then on,
//! its calls take turns on one connection. It keeps that state.

mod catalog;
mod column_builder;
mod database_uri;
mod ffi;
mod hidden;
mod ingest;
mod library;
mod only_statement;
mod prepared;
mod row_groups;
mod session;
mod sql;
mod statement;
mod stream;
mod text;
mod transaction;
mod types;
mod vector;
mod vector_writer;

pub use self::library::find_library_at;

use std::ffi::{CString, c_void};
use std::fmt::Display;
use std::sync::{Arc, Weak};

use self::catalog::TablePath;
use self::database_uri::DatabaseUri;
use self::ffi::{Connection, Database, c_string};
use self::hidden::{Hidden, note};
use self::ingest::{EmbeddedIngest, SessionIngest};
use self::library as duckdb;
use self::prepared::{Call, CallPlace, Connections, EmbeddedStatement};
use self::session::Session;
use self::statement::{Prepared, Statements};
use self::stream::EmbeddedStream;
use self::transaction::Transaction;
use self::vector::Vector;
use boundary_bench_engine::dialect::{no_session, no_transaction};
use boundary_bench_engine::sql_text;
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement, check_parameter_count,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The description of the engine `embedded`.
pub static EMBEDDED: Descriptor = Descriptor {
    name: "embedded",
    schemes: &["embedded"],
    sql: true,
    transports: &[],
    open: |uri| EmbeddedEngine::open_at(&DatabaseUri::of_uri(uri)?),
};

/// The settings that differ from DuckDB's defaults.
const SETTINGS: [(&str, &str); 1] = [
    // No query may cause a download.
    ("autoinstall_known_extensions", "false"),
];

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: EMBEDDED.name, message: message.to_string() }
}

/// Runs `work`. An error after a cancellation counts as the cancellation.
fn interruptible<T>(cancel: &CancelToken, work: impl FnOnce() -> Result<T>) -> Result<T> {
    cancel.check()?;
    work().map_err(|error| if cancel.is_cancelled() { Error::Cancelled } else { error })
}

/// The engine over DuckDB, in memory or in a file. ACID. All methods may run at once.
pub struct EmbeddedEngine {
    database: Arc<Database>,
    session: Option<Arc<Session>>,
    hidden: Arc<Hidden>,
    /// The place of the only call of an engine that [`Engine::in_turn`] made.
    place: Option<Arc<CallPlace>>,
}

impl EmbeddedEngine {
    /// Opens the database file `path`, and creates it if it does not exist. "" and ":memory:" open a new database in memory. ":memory:name"
    /// opens the database of that name in this process. Opening a file that is open in this process gives the same database. It is closed
    /// with the last engine, query or insert.
    pub fn open(path: &str) -> Result<Arc<dyn Engine>> {
        Self::open_at(&DatabaseUri::of_path(path)?)
    }

    fn open_at(place: &DatabaseUri) -> Result<Arc<dyn Engine>> {
        let given = place.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings: Vec<(CString, CString)> = SETTINGS
            .into_iter()
            .chain(given)
            .map(|(name, value)| Ok((c_string(name, "the setting")?, c_string(value, "the setting")?)))
            .collect::<Result<_>>()?;
        let database = Arc::new(Database::open(&c_string(&place.path, "the path")?, &settings)?);
        let hidden = Arc::new(if place.path.is_empty() { Hidden::none() } else { Hidden::default() });
        Ok(Arc::new(Self { database, session: None, hidden, place: None }))
    }

    /// The handle of the database, a `duckdb_database` of C, for another binding of the same library. It is valid while this engine lives.
    pub fn database(&self) -> *mut c_void {
        self.database.raw().cast()
    }

    fn connections(&self) -> Connections {
        Connections {
            database: Arc::clone(&self.database),
            session: self.session.clone(),
            hidden: Arc::clone(&self.hidden),
            place: self.place.as_ref().map_or_else(Weak::new, Arc::downgrade),
        }
    }

    /// The connection for a call that leaves the state of a session as it is.
    fn call(&self) -> Result<Call> {
        self.connections().call(false, &CancelToken::default())
    }

    /// Whether one of the statements may change the state of a session. An engine without a session does not ask this.
    fn begins_session(&self, statements: &[sql_text::Statement<'_>]) -> bool {
        let changes = |statement: &sql_text::Statement<'_>| {
            let changed = sql::may_change_session(statement, &|setting: &str| self.is_global(setting));
            changed || (statement.keyword == "PRAGMA" && self.pragma_changes(statement.text))
        };
        self.session.is_some() && statements.iter().any(changes)
    }

    /// Checks that no statement keeps a plan in SQL which could not be run safely once its tables are dropped, or changed.
    fn check_kept_plans(&self, statements: &[sql_text::Statement<'_>], connection: &Connection) -> Result<()> {
        if statements.iter().any(sql::keeps_statistics) {
            return Err(Error::Unsupported(
                "PREPARE of a statement that reads a table and has no parameter: DuckDB would run it by the old statistics of the table; use \
                 the connection's method prepare, which plans it again for each run"
                    .to_owned(),
            ));
        }
        let keeps = |statement| sql::keeps_catalog_entries(statement, || self.hidden.exists(connection));
        if !statements.iter().any(keeps) {
            return Ok(());
        }
        Err(Error::Unsupported(
            "PREPARE and EXECUTE of a statement that looks into the catalog, by itself or by a view or macro; use the connection's \
             method prepare, which plans it again for each run"
                .to_owned(),
        ))
    }

    /// Notes that plans of the session may depend on what a call has changed.
    fn note_change(&self, has_changed: bool) {
        if let Some(session) = self.session.as_ref().filter(|_| has_changed) {
            session.note_change();
        }
    }

    /// Checks that the effect of the statements is not gone after the call. Without a session it is gone, if they change nothing but the
    /// session.
    fn check_session(&self, statements: &[sql_text::Statement<'_>]) -> Result<()> {
        let is_gone =
            |statement: &sql_text::Statement<'_>| sql::is_session_only(statement, |setting| self.is_global(setting));
        match (&self.session, statements.first()) {
            (None, Some(first)) if statements.iter().all(is_gone) => Err(no_session(&first.keyword)),
            _ => Ok(()),
        }
    }

    fn is_global(&self, setting: &str) -> bool {
        let found = self.database.connect().and_then(|connection| catalog::is_global_setting(&connection, setting));
        found.unwrap_or(false)
    }

    /// Whether a `PRAGMA` changes a setting. One that reads is a query to DuckDB.
    fn pragma_changes(&self, text: &str) -> bool {
        let kind = || {
            let connection = self.database.connect()?;
            Ok::<_, Error>(Statements::parse(&connection, &c_string(text, "the command")?)?.prepare(0)?.kind())
        };
        kind().is_ok_and(|kind| {
            kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_PRAGMA
                || kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SET
        })
    }
}

impl Engine for EmbeddedEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &EMBEDDED
    }

    fn version(&self) -> String {
        ffi::library_version()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: EMBEDDED.sql, ordered: true, all_floats: true, some_columns: true }
    }

    fn session(&self) -> Option<Arc<dyn Engine>> {
        let session = Session::new(Arc::clone(&self.database));
        Some(Arc::new(Self {
            database: Arc::clone(&self.database),
            session: Some(session),
            hidden: Arc::clone(&self.hidden),
            place: None,
        }))
    }

    fn in_turn(&self) -> Option<Arc<dyn Engine>> {
        let ticket = self.session.as_ref()?.ticket();
        Some(Arc::new(Self {
            database: Arc::clone(&self.database),
            session: self.session.clone(),
            hidden: Arc::clone(&self.hidden),
            place: Some(Arc::new(CallPlace::new(Some(ticket)))),
        }))
    }

    fn end_session(&self) {
        if let Some(session) = &self.session {
            session.end();
        }
    }

    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let create = match mode {
            CreateMode::Create => "CREATE TABLE",
            CreateMode::Replace => "CREATE OR REPLACE TABLE",
            CreateMode::IfNotExists => "CREATE TABLE IF NOT EXISTS",
        };
        let columns = table.columns.iter().map(Column::to_sql).collect::<Vec<_>>().join(", ");
        let call = self.call()?;
        let connection = call.connection();
        let path = TablePath::find(connection, &table.name)?;
        connection.run(&c_string(&format!("{create} {} ({columns})", path.to_sql()), "the definition")?).map_err(
            |error| {
                let exists = mode == CreateMode::Create && catalog::exists(connection, &path).unwrap_or(false);
                if exists { Error::TableExists(table.name.clone()) } else { error }
            },
        )
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        let call = self.call()?;
        // When the query runs, DuckDB reads the table's entry that it found when it prepared the query. The transaction keeps that entry.
        // Without a transaction, another connection that replaces the table between the two frees it.
        let _transaction = Transaction::begin(call.connection())?;
        catalog::describe(call.connection(), name)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        catalog::table_names(self.call()?.connection())
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        let call = self.call()?;
        let path = TablePath::find(call.connection(), name)?;
        let exists = catalog::exists(call.connection(), &path)?;
        if exists {
            call.connection()
                .run(&c_string(&format!("DROP TABLE IF EXISTS {}", path.to_sql()), "the table's name")?)?;
        }
        Ok(exists)
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        let own = self.database.connect()?;
        let cancel = CancelToken::default();
        match (self.connections().ticket(), &self.session) {
            (Some(ticket), Some(session)) if ticket.finds_session(&cancel)? => {
                Ok(Box::new(SessionIngest::begin(session, ticket.turn(&cancel)?.connection(), &own, table)?))
            }
            // Later calls wait until the table is found: they may give its name to another one.
            (_ticket, _) => Ok(Box::new(EmbeddedIngest::begin(&own, table, |own| TablePath::find(own, &table.name))?)),
        }
    }

    /// Takes one statement that returns rows: `SELECT`, `EXPLAIN`, `PRAGMA`, `CALL`, or one that changes rows and returns them. The
    /// snapshot of a query lives as long as the stream.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        let written = sql::statements(sql);
        let begins_session = self.begins_session(&written);
        let call = self.connections().call(begins_session, &options.cancel)?;
        self.check_kept_plans(&written, call.connection())?;
        self.note_change(begins_session);
        let stream = EmbeddedStream::start(
            call.connection().clone(),
            sql,
            |connection| self.hidden.exists(connection),
            options,
        )?;
        Ok(call.rows(stream))
    }

    /// Several statements are one transaction, so `BEGIN`, `COMMIT` and `ROLLBACK` are refused. A single statement runs
    /// outside of a transaction if DuckDB requires that (`CHECKPOINT`).
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        let written = sql::statements(sql);
        if written.iter().any(sql::is_transaction) {
            return Err(no_transaction());
        }
        self.check_session(&written)?;
        let begins_session = self.begins_session(&written);
        let call = self.connections().call(begins_session, cancel)?;
        self.check_kept_plans(&written, call.connection())?;
        // A failure need not undo what a command has set.
        self.note_change(begins_session || written.iter().any(sql::may_change_plans));
        let connection = call.connection();
        let interrupted = connection.clone();
        let guard = cancel.on_cancel(move || interrupted.interrupt());
        let statements = Statements::parse(connection, &c_string(sql, "the command")?)?;
        let transaction = (statements.count() > 1).then(|| Transaction::begin(connection)).transpose()?;
        let mut changed = 0;
        for index in 0..statements.count() {
            // Of a PIVOT DuckDB makes several statements, and its text does not matter.
            let text =
                usize::try_from(index).ok().and_then(|index| written.get(index)).map_or("", |written| written.text);
            changed += interruptible(cancel, || {
                let statement = statements.prepare(index)?;
                // DuckDB turns one statement into several, and puts these between `BEGIN` and `COMMIT`. There is a transaction here
                // already.
                if statement.is_transaction() {
                    return Ok(0);
                }
                check_parameter_count(0, statement.parameter_count())?;
                run_command(&statement, text, cancel)
            })?;
        }
        // From here on the work is either published as a whole or not at all. An interrupt must not disturb that.
        drop(guard);
        transaction.map_or(Ok(()), Transaction::commit)?;
        written.iter().filter_map(sql::hides_catalog_entries).for_each(note);
        Ok(changed)
    }

    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        cancel.check()?;
        let written = sql::statements(sql);
        self.check_session(&written)?;
        let begins_session = self.begins_session(&written);
        let check = |connection: &Connection| self.check_kept_plans(&written, connection);
        Ok(Box::new(EmbeddedStatement::prepare(self.connections(), sql, begins_session, check, cancel)?))
    }

    /// A database that had a fatal error refuses every statement from then on.
    fn check(&self) -> Result<()> {
        self.database.connect()?.run(c"SELECT 1")
    }
}

/// Runs a statement of this text to its end, and returns the number of rows that it changed or, for `CREATE TABLE ... AS`, stored.
/// Rows that the statement returns are discarded.
fn run_command(statement: &Prepared, text: &str, cancel: &CancelToken) -> Result<u64> {
    let kind = statement.kind();
    if statement.is_transaction() {
        return Err(no_transaction());
    }
    let streams = kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT;
    let mut result = statement.run(streams, cancel)?;
    let executes = || {
        let executes = kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXECUTE;
        Ok(executes && catalog::executes_returning(statement.connection(), text)?)
    };
    let returns_changed = result.returns_rows() && (statement.changes_rows() || executes()?);
    if returns_changed || streams {
        let mut rows = 0;
        while let Some(chunk) = result.fetch()? {
            rows += chunk.rows() as u64;
        }
        return Ok(if returns_changed { rows } else { 0 });
    }
    if kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CREATE {
        let Some(chunk) = result.fetch()? else { return Ok(0) };
        // SAFETY: the only column of such a result is a BIGINT, the number of rows.
        let counts = unsafe { Vector::of(&chunk, 0).values::<i64>() };
        return Ok(counts.first().map_or(0, |count| count.unsigned_abs()));
    }
    Ok(result.rows_changed())
}
