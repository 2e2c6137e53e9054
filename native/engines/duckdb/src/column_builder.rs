//! Gathers the vectors of one column in one Arrow array, or in its place in a frame; each value is copied once.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer,
    ScalarBuffer, ToByteSlice,
};

use super::engine_error;
use super::vector::{Layout, Mapping, StringValue, Vector};
use boundary_bench_engine::slab::SlabBuffer;
use boundary_bench_engine::table::{SqlType, fixed_array};
use boundary_bench_kernel::Result;

/// The bytes of a column of text or bytes above which its batch is closed. Arrow's offsets end at 2 GiB.
const MAX_DATA_BYTES: usize = 64 << 20;

/// The first value that is no valid `DECIMAL(38, 0)`.
const DECIMAL_38_END: i128 = 10_i128.pow(38);

/// A value that does not fit its column's type: its row in the vector, and the problem.
pub(super) type Misfit = (usize, &'static str);

/// A column of a batch or a frame that is being filled.
pub(super) trait ColumnTarget {
    /// The number of `rows` that can be appended; `empty` says that the batch has no rows yet.
    fn rows_that_fit(&self, vector: Vector<'_>, rows: Range<usize>, empty: bool) -> usize;

    /// Appends rows of a vector.
    fn append(&mut self, vector: Vector<'_>, rows: Range<usize>) -> std::result::Result<(), Misfit>;
}

/// Memory that values of a fixed width are appended to.
trait FixedValues {
    fn extend_from_slice<T: ArrowNativeType>(&mut self, values: &[T]);

    fn push<T: ArrowNativeType>(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }
}

impl FixedValues for SlabBuffer {
    fn extend_from_slice<T: ArrowNativeType>(&mut self, values: &[T]) {
        SlabBuffer::extend_from_slice(self, values);
    }
}

/// The memory of a column's values in a frame; it becomes shorter as values are appended.
struct FrameValues<'frame>(&'frame mut [u8]);

impl FixedValues for FrameValues<'_> {
    fn extend_from_slice<T: ArrowNativeType>(&mut self, values: &[T]) {
        let bytes = values.to_byte_slice();
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = rest;
    }
}

/// A column of a frame, whose values take the same number of bytes each.
pub(super) struct FrameColumn<'frame> {
    mapping: Mapping,
    values: FrameValues<'frame>,
    nulls: NullBufferBuilder,
}

impl<'frame> FrameColumn<'frame> {
    /// An empty column whose values lie in this memory, which has room for `rows` of them.
    pub(super) fn new(mapping: Mapping, values: &'frame mut [u8], rows: usize) -> Self {
        Self { mapping, values: FrameValues(values), nulls: NullBufferBuilder::new(rows) }
    }

    /// The nulls of all appended rows, if there are any.
    pub(super) fn finish(self) -> Option<NullBuffer> {
        some_nulls(self.nulls)
    }
}

