//! Memory on its way between JavaScript and Rust.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;

use boundary_bench_core::Error;
use boundary_bench_core::slab::{GrowingBytes, Slab};
use napi::bindgen_prelude::{ArrayBuffer, JsObjectValue, Object, ToNapiValue, Unknown};
use napi::{Env, JsValue, sys};
use napi_derive::napi;

use crate::errors::{invalid, js};

/// Memory that Rust owns alone and hands to JavaScript without a copy, as an `ArrayBuffer`. It comes back when
/// JavaScript's buffer is collected or detached. Where external memory is refused (Electron), it is copied.
pub struct Handover<T>(pub T);

/// Memory at a fixed place for as long as its owner lives.
///
/// # Safety
/// What `parts` returns is initialised, stays where it is when the owner is moved, and is reached by nobody else until
/// the owner is dropped.
pub unsafe trait FixedMemory: 'static {
    /// Where the memory starts, and its length in bytes.
    fn parts(&mut self) -> (*mut u8, usize);
}

// SAFETY: a slab owns its memory alone, and holds a pointer to it.
unsafe impl FixedMemory for Slab {
    fn parts(&mut self) -> (*mut u8, usize) {
        (self.as_ptr(), self.as_slice().len())
    }
}

// SAFETY: as for a slab.
unsafe impl FixedMemory for Vec<u8> {
    fn parts(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: as for a slab.
unsafe impl FixedMemory for GrowingBytes {
    fn parts(&mut self) -> (*mut u8, usize) {
        let bytes = self.as_mut_slice();
        (bytes.as_mut_ptr(), bytes.len())
    }
}

impl<T: FixedMemory> ToNapiValue for Handover<T> {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        let mut owner = value.0;
        let (pointer, length) = owner.parts();
        let loan = Loan::new(pointer, owner);
        let env_handle = Env::from_raw(env);
        // SAFETY: `pointer` is valid for `length` bytes until its owner is dropped, when JavaScript can no longer reach the
        // memory: by the finalizer, or by `release_frame` before. Nobody else can reach it, since the owner was moved.
        let buffer = unsafe { ArrayBuffer::from_external(&env_handle, pointer, length, loan, |_, loan| drop(loan)) }?;
        // SAFETY: the environment is the one the buffer was made in.
        unsafe { ArrayBuffer::to_napi_value(env, buffer) }
    }
}

thread_local! {
    /// The memory that JavaScript has on this thread, by where it is.
    static LENT: RefCell<HashMap<*mut u8, Lent>> = RefCell::default();
    /// The number of the newest loan.
    static LAST_LOAN: Cell<u64> = const { Cell::new(0) };
}

/// The number of a loan, and who owns the memory.
type Lent = (u64, Box<dyn Any>);

/// Memory that JavaScript has. It comes back when this is dropped, unless it came back before: Node tells of a buffer that is
/// gone in a later turn of the event loop, and a loop that never waits would pile them up.
struct Loan {
    place: *mut u8,
    /// The same place may have been lent again.
    number: u64,
}

impl Loan {
    fn new(place: *mut u8, owner: impl Any) -> Self {
        let number = LAST_LOAN.get() + 1;
        LAST_LOAN.set(number);
        // Only what has no bytes shares its place with others.
        let shared = LENT.with_borrow_mut(|lent| lent.insert(place, (number, Box::new(owner))));
        drop(shared);
        Self { place, number }
    }

    /// Takes memory back that JavaScript can't reach any more.
    fn end(place: *mut u8, is_meant: impl FnOnce(u64) -> bool) {
        // At the end of a thread its loans have ended with it.
        let owner = LENT.try_with(|lent| {
            let mut lent = lent.try_borrow_mut().ok()?;
            if lent.get(&place).is_some_and(|(number, _)| is_meant(*number)) { lent.remove(&place) } else { None }
        });
        drop(owner);
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        Self::end(self.place, |number| number == self.number);
    }
}

/// Memory up to this size is copied into JavaScript's: that costs less than handing it over.
pub const COPIED_BYTES: usize = 64 << 10;

/// An `ArrayBuffer` with a copy of bytes.
///
/// # Safety
/// `env` is the environment of this thread, and a scope of handles is open.
pub unsafe fn copy_of(env: sys::napi_env, bytes: &[u8]) -> napi::Result<sys::napi_value> {
    let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's environment; the memory that Node gives has the length asked for, and nobody else sees it yet. Of
    // nothing, no memory is given.
    unsafe {
        let status = sys::napi_create_arraybuffer(env, bytes.len(), &raw mut data, &raw mut buffer);
        if status != sys::Status::napi_ok {
            return Err(js(Error::Internal("there is no memory for a result".to_owned())));
        }
        if !bytes.is_empty() {
            ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
        }
    }
    Ok(buffer)
}

/// As [`Handover`], where what is small is copied.
pub struct Delivery<T>(pub T);

impl<T: FixedMemory> ToNapiValue for Delivery<T> {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        let mut owner = value.0;
        let (data, length) = owner.parts();
        if length > COPIED_BYTES {
            // SAFETY: the caller's promise.
            return unsafe { Handover::to_napi_value(env, Handover(owner)) };
        }
        // SAFETY: the memory is valid as long as its owner is; the caller's environment.
        unsafe { copy_of(env, std::slice::from_raw_parts(data, length)) }
    }
}

