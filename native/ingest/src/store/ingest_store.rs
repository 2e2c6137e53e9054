//! The store as a server uses it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use boundary_bench_core as core;
use boundary_bench_core::engine::Engine;

use super::catalog::DataFile;
use super::entry::{Entry, read_entry};
use super::flush::{open_engine, remove_unknown, write_files};
use super::query::{QueryRows, Select, Sources, run};
use super::registry::{Database, Registry};
use super::table::{Block, Name};
use super::wal::{Wal, replay};
use crate::msgpack::ColumnarBatch;
use crate::points::{FieldKind, Points, Shape};
use crate::{Error, Precision, Result};

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is on the disk.
    #[default]
    Durable,
    /// When the kernel has it: it outlives the process, and not the machine.
    Fast,
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Its folder; made where it is missing.
    pub directory: PathBuf,
    /// When a write is acknowledged.
    pub durability: Durability,
    /// How often points in memory go to files; `None` for only when asked.
    pub flush_interval: Option<Duration>,
    /// Points in memory go to files early when they take so many bytes, and writes are refused at twice as many.
    pub memory_bytes: usize,
    /// The most series of a database.
    pub most_series: usize,
}

impl StoreOptions {
    /// The defaults, in a folder.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            durability: Durability::default(),
            flush_interval: Some(Duration::from_secs(10)),
            memory_bytes: 256 << 20,
            most_series: 1_000_000,
        }
    }
}

/// Databases of points in a folder.
pub struct IngestStore {
    inner: Arc<Inner>,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    registry: Registry,
    wal: Wal,
    data: PathBuf,
    memory_bytes: usize,
    /// Held for reading while a write is logged and kept: a flush takes both or neither.
    points: RwLock<PointsInMemory>,
    /// The size of all points in memory.
    unflushed_bytes: AtomicUsize,
    /// Held by a flush from beginning to end.
    flushing: Mutex<NextFile>,
    /// Runs the SQL of flushes and queries, one after another: their tables have fixed names.
    engine: Mutex<Option<Arc<dyn Engine>>>,
    wake: Condvar,
    signal: Mutex<Signal>,
}

#[derive(Default)]
struct PointsInMemory {
    /// Not in files yet.
    active: Mutex<Vec<Arc<Block>>>,
    /// On their way to files.
    frozen: Vec<Arc<Block>>,
    files: Vec<DataFile>,
}

struct NextFile {
    number: u64,
}

