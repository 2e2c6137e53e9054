//! Conversions of arrays to the types of a table's columns: of values that the column holds exactly, and of no others.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, downcast_run_array, new_null_array};
use arrow_schema::{DataType, Field, TimeUnit};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

use crate::table::{MAX_DECIMAL_PRECISION, SqlType};

mod numbers;
mod texts;

use numbers::{check_digits, to_date, to_decimal, to_float, to_integer, to_timestamp};
use texts::{expanded_dictionary, expanded_runs, to_bytes, to_text};

/// The reason why an array is not converted.
#[derive(Debug)]
enum Misfit {
    /// The wanted type has no counterpart of the values.
    Type,
    /// The wanted type has no counterpart of the value in this row.
    Value(usize),
    /// The values have more bytes than an array of the wanted type can have.
    Size,
}

/// Our type that holds the values of an Arrow type, or `None` if there is none. All values of the type fit, but for timestamps of
/// nanoseconds and decimals of more than 38 digits.
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

/// A negative scale stands for zeros before the point. They take digits here.
fn decimal_of(precision: u8, scale: i8) -> Option<SqlType> {
    let (whole, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.saturating_add(scale.unsigned_abs()), 0),
    };
    (scale <= MAX_DECIMAL_PRECISION).then_some(SqlType::Decimal { precision: whole.min(MAX_DECIMAL_PRECISION), scale })
}

/// Converts an array to the type of a column. An array that has this type already is returned as it is. `first_row` is the
/// number of rows before the array, for the errors.
pub fn convert(array: &ArrayRef, column: &Field, first_row: u64) -> Result<ArrayRef> {
    let wanted = column.data_type();
    if array.data_type() == wanted && !matches!(wanted, DataType::Decimal128(..)) {
        return Ok(Arc::clone(array));
    }
    catch_panic(|| converted(array, wanted).map_err(|misfit| misfit.report(array, column, first_row)))
}

fn converted(array: &ArrayRef, wanted: &DataType) -> std::result::Result<ArrayRef, Misfit> {
    let given = array.data_type();
    match (given, wanted) {
        // An Arrow array may hold more digits than its type says.
        (DataType::Decimal128(..), DataType::Decimal128(precision, _)) if given == wanted => {
            check_digits(array.as_primitive(), *precision)?;
            Ok(Arc::clone(array))
        }
        _ if given == wanted => Ok(Arc::clone(array)),
        (DataType::Null, _) => Ok(new_null_array(wanted, array.len())),
        (DataType::Dictionary(..), _) => expanded_dictionary(array, wanted),
        (DataType::RunEndEncoded(..), _) => expanded_runs(array, wanted),
        (_, DataType::Utf8) => to_text(array),
        (_, DataType::Binary) => to_bytes(array),
        (_, DataType::Int16 | DataType::Int32 | DataType::Int64) => to_integer(array, wanted),
        (_, DataType::Float32 | DataType::Float64) => to_float(array, wanted),
        (_, DataType::Decimal128(precision, scale)) => to_decimal(array, *precision, *scale),
        (_, DataType::Date32) => to_date(array),
        (_, DataType::Timestamp(TimeUnit::Microsecond, None)) => to_timestamp(array),
        _ => Err(Misfit::Type),
    }
}

/// The text of a number, a time, a text or a truth value, empty for a null. If a date or a time is beyond the times that have a text, it
/// is the number in the array. `None` for values of other types.
pub fn value_text(array: &ArrayRef, row: usize) -> Option<String> {
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    macro_rules! float {
        ($type:ty) => {
            format!("{:?}", array.as_primitive::<$type>().value(row))
        };
    }
    macro_rules! time {
        ($type:ty) => {{
            let times = array.as_primitive::<$type>();
            times.value_as_datetime(row).map_or_else(|| times.value(row).to_string(), |time| format!("{time:?}"))
        }};
    }
    macro_rules! decimal {
        ($type:ty) => {
            array.as_primitive::<$type>().value_as_string(row)
        };
    }
    if array.is_null(row) {
        return Some(String::new());
    }
    Some(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => number!(Float16Type),
        DataType::Float32 => float!(Float32Type),
        DataType::Float64 => float!(Float64Type),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            days.value_as_date(row).map_or_else(|| days.value(row).to_string(), |day| format!("{day:?}"))
        }
        DataType::Date64 => time!(Date64Type),
        DataType::Timestamp(TimeUnit::Second, _) => time!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => time!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => time!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => time!(TimestampNanosecondType),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return value_text(dictionary.values(), dictionary.normalized_keys()[row]);
        }
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => return value_text(array.values(), array.get_physical_index(row)),
            _ => return None,
        ),
        _ => return None,
    })
}

impl Misfit {
    /// The error for an array that was to be converted to the type of a column.
    fn report(&self, array: &ArrayRef, column: &Field, first_row: u64) -> Error {
        let (given, wanted) = (array.data_type(), column.data_type());
        let sql_name = |data_type: &DataType| sql_type_of(data_type).map(SqlType::to_sql);
        let name = sql_name(wanted).unwrap_or_else(|| wanted.to_string());
        // The column that would hold the values, if it is another.
        let other = sql_name(given).filter(|other| *other != name);
        match self {
            Self::Type => {
                let other = other.map(|other| format!(", or make the column {other}")).unwrap_or_default();
                Error::SchemaMismatch(format!(
                    "column \"{}\": Arrow values of type {given} can't be stored as {name}; cast them to {wanted} before \
                     they are sent{other}",
                    column.name()
                ))
            }
            // Arrow's texts of such values leave digits out.
            Self::Value(row) if given == wanted => Error::InvalidValue {
                row: first_row + *row as u64,
                column: column.name().clone(),
                problem: format!("has more digits than {name}"),
            },
            Self::Value(row) => {
                let value = value_text(array, *row).unwrap_or_else(|| "the value".to_owned());
                let remedy = match other {
                    Some(other) => format!("make the column {other}, or change the value"),
                    None => format!("round it to {wanted}, or change the value"),
                };
                Error::InvalidValue {
                    row: first_row + *row as u64,
                    column: column.name().clone(),
                    problem: format!("{value} of Arrow's type {given} is no value of {name}; {remedy}"),
                }
            }
            Self::Size => Error::TooLarge(format!(
                "column \"{}\": a batch has more than 2 GiB of its values; send batches of fewer rows",
                column.name()
            )),
        }
    }
}
