//! The functions of libduckdb, which is loaded when the first database is opened: programs that open none do not wait for it.
//!
//! A test compares the signatures with the crate `libduckdb-sys`, which has them of `duckdb.h`. Unit tests use its types for that.

use std::ffi::{OsString, c_char, c_void};
use std::sync::{Mutex, OnceLock};

#[cfg(not(test))]
pub(crate) use super::types::*;
#[cfg(test)]
pub(crate) use libduckdb_sys::*;
use libloading::Library;

use boundary_bench_kernel::{Error, Result, lock};

/// The name of the library for a process that finds it by its own search path, or that has loaded it already.
const NAME: &str = if cfg!(windows) {
    "duckdb.dll"
} else if cfg!(target_os = "macos") {
    "@rpath/libduckdb.dylib"
} else {
    "libduckdb.so"
};

/// The path of the library, if it was told.
static PATH: Mutex<Option<OsString>> = Mutex::new(None);

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// Tells the path of libduckdb. None is needed if the process finds the library by its name, and none matters once it is loaded.
pub fn find_library_at(path: OsString) {
    *lock(&PATH) = Some(path);
}

/// Loads the library, once.
pub(crate) fn load() -> Result<()> {
    let path = lock(&PATH);
    if FUNCTIONS.get().is_none() {
        let path = path.as_deref().unwrap_or(NAME.as_ref());
        // SAFETY: the library is DuckDB, whose initialization has no conditions.
        let functions = unsafe { Library::new(path) }.and_then(Functions::of);
        let functions = functions.map_err(|cause| {
            Error::NotInstalled(format!("libduckdb, which comes with @duckdb/node-bindings, can't be loaded: {cause}"))
        })?;
        let _ = FUNCTIONS.set(functions);
    }
    Ok(())
}

fn functions() -> &'static Functions {
    FUNCTIONS.get().expect("a database was opened before, which loads the library")
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
            /// It stays loaded as long as its functions can be called.
            _library: Library,
        }

        impl Functions {
            fn of(library: Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the library's functions have these signatures, and it is kept with them.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!(stringify!($name), "\0"))?,)*
                        _library: library,
                    })
                }
            }
        }

        $(
            /// The function of this name in `duckdb.h`.
            #[inline]
            pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps the conditions of the function.
                unsafe { (functions().$name)($($argument),*) }
            }
        )*

        #[cfg(test)]
        #[test]
        fn the_signatures_are_those_of_the_header() {
            $(let _: unsafe extern "C" fn($($type),*) $(-> $result)? = libduckdb_sys::$name;)*
        }
    };
}

