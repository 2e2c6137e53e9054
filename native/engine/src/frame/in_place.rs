//! A frame whose values are written in place, for rows that arrive one by one and in any order.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::{Plan, Section, clear_padding, write_header};
use crate::slab::{BUFFER_ALIGNMENT, Slab};
use boundary_bench_kernel::Result;

/// A column whose values all take the same number of bytes.
#[derive(Debug, Clone, Copy)]
pub struct FixedColumn {
    /// The bytes of a value.
    pub width: usize,
    /// Whether the column has offsets: its type is text or bytes, whose values could have other lengths.
    pub has_offsets: bool,
    /// Whether the column is null in missing rows.
    pub is_nullable: bool,
}

/// A frame that is filled in place. Each row is missing until it is set as found. In a missing row, columns that can't be
/// null have values nevertheless.
pub struct FrameInPlace {
    slab: Slab,
    rows: usize,
    found: usize,
    columns: Vec<FixedColumn>,
    sections: Vec<Section>,
    /// The offset of the validity bitmap. All columns that can be null share it.
    validity: usize,
}

impl FrameInPlace {
    /// A frame with all rows missing. Values are unspecified until they are written.
    pub fn new(rows: usize, columns: &[FixedColumn]) -> Result<Self> {
        let mut plan = Plan::new(columns.len(), BUFFER_ALIGNMENT);
        let mut section = |column: &FixedColumn| {
            let values_length = rows.saturating_mul(column.width);
            let offsets_offset = if column.has_offsets { plan.place((rows + 1) * 4) } else { 0 };
            let values_offset = plan.place(values_length);
            Section { nulls: 0, validity_offset: 0, offsets_offset, values_offset, values_length }
        };
        let sections: Vec<_> = columns.iter().map(&mut section).collect();
        let validity = plan.place(rows.div_ceil(8));
        let mut slab = Slab::allocate(plan.length(rows)?);
        let bytes = slab.as_mut_slice();
        bytes[validity..][..rows.div_ceil(8)].fill(0);
        for (column, section) in columns.iter().zip(&sections).filter(|(column, _)| column.has_offsets) {
            let offsets = &mut bytes[section.offsets_offset..][..(rows + 1) * 4];
            // It was checked that the width is below the frame's length.
            let width = u32::try_from(column.width).unwrap_or(u32::MAX);
            for (slot, row) in offsets.as_chunks_mut::<4>().0.iter_mut().zip(0_u32..) {
                *slot = row.wrapping_mul(width).to_le_bytes();
            }
        }
        Ok(Self { slab, rows, found: 0, columns: columns.to_vec(), sections, validity })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of rows that are not missing.
    pub fn found(&self) -> usize {
        self.found
    }

    /// Writes a value. It must have its column's width.
    ///
    /// # Panics
    /// Panics if there is no such column or row, and for a value of another width.
    #[inline]
    pub fn write<const WIDTH: usize>(&mut self, column: usize, row: usize, value: &[u8; WIDTH]) {
        assert!(
            row < self.rows && self.columns[column].width == WIDTH,
            "there is no such row, or the value is another's"
        );
        let values_offset = self.sections[column].values_offset;
        self.slab.as_mut_slice()[values_offset + row * WIDTH..][..WIDTH].copy_from_slice(value);
    }

    /// Marks a row as found, after its values were written.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[inline]
    pub fn set_found(&mut self, row: usize) {
        assert!(row < self.rows, "there is no such row");
        let byte = &mut self.slab.as_mut_slice()[self.validity + row / 8];
        let bit = 1 << (row % 8);
        self.found += usize::from(*byte & bit == 0);
        *byte |= bit;
    }

    /// The finished frame, for JavaScript.
    pub fn finish(mut self) -> Slab {
        self.seal();
        self.slab
    }

    /// The values of each column and the bitmap of found rows, as Arrow buffers over the same memory.
    pub fn into_buffers(mut self) -> (Vec<Buffer>, NullBuffer) {
        self.seal();
        let slab = Arc::new(self.slab);
        let values = self.sections.iter().map(|section| slab.buffer(section.values_offset, section.values_length));
        let validity = BooleanBuffer::new(slab.buffer(self.validity, self.rows.div_ceil(8)), 0, self.rows);
        (values.collect(), NullBuffer::new(validity))
    }

    /// Writes the header, and zeros for missing values, so that no earlier content of the memory shows.
    fn seal(&mut self) {
        let bytes = self.slab.as_mut_slice();
        // The bitmap lies behind all other parts, and no column refers to it yet.
        clear_padding(&mut bytes[..self.validity], self.rows, &self.sections);
        bytes[self.validity + self.rows.div_ceil(8)..].fill(0);
        if self.found < self.rows {
            let is_missing = |row: &usize| bytes[self.validity + row / 8] & (1 << (row % 8)) == 0;
            let missing: Vec<usize> = (0..self.rows).filter(is_missing).collect();
            let nullable = self.columns.iter().zip(&mut self.sections).filter(|(column, _)| column.is_nullable);
            for (column, section) in nullable {
                (section.nulls, section.validity_offset) = (missing.len(), self.validity);
                for row in &missing {
                    bytes[section.values_offset + row * column.width..][..column.width].fill(0);
                }
            }
        }
        write_header(bytes, self.rows, &self.sections);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, BinaryArray, Int32Array, Int64Array, RecordBatch};
    use arrow_buffer::ScalarBuffer;
    use proptest::prelude::*;

    use super::*;
    use crate::frame::encode;

    const COLUMNS: [FixedColumn; 3] = [
        FixedColumn { width: 8, has_offsets: false, is_nullable: false },
        FixedColumn { width: 4, has_offsets: false, is_nullable: true },
        FixedColumn { width: 3, has_offsets: true, is_nullable: true },
    ];

    /// A frame whose values are derived from the row's number, with these rows found.
    fn filled(found: &[bool]) -> FrameInPlace {
        let mut frame = FrameInPlace::new(found.len(), &COLUMNS).unwrap();
        for (row, is_found) in found.iter().enumerate() {
            frame.write(0, row, &(row as u64).to_le_bytes());
            if *is_found {
                frame.write(1, row, &u32::try_from(row * 3).unwrap().to_le_bytes());
                frame.write(2, row, &[u8::try_from(row % 256).unwrap(); 3]);
                frame.set_found(row);
                frame.set_found(row);
            }
        }
        frame
    }

    proptest! {
        #[test]
        fn it_is_the_frame_of_the_same_batch(found in prop::collection::vec(any::<bool>(), 1..200)) {
            let rows = || found.iter().zip(0_i32..);
            let bytes: Vec<_> = rows().map(|(found, row)| found.then(|| vec![row.to_le_bytes()[0]; 3])).collect();
            let columns: Vec<Arc<dyn Array>> = vec![
                Arc::new(Int64Array::from_iter_values(rows().map(|(_, row)| i64::from(row)))),
                Arc::new(rows().map(|(found, row)| found.then_some(row * 3)).collect::<Int32Array>()),
                Arc::new(BinaryArray::from_iter(bytes)),
            ];
            let names = ["a", "b", "c"].into_iter().zip(columns);
            let expected = encode(&RecordBatch::try_from_iter(names).unwrap()).unwrap();
            let frame = filled(&found);
            prop_assert_eq!(frame.found(), found.iter().filter(|found| **found).count());
            let frame = frame.finish();
            let words = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at * 4..].first_chunk().unwrap()) as usize;
            for column in 0..3 {
                let part = |bytes: &[u8], word: usize| words(bytes, 2 + 5 * column + word);
                let (ours, theirs) = (frame.as_slice(), expected.as_slice());
                prop_assert_eq!(part(ours, 0), part(theirs, 0));
                prop_assert_eq!(part(ours, 1) == 0, part(theirs, 1) == 0);
                if part(ours, 1) != 0 {
                    let bits = |bytes: &[u8]| bytes[part(bytes, 1)..][..found.len().div_ceil(8)].to_vec();
                    prop_assert_eq!(bits(ours), bits(theirs));
                }
                if column < 2 {
                    let values = |bytes: &[u8]| bytes[part(bytes, 3)..][..part(bytes, 4)].to_vec();
                    prop_assert_eq!(values(ours), values(theirs));
                } else {
                    // A missing value has bytes in this frame, and none in the other.
                    let value = |bytes: &[u8], row: usize| {
                        let offset = |row: usize| words(bytes, part(bytes, 2) / 4 + row);
                        bytes[part(bytes, 3) + offset(row)..part(bytes, 3) + offset(row + 1)].to_vec()
                    };
                    for (row, is_found) in found.iter().enumerate() {
                        let expected = if *is_found { value(theirs, row) } else { vec![0; 3] };
                        prop_assert_eq!(value(ours, row), expected);
                    }
                }
            }
        }

