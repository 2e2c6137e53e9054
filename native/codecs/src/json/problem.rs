//! The reasons for which JSON can't be read.

/// The reason for which a value can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The bytes end before the value does.
    Ends,
    /// The bytes are no JSON, or the value is not of its path's type.
    Wrong(&'static str),
}

pub(super) type Scanned<T> = Result<T, Problem>;
