//! Gathers the vectors of one column in one Arrow array. Each value is copied once.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer,
    ScalarBuffer,
};

use super::engine_error;
use super::text::{self, IntervalValue};
use super::vector::{Layout, Mapping, StringValue, Vector};
use boundary_bench_engine::slab::SlabBuffer;
use boundary_bench_engine::table::{SqlType, fixed_array};
use boundary_bench_kernel::Result;

/// The bytes of a column of text or bytes above which its batch is closed. Arrow's offsets end at 2 GiB.
const MAX_DATA_BYTES: usize = 64 << 20;

/// The first value that is no valid `DECIMAL(38, 0)`.
const DECIMAL_38_END: i128 = 10_i128.pow(38);

/// The bytes of the longest text of a value that DuckDB does not keep as text: the longest text of an `INTERVAL`. Texts
/// of an `ENUM` may be longer.
const LONGEST_TEXT_FORM: usize = 96;

/// A value that does not fit its column's type: its row in the vector, and the problem.
pub(super) type Misfit = (usize, &'static str);

enum Store {
    Fixed(SlabBuffer),
    Bits(BooleanBufferBuilder),
    Bytes { offsets: Vec<i32>, data: Vec<u8> },
}

/// One column of the batch that is being filled.
pub(super) struct ColumnBuilder {
    mapping: Mapping,
    store: Store,
    nulls: NullBufferBuilder,
}

impl ColumnBuilder {
    /// An empty column with room for `rows` rows.
    pub(super) fn new(mapping: Mapping, rows: usize) -> Self {
        let store = match mapping.sql_type.fixed_width() {
            _ if mapping.sql_type == SqlType::Bool => Store::Bits(BooleanBufferBuilder::new(rows)),
            Some(width) => Store::Fixed(SlabBuffer::with_capacity(rows * width)),
            None => {
                let mut offsets = Vec::with_capacity(rows + 1);
                offsets.push(0);
                Store::Bytes { offsets, data: Vec::new() }
            }
        };
        Self { mapping, store, nulls: NullBufferBuilder::new(rows) }
    }

    /// The number of `rows` that can be appended to the batch. `empty` says that the batch has no rows yet.
    pub(super) fn rows_that_fit(&self, vector: Vector<'_>, rows: Range<usize>, empty: bool) -> usize {
        let Store::Bytes { data, .. } = &self.store else { return rows.len() };
        if self.mapping.is_text_form() {
            let longest = self.mapping.dictionary.iter().flat_map(|values| values.iter().map(String::len)).max();
            let room = MAX_DATA_BYTES.saturating_sub(data.len()) / longest.unwrap_or(0).max(LONGEST_TEXT_FORM);
            return rows.len().min(if empty { room.max(1) } else { room });
        }
        // SAFETY: this store is for columns of strings.
        let values = unsafe { vector.values::<StringValue>() };
        let validity = vector.validity();
        let mut bytes = data.len();
        for row in rows.clone() {
            if validity.is_none_or(|bits| bits.is_valid(row)) {
                bytes += values[row].len();
            }
            if bytes > MAX_DATA_BYTES {
                // A value that is too large for any batch gets one of its own.
                return if empty { (row - rows.start).max(1) } else { row - rows.start };
            }
        }
        rows.len()
    }

    /// Appends rows of a vector.
    pub(super) fn append(&mut self, vector: Vector<'_>, rows: Range<usize>) -> std::result::Result<(), Misfit> {
        match vector.validity() {
            None => self.nulls.append_n_non_nulls(rows.len()),
            Some(validity) => {
                let words = Buffer::from_slice_ref(validity.words());
                self.nulls.append_buffer(&NullBuffer::new(BooleanBuffer::new(words, rows.start, rows.len())));
            }
        }
        match &mut self.store {
            Store::Bits(bits) => {
                // SAFETY: booleans are bytes, 0 or 1.
                let values = &unsafe { vector.values::<u8>() }[rows];
                bits.append_buffer(&BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0));
                Ok(())
            }
            Store::Bytes { offsets, data } if self.mapping.is_text_form() => {
                append_text_forms(offsets, data, &self.mapping, vector, rows)
            }
            Store::Bytes { offsets, data } => append_strings(offsets, data, vector, rows),
            Store::Fixed(buffer) => append_fixed(buffer, &self.mapping, vector, rows),
        }
    }

    /// The array of all appended values.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let (rows, sql_type) = (self.nulls.len(), self.mapping.sql_type);
        let nulls = self.nulls.finish().filter(|nulls| nulls.null_count() > 0);
        Ok(match self.store {
            Store::Bits(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Store::Fixed(buffer) => fixed_array(sql_type, rows, buffer.finish(), nulls).map_err(engine_error)?,
            Store::Bytes { offsets, data } => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                let data = Buffer::from_vec(data);
                if sql_type == SqlType::Text {
                    Arc::new(StringArray::try_new(offsets, data, nulls).map_err(engine_error)?)
                } else {
                    Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(engine_error)?)
                }
            }
        })
    }
}

