//! Texts of JavaScript as UTF-8, in memory that the next call uses again.

use std::ptr;

use boundary_bench_kernel::Error;
use napi::{Env, sys};

use crate::host::errors::{invalid, js};

/// The bytes of the longest character.
const CHARACTER: usize = 4;

/// Reads a text of JavaScript into memory. The memory grows if it is too small. A half of a pair of surrogates becomes U+FFFD. Errors call
/// the text `name`. A text of more than `longest` bytes is refused before it takes memory.
pub fn read_text<'a>(
    env: Env,
    value: sys::napi_value,
    memory: &'a mut Vec<u8>,
    name: &str,
    longest: usize,
) -> napi::Result<&'a [u8]> {
    let not_a_text = || invalid(format!("{name} must be a string"));
    let mut length = read_utf8(env, value, memory).ok_or_else(not_a_text)?;
    // A character that did not fit may be missing at the end.
    if length + CHARACTER >= memory.len() {
        let needed = read_utf8(env, value, &mut []).ok_or_else(not_a_text)?;
        if needed > longest {
            return Err(js(Error::TooLarge(format!("{name} has {needed} bytes; it may have {longest} at most"))));
        }
        memory.resize((needed + CHARACTER + 1).next_power_of_two(), 0);
        length = read_utf8(env, value, memory).ok_or_else(not_a_text)?;
    }
    Ok(memory.get(..length).unwrap_or_default())
}

/// Writes as many whole characters of a text as have room before a final zero, and returns their bytes. Without memory, it returns the
/// bytes of the whole text. `None` if the value is no text.
fn read_utf8(env: Env, value: sys::napi_value, memory: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    let into = if memory.is_empty() { ptr::null_mut() } else { memory.as_mut_ptr().cast() };
    // SAFETY: the handles belong to the call under way. No more than the memory's size is written, and nothing without memory. A value that
    // is no text is refused by the status.
    let status = unsafe { sys::napi_get_value_string_utf8(env.raw(), value, into, memory.len(), &raw mut length) };
    (status == sys::Status::napi_ok).then_some(length)
}
