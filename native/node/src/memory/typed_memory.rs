//! The memory of JavaScript's typed arrays as slices, read and written without a copy.

use std::ffi::c_void;
use std::ptr;

use napi::{Env, sys};

use crate::host::errors::invalid;

/// A type of the elements of typed arrays, of which each pattern of bits is a value.
pub trait Element {
    /// The kind of the arrays with such elements, as Node-API numbers it.
    const KIND: i32;
}

impl Element for u8 {
    const KIND: i32 = sys::TypedarrayType::uint8_array;
}

impl Element for i32 {
    const KIND: i32 = sys::TypedarrayType::int32_array;
}

impl Element for u32 {
    const KIND: i32 = sys::TypedarrayType::uint32_array;
}

impl Element for i64 {
    const KIND: i32 = sys::TypedarrayType::bigint64_array;
}

impl Element for f64 {
    const KIND: i32 = sys::TypedarrayType::float64_array;
}

/// A range of memory: the address of its first element, and the number of elements.
pub type Memory<T> = (*mut T, usize);

/// A typed array as Node-API describes it.
struct TypedArray {
    kind: i32,
    length: usize,
    data: *mut c_void,
    /// Whether its buffer is an `ArrayBuffer`, not a `SharedArrayBuffer` that other threads may write to.
    is_unshared: bool,
}

impl TypedArray {
    /// Reads the description of a value. Returns `None` if the value is no typed array.
    fn of(env: Env, value: sys::napi_value) -> Option<Self> {
        let mut array = Self { kind: 0, length: 0, data: ptr::null_mut(), is_unshared: false };
        let mut buffer = ptr::null_mut();
        // SAFETY: the handles belong to the call under way, and the out-pointers are valid for writing or not asked for. A
        // value that is no typed array is refused by the status.
        let status = unsafe {
            let status = sys::napi_get_typedarray_info(
                env.raw(),
                value,
                &raw mut array.kind,
                &raw mut array.length,
                &raw mut array.data,
                &raw mut buffer,
                ptr::null_mut(),
            );
            if status == sys::Status::napi_ok {
                sys::napi_is_arraybuffer(env.raw(), buffer, &raw mut array.is_unshared)
            } else {
                status
            }
        };
        (status == sys::Status::napi_ok).then_some(array)
    }

    /// The memory of the array, if it has such elements. Errors call the wanted array `name`.
    fn memory<T: Element>(self, name: &str) -> Result<Memory<T>, String> {
        if self.kind != T::KIND {
            return Err(format!("expected {name}"));
        }
        if !self.is_unshared {
            return Err("memory shared between threads can't be used safely; give a copy of it".to_owned());
        }
        Ok((self.data.cast(), if self.data.is_null() { 0 } else { self.length }))
    }
}

/// The memory of a typed array. The error says why the value is refused.
fn checked_memory<T: Element>(env: Env, value: sys::napi_value, name: &str) -> Result<Memory<T>, String> {
    TypedArray::of(env, value).ok_or_else(|| format!("expected {name}"))?.memory(name)
}

/// The memory of a typed array. Errors call it `name`.
pub fn memory_of<T: Element>(env: Env, value: sys::napi_value, name: &str) -> napi::Result<Memory<T>> {
    checked_memory(env, value, name).map_err(invalid)
}

/// The elements of a typed array.
///
/// # Safety
/// The slice is valid until JavaScript runs again, and while nothing writes to the same memory.
pub unsafe fn slice_of<'a, T: Element>(env: Env, value: sys::napi_value, name: &str) -> napi::Result<&'a [T]> {
    let memory = memory_of(env, value, name)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { elements_at(memory) })
}

/// The elements of a typed array, as a mutable slice.
///
/// # Safety
/// The same promise as for [`slice_of`], and nothing else reads the memory meanwhile.
pub unsafe fn slice_of_mut<'a, T: Element>(env: Env, value: sys::napi_value, name: &str) -> napi::Result<&'a mut [T]> {
    let memory = memory_of(env, value, name)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { elements_at_mut(memory) })
}

/// The bytes of a `Uint8Array`, empty if its buffer is detached. The error says why the value is refused.
///
/// # Safety
/// The same promise as for [`slice_of`].
pub unsafe fn view_of<'a>(env: Env, value: sys::napi_value) -> Result<&'a [u8], String> {
    let memory = checked_memory(env, value, BYTES)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { elements_at(memory) })
}

/// The name of an array of bytes in errors.
pub const BYTES: &str = "a Uint8Array";
/// The name of an array of values in errors.
pub const VALUES: &str = "a Float64Array of values";
/// The name of an array of timestamps in errors.
pub const TIMES: &str = "a BigInt64Array of timestamps, or undefined";