impl ColumnTarget for FrameColumn<'_> {
    fn rows_that_fit(&self, _: Vector<'_>, rows: Range<usize>, _: bool) -> usize {
        rows.len()
    }

    fn append(&mut self, vector: Vector<'_>, rows: Range<usize>) -> std::result::Result<(), Misfit> {
        append_nulls(&mut self.nulls, vector, &rows);
        append_fixed(&mut self.values, self.mapping, vector, rows)
    }
}

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

    /// The array of all appended values.
    pub(super) fn finish(self) -> Result<ArrayRef> {
        let (rows, sql_type) = (self.nulls.len(), self.mapping.sql_type);
        let nulls = some_nulls(self.nulls);
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

impl ColumnTarget for ColumnBuilder {
    fn rows_that_fit(&self, vector: Vector<'_>, rows: Range<usize>, empty: bool) -> usize {
        let Store::Bytes { data, .. } = &self.store else { return rows.len() };
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

    fn append(&mut self, vector: Vector<'_>, rows: Range<usize>) -> std::result::Result<(), Misfit> {
        append_nulls(&mut self.nulls, vector, &rows);
        match &mut self.store {
            Store::Bits(bits) => {
                // SAFETY: booleans are bytes, 0 or 1.
                let values = &unsafe { vector.values::<u8>() }[rows];
                bits.append_buffer(&BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0));
                Ok(())
            }
            Store::Bytes { offsets, data } => append_strings(offsets, data, vector, rows),
            Store::Fixed(buffer) => append_fixed(buffer, self.mapping, vector, rows),
        }
    }
}

fn append_nulls(nulls: &mut NullBufferBuilder, vector: Vector<'_>, rows: &Range<usize>) {
    match vector.validity() {
        None => nulls.append_n_non_nulls(rows.len()),
        Some(validity) => {
            let words = Buffer::from_slice_ref(validity.words());
            nulls.append_buffer(&NullBuffer::new(BooleanBuffer::new(words, rows.start, rows.len())));
        }
    }
}

/// The bitmap of rows of which at least one is null.
fn some_nulls(mut nulls: NullBufferBuilder) -> Option<NullBuffer> {
    nulls.finish().filter(|nulls| nulls.null_count() > 0)
}

fn append_fixed(
    buffer: &mut impl FixedValues,
    mapping: Mapping,
    vector: Vector<'_>,
    rows: Range<usize>,
) -> std::result::Result<(), Misfit> {
    // SAFETY: each layout names the form of its vector's values; all are integers.
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
            Layout::Seconds => return convert(buffer, vector, rows, |value| micros(value, 1_000_000), TOO_FAR),
            Layout::Millis => return convert(buffer, vector, rows, |value| micros(value, 1_000), TOO_FAR),
            // In a frame a boolean is a byte.
            Layout::Bool => widen(buffer, &vector.values::<u8>()[rows], |value| u8::from(value != 0)),
            Layout::Strings => {}
        }
    }
    Ok(())
}

const TOO_FAR: &str = "the timestamp does not fit 64 bits of microseconds";

/// Converts to microseconds; the two values that mean infinity are kept.
fn micros(value: i64, factor: i64) -> Option<i64> {
    if value == i64::MAX || value == -i64::MAX { Some(value) } else { value.checked_mul(factor) }
}

fn widen<S: Copy, T: ArrowNativeType>(buffer: &mut impl FixedValues, values: &[S], convert: impl Fn(S) -> T) {
    for value in values {
        buffer.push(convert(*value));
    }
}

/// Appends converted values, where a conversion may fail; a null is stored as zero.
///
/// # Safety
/// The conditions of [`Vector::values`].
unsafe fn convert<T: ArrowNativeType>(
    buffer: &mut impl FixedValues,
    vector: Vector<'_>,
    rows: Range<usize>,
    convert: impl Fn(T) -> Option<T>,
    problem: &'static str,
) -> std::result::Result<(), Misfit> {
    // SAFETY: the caller's promise.
    let values = unsafe { vector.values::<T>() };
    let validity = vector.validity();
    for row in rows {
        let valid = validity.is_none_or(|bits| bits.is_valid(row));
        buffer.push(if valid { convert(values[row]).ok_or((row, problem))? } else { T::default() });
    }
    Ok(())
}

fn append_strings(
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
    vector: Vector<'_>,
    rows: Range<usize>,
) -> std::result::Result<(), Misfit> {
    // SAFETY: strings have this form; the pointers behind nulls are not followed.
    let values = unsafe { vector.values::<StringValue>() };
    let validity = vector.validity();
    for row in rows {
        if validity.is_none_or(|bits| bits.is_valid(row)) {
            // SAFETY: not null, and the vector lives.
            data.extend_from_slice(unsafe { values[row].bytes() });
        }
        offsets.push(i32::try_from(data.len()).map_err(|_| (row, "the value is longer than 2 GiB"))?);
    }
    Ok(())
}
