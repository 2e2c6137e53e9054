//! Frames: one batch of rows in one buffer, the form in which batches reach JavaScript. One crossing hands over one
//! buffer, and JavaScript lays typed arrays over it.
//!
//! All numbers are little-endian. The frame begins with 32-bit words:
//!
//! | word | meaning |
//! |---|---|
//! | 0 | rows |
//! | 1 | columns |
//! | 2 + 5 c | nulls in column c |
//! | 3 + 5 c | offset of its validity bitmap (bit set: not null, lowest bit first), 0 without nulls |
//! | 4 + 5 c | offset of its 32-bit value offsets (rows + 1 of them; text and bytes only), else 0 |
//! | 5 + 5 c | offset of its values |
//! | 6 + 5 c | length of its values in bytes |
//!
//! The padding between the parts is zero, so that no earlier content of the memory shows.
//!
//! Offsets count bytes from the frame's start and are multiples of 64. In frames embedded in a larger buffer, they are
//! multiples of 8. Values are stored as in the Arrow columnar format (<https://arrow.apache.org/docs/format/Columnar.html>), except
//! booleans. A boolean takes a byte, 0 or 1, since JavaScript has typed arrays of bytes and none of bits.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::slab::{BUFFER_ALIGNMENT, Slab};
use crate::table::SqlType;
use boundary_bench_kernel::{Error, Result};

mod in_place;

pub use in_place::{FixedColumn, FrameInPlace};

/// The number of header words before the first column.
const HEADER_WORDS: usize = 2;

/// The number of header words for each column.
const COLUMN_WORDS: usize = 5;

/// The element width of JavaScript's widest typed arrays, in bytes. The arrays must begin at multiples of it.
const WIDEST_VALUE: usize = 8;

/// The limit of a frame in bytes, since offsets are 32-bit words.
const FRAME_LIMIT: usize = 1 << 31;

/// The null count, offsets and length of one column's parts.
struct Section {
    nulls: usize,
    validity_offset: usize,
    offsets_offset: usize,
    values_offset: usize,
    values_length: usize,
}

/// Encodes a batch as a frame. This is one copy into recycled memory. The caller then owns the memory alone.
pub fn encode(batch: &RecordBatch) -> Result<Slab> {
    let (sections, end) = layout(batch, BUFFER_ALIGNMENT)?;
    let mut slab = Slab::allocate(end);
    fill(slab.as_mut_slice(), batch, &sections);
    Ok(slab)
}

/// Encodes a batch as [`encode`] does, behind the contents of `target`, at the next multiple of 8. Returns the start of the
/// frame. With a larger alignment, small frames would consist mostly of padding.
pub fn encode_into(batch: &RecordBatch, target: &mut Vec<u8>) -> Result<usize> {
    let (sections, end) = layout(batch, WIDEST_VALUE)?;
    let start = target.len().next_multiple_of(WIDEST_VALUE);
    target.resize(start + end, 0);
    fill(&mut target[start..], batch, &sections);
    Ok(start)
}

/// The sections of the columns, each part at a multiple of `alignment`, and the length of the frame.
fn layout(batch: &RecordBatch, alignment: usize) -> Result<(Vec<Section>, usize)> {
    let mut plan = Plan::new(batch.num_columns(), alignment);
    let mut sections = Vec::with_capacity(batch.num_columns());
    for (array, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
        let sql_type = SqlType::from_arrow(array.data_type()).ok_or_else(|| {
            Error::Unsupported(format!(
                "column \"{}\" has the type {}, which no SQL type of ours holds",
                field.name(),
                array.data_type()
            ))
        })?;
        let rows = array.len();
        let nulls = array.null_count();
        let validity_offset = if nulls > 0 { plan.place(rows.div_ceil(8)) } else { 0 };
        let (offsets_offset, values_length) = match sql_type.fixed_width() {
            Some(width) => (0, rows * width),
            None => (plan.place((rows + 1) * 4), value_range(array).len()),
        };
        let values_offset = plan.place(values_length);
        sections.push(Section { nulls, validity_offset, offsets_offset, values_offset, values_length });
    }
    Ok((sections, plan.length(batch.num_rows())?))
}

/// An allocator of a frame's parts, one after the other.
struct Plan {
    end: usize,
    alignment: usize,
}

impl Plan {
    fn new(columns: usize, alignment: usize) -> Self {
        Self { end: ((HEADER_WORDS + COLUMN_WORDS * columns) * 4).next_multiple_of(alignment), alignment }
    }

    /// Reserves a part of this many bytes, and returns its offset.
    fn place(&mut self, length: usize) -> usize {
        let offset = self.end;
        let end = self.end.saturating_add(length);
        self.end = end.checked_next_multiple_of(self.alignment).unwrap_or(usize::MAX);
        offset
    }

    /// The length of the frame of this many rows, or an error beyond the limits.
    fn length(&self, rows: usize) -> Result<usize> {
        // Rows without columns take no bytes, so their number is checked by itself.
        if u32::try_from(rows).is_err() {
            return Err(Error::Unsupported(format!(
                "a batch of {rows} rows is more than one frame counts; ask for batches of fewer rows"
            )));
        }
        if self.end < FRAME_LIMIT {
            return Ok(self.end);
        }
        Err(Error::Unsupported(format!(
            "a batch of {rows} rows takes {} bytes, more than one frame holds (2 GiB); ask for batches of fewer rows",
            self.end
        )))
    }
}

