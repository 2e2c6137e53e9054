//! Values that the engine type of their column does not have.

use std::fmt::Display;

/// The reason for which a value could not be decoded.
pub(crate) enum Problem {
    /// The bytes are no value of the column's type in the protocol.
    Garbled,
    /// The value has no counterpart here.
    Value(&'static str),
    /// The column's engine type has no such value, but another type has.
    Unfit(Box<Unfit>),
}

/// A value that its column's engine type does not have.
pub(crate) struct Unfit {
    /// The value as the server writes it.
    pub(crate) text: String,
    /// The problem of the value, with what to do.
    pub(crate) problem: &'static str,
}

pub(crate) type Taken<T> = Result<T, Problem>;

pub(crate) fn garbled() -> Problem {
    Problem::Garbled
}

#[cold]
pub(crate) fn unfit(text: impl Display, problem: &'static str) -> Problem {
    Problem::Unfit(Box::new(Unfit { text: text.to_string(), problem }))
}

pub(crate) const NOT_A_TRUTH: &str = "a number other than 0 and 1 in a TINYINT(1), which is a BOOLEAN; CAST it to SIGNED, \
                                      or set tiny-int-1-is-bit=off in the URL";
pub(crate) const ZERO_DATE: &str =
    "a date without a month or a day, as 0000-00-00; CAST it to CHAR, or set date-strings=on in the URL";
pub(crate) const LONG_DECIMAL: &str = "a decimal of more digits than its column is said to have, or than 38; CAST it to \
                                       CHAR, or set decimal-numbers=on in the URL";
pub(crate) const OTHER_NUMBER: &str = "a number that its column's type does not have; CAST it to CHAR";
pub(crate) const OTHER_DATE: &str = "a date that is not understood; CAST it to CHAR";