fn append_fixed(
    buffer: &mut SlabBuffer,
    mapping: &Mapping,
    vector: Vector<'_>,
    rows: Range<usize>,
) -> std::result::Result<(), Misfit> {
    // SAFETY: each layout names the form of its vector's values. All are integers.
    unsafe {
        match mapping.layout {
            Layout::Same => match mapping.sql_type.fixed_width() {
                Some(2) => buffer.extend_from_slice(&vector.values::<i16>()[rows]),
                Some(4) => buffer.extend_from_slice(&vector.values::<i32>()[rows]),
                Some(8) => buffer.extend_from_slice(&vector.values::<i64>()[rows]),
                _ => buffer.extend_from_slice(&vector.values::<i128>()[rows]),
            },
            Layout::Int8 => widen(buffer, &vector.values::<i8>()[rows], i16::from),
            Layout::UInt8 => widen(buffer, &vector.values::<u8>()[rows], i16::from),
            Layout::UInt16 => widen(buffer, &vector.values::<u16>()[rows], i32::from),
            Layout::UInt32 => widen(buffer, &vector.values::<u32>()[rows], i64::from),
            Layout::UInt64 => widen(buffer, &vector.values::<u64>()[rows], i128::from),
            Layout::Decimal16 => widen(buffer, &vector.values::<i16>()[rows], i128::from),
            Layout::Decimal32 => widen(buffer, &vector.values::<i32>()[rows], i128::from),
            Layout::Decimal64 => widen(buffer, &vector.values::<i64>()[rows], i128::from),
            Layout::HugeInt => {
                let fits = |value: i128| (-DECIMAL_38_END < value && value < DECIMAL_38_END).then_some(value);
                return convert(buffer, vector, rows, fits, "the HUGEINT has more than 38 digits");
            }
            Layout::UHugeInt => {
                let fits = |value: u128| i128::try_from(value).ok().filter(|value| *value < DECIMAL_38_END);
                return convert(buffer, vector, rows, fits, "the UHUGEINT has more than 38 digits");
            }
            Layout::Nanos => return convert(buffer, vector, rows, micros_of_nanos, TOO_FINE),
            Layout::Seconds => return convert(buffer, vector, rows, |value| micros(value, 1_000_000), TOO_FAR),
            Layout::Millis => return convert(buffer, vector, rows, |value| micros(value, 1_000), TOO_FAR),
            // Columns of these have another store.
            Layout::Bool
            | Layout::Strings
            | Layout::Uuid
            | Layout::Time
            | Layout::TimeNanos
            | Layout::TimeZoned
            | Layout::Interval
            | Layout::Enum8
            | Layout::Enum16
            | Layout::Enum32
            | Layout::Converted => {}
        }
    }
    Ok(())
}

const TOO_FAR: &str = "the timestamp does not fit 64 bits of microseconds";

const TOO_FINE: &str =
    "the TIMESTAMP_NS is no whole number of microseconds; CAST it to VARCHAR in the query, or take epoch_ns() of it";

/// Converts nanoseconds to microseconds if no digit is lost. The two values that mean infinity are kept.
fn micros_of_nanos(value: i64) -> Option<i64> {
    if value == i64::MAX || value == -i64::MAX { Some(value) } else { (value % 1000 == 0).then_some(value / 1000) }
}

