//! Engines hold the rows. An engine is one implementation of [`Engine`]. Every lane is written over it.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::table::{Column, SqlType, TableDefinition};
use crate::value::Value;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The default number of rows of a batch: large enough that the cost of one crossing does not show.
pub const DEFAULT_BATCH_ROWS: usize = 65_536;

/// The most bytes of a batch's values of fixed width, unless more rows than [`DEFAULT_BATCH_ROWS`] are asked for.
const DEFAULT_BATCH_BYTES: usize = 64 << 20;

/// The most texts and byte strings of a batch in which a column has them, if [`DEFAULT_BATCH_ROWS`] are asked for. The strings that
/// JavaScript makes of one batch live together: with more of them, its garbage collector copies them.
const DEFAULT_BATCH_TEXTS: usize = 16_384;

/// The fewest rows to which texts limit a batch.
const FEWEST_TEXT_ROWS: usize = 2_048;

/// The most bytes of a batch's values of fixed width: half of a frame.
const MOST_BATCH_BYTES: usize = 1 << 30;

/// The behaviour of [`Engine::create_table`] if the table exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// Fail with [`Error::TableExists`].
    Create,
    /// Drop the existing table with its rows, then create the new one.
    Replace,
    /// Leave the table as it is, with any columns.
    IfNotExists,
}

/// The options of a query.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// The most rows of a batch. Every batch but the last is filled as far as the engine can. Rows of very many columns make smaller
    /// batches, and so do rows with texts if this is [`DEFAULT_BATCH_ROWS`].
    pub batch_rows: usize,
    /// The token that cancels the query from any thread.
    pub cancel: CancelToken,
}

impl QueryOptions {
    /// The most rows of a batch with these columns: as many as were asked for, or fewer if these would take too much memory.
    pub fn rows_per_batch(&self, columns: &[Column]) -> usize {
        let bytes = if self.batch_rows > DEFAULT_BATCH_ROWS { MOST_BATCH_BYTES } else { DEFAULT_BATCH_BYTES };
        let row_bytes: usize = columns.iter().filter_map(|column| column.sql_type.fixed_width()).sum();
        let texts = columns.iter().filter(|column| column.sql_type.fixed_width().is_none()).count();
        let most = match texts {
            1.. if self.batch_rows == DEFAULT_BATCH_ROWS => (DEFAULT_BATCH_TEXTS / texts).max(FEWEST_TEXT_ROWS),
            _ => self.batch_rows,
        };
        most.min(bytes / row_bytes.max(1)).max(1)
    }
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { batch_rows: DEFAULT_BATCH_ROWS, cancel: CancelToken::default() }
    }
}

/// The canonical path of a database's file, so that all ways to write it open one database. The file need not exist.
///
/// # Errors
/// The problem of a path that can't be a file's.
pub fn canonical_file(path: &Path) -> std::result::Result<PathBuf, String> {
    let canonical = if path.exists() {
        path.canonicalize()
    } else {
        let name = path.file_name().ok_or("it names no file")?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().map(|folder| folder.join(name))
    };
    let canonical = canonical.map_err(|error| error.to_string())?;
    if canonical.is_dir() { Err("it is a directory".to_owned()) } else { Ok(canonical) }
}

/// The error for a query whose statement returns no rows.
pub fn not_a_query() -> Error {
    Error::Unsupported("a query only reads; run statements that change something by execute".to_owned())
}

/// The capabilities of an engine beyond ingesting and scanning whole tables. Differences between engines are expressed
/// by these flags, never by an engine's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is independent of the others")]
pub struct Capabilities {
    /// Whether the engine runs SQL: filters, aggregations, commands. Without it only `SELECT <columns> FROM <table>`
    /// works.
    pub sql: bool,
    /// Whether a scan without `ORDER BY` returns the rows in the order of their insertion.
    pub ordered: bool,
    /// Whether every floating-point value is kept exactly: NaN, the infinities, and the sign of zero.
    pub all_floats: bool,
    /// Whether the definition that an insert is begun with may name some of the table's columns, in any order. The others get
    /// their defaults.
    pub some_columns: bool,
}

/// The description of an engine. The entry of its name in `bench/matrix.json` adds what is measured of it.
#[derive(Debug)]
pub struct Descriptor {
    /// The name of the engine, as the matrix and the result files write it.
    pub name: &'static str,
    /// The schemes of the engine's URIs.
    pub schemes: &'static [&'static str],
    /// Whether the engine runs SQL. See [`Capabilities::sql`].
    pub sql: bool,
    /// The transports to the engine's server, the default one first. Empty if there is no choice.
    pub transports: &'static [&'static str],
    /// Opens the engine of a URI with one of the schemes.
    pub open: fn(&str) -> Result<Arc<dyn Engine>>,
}

