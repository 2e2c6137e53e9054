//! Rows of a table as bytes.
//!
//! A row is a bitmap of its nulls, then each value that is not null, in the order of the columns:
//! - The bitmap has one bit per column, the first column in the lowest bit of the first byte. The bits behind the last column are 0.
//! - A number has the width of its type, the lowest byte first. A timestamp is a double: milliseconds since 1970, fractions included.
//!   JavaScript's dates hold the same, so no bigint need be made of it.
//! - A truth value is a byte, 0 or 1.
//! - A text or bytes follow their length in bytes, an unsigned integer of 32 bits. A text is UTF-8.
//!
//! A batch is rows behind one another, each behind its length in bytes, an unsigned integer of 32 bits.
//!
//! Rows are written from structs and read into structs, [`encode_rows`] and [`decode_rows`], or written from columns and read into
//! columns, [`Layout`]. `src/families/codec/row-codec.ts` and `row-columns.ts` have the same in TypeScript.

mod columns;
mod reader;
mod writer;

pub use columns::{Kind, Layout, Texts, Values};
pub use reader::{ReadRow, RowReader, decode_rows};
pub use writer::{RowWriter, WriteRow, encode_rows};

use boundary_bench_kernel::Error;

/// The most columns of a row.
pub const MOST_COLUMNS: usize = 64;

/// The bytes of a length.
const LENGTH: usize = 4;

/// The size in bytes of the bitmap of `columns` columns.
const fn bitmap_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

/// The bytes of a bitmap as an integer, in whose bits the columns count from the lowest one.
#[inline]
fn bits_of(bitmap: &[u8]) -> u64 {
    bitmap.iter().rev().fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
}

/// The reason why a row can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowProblem {
    /// The row ends within a value, its bitmap or its length.
    #[error("the row ends too early")]
    EndsEarly,
    /// There are bytes behind the last value.
    #[error("the row goes on behind its last value")]
    GoesOn,
    /// A value is null that must not be.
    #[error("a value is null in a column that has none")]
    Null,
    /// The bitmap has bits of columns that there are not.
    #[error("the bitmap names columns that there are not")]
    Bitmap,
    /// The byte of a truth value is neither 0 nor 1.
    #[error("a truth value is neither 0 nor 1")]
    Truth,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Utf8,
    /// The columns that the row is read into are full.
    #[error("the columns have no more room")]
    NoRoom,
}

impl RowProblem {
    /// The error for the row at this index.
    #[cold]
    fn at(self, row: usize) -> Error {
        Error::InvalidArgument(format!("rows, row {row}: {self}"))
    }
}
