//! Owners of a statement's C objects, from its text to its result.

use std::ffi::CStr;
use std::ptr;

use super::engine_error;
use super::ffi::{Connection, DataChunk, LogicalType, borrowed_text};
use super::library as duckdb;
use super::vector::logical_type;
use boundary_bench_engine::table::SqlType;
use boundary_bench_engine::{Value, unusable_parameter};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

impl Connection {
    /// Runs an internal command, such as `BEGIN`.
    pub(super) fn run(&self, sql: &CStr) -> Result<()> {
        let mut result = QueryResult::empty(self);
        // SAFETY: connection and text live. The result is destroyed by its owner, also after a failure.
        let state = unsafe { duckdb::duckdb_query(self.raw(), sql.as_ptr(), &raw mut result.raw) };
        if state == duckdb::DuckDBSuccess { Ok(()) } else { Err(result.error()) }
    }
}

/// The parsed statements of a text.
pub(super) struct Statements {
    raw: duckdb::duckdb_extracted_statements,
    count: u64,
    connection: Connection,
}

impl Statements {
    pub(super) fn parse(connection: &Connection, sql: &CStr) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: connection and text live. `raw` receives an object that we own, also after a failure.
        let count = unsafe { duckdb::duckdb_extract_statements(connection.raw(), sql.as_ptr(), &raw mut raw) };
        let statements = Self { raw, count, connection: connection.clone() };
        if count == 0 {
            // SAFETY: the object lives. The message is null when the text merely holds no statement.
            let problem = unsafe { duckdb::duckdb_extract_statements_error(raw) };
            if !problem.is_null() {
                return Err(engine_error(borrowed_text(problem, "")));
            }
        }
        Ok(statements)
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Prepares the statement `index`. It must be less than the count. DuckDB takes the statement: a second call fails.
    pub(super) fn prepare(&self, index: u64) -> Result<Prepared> {
        let mut raw = ptr::null_mut();
        // SAFETY: connection and statements live. `raw` receives an object that we own, also after a failure.
        let state =
            unsafe { duckdb::duckdb_prepare_extracted_statement(self.connection.raw(), self.raw, index, &raw mut raw) };
        let prepared = Prepared { raw, connection: self.connection.clone() };
        if state == duckdb::DuckDBSuccess {
            return Ok(prepared);
        }
        // SAFETY: the object lives and owns the message.
        let problem = unsafe { duckdb::duckdb_prepare_error(raw) };
        Err(engine_error(borrowed_text(problem, "the statement can't be prepared")))
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_destroy_extracted(&raw mut self.raw) }
    }
}

/// A prepared statement.
pub(super) struct Prepared {
    raw: duckdb::duckdb_prepared_statement,
    connection: Connection,
}

// SAFETY: a statement has no thread of its own. It is used by one thread at a time.
unsafe impl Send for Prepared {}

impl Prepared {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn kind(&self) -> duckdb::duckdb_statement_type {
        // SAFETY: the statement lives.
        unsafe { duckdb::duckdb_prepared_statement_type(self.raw) }
    }

    /// Whether the statement returns rows and changes nothing, but for what an `EXPLAIN ANALYZE` runs.
    pub(super) fn reads(&self) -> bool {
        matches!(
            self.kind(),
            duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXPLAIN
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_PRAGMA
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CALL
        )
    }

    /// Whether the statement changes rows. It may return them.
    pub(super) fn changes_rows(&self) -> bool {
        matches!(
            self.kind(),
            duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_INSERT
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_UPDATE
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_DELETE
                | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_MERGE_INTO
        )
    }

    pub(super) fn is_transaction(&self) -> bool {
        self.kind() == duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_TRANSACTION
    }

    /// The number of parameters, or the highest parameter number if numbers are left out.
    pub(super) fn parameter_count(&self) -> usize {
        // SAFETY: the statement lives. There are fewer parameters than bytes in its text.
        usize::try_from(unsafe { duckdb::duckdb_nparams(self.raw) }).unwrap_or(usize::MAX)
    }

    /// The name of the parameter `position`, counted from 1. It is a number or a name. `None` if the text leaves the number out.
    pub(super) fn parameter_name(&self, position: usize) -> Option<String> {
        // SAFETY: the statement lives. A name, if there is one, was allocated for us.
        unsafe {
            let name = duckdb::duckdb_parameter_name(self.raw, position as u64);
            let copy = (!name.is_null()).then(|| borrowed_text(name, ""));
            duckdb::duckdb_free(name.cast_mut().cast());
            copy
        }
    }

