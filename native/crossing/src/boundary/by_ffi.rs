//! The functions with the calling convention of C, for the runtimes' interfaces to foreign functions. They load the
//! addon as a library.

use std::ffi::{CStr, c_char};

use boundary_bench_suite::boundary;

/// A call that passes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn boundary_bench_nothing() {
    boundary::nothing();
}

/// The sum of two numbers.
#[unsafe(no_mangle)]
pub extern "C" fn boundary_bench_add(left: f64, right: f64) -> f64 {
    boundary::add(left, right)
}

/// The next integer.
#[unsafe(no_mangle)]
pub extern "C" fn boundary_bench_increment(value: i64) -> i64 {
    boundary::increment(value)
}

/// The code of the last character of a text in UTF-8 that ends with a zero, or 0 without one.
///
/// # Safety
/// The pointer must be null, or point to a text that ends with a zero and lives as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boundary_bench_read_text(text: *const c_char) -> u32 {
    if text.is_null() {
        return 0;
    }
    // SAFETY: as the caller warrants.
    unsafe { CStr::from_ptr(text) }.to_str().map_or(0, boundary::last_code)
}

/// The sum of the first and the last byte, or 0 if there are none.
///
/// # Safety
/// The pointer must be null, or point to `length` bytes that live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boundary_bench_read_bytes(bytes: *const u8, length: usize) -> u32 {
    // SAFETY: as the caller warrants.
    if bytes.is_null() { 0 } else { boundary::ends(unsafe { std::slice::from_raw_parts(bytes, length) }) }
}

/// The sum of numbers.
///
/// # Safety
/// The pointer must be null, or point to `length` aligned numbers that live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boundary_bench_sum(values: *const f64, length: usize) -> f64 {
    // SAFETY: as the caller warrants.
    if values.is_null() { 0.0 } else { boundary::sum(unsafe { std::slice::from_raw_parts(values, length) }) }
}
