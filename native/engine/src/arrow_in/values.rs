//! Conversions of arrays to the types of a table's columns: of values that the column holds exactly, and of no others.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array, downcast_run_array, new_null_array};
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_select::take::take;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::error::catch_panic;

use super::misfit::{Converted, Misfit};
use super::numbers::{check_digits, to_date, to_decimal, to_float, to_integer, to_timestamp};
use super::texts::{MOST_BYTES, to_bytes, to_text};

/// Converts an array to the type of a column; an array that has the type is returned as it is. `first_row` is the number of
/// rows before the array, for the errors.
///
/// # Errors
/// [`Error::SchemaMismatch`] for a type whose values the column can't hold, [`Error::InvalidValue`] for the first value that it
/// does not hold exactly, [`Error::TooLarge`] for more than 2 GiB of texts or bytes.
pub fn convert(array: &ArrayRef, column: &Field, first_row: u64) -> Result<ArrayRef> {
    let wanted = column.data_type();
    if array.data_type() == wanted && !matches!(wanted, DataType::Decimal128(..)) {
        return Ok(Arc::clone(array));
    }
    catch_panic(|| converted(array, wanted).map_err(|misfit| misfit.report(array, column, first_row)))
}

fn converted(array: &ArrayRef, wanted: &DataType) -> Converted {
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

/// Converts a dictionary's values, and repeats each for its rows.
fn expanded_dictionary(array: &ArrayRef, wanted: &DataType) -> Converted {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Err(Misfit::Type) };
    if dictionary.values().is_empty() {
        // No key is valid.
        return Ok(new_null_array(wanted, array.len()));
    }
    let places = || {
        let keys = dictionary.keys();
        dictionary.normalized_keys().into_iter().enumerate().filter(|(row, _)| keys.is_valid(*row)).map(|(_, key)| key)
    };
    expanded(dictionary.values(), dictionary.keys(), places, wanted)
}

/// Converts the values of runs, and repeats each for its rows.
fn expanded_runs(array: &ArrayRef, wanted: &DataType) -> Converted {
    let (values, indices) = downcast_run_array!(
        array => {
            let mut indices = Vec::with_capacity(array.len());
            for (run, end) in (0_u32..).zip(array.run_ends().sliced_values()) {
                let end = usize::try_from(i64::from(end)).unwrap_or(0).min(array.len());
                indices.resize(end, run);
            }
            (array.values_slice(), UInt32Array::from(indices))
        },
        _ => return Err(Misfit::Type),
    );
    expanded(&values, &indices, || indices.values().iter().map(|run| *run as usize), wanted)
}

/// The values at these indices; `places` are the indices of the rows that are not null.
fn expanded<I: Iterator<Item = usize>>(
    values: &ArrayRef,
    indices: &dyn Array,
    places: impl Fn() -> I,
    wanted: &DataType,
) -> Converted {
    let taken = |values: &ArrayRef| take(values, indices, None).map_err(|_| Misfit::Type);
    if !matches!(wanted, DataType::Utf8 | DataType::Binary) {
        return converted(&taken(values)?, wanted);
    }
    // Few values may stand for more rows than memory could hold.
    let values = converted(values, wanted)?;
    let offsets = match wanted {
        DataType::Utf8 => values.as_string::<i32>().offsets(),
        _ => values.as_binary::<i32>().offsets(),
    };
    let length = |place: usize| usize::try_from(offsets[place + 1] - offsets[place]).unwrap_or(0);
    let longest = (0..values.len()).map(length).max().unwrap_or(0);
    if longest.saturating_mul(indices.len()) > MOST_BYTES && places().map(length).sum::<usize>() > MOST_BYTES {
        return Err(Misfit::Size);
    }
    taken(&values)
}