    /// The type of the parameter `position`, from 1, if it is known.
    pub(super) fn parameter_type(&self, position: usize) -> Option<LogicalType> {
        // SAFETY: the statement lives. A type, if there is one, is ours.
        let raw = unsafe { duckdb::duckdb_param_logical_type(self.raw, position as u64) };
        (!raw.is_null()).then_some(LogicalType(raw))
    }

    /// The name and type of each result column, as far as they are known. A command has a column for the number of rows changed.
    pub(super) fn columns(&self) -> Vec<(String, LogicalType)> {
        // SAFETY: the statement lives. The names were allocated for us, and the types are ours.
        unsafe {
            (0..duckdb::duckdb_prepared_statement_column_count(self.raw))
                .map(|index| {
                    let name = duckdb::duckdb_prepared_statement_column_name(self.raw, index);
                    let copy = borrowed_text(name, "");
                    duckdb::duckdb_free(name.cast_mut().cast());
                    (copy, LogicalType(duckdb::duckdb_prepared_statement_column_logical_type(self.raw, index)))
                })
                .collect()
        }
    }

    /// Binds a copy of the value to the parameter `position`, from 1.
    pub(super) fn bind(&self, position: usize, value: &Value) -> Result<()> {
        let index = position as u64;
        // SAFETY: the statement lives, and DuckDB copies the text or bytes during the call.
        let state = unsafe {
            match value {
                Value::Null => duckdb::duckdb_bind_null(self.raw, index),
                Value::NullOf(sql_type) => {
                    let mut null = null_of(*sql_type);
                    let state = duckdb::duckdb_bind_value(self.raw, index, null);
                    duckdb::duckdb_destroy_value(&raw mut null);
                    state
                }
                Value::Bool(value) => duckdb::duckdb_bind_boolean(self.raw, index, *value),
                Value::SmallInt(value) => duckdb::duckdb_bind_int16(self.raw, index, *value),
                Value::Int32(value) => duckdb::duckdb_bind_int32(self.raw, index, *value),
                Value::Int(value) => duckdb::duckdb_bind_int64(self.raw, index, *value),
                Value::Real(value) => duckdb::duckdb_bind_float(self.raw, index, *value),
                Value::Double(value) => duckdb::duckdb_bind_double(self.raw, index, *value),
                Value::Decimal { value, precision, scale } => {
                    duckdb::duckdb_bind_decimal(self.raw, index, decimal(*value, *precision, *scale))
                }
                Value::Text(text) => {
                    duckdb::duckdb_bind_varchar_length(self.raw, index, text.as_ptr().cast(), text.len() as u64)
                }
                Value::Bytes(bytes) => {
                    duckdb::duckdb_bind_blob(self.raw, index, bytes.as_ptr().cast(), bytes.len() as u64)
                }
                Value::Date(days) => duckdb::duckdb_bind_date(self.raw, index, duckdb::duckdb_date { days: *days }),
                // A TIMESTAMP would be taken for the local time of the session's time zone.
                Value::Timestamp(micros) if self.is_zoned(index) => {
                    duckdb::duckdb_bind_timestamp_tz(self.raw, index, duckdb::duckdb_timestamp { micros: *micros })
                }
                Value::Timestamp(micros) => {
                    duckdb::duckdb_bind_timestamp(self.raw, index, duckdb::duckdb_timestamp { micros: *micros })
                }
            }
        };
        if state == duckdb::DuckDBSuccess {
            return Ok(());
        }
        // SAFETY: the object lives and owns the message.
        let problem = unsafe { duckdb::duckdb_prepare_error(self.raw) };
        Err(unusable_parameter(position, borrowed_text(problem, "the value can't be used")))
    }

    /// Whether the statement takes a `TIMESTAMPTZ` for the parameter.
    fn is_zoned(&self, index: u64) -> bool {
        // SAFETY: the statement lives.
        let taken = unsafe { duckdb::duckdb_param_type(self.raw, index) };
        taken == duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ
    }

