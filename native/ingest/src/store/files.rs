//! The files that a store writes itself: its log, and the files beside it for data that is set aside.
//!
//! Every durable write goes through [`Files`], so that tests can fail each operation, and simulate a crash that loses unsynced
//! bytes. It is a type parameter: for files on disk, the calls cost no more than those of the standard library.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Creates, opens, reads, renames and removes files.
pub trait Files: Clone + Send + Sync + 'static {
    /// A file that is open for writing.
    type File: LogFile;

    /// Creates a file, which must not exist.
    ///
    /// # Errors
    /// I/O errors of the file; [`std::io::ErrorKind::AlreadyExists`] where it exists.
    fn create(&self, path: &Path) -> Result<Self::File>;

    /// Opens a file for appending.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn open(&self, path: &Path) -> Result<Self::File>;

    /// Reads all bytes of a file.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;

    /// Renames a file.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Creates one folder, whose parent must exist.
    ///
    /// # Errors
    /// I/O errors of the folder; [`std::io::ErrorKind::AlreadyExists`] where it exists.
    fn create_folder(&self, path: &Path) -> Result<()>;

    /// Makes the entries of a folder durable.
    ///
    /// # Errors
    /// I/O errors of the folder.
    fn sync_folder(&self, path: &Path) -> Result<()>;
}

/// A file that is open for writing.
pub trait LogFile: Send {
    /// Appends bytes to the file.
    ///
    /// # Errors
    /// I/O errors of the file; then some of the bytes may be written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes all written bytes durable. After an error it is unknown which of them are on the disk.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn sync(&self) -> Result<()>;

    /// Truncates the file to `length` bytes.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn truncate(&mut self, length: u64) -> Result<()>;
}

/// Files on disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl LogFile for File {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        Write::write_all(self, bytes)
    }

    fn sync(&self) -> Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.set_len(length)
    }
}

impl Files for Disk {
    type File = File;

    fn create(&self, path: &Path) -> Result<File> {
        OpenOptions::new().append(true).create_new(true).open(path)
    }

    fn open(&self, path: &Path) -> Result<File> {
        OpenOptions::new().append(true).open(path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        std::fs::remove_file(path)
    }

    fn create_folder(&self, path: &Path) -> Result<()> {
        std::fs::create_dir(path)
    }

    fn sync_folder(&self, path: &Path) -> Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Creates a folder and its missing parents, durably: each folder's entry is synced when this returns.
///
/// # Errors
/// I/O errors of the folders.
pub fn create_folders(files: &impl Files, path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    // The parent of a single name is the empty path.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent != path && path.file_name().is_some() {
        create_folders(files, parent)?;
    }
    match files.create_folder(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists || !path.is_dir() => return Err(error),
        _ => {}
    }
    files.sync_folder(parent)
}

/// Writes a whole file, durably, replacing one of that name. It is written under a temporary name first, so that no part of it
/// is ever seen.
pub(super) fn write_whole(
    files: &impl Files,
    path: &Path,
    write: impl FnOnce(&mut dyn LogFile) -> Result<()>,
) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = (|| {
        // A crash may have left a temporary file behind.
        match files.remove(&part) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = files.create(&part)?;
        write(&mut file)?;
        file.sync()?;
        files.rename(&part, path)?;
        files.sync_folder(path.parent().unwrap_or(Path::new(".")))
    })();
    if written.is_err() {
        let _ = files.remove(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_with_those_above_them() {
        let top = std::env::temp_dir().join(format!("bb-files-{}", std::process::id()));
        let deep = top.join("a").join("b");
        create_folders(&Disk, &deep).unwrap();
        create_folders(&Disk, &deep).unwrap();
        assert!(deep.is_dir());
        let file = deep.join("file");
        for text in ["one", "two"] {
            write_whole(&Disk, &file, |file| file.write_all(text.as_bytes())).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        assert!(create_folders(&Disk, &file).is_err());
        assert!(create_folders(&Disk, &file.join("below")).is_err());
        assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 1);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
