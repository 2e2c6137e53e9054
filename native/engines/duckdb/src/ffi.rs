//! Owners of DuckDB's C objects, except the objects of a statement (`statement.rs`). Every object is destroyed once, after the
//! objects made from it. Every failure becomes an [`Error`] with DuckDB's own message.

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::{Arc, OnceLock};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;

use super::engine_error;
use super::library as duckdb;
use boundary_bench_kernel::{Error, Result};

/// Converts a text for DuckDB, whose strings end with NUL. `what` names it in the error.
pub(super) fn c_string(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::InvalidArgument(format!("{what} contains a NUL character")))
}

/// Copies a string that DuckDB owns. Null gives `fallback`.
pub(super) fn borrowed_text(text: *const c_char, fallback: &str) -> String {
    if text.is_null() {
        return fallback.to_owned();
    }
    // SAFETY: a non-null string of DuckDB's C API ends with NUL and outlives this call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The version of the loaded libduckdb, such as `v1.5.6`.
pub(super) fn library_version() -> String {
    // SAFETY: takes nothing and returns a static string.
    borrowed_text(unsafe { duckdb::duckdb_library_version() }, "unknown")
}

/// DuckDB's registry of open files, by which two opens of one file in a process share one database.
struct InstanceCache(duckdb::duckdb_instance_cache);

// SAFETY: DuckDB guards the cache by a mutex. The pointer itself never changes.
unsafe impl Send for InstanceCache {}
// SAFETY: as above.
unsafe impl Sync for InstanceCache {}

fn instance_cache() -> &'static InstanceCache {
    static CACHE: OnceLock<InstanceCache> = OnceLock::new();
    // SAFETY: takes nothing. The cache lives as long as the process.
    CACHE.get_or_init(|| InstanceCache(unsafe { duckdb::duckdb_create_instance_cache() }))
}

struct Config(duckdb::duckdb_config);

