//! The types and constants of `duckdb.h`, as far as this crate uses them, by their names there. Tests compare them with the crate
//! `libduckdb-sys`, which is for tests alone: its build script can download the library, and brings an HTTP client with TLS.
#![expect(non_camel_case_types, non_upper_case_globals, reason = "the names of duckdb.h")]

use std::ffi::{c_char, c_uint, c_void};

pub(crate) type idx_t = u64;
pub(crate) type duckdb_state = c_uint;
pub(crate) type duckdb_type = c_uint;
pub(crate) type duckdb_statement_type = c_uint;
pub(crate) type duckdb_result_type = c_uint;

pub(crate) const DuckDBSuccess: duckdb_state = 0;

/// Declares pointers to objects of the library.
macro_rules! handles {
    ($($object:ident $pointer:ident;)*) => {
        $(
            #[repr(C)]
            pub(crate) struct $object {
                _opaque: [u8; 0],
            }
            pub(crate) type $pointer = *mut $object;
        )*
    };
}

handles! {
    _duckdb_appender duckdb_appender;
    _duckdb_arrow_stream duckdb_arrow_stream;
    _duckdb_config duckdb_config;
    _duckdb_connection duckdb_connection;
    _duckdb_data_chunk duckdb_data_chunk;
    _duckdb_database duckdb_database;
    _duckdb_error_data duckdb_error_data;
    _duckdb_extracted_statements duckdb_extracted_statements;
    _duckdb_instance_cache duckdb_instance_cache;
    _duckdb_logical_type duckdb_logical_type;
    _duckdb_pending_result duckdb_pending_result;
    _duckdb_prepared_statement duckdb_prepared_statement;
    _duckdb_value duckdb_value;
    _duckdb_vector duckdb_vector;
}

/// A result, whose fields are the library's own.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_result {
    _column_count: idx_t,
    _row_count: idx_t,
    _rows_changed: idx_t,
    _columns: *mut c_void,
    _error_message: *mut c_char,
    _internal_data: *mut c_void,
}

/// A number of 128 bits: `upper * 2^64 + lower`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_hugeint {
    pub(crate) lower: u64,
    pub(crate) upper: i64,
}

/// A decimal: `value / 10^scale`, of `width` digits.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_decimal {
    pub(crate) width: u8,
    pub(crate) scale: u8,
    pub(crate) value: duckdb_hugeint,
}

/// The days since 1970-01-01.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_date {
    pub(crate) days: i32,
}

/// The microseconds since 1970-01-01.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_timestamp {
    pub(crate) micros: i64,
}

/// Declares constants, and the test that compares them.
macro_rules! constants {
    ($($name:ident: $type:ident = $value:literal;)*) => {
        $(pub(crate) const $name: $type = $value;)*

        #[cfg(test)]
        #[test]
        fn the_constants_are_those_of_the_header() {
            assert_eq!(DuckDBSuccess, libduckdb_sys::DuckDBSuccess);
            $(assert_eq!($name, libduckdb_sys::$name, stringify!($name));)*
        }
    };
}

