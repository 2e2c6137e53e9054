//! A frame whose columns are filled in place, each by itself, for engines that keep values by column.

use arrow_buffer::NullBuffer;

use super::{Plan, Section, clear_padding, write_header, write_validity};
use crate::slab::{BUFFER_ALIGNMENT, Slab};
use boundary_bench_kernel::Result;

/// A frame of columns whose values all take the same number of bytes. Its columns are filled first, then it is finished.
pub struct FrameByColumn {
    slab: Slab,
    /// The most rows that it can hold.
    capacity: usize,
    columns: Vec<Place>,
}

/// The place of one column in the frame.
struct Place {
    /// The bytes of a value.
    width: usize,
    /// The offset of the validity bitmap.
    validity: usize,
    /// The offset of the values.
    values: usize,
}

impl FrameByColumn {
    /// A frame with room for `capacity` rows of columns of these widths, in bytes.
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::Unsupported`] for more rows than a frame holds.
    pub fn with_capacity(capacity: usize, widths: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let mut plan = Plan::new(widths.len(), BUFFER_ALIGNMENT);
        let place = |width: usize| {
            let validity = plan.place(capacity.div_ceil(8));
            Place { width, validity, values: plan.place(capacity.saturating_mul(width)) }
        };
        let columns = widths.map(place).collect();
        Ok(Self { slab: Slab::allocate(plan.length(capacity)?), capacity, columns })
    }

    /// The memory for the values of each column, of unspecified contents.
    pub fn values(&mut self) -> Vec<&mut [u8]> {
        let mut rest = self.slab.as_mut_slice();
        let mut start = 0;
        let values = |column: &Place| {
            let (_, behind) = std::mem::take(&mut rest).split_at_mut(column.values - start);
            let (values, behind) = behind.split_at_mut(self.capacity * column.width);
            (rest, start) = (behind, column.values + values.len());
            values
        };
        self.columns.iter().map(values).collect()
    }

    /// The finished frame of the first `rows` rows, for JavaScript. `nulls` has an entry for each column; `None` stands for a column
    /// without nulls.
    ///
    /// # Panics
    /// Panics for more rows than the frame has room for, and where the entries of `nulls` are not of the columns and rows.
    #[must_use]
    pub fn finish(mut self, rows: usize, nulls: &[Option<NullBuffer>]) -> Slab {
        assert!(rows <= self.capacity && nulls.len() == self.columns.len(), "the frame has no such rows or columns");
        let sections: Vec<_> =
            self.columns.iter().zip(nulls).map(|(column, nulls)| column.section(rows, nulls.as_ref())).collect();
        let bytes = self.slab.as_mut_slice();
        clear_padding(bytes, rows, &sections);
        write_header(bytes, rows, &sections);
        for (column, nulls) in self.columns.iter().zip(nulls) {
            if let Some(nulls) = nulls {
                assert!(nulls.len() == rows, "a bitmap of other rows");
                write_validity(&mut bytes[column.validity..][..rows.div_ceil(8)], nulls);
            }
        }
        self.slab
    }
}

impl Place {
    fn section(&self, rows: usize, nulls: Option<&NullBuffer>) -> Section {
        Section {
            nulls: nulls.map_or(0, NullBuffer::null_count),
            validity_offset: if nulls.is_some() { self.validity } else { 0 },
            offsets_offset: 0,
            values_offset: self.values,
            values_length: rows * self.width,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [usize; 3] = [8, 1, 4];

    /// A frame with room for ten rows, of which so many are filled; the second column is null in every third row.
    fn filled(rows: usize) -> Slab {
        let mut frame = FrameByColumn::with_capacity(10, WIDTHS.into_iter()).unwrap();
        for (values, width) in frame.values().into_iter().zip(WIDTHS) {
            assert_eq!(values.len(), 10 * width);
            values[..rows * width].fill(u8::try_from(width).unwrap());
        }
        let nulls: NullBuffer = (0..rows).map(|row| row % 3 > 0).collect();
        frame.finish(rows, &[None, Some(nulls), None])
    }

    #[test]
    fn nothing_of_what_was_in_the_memory_shows() {
        for rows in [0, 1, 9, 10] {
            let whole = filled(rows).as_slice().to_vec();
            assert!(!whole.contains(&0xEE));
            // The pool gives the last memory of a size first, unless another test takes it: then there is nothing to find.
            for _ in 0..100 {
                Slab::allocate(whole.len()).as_mut_slice().fill(0xEE);
                assert_eq!(filled(rows).as_slice(), whole);
            }
        }
    }

    #[test]
    fn more_rows_than_a_frame_holds_are_refused() {
        for rows in [200_000_000, usize::MAX / 8] {
            let refused = FrameByColumn::with_capacity(rows, WIDTHS.into_iter());
            assert_eq!(refused.err().unwrap().code(), "BB_UNSUPPORTED");
        }
    }

    #[test]
    #[should_panic(expected = "a bitmap of other rows")]
    fn a_bitmap_of_other_rows_is_refused() {
        let frame = FrameByColumn::with_capacity(10, WIDTHS.into_iter()).unwrap();
        let _ = frame.finish(10, &[None, Some(NullBuffer::new_null(9)), None]);
    }
}
