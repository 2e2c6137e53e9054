//! The memory layout of DuckDB's columns: the mapping of their types to ours, and safe views of vectors.

use std::marker::PhantomData;

use libduckdb_sys as duckdb;

use super::ffi::{DataChunk, LogicalType};
use boundary_bench_engine::table::SqlType;

/// The number of rows of a vector, fixed when libduckdb is built.
pub(super) const VECTOR_ROWS: usize = 2048;

/// The representation of a column's values in DuckDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The same representation as in Arrow.
    Same,
    /// One byte for each value.
    Bool,
    Int8,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    /// 128-bit integers, which may have more than 38 digits.
    HugeInt,
    Decimal16,
    Decimal32,
    Decimal64,
    /// Seconds since 1970-01-01.
    Seconds,
    /// Milliseconds since 1970-01-01.
    Millis,
    /// [`StringValue`]s.
    Strings,
}

/// The mapping of a DuckDB column to one of our types.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    pub(super) sql_type: SqlType,
    pub(super) layout: Layout,
    /// Whether the column has the very type that [`SqlType::to_sql`] creates.
    pub(super) exact: bool,
}

/// The mapping of a DuckDB type; `None` if it has no counterpart.
pub(super) fn mapping(logical: &LogicalType) -> Option<Mapping> {
    // SAFETY: the type lives.
    let id = unsafe { duckdb::duckdb_get_type_id(logical.0) };
    let exact = |sql_type, layout| Some(Mapping { sql_type, layout, exact: true });
    let widened = |sql_type, layout| Some(Mapping { sql_type, layout, exact: false });
    let whole = |precision| SqlType::Decimal { precision, scale: 0 };
    match id {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => exact(SqlType::Bool, Layout::Bool),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => exact(SqlType::SmallInt, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => exact(SqlType::Int, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => exact(SqlType::BigInt, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT => exact(SqlType::Real, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE => exact(SqlType::Double, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => exact(SqlType::Text, Layout::Strings),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB => exact(SqlType::Bytes, Layout::Strings),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE => exact(SqlType::Date, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP => exact(SqlType::Timestamp, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
            // SAFETY: the type lives and is a decimal.
            let (precision, scale) =
                unsafe { (duckdb::duckdb_decimal_width(logical.0), duckdb::duckdb_decimal_scale(logical.0)) };
            exact(SqlType::Decimal { precision, scale }, decimal_layout(precision))
        }
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => widened(SqlType::SmallInt, Layout::Int8),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => widened(SqlType::SmallInt, Layout::UInt8),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => widened(SqlType::Int, Layout::UInt16),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => widened(SqlType::BigInt, Layout::UInt32),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => widened(whole(20), Layout::UInt64),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => widened(whole(38), Layout::HugeInt),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S => widened(SqlType::Timestamp, Layout::Seconds),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS => widened(SqlType::Timestamp, Layout::Millis),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => widened(SqlType::Timestamp, Layout::Same),
        _ => None,
    }
}

/// The name of a type that [`mapping`] does not know.
pub(super) fn type_name(logical: &LogicalType) -> &'static str {
    // SAFETY: the type lives.
    match unsafe { duckdb::duckdb_get_type_id(logical.0) } {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME => "TIME",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ => "TIME WITH TIME ZONE",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS => "TIME_NS",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL => "INTERVAL",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS => "TIMESTAMP_NS",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ENUM => "ENUM",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_LIST => "LIST",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT => "STRUCT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_MAP => "MAP",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ARRAY => "ARRAY",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UNION => "UNION",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UUID => "UUID",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIT => "BIT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => "UHUGEINT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGNUM => "BIGNUM",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_GEOMETRY => "GEOMETRY",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARIANT => "VARIANT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => "NULL",
        _ => "of DuckDB's own",
    }
}

/// The DuckDB type for one of our types.
pub(super) fn logical_type(sql_type: SqlType) -> LogicalType {
    let id = match sql_type {
        SqlType::Bool => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
        SqlType::SmallInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT,
        SqlType::Int => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
        SqlType::BigInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
        SqlType::Real => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT,
        SqlType::Double => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
        SqlType::Decimal { precision, scale } => {
            // SAFETY: takes numbers only; precision and scale were checked with the table.
            return LogicalType(unsafe { duckdb::duckdb_create_decimal_type(precision, scale) });
        }
        SqlType::Text => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
        SqlType::Bytes => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
        SqlType::Date => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE,
        SqlType::Timestamp => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP,
    };
    // SAFETY: takes a number only.
    LogicalType(unsafe { duckdb::duckdb_create_logical_type(id) })
}

/// The layout of a decimal, which DuckDB keeps in the smallest integer that holds its digits.
pub(super) fn decimal_layout(precision: u8) -> Layout {
    match precision {
        0..=4 => Layout::Decimal16,
        5..=9 => Layout::Decimal32,
        10..=18 => Layout::Decimal64,
        _ => Layout::Same,
    }
}

/// DuckDB's `string_t`: up to 12 bytes inline, else the first four and a pointer to all of them.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct StringValue {
    length: u32,
    start: [u8; 4],
    rest: StringRest,
}

#[derive(Clone, Copy)]
#[repr(C)]
union StringRest {
    inlined: [u8; 8],
    pointer: *const u8,
}

const INLINE_LENGTH: usize = 12;

impl StringValue {
    /// A value that points into `bytes` if they are too many to be inline.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut start = [0; 4];
        #[expect(clippy::cast_possible_truncation, reason = "a value of an Arrow array is shorter than 2 GiB")]
        let length = bytes.len() as u32;
        if bytes.len() > INLINE_LENGTH {
            start.copy_from_slice(&bytes[..4]);
            return Self { length, start, rest: StringRest { pointer: bytes.as_ptr() } };
        }
        // The bytes behind the end must be zero: DuckDB compares inline strings as numbers.
        let mut inlined = [0; 8];
        if bytes.len() > 4 {
            start.copy_from_slice(&bytes[..4]);
            inlined[..bytes.len() - 4].copy_from_slice(&bytes[4..]);
        } else {
            start[..bytes.len()].copy_from_slice(bytes);
        }
        Self { length, start, rest: StringRest { inlined } }
    }

    pub(super) fn len(&self) -> usize {
        self.length as usize
    }

    /// The bytes of the value.
    ///
    /// # Safety
    /// The value is valid (not null), and its vector lives.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        let length = self.len();
        if length <= INLINE_LENGTH {
            // SAFETY: `start` and `rest` are twelve adjacent bytes of this structure.
            unsafe { std::slice::from_raw_parts((&raw const *self).cast::<u8>().add(4), length) }
        } else {
            // SAFETY: a longer value holds a pointer to its bytes, which the vector owns.
            unsafe { std::slice::from_raw_parts(self.rest.pointer, length) }
        }
    }
}

/// A filled vector of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Vector<'chunk> {
    data: *const u8,
    validity: *const u64,
    rows: usize,
    chunk: PhantomData<&'chunk DataChunk>,
}

impl<'chunk> Vector<'chunk> {
    pub(super) fn of(chunk: &'chunk DataChunk, index: usize) -> Self {
        let raw = chunk.vector(index);
        // SAFETY: the vector lives as long as its chunk, and fetched chunks are flat.
        let (data, validity) =
            unsafe { (duckdb::duckdb_vector_get_data(raw), duckdb::duckdb_vector_get_validity(raw)) };
        Self { data: data.cast(), validity, rows: chunk.rows(), chunk: PhantomData }
    }

    /// All values of the vector; the value of a null is arbitrary.
    ///
    /// # Safety
    /// `T` is the representation of this column's values, and every pattern of bits is a valid `T`.
    pub(super) unsafe fn values<T: Copy>(&self) -> &'chunk [T] {
        if self.rows == 0 {
            return &[];
        }
        // SAFETY: a vector holds at least the chunk's rows, aligned for its type.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.rows) }
    }

    /// The validity bits (set: not null); `None` if no row is null.
    pub(super) fn validity(&self) -> Option<Validity<'chunk>> {
        if self.validity.is_null() {
            return None;
        }
        // SAFETY: a validity mask has a bit for each row, in whole words.
        Some(Validity(unsafe { std::slice::from_raw_parts(self.validity, self.rows.div_ceil(64)) }))
    }
}

/// The validity bits of a vector's rows; a set bit means not null.
#[derive(Clone, Copy)]
pub(super) struct Validity<'chunk>(&'chunk [u64]);

impl<'chunk> Validity<'chunk> {
    pub(super) fn words(self) -> &'chunk [u64] {
        self.0
    }

    pub(super) fn is_valid(self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }
}