/// Converts to microseconds. The two values that mean infinity are kept.
fn micros(value: i64, factor: i64) -> Option<i64> {
    if value == i64::MAX || value == -i64::MAX { Some(value) } else { value.checked_mul(factor) }
}

fn widen<S: Copy, T: ArrowNativeType>(buffer: &mut SlabBuffer, values: &[S], convert: impl Fn(S) -> T) {
    for value in values {
        buffer.push(convert(*value));
    }
}

/// Appends converted values. A conversion may fail. A null is stored as zero.
///
/// # Safety
/// The conditions of [`Vector::values`].
unsafe fn convert<S: Copy, T: ArrowNativeType>(
    buffer: &mut SlabBuffer,
    vector: Vector<'_>,
    rows: Range<usize>,
    convert: impl Fn(S) -> Option<T>,
    problem: &'static str,
) -> std::result::Result<(), Misfit> {
    // SAFETY: the caller's promise.
    let values = unsafe { vector.values::<S>() };
    let validity = vector.validity();
    for row in rows {
        let valid = validity.is_none_or(|bits| bits.is_valid(row));
        buffer.push(if valid { convert(values[row]).ok_or((row, problem))? } else { T::default() });
    }
    Ok(())
}

/// Appends the texts of values that DuckDB keeps in another form.
fn append_text_forms(
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
    mapping: &Mapping,
    vector: Vector<'_>,
    rows: Range<usize>,
) -> std::result::Result<(), Misfit> {
    let dictionary = mapping.dictionary.as_deref().unwrap_or_default();
    let word = |data: &mut Vec<u8>, position: usize| {
        if let Some(word) = dictionary.get(position) {
            data.extend_from_slice(word.as_bytes());
        }
    };
    // SAFETY: each layout names the form of its vector's values. All are integers, or structures of them.
    unsafe {
        match mapping.layout {
            Layout::Uuid => append_texts(offsets, data, vector, rows, text::uuid),
            Layout::Time => append_texts(offsets, data, vector, rows, text::time),
            Layout::TimeNanos => append_texts(offsets, data, vector, rows, text::time_nanos),
            Layout::TimeZoned => append_texts(offsets, data, vector, rows, text::time_zoned),
            Layout::Interval => append_texts::<IntervalValue>(offsets, data, vector, rows, text::interval),
            Layout::Enum8 => append_texts(offsets, data, vector, rows, |data, at: u8| word(data, at.into())),
            Layout::Enum16 => append_texts(offsets, data, vector, rows, |data, at: u16| word(data, at.into())),
            _ => append_texts(offsets, data, vector, rows, |data, at: u32| word(data, at as usize)),
        }
    }
}

/// Appends the text of each value, by `put`.
///
/// # Safety
/// The conditions of [`Vector::values`].
unsafe fn append_texts<T: Copy>(
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
    vector: Vector<'_>,
    rows: Range<usize>,
    put: impl Fn(&mut Vec<u8>, T),
) -> std::result::Result<(), Misfit> {
    // SAFETY: the caller's promise.
    let values = unsafe { vector.values::<T>() };
    let validity = vector.validity();
    for row in rows {
        if validity.is_none_or(|bits| bits.is_valid(row)) {
            put(data, values[row]);
        }
        offsets.push(end_of(data, row)?);
    }
    Ok(())
}

/// The offset of the end of a value.
fn end_of(data: &[u8], row: usize) -> std::result::Result<i32, Misfit> {
    i32::try_from(data.len()).map_err(|_| (row, "the value is longer than 2 GiB"))
}

fn append_strings(
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
    vector: Vector<'_>,
    rows: Range<usize>,
) -> std::result::Result<(), Misfit> {
    // SAFETY: strings have this form. The pointers behind nulls are not followed.
    let values = unsafe { vector.values::<StringValue>() };
    let validity = vector.validity();
    for row in rows {
        if validity.is_none_or(|bits| bits.is_valid(row)) {
            // SAFETY: not null, and the vector lives.
            data.extend_from_slice(unsafe { values[row].bytes() });
        }
        offsets.push(end_of(data, row)?);
    }
    Ok(())
}
