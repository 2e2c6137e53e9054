//! Folders: private ones, and durable entries in them.

use std::fs::DirBuilder;
#[cfg(unix)]
use std::fs::File;
use std::io::Result;
use std::path::Path;

/// Creates a folder that only this user can look into.
pub fn create_private(folder: &Path) -> Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "the folder for temporary files is private on Windows"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the entries of a folder durable. Windows does that with the files themselves, and opens no folder.
#[cfg(unix)]
pub fn sync(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(missing_docs, clippy::missing_errors_doc, clippy::unnecessary_wraps, reason = "it is the function above")]
pub fn sync(_: &Path) -> Result<()> {
    Ok(())
}
