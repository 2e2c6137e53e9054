//! The write-ahead log: files of entries, each with its length and a checksum.
//!
//! Appends gather while one of them writes and, in the durable mode, syncs; the next write takes all of them at once. An
//! entry is acknowledged when it is in the kernel's hands, or in the durable mode on the disk.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use boundary_bench_core as core;

use crate::{Error, Result};

/// The first bytes of a file: what it is, and the version of its layout.
const MAGIC: &[u8; 8] = b"BBWAL\0\0\x01";

/// The length and the checksum before an entry.
const FRAME: usize = 8;

/// Memory kept for the appends to come.
const KEPT_BYTES: usize = 8 << 20;

/// A log that is written.
pub struct Wal {
    directory: PathBuf,
    durable: bool,
    state: Mutex<State>,
    written: Condvar,
}

struct State {
    /// What waits to be written.
    pending: Vec<u8>,
    /// Memory of an earlier `pending`.
    spare: Vec<u8>,
    /// The number of the last append, and of the last one that was written.
    appended: u64,
    written: u64,
    /// The file, while nobody writes to it.
    segment: Option<Segment>,
    /// Why nothing can be written any more.
    failure: Option<Error>,
    /// Appends that failed and were not told yet; later ones may succeed.
    refused: Vec<Refusal>,
}

/// Appends that were written together and failed.
struct Refusal {
    numbers: RangeInclusive<u64>,
    /// How many of them are still to be told.
    untold: u64,
    error: Error,
}

struct Segment {
    number: u64,
    path: PathBuf,
    file: File,
    /// The bytes of whole entries.
    length: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path_of(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:012}.wal"))
}

/// Makes what a folder lists durable.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(|source| Error::io(path, source))
}

