//! Rows read into structs.

use boundary_bench_kernel::Result;

use super::{LENGTH, MOST_COLUMNS, RowProblem, bitmap_bytes, bits_of};

/// A row that can be read. Its texts and bytes may lie where the row lies.
pub trait ReadRow<'bytes>: Sized {
    /// The number of columns, [`MOST_COLUMNS`] at most.
    const COLUMNS: usize;

    /// Reads each value, null or not, in the order of the columns.
    fn read(row: &mut RowReader<'bytes>) -> std::result::Result<Self, RowProblem>;
}

/// The most rows for which memory is reserved before they are read.
const MOST_RESERVED: usize = 1 << 16;

/// A value, or the reason why there is none.
type Read<T> = std::result::Result<T, RowProblem>;

/// The reader of one row. Each of its functions fails with a [`RowProblem`] if the row has no such value. They are inlined into other
/// crates as well, since each takes a few instructions.
#[derive(Debug)]
pub struct RowReader<'bytes> {
    /// The bytes that are not read yet.
    rest: &'bytes [u8],
    /// The bits of the columns that are null, from the next column on.
    nulls: u64,
}

impl<'bytes> RowReader<'bytes> {
    /// A reader of a row without its length.
    #[inline]
    fn new(row: &'bytes [u8], columns: usize) -> Read<Self> {
        let (bitmap, rest) = row.split_at_checked(bitmap_bytes(columns)).ok_or(RowProblem::EndsEarly)?;
        let nulls = bits_of(bitmap);
        if columns < MOST_COLUMNS && nulls >> columns != 0 {
            return Err(RowProblem::Bitmap);
        }
        Ok(Self { rest, nulls })
    }

    #[inline]
    fn is_next_null(&mut self) -> bool {
        let is_null = self.nulls & 1 == 1;
        self.nulls >>= 1;
        is_null
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        if self.is_next_null() { Err(RowProblem::Null) } else { self.first() }
    }

    #[inline]
    fn first<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (value, rest) = self.rest.split_first_chunk().ok_or(RowProblem::EndsEarly)?;
        self.rest = rest;
        Ok(*value)
    }

    /// Reads a truth value.
    #[inline]
    pub fn truth(&mut self) -> Read<bool> {
        match self.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [_] => Err(RowProblem::Truth),
        }
    }

    /// Reads an integer of 8 bits.
    #[inline]
    pub fn int8(&mut self) -> Read<i8> {
        self.take().map(i8::from_le_bytes)
    }

    /// Reads an integer of 16 bits.
    #[inline]
    pub fn int16(&mut self) -> Read<i16> {
        self.take().map(i16::from_le_bytes)
    }

    /// Reads an integer of 32 bits.
    #[inline]
    pub fn int32(&mut self) -> Read<i32> {
        self.take().map(i32::from_le_bytes)
    }

    /// Reads an integer of 64 bits.
    #[inline]
    pub fn int64(&mut self) -> Read<i64> {
        self.take().map(i64::from_le_bytes)
    }

    /// Reads a float of 32 bits.
    #[inline]
    pub fn float32(&mut self) -> Read<f32> {
        self.take().map(f32::from_le_bytes)
    }

    /// Reads a float of 64 bits.
    #[inline]
    pub fn float64(&mut self) -> Read<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// Reads a text.
    #[inline]
    pub fn text(&mut self) -> Read<&'bytes str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| RowProblem::Utf8)
    }

    /// Reads bytes.
    #[inline]
    pub fn bytes(&mut self) -> Read<&'bytes [u8]> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let (value, rest) = self.rest.split_at_checked(length).ok_or(RowProblem::EndsEarly)?;
        self.rest = rest;
        Ok(value)
    }

    /// Reads a timestamp: milliseconds since 1970.
    #[inline]
    pub fn timestamp(&mut self) -> Read<f64> {
        self.float64()
    }

    /// Reads a value by `read`. Returns `None` for a null.
    #[inline]
    pub fn nullable<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.nulls & 1 == 1 {
            self.nulls >>= 1;
            return Ok(None);
        }
        read(self).map(Some)
    }
}

/// Reads a batch of rows.
pub fn decode_rows<'bytes, R: ReadRow<'bytes>>(bytes: &'bytes [u8]) -> Result<Vec<R>> {
    const { assert!(R::COLUMNS <= MOST_COLUMNS) };
    // Rows have about the same length. But a row that only seems short must not take memory for rows that are not there.
    let likely = split_row(bytes).map_or(0, |(first, _)| bytes.len() / (LENGTH + first.len()));
    let mut rows = Vec::with_capacity(likely.min(MOST_RESERVED));
    let mut rest = bytes;
    while !rest.is_empty() {
        let row = read_row(&mut rest).map_err(|problem| problem.at(rows.len()))?;
        rows.push(row);
    }
    Ok(rows)
}

#[inline]
fn read_row<'bytes, R: ReadRow<'bytes>>(rest: &mut &'bytes [u8]) -> Read<R> {
    let (row, behind) = split_row(rest).ok_or(RowProblem::EndsEarly)?;
    *rest = behind;
    let mut reader = RowReader::new(row, R::COLUMNS)?;
    let row = R::read(&mut reader)?;
    if reader.rest.is_empty() { Ok(row) } else { Err(RowProblem::GoesOn) }
}

/// The first row of a batch without its length, and the bytes behind it. `None` if it ends too early.
#[inline]
pub(super) fn split_row(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