    /// Runs the statement to its end or, if it streams, to its first rows. An interrupt before its start is lost. So a token that is
    /// cancelled by then interrupts here, and the caller's hook interrupts from then on.
    ///
    /// A statement that was started always runs to its end, which may be the interrupt. If the pending result of DuckDB 1.5.6 is destroyed
    /// before, its tasks keep the database open, with the lock on its file, after the last connection is closed.
    pub(super) fn run(&self, streaming: bool, cancel: &CancelToken) -> Result<QueryResult> {
        let mut pending = Pending(ptr::null_mut());
        // SAFETY: the statement lives. `pending` receives an object that it owns, also after a failure.
        let state = unsafe {
            if streaming {
                duckdb::duckdb_pending_prepared_streaming(self.raw, &raw mut pending.0)
            } else {
                duckdb::duckdb_pending_prepared(self.raw, &raw mut pending.0)
            }
        };
        if state != duckdb::DuckDBSuccess {
            return Err(pending.error());
        }
        if cancel.is_cancelled() {
            self.connection.interrupt();
        }
        let mut result = QueryResult::empty(&self.connection);
        // SAFETY: the pending result lives. The result is destroyed by its owner, also after a failure.
        let state = unsafe { duckdb::duckdb_execute_pending(pending.0, &raw mut result.raw) };
        if state == duckdb::DuckDBSuccess { Ok(result) } else { Err(result.error()) }
    }
}

/// A `NULL` of a type, to be destroyed by the caller. The C API makes it as the only element of a list alone.
fn null_of(sql_type: SqlType) -> duckdb::duckdb_value {
    let logical = logical_type(sql_type);
    // SAFETY: the type lives. The values are ours, and are destroyed after they were copied.
    unsafe {
        let mut untyped = duckdb::duckdb_create_null_value();
        let mut list = duckdb::duckdb_create_list_value(logical.0, &raw mut untyped, 1);
        let null = duckdb::duckdb_get_list_child(list, 0);
        duckdb::duckdb_destroy_value(&raw mut list);
        duckdb::duckdb_destroy_value(&raw mut untyped);
        null
    }
}

fn decimal(value: i128, width: u8, scale: u8) -> duckdb::duckdb_decimal {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the two halves of 128 bits")]
    let value = duckdb::duckdb_hugeint { lower: value as u64, upper: (value >> 64) as i64 };
    duckdb::duckdb_decimal { width, scale, value }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once. A result made from it doesn't need it any more.
        unsafe { duckdb::duckdb_destroy_prepare(&raw mut self.raw) }
    }
}

/// A statement that was started. DuckDB's threads run it already.
struct Pending(duckdb::duckdb_pending_result);

impl Pending {
    fn error(&self) -> Error {
        // SAFETY: the pending result lives and owns the message.
        let problem = unsafe { duckdb::duckdb_pending_error(self.0) };
        engine_error(borrowed_text(problem, "the statement can't be started"))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_destroy_pending(&raw mut self.0) }
    }
}

/// The result of a statement. The statement may still be running.
pub(super) struct QueryResult {
    raw: duckdb::duckdb_result,
    _connection: Connection,
}

// SAFETY: a result has no thread of its own. It is used by one thread at a time.
unsafe impl Send for QueryResult {}

impl QueryResult {
    fn empty(connection: &Connection) -> Self {
        // SAFETY: a plain C structure, for which all zeros is the empty state.
        Self { raw: unsafe { std::mem::zeroed() }, _connection: connection.clone() }
    }

    fn error_text(&mut self) -> Option<String> {
        // SAFETY: the result lives and owns the message.
        let problem = unsafe { duckdb::duckdb_result_error(&raw mut self.raw) };
        (!problem.is_null()).then(|| borrowed_text(problem, ""))
    }

    fn error(&mut self) -> Error {
        engine_error(self.error_text().unwrap_or_else(|| "the statement failed".to_owned()))
    }

    /// The name and type of each column.
    pub(super) fn columns(&mut self) -> Vec<(String, LogicalType)> {
        // SAFETY: the result lives and owns the names. The types are ours.
        unsafe {
            (0..duckdb::duckdb_column_count(&raw mut self.raw))
                .map(|index| {
                    let name = borrowed_text(duckdb::duckdb_column_name(&raw mut self.raw, index), "");
                    (name, LogicalType(duckdb::duckdb_column_logical_type(&raw mut self.raw, index)))
                })
                .collect()
        }
    }

