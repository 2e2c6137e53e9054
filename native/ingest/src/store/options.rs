//! How a store is opened.

use std::path::PathBuf;
use std::time::Duration;

use super::registry::Limits;

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is on the disk.
    #[default]
    Durable,
    /// When the kernel has it: it outlives the process, and not the machine.
    Fast,
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Its folder; made where it is missing.
    pub directory: PathBuf,
    /// When a write is acknowledged.
    pub durability: Durability,
    /// How often points in memory go to files; `None` for only when asked.
    pub flush_interval: Option<Duration>,
    /// Points in memory go to files early when they take so many bytes, and writes are refused at twice as many.
    pub memory_bytes: usize,
    /// How many names a database may have.
    pub limits: Limits,
    /// Is told, in a sentence, what went wrong with points that were acknowledged: a flush that failed, damage in the log,
    /// points that were set aside.
    pub report: fn(&str),
}

impl StoreOptions {
    /// The defaults, in a folder.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            durability: Durability::default(),
            flush_interval: Some(Duration::from_secs(10)),
            memory_bytes: 256 << 20,
            limits: Limits::default(),
            report: |_| {},
        }
    }
}
