//! The memory layout of DuckDB's columns: the mapping of their types to ours, and safe views of vectors.

use std::marker::PhantomData;
use std::sync::Arc;

use super::ffi::{DataChunk, LogicalType, borrowed_text};
use super::library as duckdb;
use boundary_bench_engine::sql_text::literal;
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
    /// 128-bit integers. They may have more than 38 digits.
    HugeInt,
    /// Unsigned 128-bit integers.
    UHugeInt,
    Decimal16,
    Decimal32,
    Decimal64,
    /// Seconds since 1970-01-01.
    Seconds,
    /// Milliseconds since 1970-01-01.
    Millis,
    /// Nanoseconds since 1970-01-01.
    Nanos,
    /// [`StringValue`]s.
    Strings,
    /// 128-bit integers whose highest bit is flipped.
    Uuid,
    /// Microseconds since midnight.
    Time,
    /// Nanoseconds since midnight.
    TimeNanos,
    /// Microseconds since midnight and an offset, packed in 64 bits.
    TimeZoned,
    /// [`IntervalValue`](super::text::IntervalValue)s.
    Interval,
    /// Positions in the dictionary of the type, of 8 bits.
    Enum8,
    /// Positions of 16 bits.
    Enum16,
    /// Positions of 32 bits.
    Enum32,
    /// Values that are inserted as text, and not read. DuckDB converts the text.
    Converted,
}

/// The mapping of a DuckDB column to one of our types.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    pub(super) sql_type: SqlType,
    pub(super) layout: Layout,
    /// DuckDB's number of the column's type.
    id: duckdb::duckdb_type,
    /// The values of an `ENUM`.
    pub(super) dictionary: Option<Arc<[String]>>,
}

impl Mapping {
    /// Whether values of the column cross as texts, though DuckDB keeps them in another form.
    pub(super) fn is_text_form(&self) -> bool {
        self.sql_type == SqlType::Text && self.layout != Layout::Strings
    }

    /// Whether only SQL converts texts to the type of the column. The appender of DuckDB 1.5.6 does not know the time zone of the session,
    /// and takes the quotes from JSON within another type (duckdb/duckdb#18541, duckdb/duckdb#17647).
    pub(super) fn is_converted_by_sql(&self) -> bool {
        matches!(self.layout, Layout::TimeZoned | Layout::Converted)
    }

    /// The type as SQL writes it.
    pub(super) fn type_name(&self) -> String {
        let name = match self.id {
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => "TINYINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => "UTINYINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => "USMALLINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => "UINTEGER",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => "UBIGINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => "HUGEINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => "UHUGEINT",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S => "TIMESTAMP_S",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS => "TIMESTAMP_MS",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS => "TIMESTAMP_NS",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => "TIMESTAMPTZ",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UUID => "UUID",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME => "TIME",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS => "TIME_NS",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ => "TIMETZ",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL => "INTERVAL",
            duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ENUM => {
                let words = self.dictionary.iter().flat_map(|words| words.iter().map(|word| literal(word)));
                return format!("ENUM({})", words.collect::<Vec<_>>().join(", "));
            }
            _ => return self.sql_type.to_sql(),
        };
        name.to_owned()
    }

    /// The type of the vectors that are appended to the column: its own, or `VARCHAR`. DuckDB converts a `VARCHAR`.
    pub(super) fn appended_type(&self) -> LogicalType {
        match self.sql_type {
            SqlType::Decimal { .. } if self.id != duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => simple_type(self.id),
            SqlType::Decimal { .. } | SqlType::Text => logical_type(self.sql_type),
            _ => simple_type(self.id),
        }
    }
}

fn simple_type(id: duckdb::duckdb_type) -> LogicalType {
    // SAFETY: takes a number only.
    LogicalType(unsafe { duckdb::duckdb_create_logical_type(id) })
}

/// DuckDB's type for one of ours.
pub(super) fn logical_type(sql_type: SqlType) -> LogicalType {
    simple_type(match sql_type {
        SqlType::Bool => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
        SqlType::SmallInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT,
        SqlType::Int => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
        SqlType::BigInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
        SqlType::Real => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT,
        SqlType::Double => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
        SqlType::Text => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
        SqlType::Bytes => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
        SqlType::Date => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE,
        SqlType::Timestamp => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP,
        SqlType::Decimal { precision, scale } => {
            // SAFETY: takes numbers only. They belong to a column's type.
            return LogicalType(unsafe { duckdb::duckdb_create_decimal_type(precision, scale) });
        }
    })
}

fn type_id(logical: &LogicalType) -> duckdb::duckdb_type {
    // SAFETY: the type lives.
    unsafe { duckdb::duckdb_get_type_id(logical.0) }
}