fn is_absent(env: Env, value: sys::napi_value) -> bool {
    let mut kind = 0;
    // SAFETY: the handle belongs to the call under way, and the out-pointer is valid for writing.
    let status = unsafe { sys::napi_typeof(env.raw(), value, &raw mut kind) };
    status == sys::Status::napi_ok && matches!(kind, sys::ValueType::napi_undefined | sys::ValueType::napi_null)
}

/// Whether two ranges of memory share a byte. If they do, one must not be written while the other is read. Each range is the
/// address of its first element and the number of elements. It is not a slice, because no reference to written memory may exist
/// before it is known that the ranges are apart.
pub fn overlap<A, B>((one, ones): Memory<A>, (other, others): Memory<B>) -> bool {
    let (one_end, other_end) = (one.wrapping_add(ones), other.wrapping_add(others));
    ones > 0 && others > 0 && one.cast::<u8>() < other_end.cast() && other.cast::<u8>() < one_end.cast()
}

/// The elements of a range of memory.
///
/// # Safety
/// The same promise as for [`slice_of`].
pub unsafe fn elements_at<'a, T>((data, length): Memory<T>) -> &'a [T] {
    // SAFETY: Node-API says that `length` elements are there, aligned as JavaScript aligns typed arrays. The rest is the
    // caller's promise.
    if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } }
}

/// The elements of a range of memory, as a mutable slice.
///
/// # Safety
/// The same promise as for [`slice_of_mut`].
pub unsafe fn elements_at_mut<'a, T>((data, length): Memory<T>) -> &'a mut [T] {
    // SAFETY: as in `elements_at`.
    if length == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(data, length) } }
}

/// The columns that a call encodes and the memory that it encodes into.
pub struct Encoding<'a> {
    /// The values, one a point.
    pub values: &'a [f64],
    /// The timestamps, one per point, or `None` if the points have none.
    pub times: Option<&'a [i64]>,
    /// The memory to encode into.
    pub out: &'a mut [u8],
}

impl Encoding<'_> {
    /// Checks the three arguments and takes their memory.
    ///
    /// # Safety
    /// No JavaScript runs before the last use.
    pub unsafe fn of(
        env: Env,
        values: sys::napi_value,
        times: sys::napi_value,
        out: sys::napi_value,
    ) -> napi::Result<Self> {
        let out = memory_of(env, out, BYTES)?;
        let values = memory_of(env, values, VALUES)?;
        // Absence is checked only for values that are no typed arrays: the check is one more call, and timestamps are mostly
        // present.
        let times = match TypedArray::of(env, times) {
            None if is_absent(env, times) => None,
            None => return Err(invalid(format!("expected {TIMES}"))),
            Some(array) => Some(array.memory(TIMES).map_err(invalid)?),
        };
        if overlap(values, out) || times.is_some_and(|times| overlap(times, out)) {
            return Err(invalid("the memory to encode into must not be the memory of the columns"));
        }
        // SAFETY: the caller's promise, and what is written is apart from what is read.
        unsafe {
            let times = times.map(|times| elements_at(times));
            Ok(Self { values: elements_at(values), times, out: elements_at_mut(out) })
        }
    }
}

/// The bytes that a call decodes and the memory that it decodes into.
pub struct Decoding<'a> {
    /// The bytes to decode.
    pub bytes: &'a [u8],
    /// The memory that the values are decoded into.
    pub values: &'a mut [f64],
    /// The memory that the timestamps are decoded into.
    pub times: &'a mut [i64],
}

impl Decoding<'_> {
    /// Checks the three arguments and takes their memory.
    ///
    /// # Safety
    /// No JavaScript runs before the last use.
    pub unsafe fn of(
        env: Env,
        bytes: sys::napi_value,
        values: sys::napi_value,
        times: sys::napi_value,
    ) -> napi::Result<Self> {
        let bytes = memory_of(env, bytes, BYTES)?;
        let values = memory_of(env, values, VALUES)?;
        let times = memory_of(env, times, TIMES)?;
        if overlap(bytes, values) || overlap(bytes, times) || overlap(values, times) {
            return Err(invalid(
                "the memory to decode into must not be the memory of the bytes, nor the same for both",
            ));
        }
        // SAFETY: the caller's promise, and no two of them share a byte.
        unsafe {
            Ok(Self { bytes: elements_at(bytes), values: elements_at_mut(values), times: elements_at_mut(times) })
        }
    }
}

/// Copies elements of Rust's own memory over the beginning of a typed array.
pub fn copy_to<T: Element>(env: Env, into: sys::napi_value, name: &str, from: &[T]) -> napi::Result<()> {
    let (data, length) = memory_of(env, into, name)?;
    if length < from.len() {
        return Err(invalid(format!("{name} must have {} elements", from.len())));
    }
    // SAFETY: the array has at least `from.len()` elements of this type, and the source is no memory of JavaScript's.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), data, from.len()) };
    Ok(())
}
