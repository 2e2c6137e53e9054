//! What can go wrong with a write or a query. Each kind is another answer of a server.

use std::sync::Arc;

use boundary_bench_kernel as kernel;
use thiserror::Error;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The bytes are not what they should be.
    #[error("{format}, {place}: {problem}")]
    Parse {
        /// `line protocol`, `MessagePack`, ...
        format: &'static str,
        /// Where: `line 3, column 12`, or `byte 17`.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// What the caller gave is not usable.
    #[error("{0}")]
    InvalidArgument(String),
    /// More points than one write may have.
    #[error("a write may have {most} points at most; send several smaller ones")]
    TooManyPoints {
        /// The limit.
        most: usize,
    },
    /// There is no such database.
    #[error("database not found: {0:?}")]
    DatabaseNotFound(String),
    /// A field holds values of another type already.
    #[error(
        "field type conflict: the field {field:?} of {measurement:?} is of the type {registered}, not {written}; nothing of this write was kept"
    )]
    TypeConflict {
        /// Where the field is.
        measurement: String,
        /// Its name.
        field: String,
        /// The type it has.
        registered: &'static str,
        /// The type that was to be written.
        written: &'static str,
    },
    /// More of something than a database or a measurement may have.
    #[error("{of} would have more than {most} {what}; write to those it has")]
    Cardinality {
        /// The database or the measurement.
        of: String,
        /// Series, measurements, ...
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// Writes come faster than they can be flushed.
    #[error("{0}; try again later")]
    Busy(String),
    /// The disk is full.
    #[error("{path}: {source}; free some space")]
    DiskFull {
        /// The file.
        path: String,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// Anything else.
    #[error(transparent)]
    Core(#[from] kernel::Error),
}

impl Error {
    /// The error of a file.
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