impl Config {
    fn new(settings: &[(CString, CString)]) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` receives the new object. `Config` owns it from here on.
        let created = unsafe { duckdb::duckdb_create_config(&raw mut raw) };
        let config = Self(raw);
        if created != duckdb::DuckDBSuccess {
            return Err(engine_error("no memory for the configuration"));
        }
        for (name, value) in settings {
            // SAFETY: the configuration lives, and both strings end with NUL.
            if unsafe { duckdb::duckdb_set_config(config.0, name.as_ptr(), value.as_ptr()) } != duckdb::DuckDBSuccess {
                return Err(Error::InvalidArgument(format!(
                    "DuckDB has no setting {} with the value {}",
                    name.to_string_lossy(),
                    value.to_string_lossy()
                )));
            }
        }
        Ok(config)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_destroy_config(&raw mut self.0) }
    }
}

/// An open database.
pub(super) struct Database(duckdb::duckdb_database);

// SAFETY: DuckDB's database object may be used from any thread, by several at once.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the file at `path`, an absolute path, or a database in memory. An empty path opens a new database, and `:memory:name` the
    /// database of that name in this process.
    pub(super) fn open(path: &CStr, settings: &[(CString, CString)]) -> Result<Self> {
        duckdb::load()?;
        let config = Config::new(settings)?;
        let mut raw = ptr::null_mut();
        let mut problem = ptr::null_mut();
        // SAFETY: all arguments live during the call. `raw` and `problem` receive what is ours to free.
        let state = unsafe {
            duckdb::duckdb_get_or_create_from_cache(
                instance_cache().0,
                path.as_ptr(),
                &raw mut raw,
                config.0,
                &raw mut problem,
            )
        };
        if state == duckdb::DuckDBSuccess {
            return Ok(Self(raw));
        }
        let message = borrowed_text(problem, "the database can't be opened");
        // SAFETY: the message was allocated for us. Null is allowed.
        unsafe { duckdb::duckdb_free(problem.cast()) };
        Err(engine_error(message))
    }

    pub(super) fn raw(&self) -> duckdb::duckdb_database {
        self.0
    }

    /// Opens a connection. It keeps the database alive.
    pub(super) fn connect(self: &Arc<Self>) -> Result<Connection> {
        let mut raw = ptr::null_mut();
        // SAFETY: the database lives. `raw` receives a connection that we own.
        if unsafe { duckdb::duckdb_connect(self.0, &raw mut raw) } != duckdb::DuckDBSuccess {
            return Err(engine_error("no connection to the database"));
        }
        Ok(Connection(Arc::new(RawConnection { raw, database: Arc::clone(self) })))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: owned by us and closed once, after its connections, because they hold it.
        unsafe { duckdb::duckdb_close(&raw mut self.0) }
    }
}

struct RawConnection {
    raw: duckdb::duckdb_connection,
    database: Arc<Database>,
}

// SAFETY: a connection has no thread of its own. DuckDB locks its context in each call.
unsafe impl Send for RawConnection {}
// SAFETY: as above. `duckdb_interrupt` may be called from another thread.
unsafe impl Sync for RawConnection {}

impl Drop for RawConnection {
    fn drop(&mut self) {
        // SAFETY: owned by us. All objects made from it hold it, so they are gone.
        unsafe { duckdb::duckdb_disconnect(&raw mut self.raw) }
    }
}

/// A connection, shared by its clones. An open transaction is rolled back with the last clone.
#[derive(Clone)]
pub(super) struct Connection(Arc<RawConnection>);

impl Connection {
    pub(super) fn raw(&self) -> duckdb::duckdb_connection {
        self.0.raw
    }

    /// Whether both are the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Another connection to the database.
    pub(super) fn sibling(&self) -> Result<Self> {
        self.0.database.connect()
    }

    /// Makes a view over an Arrow stream in the current schema.
    ///
    /// # Safety
    /// The stream lives as long as any plan that reads the view.
    pub(super) unsafe fn make_view(&self, name: &CStr, stream: *const FFI_ArrowArrayStream) -> Result<()> {
        // SAFETY: connection and name live. DuckDB copies the stream, whose release function it does not call.
        let state = unsafe { duckdb::duckdb_arrow_scan(self.raw(), name.as_ptr(), stream.cast_mut().cast()) };
        if state == duckdb::DuckDBSuccess { Ok(()) } else { Err(engine_error("no view can be made over the rows")) }
    }

    /// Stops the statement that runs on this connection, if there is one.
    pub(super) fn interrupt(&self) {
        // SAFETY: the connection lives, and this call is allowed from any thread.
        unsafe { duckdb::duckdb_interrupt(self.raw()) }
    }
}

/// A DuckDB type.
pub(super) struct LogicalType(pub(super) duckdb::duckdb_logical_type);

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_destroy_logical_type(&raw mut self.0) }
    }
}

/// A data chunk: columns of at most [`super::vector::VECTOR_ROWS`] rows.
pub(super) struct DataChunk(duckdb::duckdb_data_chunk);

// SAFETY: plain memory, used by one thread at a time.
unsafe impl Send for DataChunk {}

impl DataChunk {
    /// Takes ownership of a chunk that DuckDB made.
    pub(super) fn from_raw(raw: duckdb::duckdb_data_chunk) -> Self {
        Self(raw)
    }

    pub(super) fn new(types: &[LogicalType]) -> Self {
        let mut raw_types: Vec<_> = types.iter().map(|logical| logical.0).collect();
        // SAFETY: the types live during the call, and the call copies them.
        Self(unsafe { duckdb::duckdb_create_data_chunk(raw_types.as_mut_ptr(), raw_types.len() as u64) })
    }

    pub(super) fn rows(&self) -> usize {
        // SAFETY: the chunk lives. Its size is at most a vector's size.
        usize::try_from(unsafe { duckdb::duckdb_data_chunk_get_size(self.0) }).unwrap_or(0)
    }

    /// Empties the chunk and sets its number of rows to `rows`. These rows must then be filled.
    pub(super) fn restart(&mut self, rows: usize) {
        // SAFETY: the chunk lives, and callers ask for no more rows than a vector holds.
        unsafe {
            duckdb::duckdb_data_chunk_reset(self.0);
            duckdb::duckdb_data_chunk_set_size(self.0, rows as u64);
        }
    }

    /// The vector of the column `index`. It must be one of the chunk's columns.
    pub(super) fn vector(&self, index: usize) -> duckdb::duckdb_vector {
        // SAFETY: the chunk lives. It owns the vector.
        unsafe { duckdb::duckdb_data_chunk_get_vector(self.0, index as u64) }
    }
}

impl Drop for DataChunk {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_destroy_data_chunk(&raw mut self.0) }
    }
}

/// An appender of chunks to a table, within the connection's transaction.
pub(super) struct Appender {
    raw: duckdb::duckdb_appender,
    _connection: Connection,
}

// SAFETY: an appender has no thread of its own. It is used by one thread at a time.
unsafe impl Send for Appender {}

impl Appender {
    /// An appender to all columns of a table. The table is found in `within`, a database and a schema, or by its name alone.
    pub(super) fn new(connection: &Connection, within: Option<(&CStr, &CStr)>, table: &CStr) -> Result<Self> {
        let mut raw = ptr::null_mut();
        let (database, schema) =
            within.map_or((ptr::null(), ptr::null()), |(database, schema)| (database.as_ptr(), schema.as_ptr()));
        // SAFETY: connection and names live. `raw` receives an object that we own, also after a failure.
        let state = unsafe {
            duckdb::duckdb_appender_create_ext(connection.raw(), database, schema, table.as_ptr(), &raw mut raw)
        };
        let appender = Self { raw, _connection: connection.clone() };
        appender.check(state)?;
        Ok(appender)
    }

    /// An appender whose rows, of columns of these types, are the table `appended_data` of the command `sql`. It runs at each flush.
    pub(super) fn of_command(connection: &Connection, sql: &CStr, types: &[LogicalType]) -> Result<Self> {
        let mut raw = ptr::null_mut();
        let mut raw_types: Vec<_> = types.iter().map(|logical| logical.0).collect();
        // SAFETY: connection, text and types live, and are copied. `raw` receives an object that we own, also after a failure.
        let state = unsafe {
            duckdb::duckdb_appender_create_query(
                connection.raw(),
                sql.as_ptr(),
                raw_types.len() as u64,
                raw_types.as_mut_ptr(),
                ptr::null(),
                ptr::null_mut(),
                &raw mut raw,
            )
        };
        let appender = Self { raw, _connection: connection.clone() };
        appender.check(state)?;
        Ok(appender)
    }

    fn check(&self, state: duckdb::duckdb_state) -> Result<()> {
        if state == duckdb::DuckDBSuccess {
            return Ok(());
        }
        // SAFETY: the appender lives. The error data is ours to destroy, after its message was copied.
        let message = unsafe {
            let mut data = duckdb::duckdb_appender_error_data(self.raw);
            let message = borrowed_text(duckdb::duckdb_error_data_message(data), "the rows can't be appended");
            duckdb::duckdb_destroy_error_data(&raw mut data);
            message
        };
        Err(engine_error(message))
    }

    /// Adds a column to the appended columns, if they are not all columns of the table in its order.
    pub(super) fn add_column(&mut self, name: &CStr) -> Result<()> {
        // SAFETY: the appender and the name live.
        self.check(unsafe { duckdb::duckdb_appender_add_column(self.raw, name.as_ptr()) })
    }

    /// Appends a copy of the chunk's rows.
    pub(super) fn append(&mut self, chunk: &DataChunk) -> Result<()> {
        // SAFETY: both live. The chunk's vectors were filled for its number of rows.
        self.check(unsafe { duckdb::duckdb_append_data_chunk(self.raw, chunk.0) })
    }

    /// Writes the buffered rows to the table.
    pub(super) fn flush(&mut self) -> Result<()> {
        // SAFETY: the appender lives.
        self.check(unsafe { duckdb::duckdb_appender_flush(self.raw) })
    }

    /// Discards the buffered rows, so that destroying the appender does not write them.
    pub(super) fn clear(&mut self) {
        // SAFETY: the appender lives. A failure means that there is nothing to forget.
        unsafe { duckdb::duckdb_appender_clear(self.raw) };
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: owned by us and destroyed once.
        unsafe { duckdb::duckdb_appender_destroy(&raw mut self.raw) };
    }
}
