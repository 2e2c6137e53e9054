//! Transfer of memory between JavaScript and Rust.

use crate::host::errors::invalid;
use crate::memory::typed_memory::{BYTES, slice_of};
use napi::bindgen_prelude::{JsObjectValue, Object, ToNapiValue, Unknown};
use napi::{Env, JsValue, sys};

use crate::memory::array_buffer::{FixedMemory, copy_of};
use crate::memory::loans::lend;

/// Memory that Rust owns alone and hands to JavaScript as an `ArrayBuffer`: without a copy if it is large and the host takes
/// external memory (Electron does not). `loans.rs` says when Rust may use the memory again.
pub struct Handover<T>(pub T);

impl<T: FixedMemory> ToNapiValue for Handover<T> {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        let mut owner = value.0;
        let (data, length) = owner.parts();
        // SAFETY: the memory is valid as long as its owner is. The environment is this thread's, and its scope of handles is open.
        unsafe {
            if length <= COPIED_BYTES {
                copy_of(env, std::slice::from_raw_parts(data, length))
            } else {
                lend(env, owner)
            }
        }
    }
}

/// The size in bytes up to which memory is copied into a buffer of JavaScript's: that costs less than lending it.
pub const COPIED_BYTES: usize = 64 << 10;

/// The `expected` elements of an array. All are read before the memory of any is used: reading an element may run a getter, and a
/// getter could detach the memory of another.
pub fn elements<'env>(array: &Object<'env>, expected: usize) -> napi::Result<Vec<Unknown<'env>>> {
    if !array.is_array()? {
        return Err(invalid("expected an array"));
    }
    // Checked before the elements are read, since the array may be an empty one of four billion elements.
    let length = array.get_array_length()?;
    if length as usize != expected {
        return Err(invalid(format!("expected an array of {expected} elements, not of {length}")));
    }
    (0..length).map(|index| array.get_element(index)).collect()
}

/// The bytes of a `Uint8Array`, without a copy, empty if its buffer is detached.
///
/// # Safety
/// The slice is valid until JavaScript runs again.
pub unsafe fn bytes_of<'a>(env: Env, value: &Unknown<'_>) -> napi::Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { slice_of(env, value.raw(), BYTES) }
}

/// The submission in the first `bytes` bytes of a `Uint8Array`.
///
/// # Safety
/// The same promise as for [`bytes_of`].
pub unsafe fn submission_bytes<'a>(env: Env, value: &Unknown<'_>, bytes: u32) -> napi::Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { bytes_of(env, value) }?.get(..bytes as usize).ok_or_else(|| invalid("the submission is shorter"))
}

/// The bytes of a `Uint8Array` as [`bytes_of`] returns them, or `None` for null and undefined.
///
/// # Safety
/// The same promise as for [`bytes_of`].
pub unsafe fn optional_bytes_of<'a>(env: Env, value: &Unknown<'_>) -> napi::Result<Option<&'a [u8]>> {
    match value.get_type()? {
        napi::ValueType::Null | napi::ValueType::Undefined => Ok(None),
        // SAFETY: the caller's promise.
        _ => unsafe { bytes_of(env, value) }.map(Some),
    }
}
