//! The files that a store writes itself: its log, and what was set aside.
//!
//! All that must be on the disk goes through [`Files`], so that tests can let each operation fail, and a crash lose what was
//! not synced. It is a type parameter: the files of the disk cost what the calls of the standard library cost.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Makes, lists and removes files.
pub trait Files: Clone + Send + Sync + 'static {
    /// A file that is written.
    type File: LogFile;

    /// Makes a file that was not there.
    ///
    /// # Errors
    /// I/O errors of the file; [`std::io::ErrorKind::AlreadyExists`].
    fn create(&self, path: &Path) -> Result<Self::File>;

    /// Opens a file to write to it.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn open(&self, path: &Path) -> Result<Self::File>;

    /// All bytes of a file.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;

    /// Gives a file another name.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Makes one folder, whose parent is there.
    ///
    /// # Errors
    /// I/O errors of the folder; [`std::io::ErrorKind::AlreadyExists`].
    fn create_folder(&self, path: &Path) -> Result<()>;

    /// Makes durable which files a folder has.
    ///
    /// # Errors
    /// I/O errors of the folder.
    fn sync_folder(&self, path: &Path) -> Result<()>;
}

/// A file that is written.
pub trait LogFile: Send {
    /// Writes at the end.
    ///
    /// # Errors
    /// I/O errors of the file; then a part may be written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes what was written durable. After an error, nobody knows what of it is.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn sync(&self) -> Result<()>;

    /// Cuts off what is behind the first `length` bytes.
    ///
    /// # Errors
    /// I/O errors of the file.
    fn truncate(&mut self, length: u64) -> Result<()>;
}

/// The files of the disk.
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

/// Makes a folder and those above it that are missing, durably: each is known to the one above it when this returns.
///
/// # Errors
/// I/O errors of the folders.
pub fn create_folders(files: &impl Files, path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    // The parent of a name alone is the empty path.
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

/// Writes a file whole, durably, in place of an earlier one of its name: under another name first, so that there is never a
/// part of it.
pub(super) fn write_whole(
    files: &impl Files,
    path: &Path,
    write: impl FnOnce(&mut dyn LogFile) -> Result<()>,
) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = (|| {
        // A crash may have left an earlier one behind.
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
