//! Parameters of statements.

use crate::table::SqlType;
use boundary_bench_kernel::{Error, Result};

/// The value of a statement's parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `NULL`, of any type.
    Null,
    /// `NULL` of this type.
    NullOf(SqlType),
    /// A `BOOLEAN`.
    Bool(bool),
    /// An integer. It is a `BIGINT` if the statement leaves the type open.
    Int(i64),
    /// A `SMALLINT`.
    SmallInt(i16),
    /// An `INTEGER`.
    Int32(i32),
    /// A `REAL`.
    Real(f32),
    /// A floating-point number. It is a `DOUBLE` if the statement leaves the type open.
    Double(f64),
    /// An exact decimal.
    Decimal {
        /// The number of units of 10^-scale, less than 10^precision of them.
        value: i128,
        /// The number of all digits, 1 to 38.
        precision: u8,
        /// The number of digits behind the point, 0 to `precision`.
        scale: u8,
    },
    /// A `VARCHAR`.
    Text(String),
    /// A `BLOB`.
    Bytes(Vec<u8>),
    /// A `DATE`: days since 1970-01-01.
    Date(i32),
    /// A `TIMESTAMP`: microseconds since 1970-01-01T00:00:00.
    Timestamp(i64),
}

impl Value {
    /// The natural type of the value, or `None` for null.
    pub fn sql_type(&self) -> Option<SqlType> {
        Some(match self {
            Self::Null => return None,
            Self::NullOf(sql_type) => *sql_type,
            Self::Bool(_) => SqlType::Bool,
            Self::SmallInt(_) => SqlType::SmallInt,
            Self::Int32(_) => SqlType::Int,
            Self::Int(_) => SqlType::BigInt,
            Self::Real(_) => SqlType::Real,
            Self::Double(_) => SqlType::Double,
            Self::Decimal { precision, scale, .. } => SqlType::Decimal { precision: *precision, scale: *scale },
            Self::Text(_) => SqlType::Text,
            Self::Bytes(_) => SqlType::Bytes,
            Self::Date(_) => SqlType::Date,
            Self::Timestamp(_) => SqlType::Timestamp,
        })
    }

    /// Checks the value of the parameter `position`, from 1, against the type that the statement takes, if it is known. A double from 2^53
    /// on is taken for no integer: doubles do not tell neighbouring integers apart there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn check_exact(&self, position: usize, taken: Option<SqlType>) -> Result<()> {
        match (self, taken) {
            (Self::Double(number), Some(SqlType::SmallInt | SqlType::Int | SqlType::BigInt))
                if number.abs() >= 9_007_199_254_740_992.0 =>
            {
                Err(unusable_parameter(position, format!("{number} is not a safe integer; give it as a bigint")))
            }
            _ => Ok(()),
        }
    }
}

/// The error for an unusable parameter. `position` counts from 1, as `$1` does.
pub fn unusable_parameter(position: usize, problem: impl std::fmt::Display) -> Error {
    Error::InvalidArgument(format!("parameter {position}: {problem}"))
}

/// Checks that the number of parameters is the one that the statement takes.
pub fn check_parameter_count(given: usize, expected: usize) -> Result<()> {
    if given == expected {
        return Ok(());
    }
    let problem = if given < expected { "is missing" } else { "is one too many" };
    Err(unusable_parameter(given.min(expected) + 1, format!("{problem}; the statement takes {expected}, not {given}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parameter_missing_or_too_many_is_named() {
        assert!(check_parameter_count(2, 2).is_ok());
        let text = |given, expected| check_parameter_count(given, expected).unwrap_err().to_string();
        assert_eq!(text(1, 3), "parameter 2: is missing; the statement takes 3, not 1");
        assert_eq!(text(3, 0), "parameter 1: is one too many; the statement takes 0, not 3");
    }
}
