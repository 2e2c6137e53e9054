//! Folders: private ones, and durable entries in them.

use std::fs::DirBuilder;
#[cfg(unix)]
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The longest path of a folder, in bytes: a socket in it must fit into the 104 bytes of the systems' socket addresses.
const MAX_FOLDER_PATH: usize = 80;

/// Creates a folder that only this user can look into.
pub fn create_private(folder: &Path) -> Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "the folder for temporary files is private on Windows"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a private folder for temporary files. Its name begins with `bb-`, the given name and the id of this process. The rest is
/// random, so that nobody else can have made it first.
pub fn create_temporary(name: &str) -> Result<PathBuf> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let folder = format!("bb-{name}-{}-{random:x}", std::process::id());
        let usual = std::env::temp_dir().join(&folder);
        let fits = cfg!(windows) || usual.as_os_str().len() <= MAX_FOLDER_PATH;
        let path = if fits { usual } else { Path::new("/tmp").join(folder) };
        match create_private(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_folders_are_new_private_and_not_to_be_guessed() {
        let [one, other] = [create_temporary("x").unwrap(), create_temporary("x").unwrap()];
        let suffix = |path: &Path| path.to_string_lossy().rsplit('-').next().map(str::to_owned);
        assert!(one != other && suffix(&one).is_some_and(|random| random.len() > 8), "{one:?} {other:?}");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&one.metadata().unwrap()) & 0o777, 0o700);
        [one, other].iter().for_each(|folder| std::fs::remove_dir(folder).unwrap());
    }
}
