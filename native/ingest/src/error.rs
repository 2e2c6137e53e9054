//! The errors of writes and queries. Each kind is another response of a server.

use std::sync::Arc;

use boundary_bench_kernel as kernel;
use thiserror::Error;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a write or a query.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The bytes of a body do not have their format.
    #[error("{format}, {place}: {problem}")]
    Parse {
        /// The name of the format: `line protocol`, `MessagePack`, ...
        format: &'static str,
        /// The place of the problem: `line 3, column 12`, or `byte 17`.
        place: String,
        /// The problem at that place.
        problem: String,
    },
    /// An unusable argument, name or time.
    #[error("{0}")]
    InvalidArgument(String),
    /// A write has more points than the limit.
    #[error("a write may have {most} points at most; send several smaller ones")]
    TooManyPoints {
        /// The limit of points in one write.
        most: usize,
    },
    /// No database has this name.
    #[error("database not found: {0:?}")]
    DatabaseNotFound(String),
    /// A field already has values of another type.
    #[error(
        "field type conflict: the field {field:?} of {measurement:?} is of the type {registered}, not {written}; nothing of this write was kept"
    )]
    TypeConflict {
        /// The measurement of the field.
        measurement: String,
        /// The name of the field.
        field: String,
        /// The registered type of the field.
        registered: &'static str,
        /// The type of the refused values.
        written: &'static str,
    },
    /// A database or a measurement would exceed a limit of its names.
    #[error("{of} would have more than {most} {what}; write to those it has")]
    Cardinality {
        /// The database or the measurement, in words.
        of: String,
        /// The names that are limited: series, measurements, ...
        what: &'static str,
        /// The limit of names.
        most: usize,
    },
    /// Writes arrive faster than they can be flushed.
    #[error("{0}; try again later")]
    Busy(String),
    /// The disk is full.
    #[error("{path}: {source}; free some space")]
    DiskFull {
        /// The path of the file.
        path: String,
        /// The I/O error of the system.
        source: Arc<std::io::Error>,
    },
    /// Any other error.
    #[error(transparent)]
    Core(#[from] kernel::Error),
}

impl Error {
    /// The error for an I/O error of a file.
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.display().to_string();
        let source = Arc::new(source);
        if matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) {
            return Self::DiskFull { path, source };
        }
        Self::Core(kernel::Error::Io { path, source })
    }
}

impl From<Error> for kernel::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Core(error) => error,
            Error::DiskFull { path, source } => Self::Io { path, source },
            Error::Busy(_) | Error::Cardinality { .. } => Self::Engine { engine: "ingest", message: error.to_string() },
            _ => Self::InvalidArgument(error.to_string()),
        }
    }
}
