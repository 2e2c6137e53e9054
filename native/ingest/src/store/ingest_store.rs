//! The ingest store as a server uses it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::block::Block;
use super::catalog::DataFile;
use super::entry::Entry;
use super::files::{Disk, Files};
use super::options::StoreOptions;
use super::query::{QueryRows, Select, Sources, run};
use super::registry::Database;
use super::storing::{StoreStatus, Storing, block_of, lock};
use super::table::Name;
use crate::msgpack::ColumnarBatch;
use crate::points::{FieldKind, Points, Shape};
use crate::rules::check_times;
use crate::{Error, Precision, Result};

/// A store of databases of points in a folder.
pub struct IngestStore<F: Files = Disk> {
    inner: Arc<Storing<F>>,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

impl IngestStore {
    /// Opens a store: loads the registered names, replays the log, and begins a new log file.
    ///
    /// # Errors
    /// I/O errors of the folder, and [`Error::InvalidArgument`] where another process has it open.
    pub fn open(options: &StoreOptions) -> Result<Self> {
        Self::open_with(options, Disk)
    }
}

impl<F: Files> IngestStore<F> {
    /// Opens a store as [`IngestStore::open`] does, over any implementation of [`Files`].
    ///
    /// # Errors
    /// The errors of [`IngestStore::open`].
    pub fn open_with(options: &StoreOptions, files: F) -> Result<Self> {
        let inner = Arc::new(Storing::open(options, files)?);
        let flusher = Arc::clone(&inner);
        let interval = options.flush_interval;
        let thread = std::thread::Builder::new()
            .name("bb-flush".to_owned())
            .spawn(move || flusher.flush_again_and_again(interval))
            .map_err(|source| Error::io(&options.directory, source))?;
        Ok(Self { inner, flusher: Mutex::new(Some(thread)) })
    }

    /// Creates a database, durably; does nothing where it exists.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that can't be stored, and the errors of the embedded store.
    pub fn create_database(&self, name: &str) -> Result<()> {
        self.inner.registry.create_database(name)
    }

    /// The names of the databases, sorted.
    #[must_use]
    pub fn databases(&self) -> Vec<String> {
        self.inner.registry.databases()
    }

    /// The database of this name, which tells its measurements and fields.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`] for an unknown name.
    pub fn database(&self, name: &str) -> Result<Arc<Database>> {
        self.inner.registry.database(name)
    }

    /// Writes points, all or none; returns their number.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`], [`Error::InvalidArgument`] for a name or a time that can't be stored,
    /// [`Error::TypeConflict`], [`Error::Cardinality`], [`Error::Busy`], [`Error::DiskFull`], and other I/O errors of the log.
    pub fn write_points(&self, database: &str, mut points: Points<'_>) -> Result<usize> {
        self.take_points(database, &mut points)
    }

    /// Writes points as [`IngestStore::write_points`] does; points that are refused are left unchanged.
    pub(super) fn take_points(&self, database: &str, points: &mut Points<'_>) -> Result<usize> {
        let inner = &self.inner;
        let database = inner.registry.database(database)?;
        inner.check_room()?;
        if points.is_empty() {
            return Ok(0);
        }
        check_times(&points.times)?;
        let resolved = inner.registry.register(&database, &points.series, &points.shapes)?;
        let guard = inner.read();
        inner.wal.append(|out| Entry::of_points(&database.name, points).write(out))?;
        Ok(inner.keep(&guard, block_of(&database, resolved, std::mem::take(points))))
    }

    /// Writes columns, all or none; returns the number of points. `now` is the time of points without one, in nanoseconds.
    ///
    /// # Errors
    /// The errors of [`IngestStore::write_points`].
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

    /// The number of points of a measurement, or of those that have a value of the field.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`] for an unknown database.
    pub fn count(&self, database: &str, measurement: &str, field: Option<&str>) -> Result<u64> {
        self.database(database)?;
        let (blocks, files) = self.inner.snapshot();
        let of_file = |file: &DataFile| match field {
            _ if file.database != database || file.measurement != measurement => 0,
            None => file.rows,
            Some(field) => {
                let columns = file.columns.iter().filter(|column| column.kind.is_some() && column.name == field);
                // A field whose values have two types has a column of each.
                columns.map(|column| column.values).sum()
            }
        };
        let in_memory = blocks.iter().map(|block| block.count(database, measurement, field) as u64).sum::<u64>();
        Ok(in_memory + files.iter().map(|file| of_file(file) as u64).sum::<u64>())
    }

    /// Selects points of a measurement.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`] for an unknown database, and the errors of the engine that reads the files.
    pub fn select(&self, database: &str, select: &Select) -> Result<QueryRows> {
        let known = self.database(database)?;
        let tags = known.tags(&select.measurement).into_iter().map(|name| Name { name, kind: None });
        let fields = known.fields(&select.measurement).into_iter();
        let names = tags.chain(fields.map(|(name, kind)| Name { name, kind: Some(kind) })).collect();
        let mut engine = lock(&self.inner.engine);
        engine.run(|engine| {
            let (blocks, files) = self.inner.snapshot();
            let sources = Sources { directory: &self.inner.data, files: &files, blocks: &blocks };
            run(engine, &sources, database, select, names)
        })
    }

    /// Flushes the points in memory to files, and begins a new log file. Points that can't be stored are set aside.
    ///
    /// # Errors
    /// Errors of the disk and of the engine that writes the files; then nothing has changed.
    pub fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    /// Bytes of the points that are in no file yet.
    #[must_use]
    pub fn unflushed_bytes(&self) -> usize {
        self.inner.unflushed_bytes()
    }

    /// The state of acknowledged points.
    #[must_use]
    pub fn status(&self) -> StoreStatus {
        self.inner.status()
    }

    /// Stops the flushing thread, and flushes once more; later writes are only in the log.
    ///
    /// # Errors
    /// The errors of [`IngestStore::flush`].
    pub fn close(&self) -> Result<()> {
        self.stop();
        self.flush()
    }

    fn stop(&self) {
        self.inner.end_flushing();
        if let Some(thread) = lock(&self.flusher).take() {
            // The thread catches its panics.
            let _ = thread.join();
        }
    }
}

impl<F: Files> Drop for IngestStore<F> {
    fn drop(&mut self) {
        self.stop();
    }
}
