//! Rows written from structs.

use boundary_bench_kernel::{Error, Result};

use super::{LENGTH, MOST_COLUMNS, bitmap_bytes};

/// A row that can be written.
pub trait WriteRow {
    /// The number of columns, [`MOST_COLUMNS`] at most.
    const COLUMNS: usize;

    /// Writes each value, null or not, in the order of the columns.
    fn write(&self, row: &mut RowWriter<'_>);
}

/// The writer of one row. Its functions are inlined into other crates as well, since each takes a few instructions.
#[derive(Debug)]
pub struct RowWriter<'out> {
    out: &'out mut Vec<u8>,
    /// The bits of the columns that are null.
    nulls: u64,
    /// The bit of the next column.
    next: u64,
}

impl RowWriter<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.next <<= 1;
        self.out.extend_from_slice(&bytes);
    }

    /// Writes a truth value.
    #[inline]
    pub fn truth(&mut self, value: bool) {
        self.put([u8::from(value)]);
    }

    /// Writes an integer of 8 bits.
    #[inline]
    pub fn int8(&mut self, value: i8) {
        self.put(value.to_le_bytes());
    }

    /// Writes an integer of 16 bits.
    #[inline]
    pub fn int16(&mut self, value: i16) {
        self.put(value.to_le_bytes());
    }

    /// Writes an integer of 32 bits.
    #[inline]
    pub fn int32(&mut self, value: i32) {
        self.put(value.to_le_bytes());
    }

    /// Writes an integer of 64 bits.
    #[inline]
    pub fn int64(&mut self, value: i64) {
        self.put(value.to_le_bytes());
    }

    /// Writes a float of 32 bits.
    #[inline]
    pub fn float32(&mut self, value: f32) {
        self.put(value.to_le_bytes());
    }

    /// Writes a float of 64 bits.
    #[inline]
    pub fn float64(&mut self, value: f64) {
        self.put(value.to_le_bytes());
    }

    /// Writes a text.
    #[inline]
    pub fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// Writes bytes.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        #[expect(clippy::cast_possible_truncation, reason = "a longer row is refused as a whole")]
        self.put((value.len() as u32).to_le_bytes());
        self.out.extend_from_slice(value);
    }

    /// Writes a timestamp: milliseconds since 1970.
    #[inline]
    pub fn timestamp(&mut self, milliseconds: f64) {
        self.float64(milliseconds);
    }

    /// Writes a value by `write`, or a null.
    #[inline]
    pub fn nullable<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        if let Some(value) = value {
            write(self, value);
        } else {
            self.nulls |= self.next;
            self.next <<= 1;
        }
    }
}

/// Writes a batch of rows behind what `out` has.
pub fn encode_rows<R: WriteRow>(rows: &[R], out: &mut Vec<u8>) -> Result<()> {
    const { assert!(R::COLUMNS <= MOST_COLUMNS) };
    let head = LENGTH + bitmap_bytes(R::COLUMNS);
    for row in rows {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH + bitmap_bytes(MOST_COLUMNS)][..head]);
        let mut writer = RowWriter { out, nulls: 0, next: 1 };
        row.write(&mut writer);
        let nulls = writer.nulls.to_le_bytes();
        let Ok(length) = u32::try_from(out.len() - start - LENGTH) else {
            out.truncate(start);
            return Err(Error::InvalidArgument("a row has less than 4 GiB".to_owned()));
        };
        let (lengths, bitmap) = out[start..start + head].split_at_mut(LENGTH);
        lengths.copy_from_slice(&length.to_le_bytes());
        bitmap.iter_mut().zip(nulls).for_each(|(byte, bits)| *byte = bits);
    }
    Ok(())
}
