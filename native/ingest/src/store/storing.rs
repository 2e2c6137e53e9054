//! The state of a store, and the way of points through memory to files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use boundary_bench_kernel as kernel;

use super::block::{Block, Run, Unstorable};
use super::catalog::DataFile;
use super::entry::{Entry, read_entry};
use super::files::{Files, create_folders};
use super::flush::{EngineSlot, FileWriter, file_path, remove_unknown};
use super::options::{Durability, StoreOptions};
use super::registry::{Database, Registry, Resolved};
use super::replay::{Visited, keep_entries, next_aside, replay_with, set_aside};
use super::wal::Wal;
use crate::points::Points;
use crate::{Error, Result};

/// The state of acknowledged points: unflushed, damaged, set aside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// Bytes of the points that are in no file yet.
    pub unflushed_bytes: usize,
    /// The number of failed flushes since the store was opened.
    pub failed_flushes: u64,
    /// The error of the last flush; `None` if it succeeded.
    pub flush_error: Option<String>,
    /// The files of points and log bytes that were set aside; an operator has to inspect and remove them.
    pub set_aside: Vec<PathBuf>,
    /// The number of points that flushes could not store and set aside since the store was opened.
    pub set_aside_points: u64,
    /// The bytes of the log that were found damaged when the store was opened.
    pub damaged_bytes: u64,
}

/// The state of a store: its points in memory, its files, and its log.
pub(super) struct Storing<F: Files> {
    pub registry: Registry,
    pub wal: Wal<F>,
    pub data: PathBuf,
    log: PathBuf,
    files: F,
    memory_bytes: usize,
    report: fn(&str),
    /// Read-locked while a write is logged and added to memory, so that a flush takes both or neither.
    points: RwLock<PointsInMemory>,
    /// Bytes of all points in memory.
    unflushed_bytes: AtomicUsize,
    /// The number of the next file; locked for the whole of a flush.
    flushing: Mutex<u64>,
    /// Runs the SQL of flushes and queries, one at a time, since their tables have fixed names.
    pub engine: Mutex<EngineSlot>,
    wake: Condvar,
    signal: Mutex<Signal>,
    failed_flushes: AtomicU64,
    flush_error: Mutex<Option<String>>,
    set_aside_points: AtomicU64,
    damaged_bytes: u64,
}

#[derive(Default)]
pub(super) struct PointsInMemory {
    /// The points that no flush has taken yet.
    active: Mutex<Vec<Arc<Block>>>,
    /// The points that a flush is writing, or failed to write.
    frozen: Vec<Arc<Block>>,
    files: Vec<DataFile>,
}