constants! {
    DUCKDB_TYPE_DUCKDB_TYPE_ARRAY: duckdb_type = 33;
    DUCKDB_TYPE_DUCKDB_TYPE_BIGINT: duckdb_type = 5;
    DUCKDB_TYPE_DUCKDB_TYPE_BIGNUM: duckdb_type = 35;
    DUCKDB_TYPE_DUCKDB_TYPE_BIT: duckdb_type = 29;
    DUCKDB_TYPE_DUCKDB_TYPE_BLOB: duckdb_type = 18;
    DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN: duckdb_type = 1;
    DUCKDB_TYPE_DUCKDB_TYPE_DATE: duckdb_type = 13;
    DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL: duckdb_type = 19;
    DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE: duckdb_type = 11;
    DUCKDB_TYPE_DUCKDB_TYPE_ENUM: duckdb_type = 23;
    DUCKDB_TYPE_DUCKDB_TYPE_FLOAT: duckdb_type = 10;
    DUCKDB_TYPE_DUCKDB_TYPE_GEOMETRY: duckdb_type = 40;
    DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT: duckdb_type = 16;
    DUCKDB_TYPE_DUCKDB_TYPE_INTEGER: duckdb_type = 4;
    DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL: duckdb_type = 15;
    DUCKDB_TYPE_DUCKDB_TYPE_LIST: duckdb_type = 24;
    DUCKDB_TYPE_DUCKDB_TYPE_MAP: duckdb_type = 26;
    DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT: duckdb_type = 3;
    DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL: duckdb_type = 36;
    DUCKDB_TYPE_DUCKDB_TYPE_STRUCT: duckdb_type = 25;
    DUCKDB_TYPE_DUCKDB_TYPE_TIME: duckdb_type = 14;
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP: duckdb_type = 12;
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS: duckdb_type = 21;
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS: duckdb_type = 22;
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S: duckdb_type = 20;
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ: duckdb_type = 31;
    DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS: duckdb_type = 39;
    DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ: duckdb_type = 30;
    DUCKDB_TYPE_DUCKDB_TYPE_TINYINT: duckdb_type = 2;
    DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT: duckdb_type = 9;
    DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT: duckdb_type = 32;
    DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER: duckdb_type = 8;
    DUCKDB_TYPE_DUCKDB_TYPE_UNION: duckdb_type = 28;
    DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT: duckdb_type = 7;
    DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT: duckdb_type = 6;
    DUCKDB_TYPE_DUCKDB_TYPE_UUID: duckdb_type = 27;
    DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR: duckdb_type = 17;
    DUCKDB_TYPE_DUCKDB_TYPE_VARIANT: duckdb_type = 41;
    duckdb_result_type_DUCKDB_RESULT_TYPE_QUERY_RESULT: duckdb_result_type = 3;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CALL: duckdb_statement_type = 19;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CREATE: duckdb_statement_type = 7;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_DELETE: duckdb_statement_type = 5;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXECUTE: duckdb_statement_type = 8;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXPLAIN: duckdb_statement_type = 4;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_INSERT: duckdb_statement_type = 2;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_MERGE_INTO: duckdb_statement_type = 30;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_PRAGMA: duckdb_statement_type = 17;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT: duckdb_statement_type = 1;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SET: duckdb_statement_type = 20;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_TRANSACTION: duckdb_statement_type = 10;
    duckdb_statement_type_DUCKDB_STATEMENT_TYPE_UPDATE: duckdb_statement_type = 3;
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    /// Compares the layouts of types, and of their fields, with the other crate's.
    macro_rules! assert_layouts {
        ($($name:ident { $($field:ident),* })*) => {
            $(
                assert_eq!(size_of::<super::$name>(), size_of::<libduckdb_sys::$name>(), stringify!($name));
                assert_eq!(align_of::<super::$name>(), align_of::<libduckdb_sys::$name>(), stringify!($name));
                $(assert_eq!(offset_of!(super::$name, $field), offset_of!(libduckdb_sys::$name, $field));)*
            )*
        };
    }

    #[test]
    fn the_types_are_laid_out_as_those_of_the_header() {
        assert_layouts! {
            idx_t {} duckdb_state {} duckdb_type {} duckdb_statement_type {} duckdb_result_type {}
            duckdb_appender {} duckdb_config {} duckdb_connection {} duckdb_data_chunk {} duckdb_database {} duckdb_error_data {}
            duckdb_extracted_statements {} duckdb_instance_cache {} duckdb_logical_type {} duckdb_pending_result {} duckdb_prepared_statement {} duckdb_value {} duckdb_vector {}
            duckdb_result {}
            duckdb_hugeint { lower, upper }
            duckdb_decimal { width, scale, value }
            duckdb_date { days }
            duckdb_timestamp { micros }
        }
    }
}
