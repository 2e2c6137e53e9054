//! Writes rows of an Arrow array into a vector of a DuckDB chunk.

use std::ffi::c_void;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use super::column_builder::Misfit;
use super::library as duckdb;
use super::vector::{Layout, Mapping, StringValue, VECTOR_ROWS, decimal_layout};
use boundary_bench_engine::table::SqlType;

/// Fills `vector` with `rows` of `array`. The vector's column is appended as `mapping` says, and `array` has the Arrow type of the
/// mapping. Long strings are not copied: the array must live for as long as the vector is read. Returns the number of bytes of text that
/// the vector refers to.
///
/// # Safety
/// `vector` belongs to a live chunk, has the type [`Mapping::appended_type`], and was reset since it was last filled. `rows` are at
/// most [`VECTOR_ROWS`] rows of the array.
pub(super) unsafe fn fill(
    vector: duckdb::duckdb_vector,
    mapping: &Mapping,
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
        match mapping.sql_type {
            _ if is_narrowed(mapping.layout) => fill_narrowed(data, mapping.layout, array, rows, is_valid)?,
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

/// Whether values of the layout are narrower than the Arrow values that they come from, so that some may not fit.
fn is_narrowed(layout: Layout) -> bool {
    matches!(
        layout,
        Layout::Int8
            | Layout::UInt8
            | Layout::UInt16
            | Layout::UInt32
            | Layout::UInt64
            | Layout::HugeInt
            | Layout::UHugeInt
            | Layout::Seconds
            | Layout::Millis
            | Layout::Nanos
    )
}

/// # Safety
/// The conditions of [`fill`]. `data` is the memory of the vector, and the vector's layout [`is_narrowed`].
unsafe fn fill_narrowed(
    data: *mut c_void,
    layout: Layout,
    array: &ArrayRef,
    rows: Range<usize>,
    is_valid: impl Fn(usize) -> bool,
) -> Result<(), Misfit> {
    let out = "the integer does not fit the type of the column";
    let coarse = "the timestamp does not fit the unit of the column without losing digits";
    // SAFETY: each arm writes `rows.len()` values of the vector's own type.
    unsafe {
        match layout {
            Layout::Int8 => put::<Int16Type, i8>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::UInt8 => put::<Int16Type, u8>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::UInt16 => put::<Int32Type, u16>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::UInt32 => put::<Int64Type, u32>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::UInt64 => put::<Decimal128Type, u64>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::HugeInt => put::<Decimal128Type, i128>(data, array, rows, is_valid, Some, out),
            Layout::UHugeInt => put::<Decimal128Type, u128>(data, array, rows, is_valid, |v| v.try_into().ok(), out),
            Layout::Seconds | Layout::Millis => {
                let unit = if layout == Layout::Seconds { 1_000_000 } else { 1000 };
                let fits = |micros: i64| (micros % unit == 0).then_some(micros / unit);
                put::<TimestampMicrosecondType, i64>(data, array, rows, is_valid, kept_infinity(fits), coarse)
            }
            _ => {
                let fits = |micros: i64| micros.checked_mul(1000);
                put::<TimestampMicrosecondType, i64>(data, array, rows, is_valid, kept_infinity(fits), coarse)
            }
        }
    }
}

/// A conversion of timestamps that keeps the two values which mean infinity.
fn kept_infinity(convert: impl Fn(i64) -> Option<i64>) -> impl Fn(i64) -> Option<i64> {
    move |value| if value == i64::MAX || value == -i64::MAX { Some(value) } else { convert(value) }
}

/// Writes converted values. A value behind a null is written as zero.
///
/// # Safety
/// `data` has room for `rows` values of `T`.
unsafe fn put<S: ArrowPrimitiveType, T: Default>(
    data: *mut c_void,
    array: &ArrayRef,
    rows: Range<usize>,
    is_valid: impl Fn(usize) -> bool,
    convert: impl Fn(S::Native) -> Option<T>,
    problem: &'static str,
) -> Result<(), Misfit> {
    let values = array.as_primitive::<S>().values();
    for (index, row) in rows.enumerate() {
        let value = if is_valid(row) { convert(values[row]).ok_or((row, problem))? } else { T::default() };
        // SAFETY: the caller's promise.
        unsafe { data.cast::<T>().add(index).write(value) };
    }
    Ok(())
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
    // SAFETY: the caller's promise. DuckDB's memory and Arrow's don't overlap.
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