#[derive(Default)]
struct Signal {
    closing: bool,
    flush_now: bool,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Files> Storing<F> {
    pub fn open(options: &StoreOptions, files: F) -> Result<Self> {
        let directory = &options.directory;
        let (data, log) = (directory.join("data"), directory.join("wal"));
        create_folders(&files, &data).map_err(|source| Error::io(&data, source))?;
        let (registry, data_files) = Registry::load(&directory.join("metadata"), options.limits)?;
        // The embedded store created the folder of the metadata.
        files.sync_folder(directory).map_err(|source| Error::io(directory, source))?;
        let number = remove_unknown(&data, &data_files)?;
        let first_segment = registry.catalog.first_segment()?;
        let mut active = Vec::new();
        let replayed = replay_with(&files, &log, first_segment, |bytes| recover(&registry, bytes, &mut active))?;
        replayed.reports.iter().for_each(|text| (options.report)(text));
        let bytes = active.iter().map(|block: &Arc<Block>| block.bytes()).sum();
        Ok(Self {
            wal: Wal::open_with(files.clone(), &log, options.durability == Durability::Durable, first_segment)?,
            registry,
            data,
            log,
            files,
            memory_bytes: options.memory_bytes,
            report: options.report,
            points: RwLock::new(PointsInMemory { active: Mutex::new(active), frozen: Vec::new(), files: data_files }),
            unflushed_bytes: AtomicUsize::new(bytes),
            flushing: Mutex::new(number),
            engine: Mutex::default(),
            wake: Condvar::new(),
            signal: Mutex::default(),
            failed_flushes: AtomicU64::new(0),
            flush_error: Mutex::new(None),
            set_aside_points: AtomicU64::new(0),
            damaged_bytes: replayed.damaged_bytes,
        })
    }

    pub fn read(&self) -> RwLockReadGuard<'_, PointsInMemory> {
        self.points.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn unflushed_bytes(&self) -> usize {
        self.unflushed_bytes.load(Ordering::Relaxed)
    }

    pub fn status(&self) -> StoreStatus {
        StoreStatus {
            unflushed_bytes: self.unflushed_bytes(),
            failed_flushes: self.failed_flushes.load(Ordering::Relaxed),
            flush_error: lock(&self.flush_error).clone(),
            // A folder that can't be listed is reported by the next flush.
            set_aside: set_aside(&self.log).unwrap_or_default(),
            set_aside_points: self.set_aside_points.load(Ordering::Relaxed),
            damaged_bytes: self.damaged_bytes,
        }
    }

    pub fn check_room(&self) -> Result<()> {
        let bytes = self.unflushed_bytes();
        if bytes < self.memory_bytes.saturating_mul(2) {
            return Ok(());
        }
        Err(Error::Busy(format!("{bytes} bytes of points wait to be written to files")))
    }

    /// Adds a logged block to memory; returns the number of its points.
    pub fn keep(&self, points: &PointsInMemory, block: Block) -> usize {
        let (count, bytes) = (block.times.len(), block.bytes());
        lock(&points.active).push(Arc::new(block));
        let before = self.unflushed_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before < self.memory_bytes && before + bytes >= self.memory_bytes {
            lock(&self.signal).flush_now = true;
            self.wake.notify_all();
        }
        count
    }

    /// All points: the blocks in memory, and the files.
    pub fn snapshot(&self) -> (Vec<Arc<Block>>, Vec<DataFile>) {
        let points = self.read();
        let mut blocks = points.frozen.clone();
        blocks.extend(lock(&points.active).iter().cloned());
        (blocks, points.files.clone())
    }

    /// Flushes, and records whether that failed.
    pub fn flush(&self) -> Result<()> {
        let mut next_number = lock(&self.flushing);
        let flushed = kernel::error::catch_panic(|| Ok(self.flush_files(&mut next_number)));
        let flushed = flushed.unwrap_or_else(|panic| Err(panic.into()));
        let error = flushed.as_ref().err().map(ToString::to_string);
        if error.is_some() {
            self.failed_flushes.fetch_add(1, Ordering::Relaxed);
        }
        let before = std::mem::replace(&mut *lock(&self.flush_error), error.clone());
        // A repeated error is reported once.
        if before != error {
            match error {
                Some(error) => (self.report)(&format!(
                    "points could not be written to files, which is tried again; they are in memory and in the log: {error}"
                )),
                None => (self.report)("points are written to files again"),
            }
        }
        flushed
    }

    fn flush_files(&self, next_number: &mut u64) -> Result<()> {
        let (blocks, first_segment) = {
            let mut points = self.points.write().unwrap_or_else(PoisonError::into_inner);
            let active = std::mem::take(points.active.get_mut().unwrap_or_else(PoisonError::into_inner));
            // The points that an earlier flush could not write are still in `frozen`.
            points.frozen.extend(active);
            if points.frozen.is_empty() {
                return Ok(());
            }
            (points.frozen.clone(), self.wal.rotate()?)
        };
        let (files, unstorable) = {
            let mut engine = lock(&self.engine);
            FileWriter::new(&mut engine, &self.files, &self.data, next_number).write(&blocks)?
        };
        if let Err(error) = self.keep_aside(first_segment, &unstorable) {
            for file in &files {
                let _ = self.files.remove(&file_path(&self.data, file.number));
            }
            return Err(error);
        }
        // After an error it is unknown whether the catalogue names the files, so they stay.
        self.registry.catalog.add_files(&files, first_segment)?;
        {
            let mut points = self.points.write().unwrap_or_else(PoisonError::into_inner);
            points.frozen.clear();
            points.files.extend(files);
        }
        let bytes: usize = blocks.iter().map(|block| block.bytes()).sum();
        self.unflushed_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.wal.remove_before(first_segment)
    }

    /// Writes points that can't be stored to a file beside the log.
    fn keep_aside(&self, segment: u64, unstorable: &[Unstorable<'_>]) -> Result<()> {
        if unstorable.is_empty() {
            return Ok(());
        }
        let runs = unstorable.iter().flat_map(|unstorable| &unstorable.runs);
        let entries: Vec<Vec<u8>> = runs
            .map(|run| {
                let mut entry = Vec::new();
                Entry::of_points(&run.block.database.name, &run.to_points()).write(&mut entry);
                entry
            })
            .collect();
        let path = next_aside(&self.log, segment);
        keep_entries(&self.files, &path, entries.iter().map(Vec::as_slice))?;
        for Unstorable { runs, reason } in unstorable {
            let points: usize = runs.iter().map(Run::len).sum();
            let Some(run) = runs.first() else { continue };
            let (database, measurement) = (&run.block.database.name, &run.shape.measurement);
            (self.report)(&format!(
                "{points} points of {measurement:?} of the database {database:?} can't be stored and were set aside in {}: {reason}",
                path.display()
            ));
            self.set_aside_points.fetch_add(points as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    pub fn end_flushing(&self) {
        lock(&self.signal).closing = true;
        self.wake.notify_all();
    }

    pub fn flush_again_and_again(&self, interval: Option<Duration>) {
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
            // A failed flush is retried with the next one; its points stay in memory and in the log, and writes are refused
            // once they exceed the limit.
            let _ = self.flush();
        }
    }
}

pub(super) fn block_of(database: &Arc<Database>, resolved: Resolved, points: Points<'_>) -> Block {
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

/// Adds a replayed log entry to memory.
fn recover(registry: &Registry, bytes: &[u8], blocks: &mut Vec<Arc<Block>>) -> Result<Visited> {
    let Some((name, points)) = read_entry(bytes) else {
        let unreadable = kernel::Error::Internal("an entry of the log is whole and can't be read".to_owned());
        return Ok(Visited::Refused(unreadable.into()));
    };
    // A database without metadata is created again: the log proves that it existed.
    let registered = registry.create_database(name).and_then(|()| {
        let database = registry.database(name)?;
        let resolved = registry.register_logged(&database, &points.series, &points.shapes)?;
        Ok((database, resolved))
    });
    match registered {
        Ok((database, resolved)) => {
            blocks.push(Arc::new(block_of(&database, resolved, points)));
            Ok(Visited::Kept)
        }
        Err(reason @ (Error::InvalidArgument(_) | Error::TypeConflict { .. })) => Ok(Visited::Refused(reason)),
        Err(error) => Err(error),
    }
}
