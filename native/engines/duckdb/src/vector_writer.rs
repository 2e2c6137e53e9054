//! Writes rows of an Arrow array into a vector of a DuckDB chunk.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use libduckdb_sys as duckdb;

use super::column_builder::Misfit;
use super::vector::{Layout, StringValue, VECTOR_ROWS, decimal_layout};
use boundary_bench_engine::table::SqlType;

/// Fills `vector`, whose type is `sql_type`, with `rows` of `array`, which has the Arrow type of that. Long strings are
/// not copied: the array must live for as long as the vector is read. Returns the number of bytes of text that the
/// vector refers to.
///
/// # Safety
/// `vector` belongs to a live chunk, has the type `sql_type`, and was reset since it was last filled. `rows` are at
/// most [`VECTOR_ROWS`] rows of the array.
pub(super) unsafe fn fill(
    vector: duckdb::duckdb_vector,
    sql_type: SqlType,
    array: &ArrayRef,
    rows: Range<usize>,
) -> Result<usize, Misfit> {
    debug_assert!(rows.len() <= VECTOR_ROWS && rows.end <= array.len());
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    if let Some(nulls) = nulls {
        // SAFETY: the caller's promise.
        unsafe { fill_validity(vector, nulls, &rows) };
    }
    // SAFETY: the vector lives, and has room for a whole vector of its type.
    let data = unsafe { duckdb::duckdb_vector_get_data(vector) };
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    // SAFETY: each arm writes at most `rows.len()` values of the vector's own type.
    unsafe {
        match sql_type {
            SqlType::Bool => {
                let bits = array.as_boolean().values().slice(rows.start, rows.len());
                for (index, bit) in bits.iter().enumerate() {
                    data.cast::<u8>().add(index).write(u8::from(bit));
                }
            }
            SqlType::SmallInt => copy::<Int16Type>(data.cast(), array, rows),
            SqlType::Int => copy::<Int32Type>(data.cast(), array, rows),
            SqlType::BigInt => copy::<Int64Type>(data.cast(), array, rows),
            SqlType::Real => copy::<Float32Type>(data.cast(), array, rows),
            SqlType::Double => copy::<Float64Type>(data.cast(), array, rows),
            SqlType::Date => copy::<Date32Type>(data.cast(), array, rows),
            SqlType::Timestamp => copy::<TimestampMicrosecondType>(data.cast(), array, rows),
            SqlType::Decimal { precision, .. } => {
                let values = &array.as_primitive::<Decimal128Type>().values()[rows.clone()];
                check_decimals(values, precision, rows.start, is_valid)?;
                match decimal_layout(precision) {
                    Layout::Decimal16 => narrow(data.cast::<i16>(), values),
                    Layout::Decimal32 => narrow(data.cast::<i32>(), values),
                    Layout::Decimal64 => narrow(data.cast::<i64>(), values),
                    _ => data.cast::<i128>().copy_from_nonoverlapping(values.as_ptr(), values.len()),
                }
            }
            SqlType::Text => {
                let strings = array.as_string::<i32>();
                return Ok(refer(data.cast(), rows, is_valid, |row| strings.value(row).as_bytes()));
            }
            SqlType::Bytes => {
                let blobs = array.as_binary::<i32>();
                return Ok(refer(data.cast(), rows, is_valid, |row| blobs.value(row)));
            }
        }
    }
    Ok(0)
}

/// # Safety
/// The conditions of [`fill`].
unsafe fn fill_validity(vector: duckdb::duckdb_vector, nulls: &NullBuffer, rows: &Range<usize>) {
    let bits = nulls.inner().slice(rows.start, rows.len());
    // SAFETY: the mask, writable after the first call, has a bit for each row of a whole vector.
    unsafe {
        duckdb::duckdb_vector_ensure_validity_writable(vector);
        let mask = duckdb::duckdb_vector_get_validity(vector);
        for (index, word) in bits.bit_chunks().iter_padded().take(rows.len().div_ceil(64)).enumerate() {
            mask.add(index).write(word);
        }
    }
}

/// # Safety
/// `data` has room for `rows`, and is of the native type of `T`.
unsafe fn copy<T: ArrowPrimitiveType>(data: *mut T::Native, array: &ArrayRef, rows: Range<usize>) {
    let values = &array.as_primitive::<T>().values()[rows];
    // SAFETY: the caller's promise; DuckDB's memory and Arrow's don't overlap.
    unsafe { data.copy_from_nonoverlapping(values.as_ptr(), values.len()) }
}

/// Checks the digits of decimals, since an Arrow array may hold more than its type says.
fn check_decimals(
    values: &[i128],
    precision: u8,
    start: usize,
    is_valid: impl Fn(usize) -> bool,
) -> Result<(), Misfit> {
    let end = 10_i128.pow(u32::from(precision));
    let fits = |value: &i128| -end < *value && *value < end;
    match values.iter().enumerate().find(|(index, value)| !fits(value) && is_valid(start + index)) {
        Some((index, _)) => Err((start + index, "the decimal has more digits than the column's precision")),
        None => Ok(()),
    }
}

/// # Safety
/// `data` has room for all values.
unsafe fn narrow<T: TryFrom<i128> + Default>(data: *mut T, values: &[i128]) {
    for (index, value) in values.iter().enumerate() {
        // SAFETY: the caller's promise. Only what is behind a null does not fit.
        unsafe { data.add(index).write(T::try_from(*value).unwrap_or_default()) };
    }
}

/// # Safety
/// `data` has room for `rows`.
unsafe fn refer<'a>(
    data: *mut StringValue,
    rows: Range<usize>,
    is_valid: impl Fn(usize) -> bool,
    value: impl Fn(usize) -> &'a [u8],
) -> usize {
    let mut bytes = 0;
    for (index, row) in rows.enumerate() {
        let value = if is_valid(row) { value(row) } else { &[] };
        bytes += value.len();
        // SAFETY: the caller's promise.
        unsafe { data.add(index).write(StringValue::new(value)) };
    }
    bytes
}
