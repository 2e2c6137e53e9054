//! Replays a log, and sets aside the parts that can't be used.
//!
//! Data that is set aside stays in the log's folder, in separate files, until somebody removes it: damaged bytes unchanged
//! (`.damaged`), and entries that can't be stored in a file with the layout of the log (`.aside`).

use std::path::{Path, PathBuf};

use super::files::{Disk, Files, LogFile, write_whole};
use super::frame::{HEAD, Piece, START, Salt, pieces};
use super::wal::segments;
use crate::{Error, Result};

const DAMAGED: &str = "damaged";
const ASIDE: &str = "aside";

/// The outcome of a replayed entry.
pub(super) enum Visited {
    Kept,
    /// The entry can't be stored, for this reason.
    Refused(Error),
}

/// The result of a replay.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    /// A sentence about each part that was set aside, to be reported.
    pub reports: Vec<String>,
    /// The number of damaged bytes.
    pub damaged_bytes: u64,
}

/// Reads the entries of the log files from a number on, in the order in which they were appended. An incomplete end of the last
/// file is cut off: it was never acknowledged. Other bytes that are no entries are set aside, and the entries behind them are
/// read.
///
/// # Errors
/// I/O errors of the files, and the errors of `visit`.
pub fn replay(directory: &Path, from: u64, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    replay_with(&Disk, directory, from, |entry| visit(entry).map(|()| Visited::Kept)).map(drop)
}

/// Replays as [`replay`] does, over any implementation of [`Files`]; entries that `visit` refuses are set aside.
///
/// # Errors
/// I/O errors of the files, and the errors of `visit`.
pub(super) fn replay_with(
    files: &impl Files,
    directory: &Path,
    from: u64,
    mut visit: impl FnMut(&[u8]) -> Result<Visited>,
) -> Result<Replayed> {
    let mut replayed = Replayed::default();
    if !directory.exists() {
        return Ok(replayed);
    }
    let segments = segments(directory)?;
    let last = segments.last().map(|(number, _)| *number);
    for (number, path) in segments.iter().filter(|(number, _)| *number >= from) {
        let bytes = files.read(path).map_err(|source| Error::io(path, source))?;
        for piece in pieces(&bytes) {
            match piece {
                Piece::Entry(range) => {
                    if let Visited::Refused(reason) = visit(&bytes[range.clone()])? {
                        let aside = beside(path, range.start, ASIDE);
                        keep_entries(files, &aside, [&bytes[range]])?;
                        replayed.reports.push(format!(
                            "a write of {} was set aside in {}: {reason}",
                            path.display(),
                            aside.display()
                        ));
                    }
                }
                // A file without a whole start has no entries.
                Piece::Torn(range) if range.start == 0 && range.end <= START => {
                    files.remove(path).map_err(|source| Error::io(path, source))?;
                }
                Piece::Torn(range) if Some(*number) == last => cut(files, path, range.start)?,
                Piece::Torn(range) | Piece::Damage(range) => {
                    let aside = beside(path, range.start, DAMAGED);
                    let damaged = &bytes[range.clone()];
                    let kept = write_whole(files, &aside, |file| file.write_all(damaged));
                    kept.map_err(|source| Error::io(&aside, source))?;
                    replayed.damaged_bytes += damaged.len() as u64;
                    replayed.reports.push(format!(
                        "{} is damaged from byte {} to {}: those bytes were set aside in {}, the rest is used",
                        path.display(),
                        range.start,
                        range.end,
                        aside.display()
                    ));
                }
            }
        }
    }
    Ok(replayed)
}

/// The path of the data set aside from a place of a log file. It is the same for every replay.
fn beside(path: &Path, place: usize, extension: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{place:09}.{extension}"))
}

fn cut(files: &impl Files, path: &Path, length: usize) -> Result<()> {
    let cut = || {
        let mut file = files.open(path)?;
        file.truncate(length as u64)?;
        file.sync()
    };
    cut().map_err(|source| Error::io(path, source))
}

/// Writes entries to a file with the layout of the log.
pub(super) fn keep_entries<'a>(
    files: &impl Files,
    path: &Path,
    entries: impl IntoIterator<Item = &'a [u8]>,
) -> Result<()> {
    let salt = Salt::random();
    let mut bytes = salt.start().to_vec();
    for entry in entries {
        let at = bytes.len();
        bytes.resize(at + HEAD, 0);
        bytes.extend_from_slice(entry);
        salt.fill(&mut bytes[at..])?;
    }
    write_whole(files, path, |file| file.write_all(&bytes)).map_err(|source| Error::io(path, source))
}

/// An unused path for entries that a flush could not store.
pub(super) fn next_aside(directory: &Path, segment: u64) -> PathBuf {
    let path = |number: u32| directory.join(format!("{segment:012}-flush-{number:03}.{ASIDE}"));
    (1..=u32::MAX).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(0))
}

/// The files that were set aside, by name.
///
/// # Errors
/// I/O errors of the folder.
pub fn set_aside(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = || -> std::io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for file in std::fs::read_dir(directory)? {
            let path = file?.path();
            found.extend(path.extension().is_some_and(|kind| kind == DAMAGED || kind == ASIDE).then_some(path));
        }
        found.sort_unstable();
        Ok(found)
    };
    match listed() {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|source| Error::io(directory, source)),
    }
}

/// Reads the entries of one file with the layout of the log, such as one that was set aside.
///
/// # Errors
/// I/O errors of the file, and the errors of `visit`.
pub fn read_entries(path: &Path, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    pieces(&bytes).into_iter().try_for_each(|piece| match piece {
        Piece::Entry(range) => visit(&bytes[range]),
        Piece::Damage(_) | Piece::Torn(_) => Ok(()),
    })
}