#[derive(Default)]
struct Signal {
    closing: bool,
    flush_now: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl IngestStore {
    /// Opens a store: reads what is registered and what the log holds, and begins a new log file.
    ///
    /// # Errors
    /// Those of files, and [`Error::InvalidArgument`] where another process has it open.
    pub fn open(options: &StoreOptions) -> Result<Self> {
        let directory = &options.directory;
        let (data, log) = (directory.join("data"), directory.join("wal"));
        for path in [directory, &data] {
            std::fs::create_dir_all(path).map_err(|source| Error::io(path, source))?;
        }
        let (registry, files) = Registry::load(&directory.join("metadata"), options.most_series)?;
        let number = remove_unknown(&data, &files)?;
        let active = recover(&registry, &log)?;
        let bytes = active.iter().map(|block| block.bytes()).sum();
        let inner = Arc::new(Inner {
            wal: Wal::open(&log, options.durability == Durability::Durable)?,
            registry,
            data,
            memory_bytes: options.memory_bytes,
            points: RwLock::new(PointsInMemory { active: Mutex::new(active), frozen: Vec::new(), files }),
            unflushed_bytes: AtomicUsize::new(bytes),
            flushing: Mutex::new(NextFile { number }),
            engine: Mutex::new(None),
            wake: Condvar::new(),
            signal: Mutex::default(),
        });
        let flusher = Arc::clone(&inner);
        let interval = options.flush_interval;
        let thread = std::thread::Builder::new()
            .name("bb-flush".to_owned())
            .spawn(move || flusher.flush_again_and_again(interval))
            .map_err(|source| Error::io(directory, source))?;
        Ok(Self { inner, flusher: Mutex::new(Some(thread)) })
    }

    /// Creates a database, durably; does nothing where it exists.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty name, and those of files.
    pub fn create_database(&self, name: &str) -> Result<()> {
        self.inner.registry.create_database(name)
    }

    /// The names of the databases, sorted.
    #[must_use]
    pub fn databases(&self) -> Vec<String> {
        self.inner.registry.databases()
    }

    /// A database, to ask for its measurements and fields.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`].
    pub fn database(&self, name: &str) -> Result<Arc<Database>> {
        self.inner.registry.database(name)
    }

    /// Writes points, all or none; returns how many.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`], [`Error::TypeConflict`], [`Error::Cardinality`], [`Error::Busy`],
    /// [`Error::DiskFull`], and those of files.
    pub fn write_points(&self, database: &str, mut points: Points<'_>) -> Result<usize> {
        self.take_points(database, &mut points)
    }

    /// As [`IngestStore::write_points`]; of points that are refused, all is left.
    pub(super) fn take_points(&self, database: &str, points: &mut Points<'_>) -> Result<usize> {
        let inner = &self.inner;
        let database = inner.registry.database(database)?;
        inner.check_room()?;
        if points.is_empty() {
            return Ok(0);
        }
        let resolved = inner.registry.register(&database, &points.series, &points.shapes)?;
        let guard = inner.read();
        inner.wal.append(|out| Entry::of_points(&database.name, points).write(out))?;
        Ok(inner.keep(&guard, block_of(&database, resolved, std::mem::take(points))))
    }

    /// Writes columns, all or none; returns how many points. `now` is the time of points without one, in nanoseconds.
    ///
    /// # Errors
    /// As [`IngestStore::write_points`], and [`Error::InvalidArgument`] for a timestamp that no 64-bit number of
    /// nanoseconds can say.
    pub fn write_columns(
        &self,
        database: &str,
        batch: ColumnarBatch<'_>,
        precision: Precision,
        now: i64,
    ) -> Result<usize> {
        let inner = &self.inner;
        let database = inner.registry.database(database)?;
        inner.check_room()?;
        if batch.head.len == 0 {
            return Ok(0);
        }
        precision.check(&batch.timestamps)?;
        let series = [batch.head.series()];
        let fields = vec![(Cow::Borrowed(batch.head.field), FieldKind::Float)];
        let shapes = [Shape { measurement: Cow::Borrowed(batch.head.measurement), fields }];
        let resolved = inner.registry.register(&database, &series, &shapes)?;
        let guard = inner.read();
        let entry = Entry::of_columns(&database.name, &batch, (&series, &shapes), precision, now);
        inner.wal.append(|out| entry.write(out))?;
        let len = batch.head.len;
        let mut times = if batch.head.has_timestamps { batch.timestamps } else { vec![now; len] };
        if batch.head.has_timestamps {
            precision.to_nanoseconds(&mut times)?;
        }
        let shapes = resolved.shapes.iter().filter_map(|shape| database.shape(*shape)).collect();
        let block = Block {
            database,
            series: resolved.series,
            shapes,
            series_of: vec![0; len],
            shape_of: vec![0; len],
            times,
            values: batch.values.iter().map(|value| value.to_bits()).collect(),
            text: String::new(),
        };
        Ok(inner.keep(&guard, block))
    }

    /// How many points of a measurement there are; with a field, how many have a value of it.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`].
    pub fn count(&self, database: &str, measurement: &str, field: Option<&str>) -> Result<u64> {
        self.database(database)?;
        let (blocks, files) = self.inner.snapshot();
        let of_file = |file: &DataFile| match field {
            _ if file.database != database || file.measurement != measurement => 0,
            None => file.rows,
            Some(field) => {
                let columns = file.columns.iter().filter(|column| column.kind.is_some() && column.name == field);
                // Where values of two types were written there is a column of each, with the count of both.
                columns.map(|column| column.values).max().unwrap_or_default()
            }
        };
        let in_memory = blocks.iter().map(|block| block.count(database, measurement, field) as u64).sum::<u64>();
        Ok(in_memory + files.iter().map(|file| of_file(file) as u64).sum::<u64>())
    }

    /// Selects points.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`], and those of the engine that reads the files.
    pub fn select(&self, database: &str, select: &Select) -> Result<QueryRows> {
        let known = self.database(database)?;
        let tags = known.tags(&select.measurement).into_iter().map(|name| Name { name, kind: None });
        let fields = known.fields(&select.measurement).into_iter();
        let names = tags.chain(fields.map(|(name, kind)| Name { name, kind: Some(kind) })).collect();
        self.inner.with_engine(|engine| {
            let (blocks, files) = self.inner.snapshot();
            let sources = Sources { directory: &self.inner.data, files: &files, blocks: &blocks };
            run(engine, &sources, database, select, names)
        })
    }

    /// Writes what is in memory to files, and begins the log anew.
    ///
    /// # Errors
    /// Those of files and of the engine that writes them; then all is as it was.
    pub fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    /// The size of the points in memory, in bytes.
    #[must_use]
    pub fn unflushed_bytes(&self) -> usize {
        self.inner.unflushed_bytes.load(Ordering::Relaxed)
    }

    /// Flushes and stops the thread that does it; writes after this are only in the log.
    ///
    /// # Errors
    /// As [`IngestStore::flush`].
    pub fn close(&self) -> Result<()> {
        self.stop();
        self.flush()
    }

    fn stop(&self) {
        lock(&self.inner.signal).closing = true;
        self.inner.wake.notify_all();
        if let Some(thread) = lock(&self.flusher).take() {
            // It catches its own panics.
            let _ = thread.join();
        }
    }
}

impl Drop for IngestStore {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Inner {
    fn read(&self) -> RwLockReadGuard<'_, PointsInMemory> {
        self.points.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_room(&self) -> Result<()> {
        let bytes = self.unflushed_bytes.load(Ordering::Relaxed);
        if bytes < self.memory_bytes.saturating_mul(2) {
            return Ok(());
        }
        Err(Error::Busy(format!("{bytes} bytes of points wait to be written to files")))
    }