/// The mapping of a column to insert to: a type without counterpart takes texts, and DuckDB converts them.
pub(super) fn stored_mapping(logical: &LogicalType) -> Mapping {
    mapping(logical).unwrap_or_else(|| Mapping {
        sql_type: SqlType::Text,
        layout: Layout::Converted,
        id: type_id(logical),
        dictionary: None,
    })
}

/// The mapping of a DuckDB type, or `None` if it has no counterpart.
pub(super) fn mapping(logical: &LogicalType) -> Option<Mapping> {
    let id = type_id(logical);
    let whole = |precision| SqlType::Decimal { precision, scale: 0 };
    let (sql_type, layout) = match id {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => (SqlType::Bool, Layout::Bool),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => (SqlType::SmallInt, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => (SqlType::Int, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => (SqlType::BigInt, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT => (SqlType::Real, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE => (SqlType::Double, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => (SqlType::Text, Layout::Strings),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB => (SqlType::Bytes, Layout::Strings),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE => (SqlType::Date, Layout::Same),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
            // SAFETY: the type lives and is a decimal.
            let (precision, scale) =
                unsafe { (duckdb::duckdb_decimal_width(logical.0), duckdb::duckdb_decimal_scale(logical.0)) };
            (SqlType::Decimal { precision, scale }, decimal_layout(precision))
        }
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => (SqlType::SmallInt, Layout::Int8),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => (SqlType::SmallInt, Layout::UInt8),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => (SqlType::Int, Layout::UInt16),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => (SqlType::BigInt, Layout::UInt32),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => (whole(20), Layout::UInt64),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => (whole(38), Layout::HugeInt),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => (whole(38), Layout::UHugeInt),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S => (SqlType::Timestamp, Layout::Seconds),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS => (SqlType::Timestamp, Layout::Millis),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS => (SqlType::Timestamp, Layout::Nanos),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP | duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => {
            (SqlType::Timestamp, Layout::Same)
        }
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UUID => (SqlType::Text, Layout::Uuid),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME => (SqlType::Text, Layout::Time),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS => (SqlType::Text, Layout::TimeNanos),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ => (SqlType::Text, Layout::TimeZoned),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL => (SqlType::Text, Layout::Interval),
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ENUM => {
            let (layout, dictionary) = enumeration(logical);
            return Some(Mapping { sql_type: SqlType::Text, layout, id, dictionary: Some(dictionary) });
        }
        _ => return None,
    };
    Some(Mapping { sql_type, layout, id, dictionary: None })
}

/// The form and the values of an `ENUM`.
fn enumeration(logical: &LogicalType) -> (Layout, Arc<[String]>) {
    // SAFETY: the type lives and is an enum. Each value was allocated for us, and is freed once, after it was copied.
    let (internal, values) = unsafe {
        let size = duckdb::duckdb_enum_dictionary_size(logical.0);
        let value = |index: u32| {
            let raw = duckdb::duckdb_enum_dictionary_value(logical.0, index.into());
            let copy = borrowed_text(raw, "");
            duckdb::duckdb_free(raw.cast());
            copy
        };
        (duckdb::duckdb_enum_internal_type(logical.0), (0..size).map(value).collect())
    };
    let layout = match internal {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => Layout::Enum8,
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => Layout::Enum16,
        _ => Layout::Enum32,
    };
    (layout, values)
}

/// The name of a type that [`mapping`] does not know.
pub(super) fn type_name(logical: &LogicalType) -> &'static str {
    match type_id(logical) {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_LIST => "LIST",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT => "STRUCT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_MAP => "MAP",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ARRAY => "ARRAY",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UNION => "UNION",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIT => "BIT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGNUM => "BIGNUM",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_GEOMETRY => "GEOMETRY",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARIANT => "VARIANT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => "NULL",
        _ => "of DuckDB's own",
    }
}

/// The layout of a decimal. DuckDB keeps it in the smallest integer that holds its digits.
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
            // SAFETY: a longer value holds a pointer to its bytes, and the vector owns these.
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

    /// All values of the vector. The value of a null is arbitrary.
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

    /// The validity bits (set: not null), or `None` if no row is null.
    pub(super) fn validity(&self) -> Option<Validity<'chunk>> {
        if self.validity.is_null() {
            return None;
        }
        // SAFETY: a validity mask has a bit for each row, in whole words.
        Some(Validity(unsafe { std::slice::from_raw_parts(self.validity, self.rows.div_ceil(64)) }))
    }
}

/// The validity bits of a vector's rows. A set bit means not null.
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