/// Gives the memory of a frame back at once, instead of when it is garbage collected: detaches the buffer, whose views
/// become empty. Does nothing to a buffer that is detached already.
///
/// Throws `BB_INVALID_ARGUMENT` for anything that can't be detached.
#[napi(catch_unwind, ts_args_type = "buffer: ArrayBuffer")]
pub fn release_frame(env: Env, buffer: Unknown<'_>) -> napi::Result<()> {
    let (mut place, mut length) = (ptr::null_mut(), 0);
    // SAFETY: both handles are those of the call under way, and the out-pointers are valid; detaching runs no JavaScript.
    let status = unsafe {
        let mut is_buffer = false;
        sys::napi_is_arraybuffer(env.raw(), buffer.raw(), &raw mut is_buffer);
        if !is_buffer {
            return Err(invalid("releaseFrame takes an ArrayBuffer"));
        }
        let mut detached = false;
        sys::napi_is_detached_arraybuffer(env.raw(), buffer.raw(), &raw mut detached);
        if detached {
            return Ok(());
        }
        sys::napi_get_arraybuffer_info(env.raw(), buffer.raw(), &raw mut place, &raw mut length);
        sys::napi_detach_arraybuffer(env.raw(), buffer.raw())
    };
    if status != sys::Status::napi_ok {
        return Err(invalid("the buffer can't be detached"));
    }
    // Memory has one buffer at a time, and this one was it.
    Loan::end(place.cast(), |_| true);
    Ok(())
}

/// The elements of an array of so many, read before any of their memory is looked at: reading an element may run a
/// getter, which could detach the memory of another.
pub fn elements<'env>(array: &Object<'env>, expected: usize) -> napi::Result<Vec<Unknown<'env>>> {
    if !array.is_array()? {
        return Err(invalid("expected an array"));
    }
    // Before they are read, since the array may be an empty one of four billion elements.
    let length = array.get_array_length()?;
    if length as usize != expected {
        return Err(invalid(format!("expected an array of {expected} elements, not of {length}")));
    }
    (0..length).map(|index| array.get_element(index)).collect()
}

/// The bytes of a `Uint8Array`, without a copy; empty if its buffer is detached. The error says what is wrong with the
/// value.
///
/// # Safety
/// The slice is valid until JavaScript runs again.
pub unsafe fn view_of<'a>(env: Env, value: &Unknown<'_>) -> Result<&'a [u8], &'static str> {
    let mut kind = 0;
    let mut length = 0;
    let mut data = ptr::null_mut();
    let mut buffer = ptr::null_mut();
    let mut offset = 0;
    let mut is_typed_array = false;
    let mut is_unshared = false;
    // SAFETY: the handles are those of the call under way and the out-pointers are valid for writing. Each call that
    // fails leaves a value behind that is refused below.
    unsafe {
        sys::napi_is_typedarray(env.raw(), value.raw(), &raw mut is_typed_array);
        if is_typed_array {
            let status = sys::napi_get_typedarray_info(
                env.raw(),
                value.raw(),
                &raw mut kind,
                &raw mut length,
                &raw mut data,
                &raw mut buffer,
                &raw mut offset,
            );
            is_typed_array = status == sys::Status::napi_ok;
        }
        if is_typed_array {
            sys::napi_is_arraybuffer(env.raw(), buffer, &raw mut is_unshared);
        }
    }
    if !is_typed_array || kind != sys::TypedarrayType::uint8_array {
        return Err("expected a Uint8Array");
    }
    if !is_unshared {
        return Err("memory shared between threads can't be read safely; give a copy of it");
    }
    if length == 0 || data.is_null() {
        return Ok(&[]);
    }
    // SAFETY: Node-API says that `length` bytes are there, and no JavaScript runs before the caller is done.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>().cast_const(), length) })
}

/// As [`view_of`], with an error for JavaScript.
///
/// # Safety
/// As [`view_of`].
pub unsafe fn bytes_of<'a>(env: Env, value: &Unknown<'_>) -> napi::Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { view_of(env, value) }.map_err(invalid)
}

/// As [`bytes_of`], where null and undefined are `None`.
///
/// # Safety
/// As [`bytes_of`].
pub unsafe fn optional_bytes_of<'a>(env: Env, value: &Unknown<'_>) -> napi::Result<Option<&'a [u8]>> {
    match value.get_type()? {
        napi::ValueType::Null | napi::ValueType::Undefined => Ok(None),
        // SAFETY: the caller's promise.
        _ => unsafe { bytes_of(env, value) }.map(Some),
    }
}

/// A count that JavaScript gave as a number.
pub fn count(value: f64, what: &str, most: u32) -> napi::Result<usize> {
    if value.fract() == 0.0 && value >= 0.0 && value <= f64::from(most) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: an integer of 0 to 2^32 - 1"
        )]
        return Ok(value as usize);
    }
    Err(invalid(format!("{what} must be an integer of 0 to {most}, not {value}")))
}