        #[test]
        fn its_buffers_are_the_values(found in prop::collection::vec(any::<bool>(), 1..100)) {
            let (values, validity) = filled(&found).into_buffers();
            prop_assert!(validity.iter().eq(found.iter().copied()));
            let numbers: ScalarBuffer<i32> = values[1].clone().into();
            let expected = found.iter().zip(0_i32..).map(|(found, row)| if *found { row * 3 } else { 0 });
            prop_assert!(numbers.iter().copied().eq(expected));
        }
    }

    #[test]
    fn nothing_of_what_was_in_the_memory_shows() {
        let found = [true, false, true];
        let whole = filled(&found).finish().as_slice().to_vec();
        let length = whole.len();
        // The pool gives the last memory of a size first, unless another test takes it: then there is nothing to find.
        for _ in 0..100 {
            Slab::allocate(length).as_mut_slice().fill(0xEE);
            let frame = filled(&found).finish();
            assert_eq!(frame.as_slice(), whole);
            assert!(!frame.as_slice().contains(&0xEE));
        }
    }

    #[test]
    fn more_rows_than_a_frame_holds_are_refused() {
        for rows in [200_000_000, usize::MAX / 8] {
            assert_eq!(FrameInPlace::new(rows, &COLUMNS).err().unwrap().code(), "BB_UNSUPPORTED");
        }
    }

    #[test]
    #[should_panic(expected = "there is no such row")]
    fn a_value_of_another_width_is_refused() {
        FrameInPlace::new(4, &COLUMNS).unwrap().write(1, 0, &[0; 8]);
    }
}
