//! Rows written from columns and read into columns. The columns lie in one block of memory.
//!
//! The block of `rows` rows begins with their bitmaps, behind one another as they are in the rows. Then come the columns, each from a
//! multiple of eight bytes on: the values of a fixed width behind one another. A column of texts or bytes has offsets of 32 bits, one
//! more than there are rows, and from the next multiple of eight on the bytes. The offsets are places in these bytes. A null is a value
//! of zeros, or an empty text. All numbers have their lowest byte first, as typed arrays have them on each platform that Node runs on.

use boundary_bench_kernel::{Error, Result};

use super::reader::split_row;
use super::{LENGTH, MOST_COLUMNS, RowProblem, bitmap_bytes, bits_of};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A byte, 0 or 1.
    Truth,
    /// 8 bits.
    Int8,
    /// 16 bits.
    Int16,
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// 32 bits.
    Float32,
    /// 64 bits.
    Float64,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
    /// A double: milliseconds since 1970.
    Timestamp,
}

impl Kind {
    /// All types, in their order.
    pub const ALL: [Self; 10] = [
        Self::Truth,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Float32,
        Self::Float64,
        Self::Text,
        Self::Bytes,
        Self::Timestamp,
    ];

    /// The size of a value in bytes. `None` for texts and bytes, because their values differ in size.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Truth | Self::Int8 => Some(1),
            Self::Int16 => Some(2),
            Self::Int32 | Self::Float32 => Some(4),
            Self::Int64 | Self::Float64 | Self::Timestamp => Some(8),
            Self::Text | Self::Bytes => None,
        }
    }
}

/// A column of the block.
#[derive(Debug)]
struct Column {
    kind: Kind,
    /// The place of the values. For texts and bytes, the place of the offsets.
    place: usize,
    /// The place of the bytes that the offsets lead to, or 0 if there are none.
    bytes: usize,
}

/// The places of columns in a block of memory with room for `rows` rows.
#[derive(Debug)]
pub struct Layout {
    columns: Vec<Column>,
    /// The room in rows.
    rows: usize,
    /// The room of each column of texts or bytes, in bytes.
    texts: usize,
    /// The size of a row's bitmap in bytes.
    bitmap: usize,
    /// The size of the block in bytes.
    size: usize,
}