functions! {
    fn duckdb_append_data_chunk(appender: duckdb_appender, chunk: duckdb_data_chunk) -> duckdb_state;
    fn duckdb_appender_add_column(appender: duckdb_appender, name: *const c_char) -> duckdb_state;
    fn duckdb_appender_clear(appender: duckdb_appender) -> duckdb_state;
    fn duckdb_appender_create_ext(connection: duckdb_connection, catalog: *const c_char, schema: *const c_char, table: *const c_char, out_appender: *mut duckdb_appender) -> duckdb_state;
    fn duckdb_appender_create_query(connection: duckdb_connection, query: *const c_char, column_count: idx_t, types: *mut duckdb_logical_type, table_name: *const c_char, column_names: *mut *const c_char, out_appender: *mut duckdb_appender) -> duckdb_state;
    fn duckdb_appender_destroy(appender: *mut duckdb_appender) -> duckdb_state;
    fn duckdb_appender_error_data(appender: duckdb_appender) -> duckdb_error_data;
    fn duckdb_appender_flush(appender: duckdb_appender) -> duckdb_state;
    fn duckdb_arrow_scan(connection: duckdb_connection, table_name: *const c_char, arrow: duckdb_arrow_stream) -> duckdb_state;
    fn duckdb_bind_blob(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, data: *const c_void, length: idx_t) -> duckdb_state;
    fn duckdb_bind_boolean(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: bool) -> duckdb_state;
    fn duckdb_bind_date(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: duckdb_date) -> duckdb_state;
    fn duckdb_bind_decimal(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: duckdb_decimal) -> duckdb_state;
    fn duckdb_bind_double(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: f64) -> duckdb_state;
    fn duckdb_bind_float(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: f32) -> duckdb_state;
    fn duckdb_bind_int16(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: i16) -> duckdb_state;
    fn duckdb_bind_int32(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: i32) -> duckdb_state;
    fn duckdb_bind_int64(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: i64) -> duckdb_state;
    fn duckdb_bind_null(prepared_statement: duckdb_prepared_statement, param_idx: idx_t) -> duckdb_state;
    fn duckdb_bind_timestamp(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: duckdb_timestamp) -> duckdb_state;
    fn duckdb_bind_timestamp_tz(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: duckdb_timestamp) -> duckdb_state;
    fn duckdb_bind_value(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: duckdb_value) -> duckdb_state;
    fn duckdb_bind_varchar_length(prepared_statement: duckdb_prepared_statement, param_idx: idx_t, val: *const c_char, length: idx_t) -> duckdb_state;
    fn duckdb_close(database: *mut duckdb_database);
    fn duckdb_column_count(result: *mut duckdb_result) -> idx_t;
    fn duckdb_column_logical_type(result: *mut duckdb_result, col: idx_t) -> duckdb_logical_type;
    fn duckdb_column_name(result: *mut duckdb_result, col: idx_t) -> *const c_char;
    fn duckdb_connect(database: duckdb_database, out_connection: *mut duckdb_connection) -> duckdb_state;
    fn duckdb_create_config(out_config: *mut duckdb_config) -> duckdb_state;
    fn duckdb_create_data_chunk(types: *mut duckdb_logical_type, column_count: idx_t) -> duckdb_data_chunk;
    fn duckdb_create_decimal_type(width: u8, scale: u8) -> duckdb_logical_type;
    fn duckdb_create_instance_cache() -> duckdb_instance_cache;
    fn duckdb_create_list_value(of: duckdb_logical_type, values: *mut duckdb_value, value_count: idx_t) -> duckdb_value;
    fn duckdb_create_logical_type(of: duckdb_type) -> duckdb_logical_type;
    fn duckdb_create_null_value() -> duckdb_value;
    fn duckdb_data_chunk_get_size(chunk: duckdb_data_chunk) -> idx_t;
    fn duckdb_data_chunk_get_vector(chunk: duckdb_data_chunk, col_idx: idx_t) -> duckdb_vector;
    fn duckdb_data_chunk_reset(chunk: duckdb_data_chunk);
    fn duckdb_data_chunk_set_size(chunk: duckdb_data_chunk, size: idx_t);
    fn duckdb_decimal_scale(of: duckdb_logical_type) -> u8;
    fn duckdb_decimal_width(of: duckdb_logical_type) -> u8;
    fn duckdb_destroy_config(config: *mut duckdb_config);
    fn duckdb_destroy_data_chunk(chunk: *mut duckdb_data_chunk);
    fn duckdb_destroy_error_data(error_data: *mut duckdb_error_data);
    fn duckdb_destroy_extracted(extracted_statements: *mut duckdb_extracted_statements);
    fn duckdb_destroy_logical_type(of: *mut duckdb_logical_type);
    fn duckdb_destroy_pending(pending_result: *mut duckdb_pending_result);
    fn duckdb_destroy_prepare(prepared_statement: *mut duckdb_prepared_statement);
    fn duckdb_destroy_result(result: *mut duckdb_result);
    fn duckdb_destroy_value(value: *mut duckdb_value);
    fn duckdb_disconnect(connection: *mut duckdb_connection);
    fn duckdb_enum_dictionary_size(of: duckdb_logical_type) -> u32;
    fn duckdb_enum_dictionary_value(of: duckdb_logical_type, index: idx_t) -> *mut c_char;
    fn duckdb_enum_internal_type(of: duckdb_logical_type) -> duckdb_type;
    fn duckdb_error_data_message(error_data: duckdb_error_data) -> *const c_char;
    fn duckdb_execute_pending(pending_result: duckdb_pending_result, out_result: *mut duckdb_result) -> duckdb_state;
    fn duckdb_extract_statements(connection: duckdb_connection, query: *const c_char, out_extracted_statements: *mut duckdb_extracted_statements) -> idx_t;
    fn duckdb_extract_statements_error(extracted_statements: duckdb_extracted_statements) -> *const c_char;
    fn duckdb_fetch_chunk(result: duckdb_result) -> duckdb_data_chunk;
    fn duckdb_free(memory: *mut c_void);
    fn duckdb_get_or_create_from_cache(instance_cache: duckdb_instance_cache, path: *const c_char, out_database: *mut duckdb_database, config: duckdb_config, out_error: *mut *mut c_char) -> duckdb_state;
    fn duckdb_get_list_child(value: duckdb_value, index: idx_t) -> duckdb_value;
    fn duckdb_get_type_id(of: duckdb_logical_type) -> duckdb_type;
    fn duckdb_interrupt(connection: duckdb_connection);
    fn duckdb_library_version() -> *const c_char;
    fn duckdb_nparams(prepared_statement: duckdb_prepared_statement) -> idx_t;
    fn duckdb_param_logical_type(prepared_statement: duckdb_prepared_statement, param_idx: idx_t) -> duckdb_logical_type;
    fn duckdb_param_type(prepared_statement: duckdb_prepared_statement, param_idx: idx_t) -> duckdb_type;
    fn duckdb_parameter_name(prepared_statement: duckdb_prepared_statement, index: idx_t) -> *const c_char;
    fn duckdb_pending_error(pending_result: duckdb_pending_result) -> *const c_char;
    fn duckdb_pending_prepared(prepared_statement: duckdb_prepared_statement, out_result: *mut duckdb_pending_result) -> duckdb_state;
    fn duckdb_pending_prepared_streaming(prepared_statement: duckdb_prepared_statement, out_result: *mut duckdb_pending_result) -> duckdb_state;
    fn duckdb_prepare_error(prepared_statement: duckdb_prepared_statement) -> *const c_char;
    fn duckdb_prepare_extracted_statement(connection: duckdb_connection, extracted_statements: duckdb_extracted_statements, index: idx_t, out_prepared_statement: *mut duckdb_prepared_statement) -> duckdb_state;
    fn duckdb_prepared_statement_column_count(prepared_statement: duckdb_prepared_statement) -> idx_t;
    fn duckdb_prepared_statement_column_logical_type(prepared_statement: duckdb_prepared_statement, col_idx: idx_t) -> duckdb_logical_type;
    fn duckdb_prepared_statement_column_name(prepared_statement: duckdb_prepared_statement, col_idx: idx_t) -> *const c_char;
    fn duckdb_prepared_statement_type(statement: duckdb_prepared_statement) -> duckdb_statement_type;
    fn duckdb_query(connection: duckdb_connection, query: *const c_char, out_result: *mut duckdb_result) -> duckdb_state;
    fn duckdb_result_error(result: *mut duckdb_result) -> *const c_char;
    fn duckdb_result_return_type(result: duckdb_result) -> duckdb_result_type;
    fn duckdb_rows_changed(result: *mut duckdb_result) -> idx_t;
    fn duckdb_set_config(config: duckdb_config, name: *const c_char, option: *const c_char) -> duckdb_state;
    fn duckdb_vector_ensure_validity_writable(vector: duckdb_vector);
    fn duckdb_vector_get_data(vector: duckdb_vector) -> *mut c_void;
    fn duckdb_vector_get_validity(vector: duckdb_vector) -> *mut u64;
}
