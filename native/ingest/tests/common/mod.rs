//! Common parts of the tests of stores: a folder, and writes of line protocol.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use boundary_bench_ingest::line::{LineOptions, parse_lines};
use boundary_bench_ingest::store::Files;
use boundary_bench_ingest::{Error, IngestStore, StoreOptions};

/// A temporary folder of one test, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("bb-ingest-{}-{number}", std::process::id())))
    }

    pub fn options(&self) -> StoreOptions {
        StoreOptions { flush_interval: None, ..StoreOptions::new(&self.0) }
    }

    pub fn open(&self) -> IngestStore {
        IngestStore::open(&self.options()).unwrap()
    }

    /// The files of a subfolder, sorted.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.0.join(folder)).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files.collect();
        files.sort();
        files
    }

    /// The log files, without those that were set aside.
    pub fn logs(&self) -> Vec<PathBuf> {
        let logs = self.files("wal").into_iter();
        logs.filter(|path| path.extension().is_some_and(|extension| extension == "wal")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn write<F: Files>(store: &IngestStore<F>, lines: &str) -> Result<usize, Error> {
    store.write_points("db", parse_lines(lines.as_bytes(), &LineOptions::default())?)
}