/// The values of a column.
#[derive(Debug, Clone, Copy)]
pub enum Values<'block> {
    /// Values of one byte.
    One(&'block [u8]),
    /// Values of two bytes.
    Two(&'block [[u8; 2]]),
    /// Values of four bytes.
    Four(&'block [[u8; 4]]),
    /// Values of eight bytes.
    Eight(&'block [[u8; 8]]),
    /// Texts or bytes.
    Texts(Texts<'block>),
}

/// The texts of a column.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'block> {
    /// The place of the beginning of each text, and of the end of the last one.
    pub offsets: &'block [[u8; 4]],
    /// The texts behind one another.
    pub bytes: &'block [u8],
}

impl Layout {
    /// The layout of columns with room for `rows` rows, and for `texts` bytes in each column of texts or bytes.
    pub fn new(kinds: &[Kind], rows: u32, texts: u32) -> Result<Self> {
        if kinds.is_empty() || kinds.len() > MOST_COLUMNS {
            return Err(Error::InvalidArgument(format!("a row has 1 to {MOST_COLUMNS} columns, not {}", kinds.len())));
        }
        let (rows, texts, bitmap) = (rows as usize, texts as usize, bitmap_bytes(kinds.len()));
        let mut end = rows * bitmap;
        let mut place = |size: usize| {
            let place = end.next_multiple_of(8);
            end = place + size;
            place
        };
        let columns = kinds.iter().map(|kind| match kind.width() {
            Some(width) => Column { kind: *kind, place: place(rows * width), bytes: 0 },
            None => Column { kind: *kind, place: place((rows + 1) * 4), bytes: place(texts) },
        });
        let columns = columns.collect();
        Ok(Self { columns, rows, texts, bitmap, size: end })
    }

    /// The size of the block in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bitmaps of the first rows.
    pub fn bitmaps<'block>(&self, block: &'block [u8], rows: usize) -> Result<&'block [u8]> {
        self.check(block, rows)?;
        Ok(&block[..rows * self.bitmap])
    }

    /// The values of the first rows in a column.
    pub fn values<'block>(&self, block: &'block [u8], column: usize, rows: usize) -> Result<Values<'block>> {
        self.check(block, rows)?;
        let no_column = || Error::InvalidArgument(format!("there is no column {column}"));
        let Column { kind, place, bytes } = self.columns.get(column).ok_or_else(no_column)?;
        Ok(match kind.width() {
            Some(1) => Values::One(&block[*place..place + rows]),
            Some(2) => Values::Two(elements(block, *place, rows)),
            Some(4) => Values::Four(elements(block, *place, rows)),
            Some(_) => Values::Eight(elements(block, *place, rows)),
            None => Values::Texts(Texts {
                offsets: elements(block, *place, rows + 1),
                bytes: &block[*bytes..bytes + self.texts],
            }),
        })
    }

    fn check(&self, block: &[u8], rows: usize) -> Result<()> {
        let problem = if block.len() < self.size {
            format!("the block of the columns has {} bytes, not {}", block.len(), self.size)
        } else if rows > self.rows {
            format!("the columns have room for {} rows, not for {rows}", self.rows)
        } else {
            return Ok(());
        };
        Err(Error::InvalidArgument(problem))
    }

    /// Writes the first rows of the columns as a batch over the beginning of `out`, and returns the size of the batch. The bytes of
    /// `out` behind it may change too. Texts are taken as they are, UTF-8 or not.
    pub fn encode(&self, block: &[u8], rows: usize, out: &mut [u8]) -> Result<usize> {
        self.check(block, rows)?;
        let mut at = 0;
        for row in 0..rows {
            at = self.encode_row(block, row, out, at).ok_or_else(|| {
                Error::InvalidArgument(format!("row {row} has no room, or a text that is not among the column's bytes"))
            })?;
        }
        Ok(at)
    }

    /// Writes a row from the place `start` on, and returns its end. Returns `None` if there is no room or a text is not where it should be.
    #[inline]
    fn encode_row(&self, block: &[u8], row: usize, out: &mut [u8], start: usize) -> Option<usize> {
        let bitmap = block.get(row * self.bitmap..(row + 1) * self.bitmap)?;
        let mut nulls = bits_of(bitmap);
        let mut at = start + LENGTH;
        out.get_mut(at..at + bitmap.len())?.iter_mut().zip(bitmap).for_each(|(byte, bits)| *byte = *bits);
        at += bitmap.len();
        for Column { kind, place, bytes } in &self.columns {
            let is_null = nulls & 1 == 1;
            nulls >>= 1;
            if is_null {
                continue;
            }
            match kind.width() {
                Some(1) => copy::<1>(block, place + row, out, at)?,
                Some(2) => copy::<2>(block, place + row * 2, out, at)?,
                Some(4) => copy::<4>(block, place + row * 4, out, at)?,
                Some(_) => copy::<8>(block, place + row * 8, out, at)?,
                None => {
                    let [from, to] = [row, row + 1].map(|offset| length_at(block, place + offset * 4));
                    let (from, to) = (from?, to?);
                    let length = to.checked_sub(from).filter(|_| to <= self.texts)?;
                    *out.get_mut(at..)?.first_chunk_mut()? = u32::try_from(length).ok()?.to_le_bytes();
                    at += LENGTH;
                    copy_text(block, bytes + from, out, at, length)?;
                    at += length;
                }
            }
            at += kind.width().unwrap_or_default();
        }
        *out.get_mut(start..)?.first_chunk_mut()? = u32::try_from(at - start - LENGTH).ok()?.to_le_bytes();
        Some(at)
    }

    /// Reads a batch into the columns, and returns the number of its rows.
    pub fn decode(&self, bytes: &[u8], block: &mut [u8]) -> Result<usize> {
        self.check(block, 0)?;
        let block = &mut block[..self.size];
        for Column { place, .. } in self.columns.iter().filter(|column| column.kind.width().is_none()) {
            block[*place..place + 4].fill(0);
        }
        let (mut row, mut start) = (0, 0);
        while start < bytes.len() {
            start = self.decode_row(bytes, start, block, row).map_err(|problem| problem.at(row))?;
            row += 1;
        }
        for Column { place, bytes, .. } in self.columns.iter().filter(|column| column.kind == Kind::Text) {
            check_texts(block, *place, *bytes, row)?;
        }
        Ok(row)
    }

    /// Reads the row that begins with its length at `start`, and returns its end.
    #[inline]
    fn decode_row(
        &self,
        bytes: &[u8],
        start: usize,
        block: &mut [u8],
        row: usize,
    ) -> std::result::Result<usize, RowProblem> {
        use RowProblem::{Bitmap, EndsEarly, GoesOn, NoRoom, Truth};
        if row >= self.rows {
            return Err(NoRoom);
        }
        let (behind, _) = split_row(bytes.get(start..).ok_or(EndsEarly)?).ok_or(EndsEarly)?;
        let end = start + LENGTH + behind.len();
        let bytes_to_end = &bytes[..end];
        let mut at = start + LENGTH + self.bitmap;
        let bitmap = bytes_to_end.get(start + LENGTH..at).ok_or(EndsEarly)?;
        let mut nulls = bits_of(bitmap);
        if self.columns.len() < MOST_COLUMNS && nulls >> self.columns.len() != 0 {
            return Err(Bitmap);
        }
        let bitmaps = block.get_mut(row * self.bitmap..(row + 1) * self.bitmap).ok_or(NoRoom)?;
        bitmaps.iter_mut().zip(bitmap).for_each(|(bits, byte)| *bits = *byte);
        for Column { kind, place, bytes: texts } in &self.columns {
            let is_null = nulls & 1 == 1;
            nulls >>= 1;
            let Some(width) = kind.width() else {
                let from = length_at(block, place + row * 4).ok_or(NoRoom)?;
                let length = if is_null {
                    0
                } else {
                    let length = length_at(bytes_to_end, at).ok_or(EndsEarly)?;
                    at += LENGTH;
                    if length > end - at {
                        return Err(EndsEarly);
                    }
                    let column = block.get_mut(*texts..texts + self.texts).ok_or(NoRoom)?;
                    copy_text(bytes, at, column, from, length).ok_or(NoRoom)?;
                    length
                };
                let to = u32::try_from(from + length).map_err(|_| NoRoom)?;
                let offset = block.get_mut(place + (row + 1) * 4..).and_then(|rest| rest.first_chunk_mut());
                *offset.ok_or(NoRoom)? = to.to_le_bytes();
                at += length;
                continue;
            };
            let place = place + row * width;
            if is_null {
                block.get_mut(place..place + width).ok_or(NoRoom)?.iter_mut().for_each(|byte| *byte = 0);
                continue;
            }
            if width > end - at {
                return Err(EndsEarly);
            }
            match width {
                1 => {
                    let byte = bytes_to_end[at];
                    if *kind == Kind::Truth && byte > 1 {
                        return Err(Truth);
                    }
                    *block.get_mut(place).ok_or(NoRoom)? = byte;
                }
                2 => copy::<2>(bytes_to_end, at, block, place).ok_or(NoRoom)?,
                4 => copy::<4>(bytes_to_end, at, block, place).ok_or(NoRoom)?,
                _ => copy::<8>(bytes_to_end, at, block, place).ok_or(NoRoom)?,
            }
            at += width;
        }
        if at == end { Ok(end) } else { Err(GoesOn) }
    }
}

