//! A folder for a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A new and empty temporary folder, removed with what is in it when it is dropped.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes a folder, whose name has this one in it.
    ///
    /// # Panics
    /// Panics if the folder can't be made.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("bb-test-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
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
