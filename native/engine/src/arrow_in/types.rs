//! The types of ours that hold the values of Arrow's types.

use arrow_schema::DataType;

use crate::table::{MAX_DECIMAL_PRECISION, SqlType};

/// The type of ours that holds the values of an Arrow type; `None` if there is none. All values of the type fit, but for
/// timestamps of nanoseconds and decimals of more than 38 digits.
#[must_use]
pub fn sql_type_of(data_type: &DataType) -> Option<SqlType> {
    Some(match data_type {
        DataType::Int8 | DataType::UInt8 => SqlType::SmallInt,
        DataType::UInt16 => SqlType::Int,
        DataType::UInt32 => SqlType::BigInt,
        DataType::UInt64 => SqlType::Decimal { precision: 20, scale: 0 },
        DataType::Float16 => SqlType::Real,
        DataType::Null | DataType::LargeUtf8 | DataType::Utf8View => SqlType::Text,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => SqlType::Bytes,
        DataType::Date64 => SqlType::Date,
        // The values of a type with a time zone are in UTC, and stay in UTC.
        DataType::Timestamp(..) => SqlType::Timestamp,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal_of(*precision, *scale)?,
        DataType::Dictionary(_, values) => sql_type_of(values)?,
        DataType::RunEndEncoded(_, values) => sql_type_of(values.data_type())?,
        other => SqlType::from_arrow(other)?,
    })
}

/// A negative scale stands for zeros before the point, which take digits here.
fn decimal_of(precision: u8, scale: i8) -> Option<SqlType> {
    let (whole, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.saturating_add(scale.unsigned_abs()), 0),
    };
    (scale <= MAX_DECIMAL_PRECISION).then_some(SqlType::Decimal { precision: whole.min(MAX_DECIMAL_PRECISION), scale })
}