/// An engine that holds rows. All methods may be called from several threads at once. Each call is a transaction of its
/// own. An engine can be downcast to its own type. That type may tell more, such as the address of its server.
pub trait Engine: Any + Send + Sync {
    /// The description of the engine.
    fn descriptor(&self) -> &'static Descriptor;

    /// The name of the engine, as the result files write it.
    fn name(&self) -> &'static str {
        self.descriptor().name
    }

    /// The version of the software that holds the rows.
    fn version(&self) -> String;

    /// The capabilities of the engine.
    fn capabilities(&self) -> Capabilities;

    /// The transport to the engine's server, one of [`Descriptor::transports`], or `None` if there is no choice.
    fn transport(&self) -> Option<&'static str> {
        None
    }

    /// The URI by which other processes open the same engine, for as long as it is open here, or `None` if they can't.
    fn address(&self) -> Option<String> {
        None
    }

    /// Whether an insert takes a batch in less time than it takes to wake a thread, and commits and aborts as fast. It is then
    /// driven by its caller. Otherwise a thread of its own drives it, so that the caller makes the next batch meanwhile.
    fn takes_batches_at_once(&self) -> bool {
        false
    }

    /// An item of `FROM` whose only column `i` counts through a range, as a BIGINT. It is for tables that the engine fills by
    /// itself, if it takes no rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an engine that takes rows, and the errors of [`Engine::query`].
    fn numbers(&self, range: Range<u64>) -> Result<String> {
        Err(Error::Unsupported(format!(
            "the engine {} makes no rows from {} to {}",
            self.name(),
            range.start,
            range.end
        )))
    }

    /// An engine over the same rows whose calls share a session of their own. Later calls see what one call sets, such as temporary tables
    /// and settings. `None` if each call has a session of its own. The engine then refuses commands that change nothing but the session.
    fn session(&self) -> Option<Arc<dyn Engine>> {
        None
    }

    /// The same engine for one call. The call's place in the order of the session's calls is taken now, on whichever thread it will run.
    /// The call is one of [`Engine::query`], [`Engine::execute`], [`Engine::ingest`], or [`Engine::prepare`] with the first run of the
    /// statement. Later calls wait until it has begun or is dropped. `None` if calls have no order.
    fn in_turn(&self) -> Option<Arc<dyn Engine>> {
        None
    }

    /// Ends the session of an engine that [`Engine::session`] made, so that the next call begins a new one. Work under way goes on.
    fn end_session(&self) {}

    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unusable definition, [`Error::TableExists`] in [`CreateMode::Create`].
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()>;

    /// The definition of a table.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] for an unknown table.
    fn describe_table(&self, name: &str) -> Result<TableDefinition>;

    /// The names of all tables, sorted.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    fn list_tables(&self) -> Result<Vec<String>>;

    /// Drops a table. Returns `false` if there was none.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    fn drop_table(&self, name: &str) -> Result<bool>;

    /// Begins an insert into the table that `table.name` means now. If another table gets that name later, the rows don't go there. The
    /// table must have the columns of `table`, and no others unless the engine has [`Capabilities::some_columns`].
    ///
    /// # Errors
    /// [`Error::TableNotFound`] for an unknown table, [`Error::SchemaMismatch`] for other columns.
    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>>;

    /// Runs one query, or one statement that changes rows and returns them (`RETURNING`) if the engine has such statements. The batches are
    /// produced on demand, so a large result need not fit in memory. Columns that share a name get a suffix (`_1`, `_2`, ...), so that names
    /// are unique.
    ///
    /// # Errors
    /// [`Error::Engine`] with the engine's own message, [`Error::Unsupported`], [`Error::Cancelled`].
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>>;

    /// Runs commands and commits them together, and returns the number of rows changed. Rows that they return are counted and dropped.
    ///
    /// # Errors
    /// The errors of [`Engine::query`]. Nothing is done then.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64>;

    /// Prepares one statement, whose parameters are written `$1`, `$2`, ...
    ///
    /// # Errors
    /// The errors of [`Engine::query`]. [`Error::Unsupported`] if the engine has no parameters. [`Error::InvalidArgument`]
    /// for several statements, and for parameters that have names or leave out a number.
    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        let _ = (sql, cancel);
        Err(Error::Unsupported(format!("the engine {} takes no parameters and prepares no statements", self.name())))
    }

    /// Checks that the engine still answers.
    ///
    /// # Errors
    /// [`Error::Engine`] when it never will again, such as an engine whose server is gone.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// A statement prepared once and run often, by one caller at a time: a stream of its rows borrows it. Parameters are
