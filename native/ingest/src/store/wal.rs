//! The write-ahead log: files of entries, each with its length and checksums.
//!
//! Appends gather while one of them writes and, in the durable mode, syncs; the next write takes all of them at once. An entry
//! is acknowledged when the kernel has it, or in the durable mode the disk.
//!
//! After a failed sync it is unknown which bytes of the file are on the disk, and a second sync may succeed without writing
//! what the first one could not. Therefore such a file is not written to again, and the next append begins another.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::files::{Disk, Files, LogFile, create_folders};
use super::frame::{HEAD, START, Salt};
use crate::{Error, Result};

/// Bytes of a buffer that is kept for later appends, at most.
const KEPT_BYTES: usize = 8 << 20;

/// A write-ahead log that is open for appending.
pub struct Wal<F: Files = Disk> {
    files: F,
    directory: PathBuf,
    durable: bool,
    /// The salt of all files that this log begins.
    salt: Salt,
    state: Mutex<State<F::File>>,
    written: Condvar,
}

struct State<File> {
    /// Encoded entries that wait to be written.
    pending: Vec<u8>,
    /// The buffer of an earlier `pending`, for reuse.
    spare: Vec<u8>,
    /// The number of the last append, and of the last one that was written or failed.
    appended: u64,
    written: u64,
    /// The current file; `None` while a thread writes to it.
    segment: Option<Segment<File>>,
    /// Failed appends whose callers have not been told yet; later appends may succeed.
    refused: Vec<Refusal>,
}

/// The failure of appends that were written together.
struct Refusal {
    numbers: RangeInclusive<u64>,
    /// The number of these appends whose callers have not been told yet.
    untold: u64,
    error: Error,
}

struct Segment<File> {
    number: u64,
    path: PathBuf,
    file: File,
    /// Bytes of the file's start and its complete entries.
    length: u64,
    /// Whether a sync or truncation failed; then nothing more is written to the file.
    is_spent: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path_of(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:012}.wal"))
}

impl<File> State<File> {
    /// The outcome of an append that was written.
    fn tell(&mut self, number: u64) -> Result<()> {
        let Some(index) = self.refused.iter().position(|refusal| refusal.numbers.contains(&number)) else {
            return Ok(());
        };
        let refusal = &mut self.refused[index];
        refusal.untold -= 1;
        let error = refusal.error.clone();
        if refusal.untold == 0 {
            self.refused.swap_remove(index);
        }
        Err(error)
    }
}

impl<File: LogFile> Segment<File> {
    /// Creates the file of this number, or of the next number that is free.
    fn create<F: Files<File = File>>(files: &F, directory: &Path, mut number: u64, salt: Salt) -> Result<Self> {
        loop {
            let path = path_of(directory, number);
            let file = match files.create(&path) {
                Ok(file) => file,
                // An earlier attempt could neither complete nor remove this file.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    number += 1;
                    continue;
                }
                Err(source) => return Err(Error::io(&path, source)),
            };
            let mut segment = Self { number, path, file, length: 0, is_spent: false };
            let begun = segment.write(&salt.start(), true).and_then(|()| files.sync_folder(directory));
            return match begun {
                Ok(()) => Ok(segment),
                Err(source) => {
                    let _ = files.remove(&segment.path);
                    Err(Error::io(&segment.path, source))
                }
            };
        }
    }

    /// Appends complete entries, all or none.
    fn write(&mut self, bytes: &[u8], durable: bool) -> std::io::Result<()> {
        let mut outcome = self.file.write_all(bytes);
        if outcome.is_ok() && durable {
            outcome = self.file.sync();
            self.is_spent = outcome.is_err();
        }
        if outcome.is_ok() {
            self.length += bytes.len() as u64;
        } else if self.file.truncate(self.length).is_err() {
            // A partial entry must not precede later ones.
            self.is_spent = true;
        }
        outcome
    }

    fn has_entries(&self) -> bool {
        self.length > START as u64
    }
}

impl Wal {
    /// Begins a log in a folder, after the existing files. In the durable mode, an entry is on the disk when its append
    /// returns.
    ///
    /// # Errors
    /// I/O errors of the folder and the file.
    pub fn open(directory: &Path, durable: bool) -> Result<Self> {
        Self::open_with(Disk, directory, durable, 0)
    }
}