/// Checks that the first texts of a column are UTF-8, each by itself.
fn check_texts(block: &[u8], offsets: usize, bytes: usize, rows: usize) -> Result<()> {
    let offsets: &[[u8; 4]] = elements(block, offsets, rows + 1);
    let offset = |row: usize| u32::from_le_bytes(offsets[row]) as usize;
    let texts = &block[bytes..bytes + offset(rows)];
    if texts.is_ascii() {
        return Ok(());
    }
    let is_text = |row: &usize| std::str::from_utf8(&texts[offset(*row)..offset(row + 1)]).is_ok();
    (0..rows).find(|row| !is_text(row)).map_or(Ok(()), |row| Err(RowProblem::Utf8.at(row)))
}

/// The elements from a place on.
fn elements<const N: usize>(block: &[u8], place: usize, count: usize) -> &[[u8; N]] {
    block[place..place + count * N].as_chunks().0
}

/// The length or offset at a place, or `None` if there is none.
fn length_at(bytes: &[u8], place: usize) -> Option<usize> {
    bytes.get(place..)?.first_chunk().map(|length| u32::from_le_bytes(*length) as usize)
}

/// Copies a value of `N` bytes. Returns `None` if one of the sides is too short.
fn copy<const N: usize>(from: &[u8], place: usize, to: &mut [u8], into: usize) -> Option<()> {
    let value: &[u8; N] = from.get(place..)?.first_chunk()?;
    *to.get_mut(into..)?.first_chunk_mut()? = *value;
    Some(())
}

/// The number of bytes that are copied at once for a short text, bytes behind it included. A copy of this length takes two instructions,
/// while a copy of a length that varies takes a call.
const SHORT: usize = 16;

/// Copies a text. Returns `None` if one of the sides is too short. The bytes behind the copy may change too.
fn copy_text(from: &[u8], place: usize, to: &mut [u8], into: usize, length: usize) -> Option<()> {
    if length <= SHORT && copy::<SHORT>(from, place, to, into).is_some() {
        return Some(());
    }
    to.get_mut(into..into + length)?.copy_from_slice(from.get(place..place + length)?);
    Some(())
}