/// matched by position. After an error other than [`Error::InvalidArgument`], and after a stream that was dropped before
/// its end, the statement must not be used again.
pub trait Statement: Send {
    /// The types of the parameters, `None` if a type is open until there is a value.
    fn parameters(&self) -> &[Option<SqlType>];

    /// The columns of the rows, none for a command, or `None` if they are not known before the statement runs.
    fn columns(&self) -> Option<&[Column]> {
        None
    }

    /// Gives the next run the place of `in_turn`, a result of [`Engine::in_turn`] of the statement's engine.
    fn take_place(&mut self, in_turn: &dyn Engine) {
        let _ = in_turn;
    }

    /// Runs the statement as a query. See [`Engine::query`].
    ///
    /// # Errors
    /// The errors of [`Engine::query`]. [`Error::InvalidArgument`] for a parameter that is missing, too many or of a wrong type.
    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>>;

    /// Runs the statement as a command, in a transaction of its own, and returns the number of rows changed.
    ///
    /// # Errors
    /// The errors of [`Statement::query`]. Nothing is done then.
    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64>;
}

/// An insert in progress. Its rows can't be seen before [`Ingest::commit`]. If it is dropped without that, it leaves nothing.
pub trait Ingest: Send {
    /// Appends a batch, whose schema must be the table's ([`TableDefinition::to_arrow`], nullability apart).
    ///
    /// # Errors
    /// [`Error::SchemaMismatch`], [`Error::InvalidValue`] for a null in a NOT NULL column, [`Error::Engine`]. After an
    /// error the insert can only be aborted.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Publishes all rows at once and returns their number.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails. Nothing is published then.
    fn commit(self: Box<Self>) -> Result<u64>;

    /// Discards all rows.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    fn abort(self: Box<Self>) -> Result<()>;
}

/// The result of a query, batch by batch. Dropping it ends the query.
pub trait BatchStream: Send {
    /// The columns of the result.
    fn columns(&self) -> &[Column];

    /// The Arrow schema of the batches.
    fn schema(&self) -> SchemaRef;

    /// The next batch, or `None` at the end. Batches are never empty.
    ///
    /// # Errors
    /// [`Error::Engine`], [`Error::Cancelled`]. After an error the stream is at its end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;

    /// Whether the rows come from a change that is published. A cancellation comes too late then, and ends nothing.
    fn is_published(&self) -> bool {
        false
    }
}

/// Takes the first rows of gathered batches, `most` at most, in the parts in which they lie.
pub fn take_rows(gathered: &mut VecDeque<RecordBatch>, most: usize) -> Vec<RecordBatch> {
    let (mut parts, mut wanted) = (Vec::new(), most);
    while wanted > 0
        && let Some(batch) = gathered.pop_front()
    {
        let taken = batch.num_rows().min(wanted);
        wanted -= taken;
        if taken < batch.num_rows() {
            gathered.push_front(batch.slice(taken, batch.num_rows() - taken));
            parts.push(batch.slice(0, taken));
        } else {
            parts.push(batch);
        }
    }
    parts
}

/// The bytes of a batch's values. The arrays of one IPC stream share a buffer. It must not count for each of them.
pub fn bytes_of(batch: &RecordBatch) -> usize {
    let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    // If the size of slices is unknown, the size of the whole buffers counts. It is at least as large.
    sizes.sum::<std::result::Result<usize, _>>().unwrap_or_else(|_| batch.get_array_memory_size())
}

/// Checks that `batch` has the columns of `schema` and no null in a NOT NULL column.
///
/// # Errors
/// [`Error::SchemaMismatch`]. [`Error::InvalidValue`] names the first null's row, counted from `first_row`.
pub fn check_batch(schema: &SchemaRef, batch: &RecordBatch, first_row: u64) -> Result<()> {
    let given = batch.schema_ref();
    if given.fields().len() != schema.fields().len() {
        return Err(Error::SchemaMismatch(format!(
            "the table has {} columns, the batch has {}",
            schema.fields().len(),
            given.fields().len()
        )));
    }
    for ((expected, field), array) in schema.fields().iter().zip(given.fields()).zip(batch.columns()) {
        if expected.name() != field.name() || expected.data_type() != field.data_type() {
            return Err(Error::SchemaMismatch(format!(
                "the table has column \"{}\" of type {} where the batch has \"{}\" of type {}",
                expected.name(),
                expected.data_type(),
                field.name(),
                field.data_type()
            )));
        }
        if !expected.is_nullable()
            && let Some(nulls) = array.nulls()
            && let Some(row) = (0..nulls.len()).find(|row| nulls.is_null(*row))
        {
            return Err(Error::InvalidValue {
                row: first_row + row as u64,
                column: expected.name().clone(),
                problem: "null in a NOT NULL column".to_owned(),
            });
        }
    }
    Ok(())
}
