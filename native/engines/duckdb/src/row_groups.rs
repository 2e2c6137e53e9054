//! An insert of whole row groups. The appender copies each row twice and stores rows on one thread. Here DuckDB's threads store row groups
//! side by side, from the memory of the batches: `INSERT ... SELECT` from a view over an Arrow stream.
//!
//! DuckDB has no temporary view of this kind. The view lies in a database in memory, which is attached while the insert runs. If anybody
//! else reads the view, the insert lacks rows, and fails.

use std::collections::VecDeque;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;

use super::catalog::TablePath;
use super::engine_error;
use super::ffi::{Connection, c_string};
use super::statement::Statements;
use super::stream::EmbeddedStream;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::{BatchStream, bytes_of};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result, lock};

/// The number of rows of DuckDB's row groups. Arrays of other lengths are copied once more, to make whole groups.
pub(super) const GROUP_ROWS: usize = 122_880;

/// The bytes of rows at which they are stored, though there is not a row group for each thread.
const MOST_HELD_BYTES: usize = 64 << 20;

/// The code of an error in a stream, `EIO`. DuckDB reports the text of [`last_error`].
const FAILED: c_int = 5;

/// The number of the next attached database.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The sources that no insert uses.
static UNUSED: Mutex<Vec<&'static Source>> = Mutex::new(Vec::new());

/// The rows that a view reads. Sources are reused and never freed, and always have columns of the same types: a plan that somebody else has
/// made of the view stays valid.
struct Source {
    schema: SchemaRef,
    groups: Mutex<VecDeque<RecordBatch>>,
    stream: StreamCell,
}

/// The stream as the view refers to it.
struct StreamCell(FFI_ArrowArrayStream);

// SAFETY: nothing changes the structure, and its functions may be called by several threads.
unsafe impl Sync for StreamCell {}

impl Source {
    /// A source of columns of these types, which no one else uses.
    fn of(schema: &SchemaRef) -> &'static Self {
        let mut unused = lock(&UNUSED);
        if let Some(at) = unused.iter().position(|source| source.schema == *schema) {
            return unused.swap_remove(at);
        }
        drop(unused);
        let source = Box::into_raw(Box::new(Self {
            schema: Arc::clone(schema),
            groups: Mutex::default(),
            stream: StreamCell(FFI_ArrowArrayStream {
                get_schema: Some(get_schema),
                get_next: Some(get_next),
                get_last_error: Some(last_error),
                release: Some(release),
                private_data: ptr::null_mut(),
            }),
        }));
        // SAFETY: it was just made, and is never freed.
        unsafe {
            (*source).stream.0.private_data = source.cast();
            &*source
        }
    }
}

/// # Safety
/// `stream` is a copy of the stream of a [`Source`].
unsafe fn source_of(stream: *mut FFI_ArrowArrayStream) -> &'static Source {
    // SAFETY: the caller's promise. Sources are never freed.
    unsafe { &*(*stream).private_data.cast::<Source>() }
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: DuckDB calls with its copy of the stream.
    let source = unsafe { source_of(stream) };
    let made =
        catch_panic(|| FFI_ArrowSchema::try_from(&*source.schema).map_err(|error| Error::Internal(error.to_string())));
    let Ok(schema) = made else { return FAILED };
    // SAFETY: DuckDB gives the place for the schema, whose contents mean nothing before.
    unsafe { out.write(schema) };
    0
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as above.
    let source = unsafe { source_of(stream) };
    let next = catch_panic(|| {
        let group = lock(&source.groups).pop_front();
        Ok(group.map_or_else(FFI_ArrowArray::empty, |group| FFI_ArrowArray::new(&StructArray::from(group).into_data())))
    });
    let Ok(array) = next else { return FAILED };
    // SAFETY: as above.
    unsafe { out.write(array) };
    0
}

unsafe extern "C" fn last_error(_: *mut FFI_ArrowArrayStream) -> *const c_char {
    c"the rows of an insert can't be read".as_ptr()
}

unsafe extern "C" fn release(_: *mut FFI_ArrowArrayStream) {}

/// The rows of an insert into all columns of a table, which are kept until there is a row group for each thread.
pub(super) struct RowGroups {
    path: TablePath,
    schema: SchemaRef,
    view: Option<View>,
    held: VecDeque<RecordBatch>,
    held_rows: usize,
    held_bytes: usize,
}

impl RowGroups {
    /// No rows yet. `schema` has the Arrow types of the table's columns, in their order.
    pub(super) fn new(path: TablePath, schema: SchemaRef) -> Self {
        Self { path, schema, view: None, held: VecDeque::new(), held_rows: 0, held_bytes: 0 }
    }