    /// Keeps a block that was logged; returns how many points it has.
    fn keep(&self, points: &PointsInMemory, block: Block) -> usize {
        let (count, bytes) = (block.times.len(), block.bytes());
        lock(&points.active).push(Arc::new(block));
        let before = self.unflushed_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before < self.memory_bytes && before + bytes >= self.memory_bytes {
            lock(&self.signal).flush_now = true;
            self.wake.notify_all();
        }
        count
    }

    /// All points: those in memory, and the files.
    fn snapshot(&self) -> (Vec<Arc<Block>>, Vec<DataFile>) {
        let points = self.read();
        let mut blocks = points.frozen.clone();
        blocks.extend(lock(&points.active).iter().cloned());
        (blocks, points.files.clone())
    }

    fn with_engine<T>(&self, work: impl FnOnce(&Arc<dyn Engine>) -> Result<T>) -> Result<T> {
        let mut engine = lock(&self.engine);
        let opened = match engine.take() {
            Some(engine) => engine,
            None => open_engine()?,
        };
        work(engine.insert(opened))
    }

    fn flush(&self) -> Result<()> {
        let mut next = lock(&self.flushing);
        let (blocks, first_segment) = {
            let mut points = self.points.write().unwrap_or_else(PoisonError::into_inner);
            let active = std::mem::take(points.active.get_mut().unwrap_or_else(PoisonError::into_inner));
            // What an earlier flush could not write is still here.
            points.frozen.extend(active);
            if points.frozen.is_empty() {
                return Ok(());
            }
            (points.frozen.clone(), self.wal.rotate()?)
        };
        let files = self.with_engine(|engine| write_files(engine, &self.data, &blocks, next.number))?;
        self.registry.catalog.add_files(&files, first_segment)?;
        next.number += files.len() as u64;
        {
            let mut points = self.points.write().unwrap_or_else(PoisonError::into_inner);
            points.frozen.clear();
            points.files.extend(files);
        }
        let bytes: usize = blocks.iter().map(|block| block.bytes()).sum();
        self.unflushed_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.wal.remove_before(first_segment)
    }

    fn flush_again_and_again(&self, interval: Option<Duration>) {
        loop {
            {
                let mut signal = lock(&self.signal);
                if !signal.closing && !signal.flush_now {
                    let wait = interval.unwrap_or(Duration::from_secs(3600));
                    signal = self.wake.wait_timeout(signal, wait).unwrap_or_else(PoisonError::into_inner).0;
                }
                if signal.closing {
                    return;
                }
                if interval.is_none() && !signal.flush_now {
                    continue;
                }
                signal.flush_now = false;
            }
            // A flush that fails is tried again with the next one; what it was to write is in memory and in the log, and
            // writes are refused when that is too much.
            let _ = core::error::catch_panic(|| Ok(self.flush()?));
        }
    }
}

fn block_of(database: &Arc<Database>, resolved: super::Resolved, points: Points<'_>) -> Block {
    Block {
        database: Arc::clone(database),
        series: resolved.series,
        shapes: resolved.shapes.iter().filter_map(|shape| database.shape(*shape)).collect(),
        series_of: points.series_of,
        shape_of: points.shape_of,
        times: points.times,
        values: points.values,
        text: points.text,
    }
}

/// The points of the log that are in no file.
fn recover(registry: &Registry, log: &Path) -> Result<Vec<Arc<Block>>> {
    let mut blocks = Vec::new();
    replay(log, registry.catalog.first_segment()?, |bytes| {
        let (name, points) = read_entry(bytes)
            .ok_or_else(|| core::Error::Internal("an entry of the log is whole and can't be read".to_owned()))?;
        // Its creation was synced before any write to it.
        let database = registry.database(name)?;
        let resolved = registry.register(&database, &points.series, &points.shapes)?;
        blocks.push(Arc::new(block_of(&database, resolved, points)));
        Ok(())
    })?;
    Ok(blocks)
}
