//! A folder for a test.

use std::path::PathBuf;

use crate::folder::create_temporary;

/// A new and empty temporary folder, removed with what is in it when it is dropped.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes a folder, whose name has this one in it.
    ///
    /// # Panics
    /// Panics if the folder can't be made.
    pub fn new(name: &str) -> Self {
        Self(create_temporary(&format!("test-{name}")).expect("a temporary folder"))
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