impl<F: Files> Wal<F> {
    /// Opens a log as [`Wal::open`] does, over any implementation of [`Files`]. Its files have no lower number than `least`, so
    /// that a replay from there finds all that is appended, even if earlier files were moved away.
    ///
    /// # Errors
    /// I/O errors of the folder and the file.
    pub fn open_with(files: F, directory: &Path, durable: bool, least: u64) -> Result<Self> {
        create_folders(&files, directory).map_err(|source| Error::io(directory, source))?;
        let next = segments(directory)?.last().map_or(1, |(number, _)| number + 1).max(least);
        let salt = Salt::random();
        let state = State {
            pending: Vec::new(),
            spare: Vec::new(),
            appended: 0,
            written: 0,
            segment: Some(Segment::create(&files, directory, next, salt)?),
            refused: Vec::new(),
        };
        let (state, written) = (Mutex::new(state), Condvar::new());
        Ok(Self { files, directory: directory.to_owned(), durable, salt, state, written })
    }

    /// Appends an entry, which `write` adds to the buffer, and returns once the entry is kept.
    ///
    /// # Errors
    /// [`Error::DiskFull`] and other I/O errors of the file; then it is unknown whether the entry is in the log. A later append
    /// may succeed.
    pub fn append(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut state = lock(&self.state);
        let start = state.pending.len();
        state.pending.resize(start + HEAD, 0);
        write(&mut state.pending);
        if let Err(error) = self.salt.fill(&mut state.pending[start..]) {
            state.pending.truncate(start);
            return Err(error);
        }
        state.appended += 1;
        let number = state.appended;
        while state.written < number {
            // The thread that takes the file writes all pending entries; the others wait.
            state = match state.segment.take() {
                Some(segment) => self.write_pending(state, segment),
                None => self.written.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.tell(number)
    }

    fn write_pending<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<F::File>>,
        mut segment: Segment<F::File>,
    ) -> MutexGuard<'a, State<F::File>> {
        let spare = std::mem::take(&mut state.spare);
        let mut bytes = std::mem::replace(&mut state.pending, spare);
        let numbers = state.written + 1..=state.appended;
        drop(state);
        let begun = if segment.is_spent { self.replace(&mut segment) } else { Ok(()) };
        let outcome =
            begun.and_then(|()| segment.write(&bytes, self.durable).map_err(|source| Error::io(&segment.path, source)));
        let mut state = lock(&self.state);
        if let Err(error) = outcome {
            let untold = numbers.end() + 1 - numbers.start();
            state.refused.push(Refusal { numbers: numbers.clone(), untold, error });
        }
        state.written = *numbers.end();
        bytes.clear();
        if bytes.capacity() <= KEPT_BYTES {
            state.spare = bytes;
        }
        state.segment = Some(segment);
        self.written.notify_all();
        state
    }

    /// Begins another file in place of one that takes no more entries.
    fn replace(&self, segment: &mut Segment<F::File>) -> Result<()> {
        let next = Segment::create(&self.files, &self.directory, segment.number + 1, self.salt)?;
        let spent = std::mem::replace(segment, next);
        if !spent.has_entries() {
            let _ = self.files.remove(&spent.path);
        }
        Ok(())
    }

    /// Begins a new file, unless the current one has no entries; returns its number. All earlier appends are in files of lower
    /// numbers.
    ///
    /// # Errors
    /// I/O errors of the new file; then the old file goes on.
    pub fn rotate(&self) -> Result<u64> {
        let mut state = lock(&self.state);
        let mut segment = loop {
            match state.segment.take() {
                Some(segment) if state.pending.is_empty() => break segment,
                Some(segment) => state = self.write_pending(state, segment),
                None => state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        let begun = if segment.has_entries() || segment.is_spent { self.replace(&mut segment) } else { Ok(()) };
        let number = segment.number;
        state.segment = Some(segment);
        begun.map(|()| number)
    }

    /// Removes the files of numbers lower than `number`.
    ///
    /// # Errors
    /// I/O errors of the files.
    pub fn remove_before(&self, number: u64) -> Result<()> {
        for (_, path) in segments(&self.directory)?.into_iter().filter(|(other, _)| *other < number) {
            self.files.remove(&path).map_err(|source| Error::io(&path, source))?;
        }
        Ok(())
    }
}

/// The files of a log, in the order of their numbers.
pub(super) fn segments(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let listed = || {
        let mut found = Vec::new();
        for file in std::fs::read_dir(directory)? {
            let path = file?.path();
            let is_segment = path.extension().is_some_and(|extension| extension == "wal");
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            found.extend(number.filter(|_| is_segment).map(|number| (number, path)));
        }
        found.sort_unstable();
        Ok(found)
    };
    listed().map_err(|source| Error::io(directory, source))
}
