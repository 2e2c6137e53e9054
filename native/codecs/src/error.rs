//! The errors of codecs. Each kind is another response of a server.

use boundary_bench_kernel as kernel;
use thiserror::Error;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of bytes or of values that have no bytes.
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
    /// Any other error.
    #[error(transparent)]
    Core(#[from] kernel::Error),
}

impl From<Error> for kernel::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Core(error) => error,
            _ => Self::InvalidArgument(error.to_string()),
        }
    }
}