impl State {
    /// What became of an append that was written.
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

impl Segment {
    fn create(directory: &Path, number: u64) -> Result<Self> {
        let path = path_of(directory, number);
        let create = || {
            let mut file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.write_all(MAGIC)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(|source| {
            // What is there of it would be in the way of the next try.
            let _ = std::fs::remove_file(&path);
            Error::io(&path, source)
        })?;
        sync_directory(directory)?;
        Ok(Self { number, path, file, length: MAGIC.len() as u64 })
    }

    fn write(&mut self, bytes: &[u8], durable: bool) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        if durable { self.file.sync_data() } else { Ok(()) }
    }
}

impl Wal {
    /// Begins a log in a folder, after the files that are there. In the durable mode, what is appended is on the disk
    /// when the append returns.
    ///
    /// # Errors
    /// Those of files.
    pub fn open(directory: &Path, durable: bool) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|source| Error::io(directory, source))?;
        let next = segments(directory)?.last().map_or(1, |(number, _)| number + 1);
        let state = State {
            pending: Vec::new(),
            spare: Vec::new(),
            appended: 0,
            written: 0,
            segment: Some(Segment::create(directory, next)?),
            failure: None,
            refused: Vec::new(),
        };
        Ok(Self { directory: directory.to_owned(), durable, state: Mutex::new(state), written: Condvar::new() })
    }

    /// Appends an entry that `write` adds to the bytes before it, and returns when it is kept.
    ///
    /// # Errors
    /// [`Error::DiskFull`] and those of files; then the entry is not in the log, or is not known to be.
    pub fn append(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let start = state.pending.len();
        state.pending.resize(start + FRAME, 0);
        write(&mut state.pending);
        if let Err(error) = frame(&mut state.pending[start..]) {
            state.pending.truncate(start);
            return Err(error);
        }
        state.appended += 1;
        let number = state.appended;
        while state.written < number {
            // Whoever finds the file here writes for all; the others wait.
            state = match state.segment.take() {
                Some(segment) => self.write_pending(state, segment),
                None => self.written.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.tell(number)
    }

    fn write_pending<'a>(&'a self, mut state: MutexGuard<'a, State>, mut segment: Segment) -> MutexGuard<'a, State> {
        let spare = std::mem::take(&mut state.spare);
        let mut bytes = std::mem::replace(&mut state.pending, spare);
        let numbers = state.written + 1..=state.appended;
        let failure = state.failure.clone();
        drop(state);
        let before = segment.length;
        let outcome = match &failure {
            Some(_) => Err(std::io::Error::other("an earlier write failed")),
            None => segment.write(&bytes, self.durable),
        };
        // A part of an entry must not stand before later ones.
        let undone = outcome.is_err().then(|| segment.file.set_len(before));
        let mut state = lock(&self.state);
        if let Err(source) = outcome {
            let error = failure.unwrap_or_else(|| Error::io(&segment.path, source));
            segment.length = before;
            // After a failed sync, nobody knows what is on the disk; only a full disk leaves that certain.
            if !matches!(error, Error::DiskFull { .. }) || undone.is_some_and(|undone| undone.is_err()) {
                state.failure = Some(error.clone());
            }
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

    /// Begins a new file, and returns its number: what was appended before is in files of lower numbers, on the disk.
    ///
    /// # Errors
    /// Those of files; then the old file goes on.
    pub fn rotate(&self) -> Result<u64> {
        let mut state = lock(&self.state);
        let segment = loop {
            match state.segment.take() {
                Some(segment) if state.pending.is_empty() => break segment,
                Some(segment) => state = self.write_pending(state, segment),
                None => state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        let next = segment.file.sync_data().map_err(|source| Error::io(&segment.path, source));
        match next.and_then(|()| Segment::create(&self.directory, segment.number + 1)) {
            Ok(next) => {
                let number = next.number;
                state.segment = Some(next);
                Ok(number)
            }
            Err(error) => {
                state.segment = Some(segment);
                Err(error)
            }
        }
    }

    /// Removes the files of lower numbers.
    ///
    /// # Errors
    /// Those of files.
    pub fn remove_before(&self, number: u64) -> Result<()> {
        for (_, path) in segments(&self.directory)?.into_iter().filter(|(other, _)| *other < number) {
            std::fs::remove_file(&path).map_err(|source| Error::io(&path, source))?;
        }
        Ok(())
    }
}

/// Fills in what is before an entry.
fn frame(frame: &mut [u8]) -> Result<()> {
    let (head, entry) = frame.split_at_mut(FRAME);
    let Ok(length) = u32::try_from(entry.len()) else {
        return Err(Error::InvalidArgument("a write of four gibibytes or more can't be logged".to_owned()));
    };
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&checksum(length, entry).to_le_bytes());
    Ok(())
}

fn checksum(length: u32, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    // An entry of zeros is then not its own checksum.
    hasher.update(&length.to_le_bytes());
    hasher.update(entry);
    hasher.finalize()
}

/// The files of a log, by their numbers.
fn segments(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
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

/// Reads the entries of the files from a number on, in the order in which they were appended. What a crash left behind the
/// last whole entry of the last file is cut off: it was never acknowledged.
///
/// # Errors
/// Those of files and of `visit`, and [`core::Error::Internal`] for a file that is damaged elsewhere.
pub fn replay(directory: &Path, from: u64, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    let segments = segments(directory)?;
    let last = segments.last().map(|(number, _)| *number);
    for (number, path) in segments.iter().filter(|(number, _)| *number >= from) {
        let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        let whole = visit_entries(&bytes, &mut visit)?;
        if whole == bytes.len() {
            continue;
        }
        if Some(*number) != last {
            return Err(core::Error::Io {
                path: path.display().to_string(),
                source: std::io::Error::other(format!(
                    "the log is damaged at byte {whole}, and later files follow; move it away to go on without the rest"
                ))
                .into(),
            }
            .into());
        }
        let cut = || {
            let file = OpenOptions::new().write(true).open(path)?;
            // Without even its first bytes, it is the file of a log that was just begun.
            file.set_len(whole as u64)?;
            if whole == 0 {
                std::io::Write::write_all(&mut &file, MAGIC)?;
            }
            file.sync_all()
        };
        cut().map_err(|source| Error::io(path, source))?;
    }
    Ok(())
}

/// Visits the entries of a file, and returns how many bytes were whole.
fn visit_entries(bytes: &[u8], visit: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<usize> {
    if !bytes.starts_with(MAGIC) {
        return Ok(0);
    }
    let mut at = MAGIC.len();
    while let Some((head, rest)) = bytes[at..].split_at_checked(FRAME) {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
        let length = number(&head[..4]);
        let Some(entry) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) else { break };
        if checksum(length, entry) != number(&head[4..]) {
            break;
        }
        visit(entry)?;
        at += FRAME + entry.len();
    }
    Ok(at)
}