    /// Whether the statement returned rows, and not only their number.
    pub(super) fn returns_rows(&self) -> bool {
        // SAFETY: the result lives. The structure is passed by value, as the C API wants it.
        let returned = unsafe { duckdb::duckdb_result_return_type(self.raw) };
        returned == duckdb::duckdb_result_type_DUCKDB_RESULT_TYPE_QUERY_RESULT
    }

    pub(super) fn rows_changed(&mut self) -> u64 {
        // SAFETY: the result lives.
        unsafe { duckdb::duckdb_rows_changed(&raw mut self.raw) }
    }

    /// The next rows, or `None` at the end.
    pub(super) fn fetch(&mut self) -> Result<Option<DataChunk>> {
        // SAFETY: the result lives. The structure is passed by value, as the C API wants it. The chunk is ours.
        let raw = unsafe { duckdb::duckdb_fetch_chunk(self.raw) };
        if !raw.is_null() {
            return Ok(Some(DataChunk::from_raw(raw)));
        }
        self.error_text().map_or(Ok(None), |message| Err(engine_error(reason_of(&message))))
    }
}

/// Why a stream failed, by the message of its result. If a thread of DuckDB fails between two fetches, DuckDB 1.5 hides the reason: behind
/// a complaint about the fetch if the rows have an order, and entirely if they have none (`StreamQueryResult::CheckExecutableInternal` and
/// `SimpleBufferedData::ExecuteTaskInternal` of its source).
fn reason_of(message: &str) -> &str {
    const COMPLAINT: &str = "Attempting to execute an unsuccessful or closed pending query result\nError: ";
    let reason = message.split_once(COMPLAINT).map_or(message, |(_, reason)| reason);
    if reason.starts_with("INTERRUPT Error: ") {
        return "a thread of DuckDB failed, and DuckDB lost the reason: run the query again after \"SET GLOBAL threads = 1\" to see it";
    }
    reason
}

impl Drop for QueryResult {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once. Zeros are allowed.
        unsafe { duckdb::duckdb_destroy_result(&raw mut self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use boundary_bench_kernel::testing::Folder;

    use super::super::ffi::{Database, c_string};
    use super::*;

    #[test]
    fn an_interrupt_that_nobody_asked_for_says_that_the_reason_is_lost() {
        let connection = Arc::new(Database::open(c":memory:", &[]).unwrap()).connect().unwrap();
        let sql = c_string("SELECT * FROM range(1000000)", "a query").unwrap();
        let statement = Statements::parse(&connection, &sql).unwrap().prepare(0).unwrap();
        let mut result = statement.run(true, &CancelToken::default()).unwrap();
        // As a thread of DuckDB does when it fails.
        connection.interrupt();
        let error = loop {
            match result.fetch() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the error was lost"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("lost the reason"), "{error}");
    }

    #[test]
    fn a_statement_that_is_cancelled_at_its_start_lets_its_file_go() {
        let cancelled = CancelToken::default();
        cancelled.cancel();
        let usual = CancelToken::default();
        // The command and the queries run for minutes if they are not cancelled. The result of the last one is left after its first rows.
        for (sql, streaming, cancel) in [
            ("INSERT INTO t SELECT range FROM range(100000000000)", false, &cancelled),
            ("SELECT count(*) FROM range(100000000000) WHERE hash(range) = 42", false, &cancelled),
            ("SELECT count(*) FROM range(100000000000) WHERE hash(range) = 42", true, &cancelled),
            ("SELECT range FROM range(100000000000)", true, &usual),
        ] {
            let folder = Folder::new("cancelled");
            let path = c_string(folder.file("db").to_str().unwrap(), "a path").unwrap();
            let (ended, end) = mpsc::channel();
            let theirs = cancel.clone();
            std::thread::spawn(move || {
                let connection = Arc::new(Database::open(&path, &[]).unwrap()).connect().unwrap();
                connection.run(c"CREATE TABLE t (a BIGINT)").unwrap();
                let statements = Statements::parse(&connection, &c_string(sql, "a statement").unwrap()).unwrap();
                let result = statements.prepare(0).unwrap().run(streaming, &theirs);
                let is_running = result.and_then(|mut result| result.fetch()).is_ok_and(|rows| rows.is_some());
                drop(statements);
                drop(connection);
                // Waits for ever for a database whose closing has not ended.
                drop(Database::open(&path, &[]).unwrap());
                ended.send(is_running).unwrap();
            });
            assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(!cancel.is_cancelled()), "{sql}");
        }
    }
}