    /// Adds rows. `connection` has begun the transaction of the insert. Returns false if DuckDB takes no row groups: then the rows are
    /// [`RowGroups::held`].
    pub(super) fn add(&mut self, connection: &Connection, batch: &RecordBatch) -> Result<bool> {
        self.held_rows += batch.num_rows();
        self.held_bytes += bytes_of(batch);
        self.held.push_back(batch.clone());
        if self.held_rows < GROUP_ROWS {
            return Ok(true);
        }
        if self.view.is_none() {
            self.view = View::open(connection, &self.path, &self.schema).ok();
        }
        let Some(view) = &self.view else { return Ok(false) };
        if self.held_rows >= view.threads * GROUP_ROWS || self.held_bytes > MOST_HELD_BYTES {
            self.store(self.held_rows / GROUP_ROWS * GROUP_ROWS)?;
        }
        Ok(true)
    }

    /// Whether DuckDB stores row groups of these rows. There are too few otherwise.
    pub(super) fn are_stored(&self) -> bool {
        self.view.is_some()
    }

    /// Stores the rows that are left.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.held_rows > 0 { self.store(self.held_rows) } else { Ok(()) }
    }

    /// The rows that are not stored.
    pub(super) fn held(self) -> impl Iterator<Item = RecordBatch> {
        self.held.into_iter()
    }

    /// Stores the first of the held rows.
    fn store(&mut self, rows: usize) -> Result<()> {
        let mut groups = VecDeque::with_capacity(rows.div_ceil(GROUP_ROWS));
        for start in (0..rows).step_by(GROUP_ROWS) {
            groups.push_back(self.take(GROUP_ROWS.min(rows - start))?);
        }
        self.held_rows -= rows;
        self.held_bytes = self.held.iter().map(bytes_of).sum();
        let Some(view) = &self.view else { return Ok(()) };
        let stored = view.insert(groups)?;
        if stored == rows as u64 {
            return Ok(());
        }
        Err(engine_error(format!("{stored} of {rows} rows were stored, since others have read the rest")))
    }

    /// Takes the first of the held rows, in one piece.
    fn take(&mut self, rows: usize) -> Result<RecordBatch> {
        let mut pieces = Vec::new();
        let mut left = rows;
        while left > 0 {
            let Some(batch) = self.held.pop_front() else { break };
            let taken = batch.num_rows().min(left);
            pieces.push(batch.slice(0, taken));
            left -= taken;
            if taken < batch.num_rows() {
                self.held.push_front(batch.slice(taken, batch.num_rows() - taken));
            }
        }
        if let [piece] = &pieces[..] {
            return Ok(piece.clone());
        }
        concat_batches(&self.schema, &pieces).map_err(|error| Error::Internal(error.to_string()))
    }
}

/// A view over a source, in an attached database.
struct View {
    connection: Connection,
    source: &'static Source,
    database: String,
    /// The statement that stores the rows of the source.
    insert: CString,
    /// The number of DuckDB's threads.
    threads: usize,
}

impl View {
    fn open(connection: &Connection, path: &TablePath, schema: &SchemaRef) -> Result<Self> {
        let database = identifier(&format!("boundary_bench_insert_{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let insert = format!("INSERT INTO {} FROM {database}.main.rows", path.to_sql());
        let view = Self {
            connection: connection.clone(),
            source: Source::of(schema),
            insert: c_string(&insert, "the table's name")?,
            threads: threads(connection)?,
            database,
        };
        // Another connection, since the insert's finds the table by its own current schema.
        let other = connection.sibling()?;
        other.run(&c_string(&format!("ATTACH ':memory:' AS {}", view.database), "the name")?)?;
        other.run(&c_string(&format!("USE {}", view.database), "the name")?)?;
        // SAFETY: the stream is never freed.
        unsafe { other.make_view(c"rows", &raw const view.source.stream.0) }?;
        Ok(view)
    }

    /// Inserts row groups, and returns the number of stored rows.
    fn insert(&self, groups: VecDeque<RecordBatch>) -> Result<u64> {
        *lock(&self.source.groups) = groups;
        let statement = Statements::parse(&self.connection, &self.insert)?.prepare(0)?;
        let inserted = statement.run(false, &CancelToken::default());
        lock(&self.source.groups).clear();
        inserted.map(|mut result| result.rows_changed())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        lock(&UNUSED).push(self.source);
        let detach = c_string(&format!("DETACH {}", self.database), "the name");
        // A database that can't be detached ends with the engine.
        let _ = detach.and_then(|sql| self.connection.sibling()?.run(&sql));
    }
}

/// The number of DuckDB's threads.
fn threads(connection: &Connection) -> Result<usize> {
    let mut stream = EmbeddedStream::internal(connection, "SELECT current_setting('threads')::BIGINT")?;
    let threads = stream.next_batch()?.map_or(1, |batch| batch.column(0).as_primitive::<Int64Type>().value(0));
    stream.next_batch()?;
    Ok(usize::try_from(threads).unwrap_or(1).max(1))
}
