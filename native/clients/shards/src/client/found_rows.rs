//! The result of a multi-get, while its rows arrive and once they are complete.

use arrow_array::RecordBatch;
use boundary_bench_engine::frame::{FixedColumn, FrameInPlace};
use boundary_bench_engine::slab::Slab;
use boundary_bench_kernel::{Error, Result};

use crate::block::{Columns, NULLABLE_SCHEMA, WIDTHS, batch_of};
use crate::row::{PAYLOAD_BYTES, ROW_BYTES, take};

/// The index of the payload's column.
const PAYLOAD: usize = 4;

/// One row for each requested key, in their order. A missing row has nulls in all columns but the key. The rows lie in one
/// allocation. It is passed on without a copy.
pub struct FoundRows(FrameInPlace);

impl FoundRows {
    /// A result for these keys in which all rows are still missing.
    pub(super) fn missing(keys: &[i64]) -> Result<Self> {
        let column =
            |column| FixedColumn { width: WIDTHS[column], has_offsets: column == PAYLOAD, is_nullable: column > 0 };
        let mut frame = FrameInPlace::new(keys.len(), &[0, 1, 2, 3, PAYLOAD].map(column))?;
        keys.iter().enumerate().for_each(|(place, key)| frame.write(0, place, &key.to_le_bytes()));
        Ok(Self(frame))
    }

    /// Sets the row of the key at `place` to the first of `row`.
    pub(super) fn set(&mut self, place: usize, row: Columns<'_>) {
        let (quantity, price, updated_at) = (row.quantities[0], row.prices[0], row.updated_at[0]);
        let payload = &row.payloads.as_chunks().0[0];
        self.write(place, quantity.to_le_bytes(), price.to_le_bytes(), updated_at.to_le_bytes(), payload);
    }

    /// Sets packed rows. Bit i of `found` tells whether the key at `places[i]` has a row. `rows` holds those rows in order.
    pub(super) fn set_packed(&mut self, places: &[usize], found: &[u8], rows: &[u8]) {
        let found = places.iter().enumerate().filter(|(index, _)| found[index / 8] & (1 << (index % 8)) != 0);
        for ((_, place), row) in found.zip(rows.as_chunks::<ROW_BYTES>().0) {
            let (_, rest): ([u8; 8], _) = take(row);
            let (quantity, rest) = take(rest);
            let (price, rest) = take(rest);
            let (updated_at, payload) = take(rest);
            self.write(*place, quantity, price, updated_at, &payload.as_chunks().0[0]);
        }
    }

    fn write(
        &mut self,
        place: usize,
        quantity: [u8; 4],
        price: [u8; 8],
        updated_at: [u8; 8],
        payload: &[u8; PAYLOAD_BYTES],
    ) {
        let Self(frame) = self;
        frame.write(1, place, &quantity);
        frame.write(2, place, &price);
        frame.write(3, place, &updated_at);
        frame.write(PAYLOAD, place, payload);
        frame.set_found(place);
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.rows()
    }

    /// Whether no key was requested.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows that were found.
    pub fn found(&self) -> usize {
        self.0.found()
    }

    /// The rows as a frame, in which payloads have the type `Binary`.
    pub fn into_frame(self) -> Slab {
        self.0.finish()
    }

    /// The rows as an Arrow batch with the schema [`NULLABLE_SCHEMA`].
    pub fn into_batch(self) -> Result<RecordBatch> {
        let rows = self.len();
        let (values, found) = self.0.into_buffers();
        let nulls = (found.null_count() > 0).then_some(found);
        let values = <[_; 5]>::try_from(values)
            .map_err(|values| Error::Internal(format!("{} columns of rows", values.len())))?;
        batch_of(&NULLABLE_SCHEMA, values, rows, nulls)
    }
}