fn fill(bytes: &mut [u8], batch: &RecordBatch, sections: &[Section]) {
    clear_padding(bytes, batch.num_rows(), sections);
    write_header(bytes, batch.num_rows(), sections);
    for (section, array) in sections.iter().zip(batch.columns()) {
        write_column(bytes, section, array.as_ref());
    }
}

/// Zeros the padding between the parts of a frame and behind the last one: the memory may have held another result.
fn clear_padding(bytes: &mut [u8], rows: usize, sections: &[Section]) {
    let mut clear = |from: usize, to: usize| bytes[from.min(to)..to].fill(0);
    // The parts lie in the order of the plan, so each one begins behind the last one.
    let mut end = (HEADER_WORDS + COLUMN_WORDS * sections.len()) * 4;
    for section in sections {
        let parts = [
            (section.validity_offset, rows.div_ceil(8)),
            (section.offsets_offset, (rows + 1) * 4),
            (section.values_offset, section.values_length),
        ];
        for (offset, length) in parts.into_iter().filter(|(offset, _)| *offset > 0) {
            clear(end, offset);
            end = offset + length;
        }
    }
    let length = bytes.len();
    bytes[end..length].fill(0);
}

fn write_header(bytes: &mut [u8], rows: usize, sections: &[Section]) {
    write_words(bytes, 0, &[rows, sections.len()]);
    for (index, section) in sections.iter().enumerate() {
        let Section { nulls, validity_offset, offsets_offset, values_offset, values_length } = *section;
        let words = [nulls, validity_offset, offsets_offset, values_offset, values_length];
        write_words(bytes, HEADER_WORDS + COLUMN_WORDS * index, &words);
    }
}

fn write_column(bytes: &mut [u8], section: &Section, array: &dyn Array) {
    let rows = array.len();
    if section.nulls > 0
        && let Some(nulls) = array.nulls()
    {
        write_validity(&mut bytes[section.validity_offset..][..rows.div_ceil(8)], nulls);
    }
    let values = &mut bytes[section.values_offset..][..section.values_length];
    if let Some(booleans) = array.as_boolean_opt() {
        write_booleans(values, booleans);
        return;
    }
    let data = array.to_data();
    if matches!(array.data_type(), DataType::Utf8 | DataType::Binary) {
        let range = value_range(array);
        values.copy_from_slice(&data.buffers()[1].as_slice()[range]);
        let offsets: &[i32] = &data.buffer(0)[..=rows];
        let first = offsets[0];
        let target = &mut bytes[section.offsets_offset..][..(rows + 1) * 4];
        for (slot, offset) in target.as_chunks_mut::<4>().0.iter_mut().zip(offsets) {
            *slot = (offset - first).to_le_bytes();
        }
    } else {
        values.copy_from_slice(fixed_values(&data, section.values_length));
    }
}

/// The values of a fixed-width array, from its own offset on.
fn fixed_values(data: &ArrayData, length: usize) -> &[u8] {
    let width = length.checked_div(data.len()).unwrap_or(0);
    &data.buffers()[0].as_slice()[data.offset() * width..][..length]
}

/// The range of this array's text or bytes in its values buffer.
fn value_range(array: &dyn Array) -> std::ops::Range<usize> {
    let offsets = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_offsets(),
        _ => array.as_binary::<i32>().value_offsets(),
    };
    let at = |offset: i32| usize::try_from(offset).unwrap_or(0);
    at(offsets[0])..at(offsets[array.len()])
}

fn write_validity(target: &mut [u8], nulls: &NullBuffer) {
    let bits = nulls.inner().sliced();
    target.copy_from_slice(&bits.as_slice()[..target.len()]);
    // The bits behind the last row may belong to other rows.
    if let (Some(last), used @ 1..) = (target.last_mut(), nulls.len() % 8) {
        *last &= (1 << used) - 1;
    }
}

fn write_booleans(target: &mut [u8], booleans: &BooleanArray) {
    for (slot, value) in target.iter_mut().zip(booleans.values()) {
        *slot = u8::from(value);
    }
}

fn write_words(bytes: &mut [u8], first_word: usize, words: &[usize]) {
    for (slot, word) in bytes[first_word * 4..].as_chunks_mut::<4>().0.iter_mut().zip(words) {
        // It was checked that all words are below `FRAME_LIMIT`.
        *slot = u32::try_from(*word).unwrap_or(u32::MAX).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int32Array, StringArray};

    use super::*;

    #[test]
    fn nothing_of_what_was_in_the_memory_shows() {
        let columns: [(&str, ArrayRef); 5] = [
            ("booleans", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
            ("integers", Arc::new(Int32Array::from(vec![1, 2, 3]))),
            ("text", Arc::new(StringArray::from(vec!["a", "", "bc"]))),
            ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"xyz"[..]), None, None]))),
            // A slice whose bitmap continues behind it.
            ("sliced", Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4), Some(5)]).slice(0, 3))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let whole = encode(&batch).unwrap().as_slice().to_vec();
        let words = |at: usize| u32::from_le_bytes(*whole[at * 4..].first_chunk().unwrap()) as usize;
        assert_eq!(whole[words(HEADER_WORDS + 4 * COLUMN_WORDS + 1)], 0b101);
        // The pool gives the last memory of a size first, unless another test takes it: then there is nothing to find.
        for _ in 0..100 {
            Slab::allocate(whole.len()).as_mut_slice().fill(0xEE);
            let frame = encode(&batch).unwrap();
            assert_eq!(frame.as_slice(), whole);
            assert!(!frame.as_slice().contains(&0xEE));
        }
    }
}
