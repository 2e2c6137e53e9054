//! The embedded engine: DuckDB in this process, through the C API of the libduckdb that an npm package brings.
//!
//! Each call has its own connection and thus its own transaction; queries and inserts run in parallel. A connection
//! costs little, so connections are not pooled: all state that a call leaves behind ends with its connection.

mod catalog;
mod column_builder;
mod ffi;
mod ingest;
mod prepared;
mod statement;
mod stream;
mod vector;
mod vector_writer;

use std::ffi::CStr;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use libduckdb_sys as duckdb;

use self::ffi::{Database, c_string};
use self::ingest::EmbeddedIngest;
use self::prepared::EmbeddedStatement;
use self::statement::{Prepared, Statements};
use self::stream::EmbeddedStream;
use boundary_bench_engine::dialect::no_transaction;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement, canonical_file,
    check_parameter_count,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The description of the engine `embedded`.
pub static EMBEDDED: Descriptor = Descriptor {
    name: "embedded",
    schemes: &["embedded"],
    sql: true,
    transports: &[],
    open: |uri| EmbeddedEngine::open(uri.split_once(':').map_or("", |(_, path)| path)),
};

/// The settings that differ from DuckDB's defaults.
const SETTINGS: [(&CStr, &CStr); 1] = [
    // No query may cause a download.
    (c"autoinstall_known_extensions", c"false"),
];

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: EMBEDDED.name, message: message.to_string() }
}

/// Runs `work`; an error after a cancellation counts as the cancellation.
fn interruptible<T>(cancel: &CancelToken, work: impl FnOnce() -> Result<T>) -> Result<T> {
    cancel.check()?;
    work().map_err(|error| if cancel.is_cancelled() { Error::Cancelled } else { error })
}

/// The engine over DuckDB, in memory or in a file. ACID; all methods may run at once.
pub struct EmbeddedEngine {
    database: Arc<Database>,
}

impl EmbeddedEngine {
    /// Opens the database file `path`, which is created if it does not exist; "" opens a new database in memory.
    /// Opening a file that is open in this process gives the same database. It is closed with the last engine, query or
    /// insert.
    ///
    /// # Errors
    /// [`Error::Engine`] when the file can't be opened or is no database, [`Error::InvalidArgument`] for a NUL in
    /// the path.
    pub fn open(path: &str) -> Result<Arc<dyn Engine>> {
        let path = if path.is_empty() { String::new() } else { absolute(path)? };
        let database = Arc::new(Database::open(&c_string(&path, "the path")?, &SETTINGS)?);
        Ok(Arc::new(Self { database }))
    }

    /// The handle of the database, for another binding of the same library. It is valid while this engine lives.
    #[must_use]
    pub fn database(&self) -> duckdb::duckdb_database {
        self.database.raw()
    }

    /// Runs a table definition command in a transaction of its own.
    fn command(&self, sql: &str) -> Result<()> {
        self.database.connect()?.run(&c_string(sql, "the definition")?)
    }
}

/// The canonical path of a database's file as a text.
fn absolute(path: &str) -> Result<String> {
    let canonical = canonical_file(Path::new(path))
        .and_then(|canonical| canonical.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned()));
    canonical.map_err(|problem| engine_error(format!("can't open \"{path}\": {problem}")))
}

impl Engine for EmbeddedEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &EMBEDDED
    }

    fn version(&self) -> String {
        ffi::library_version()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: EMBEDDED.sql, ordered: true, all_floats: true }
    }

    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let create = match mode {
            CreateMode::Create => "CREATE TABLE",
            CreateMode::Replace => "CREATE OR REPLACE TABLE",
            CreateMode::IfNotExists => "CREATE TABLE IF NOT EXISTS",
        };
        let columns = table.columns.iter().map(Column::to_sql).collect::<Vec<_>>().join(", ");
        self.command(&format!("{create} {} ({columns})", identifier(&table.name))).map_err(|error| {
            let exists = mode == CreateMode::Create
                && self
                    .database
                    .connect()
                    .and_then(|connection| catalog::exists(&connection, &table.name))
                    .unwrap_or(false);
            if exists { Error::TableExists(table.name.clone()) } else { error }
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        let connection = self.database.connect()?;
        // DuckDB reads a table's entry when the query runs which it found when it prepared it. The transaction keeps that entry; without
        // one, another connection that replaces the table between the two frees it.
        connection.run(c"BEGIN TRANSACTION")?;
        catalog::describe(&connection, name)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        catalog::table_names(&self.database.connect()?)
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        let exists = catalog::exists(&self.database.connect()?, name)?;
        if exists {
            self.command(&format!("DROP TABLE IF EXISTS {}", identifier(name)))?;
        }
        Ok(exists)
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        Ok(Box::new(EmbeddedIngest::begin(self.database.connect()?, table)?))
    }

    /// Takes one statement that reads: `SELECT`, `EXPLAIN`, `PRAGMA` or `CALL`. Its snapshot lives as long as the
    /// stream.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        Ok(Box::new(EmbeddedStream::start(self.database.connect()?, sql, options)?))
    }

    /// Several statements are one transaction, so `BEGIN`, `COMMIT` and `ROLLBACK` are refused. A single statement runs
    /// outside of a transaction where DuckDB requires that (`CHECKPOINT`). `SET SESSION` lasts for this call only.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        let connection = self.database.connect()?;
        let interrupted = connection.clone();
        let guard = cancel.on_cancel(move || interrupted.interrupt());
        let statements = Statements::parse(&connection, &c_string(sql, "the command")?)?;
        let together = statements.count() > 1;
        if together {
            connection.run(c"BEGIN TRANSACTION")?;
        }
        // After an error the transaction ends with the connection, which rolls it back.
        let mut changed = 0;
        for index in 0..statements.count() {
            changed += interruptible(cancel, || {
                let statement = statements.prepare(index)?;
                check_parameter_count(0, statement.parameter_count())?;
                run_command(&statement, cancel)
            })?;
        }
        // From here on the work is either published as a whole or not at all, which an interrupt must not disturb.
        drop(guard);
        if together {
            connection.run(c"COMMIT")?;
        }
        Ok(changed)
    }

    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        cancel.check()?;
        Ok(Box::new(EmbeddedStatement::prepare(self.database.connect()?, sql)?))
    }

    /// A database that had a fatal error refuses every statement from then on.
    fn check(&self) -> Result<()> {
        self.command("SELECT 1")
    }
}

/// Runs a statement to its end, and discards the rows that it returns.
fn run_command(statement: &Prepared, cancel: &CancelToken) -> Result<u64> {
    let kind = statement.kind();
    if kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_TRANSACTION {
        return Err(no_transaction());
    }
    let reads = kind == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT;
    let pending = statement.start(reads)?;
    // A cancellation before the start has interrupted nothing.
    cancel.check()?;
    let mut result = pending.finish()?;
    if reads {
        while result.fetch()?.is_some() {}
        return Ok(0);
    }
    Ok(result.rows_changed())
}
