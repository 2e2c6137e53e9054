//! The options of a store.

use std::path::PathBuf;
use std::time::Duration;

use super::registry::Limits;

/// The point at which a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A write is acknowledged when it is on the disk.
    #[default]
    Durable,
    /// A write is acknowledged when the kernel has it: it survives the end of the process, but not of the machine.
    Fast,
}

/// The options of a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The folder of the store; created if missing.
    pub directory: PathBuf,
    /// The point at which a write is acknowledged.
    pub durability: Durability,
    /// The interval of flushes; `None`: flush only on request or when `memory_bytes` is reached.
    pub flush_interval: Option<Duration>,
    /// Bytes of points in memory that start an early flush; at twice as many, writes are refused.
    pub memory_bytes: usize,
    /// The limits on the number of names.
    pub limits: Limits,
    /// Called with a sentence about each problem with acknowledged points: a failed flush, damage in the log, points that were
    /// set aside.
    pub report: fn(&str),
}

impl StoreOptions {
    /// The default options, for this folder.
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
