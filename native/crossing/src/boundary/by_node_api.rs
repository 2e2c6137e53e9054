//! The functions by Node-API called by hand: no more calls than the work needs.

use std::ffi::c_void;
use std::ptr;

use boundary_bench_suite::boundary::{self, Counter};
use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

/// A function of Node-API.
type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// An object with the functions that Node-API is called in by hand.
#[napi(ts_return_type = "Record<string, Function>")]
pub fn boundary_by_hand(env: Env) -> napi::Result<Unknown<'static>> {
    let functions: [(&std::ffi::CStr, Callback); 16] = [
        (c"nothing", nothing),
        (c"add", add),
        (c"increment", increment),
        (c"readText", read_text),
        (c"shortText", short_text),
        (c"longText", long_text),
        (c"shortWideText", short_wide_text),
        (c"longWideText", long_wide_text),
        (c"makeText", make_text),
        (c"readBytes", read_bytes),
        (c"copiedBytes", copied_bytes),
        (c"sumTyped", sum_typed),
        (c"callBack", call_back),
        (c"fail", fail),
        (c"makeCounter", make_counter),
        (c"addTo", add_to),
    ];
    let mut object = ptr::null_mut();
    // SAFETY: the environment belongs to the call under way. The names end with a zero, and the functions live as long as the addon.
    unsafe {
        check(sys::napi_create_object(env.raw(), &raw mut object))?;
        for (name, callback) in functions {
            let mut function = ptr::null_mut();
            let callback = Some(callback as _);
            let data = ptr::null_mut();
            check(sys::napi_create_function(env.raw(), name.as_ptr(), -1, callback, data, &raw mut function))?;
            check(sys::napi_set_named_property(env.raw(), object, name.as_ptr(), function))?;
        }
        Unknown::from_napi_value(env.raw(), object)
    }
}

fn check(status: sys::napi_status) -> napi::Result<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(napi::Error::from_status(napi::Status::from(status))) }
}

/// The first `N` arguments of a call. Missing ones are undefined.
///
/// # Safety
/// The handles must belong to the call under way.
unsafe fn arguments<const N: usize>(env: sys::napi_env, info: sys::napi_callback_info) -> [sys::napi_value; N] {
    let mut values = [ptr::null_mut(); N];
    let mut count = N;
    // SAFETY: there is room for `N` values. This and the data are not asked for.
    unsafe {
        sys::napi_get_cb_info(env, info, &raw mut count, values.as_mut_ptr(), ptr::null_mut(), ptr::null_mut());
    }
    values
}

/// The number that a value is, or 0 for another value.
///
/// # Safety
/// The handles must belong to the call under way.
unsafe fn number_of(env: sys::napi_env, value: sys::napi_value) -> f64 {
    let mut number = 0.0;
    // SAFETY: a value that is no number leaves 0.
    unsafe {
        sys::napi_get_value_double(env, value, &raw mut number);
    }
    number
}

/// A number as a value. It is null, which JavaScript sees as undefined, if the value can't be made.
///
/// # Safety
/// The environment must belong to the call under way.
unsafe fn value_of(env: sys::napi_env, number: f64) -> sys::napi_value {
    let mut value = ptr::null_mut();
    // SAFETY: as the caller warrants.
    unsafe {
        sys::napi_create_double(env, number, &raw mut value);
    }
    value
}

unsafe extern "C" fn nothing(_: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    boundary::nothing();
    ptr::null_mut()
}

unsafe extern "C" fn add(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the handles of the call under way.
    unsafe {
        let [left, right] = arguments(env, info);
        value_of(env, boundary::add(number_of(env, left), number_of(env, right)))
    }
}

unsafe extern "C" fn increment(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut integer, mut is_whole, mut value) = (0, false, ptr::null_mut());
    // SAFETY: Node-API passes the handles of the call under way. A value that is no bigint leaves 0.
    unsafe {
        let [from] = arguments(env, info);
        sys::napi_get_value_bigint_int64(env, from, &raw mut integer, &raw mut is_whole);
        sys::napi_create_bigint_int64(env, boundary::increment(integer), &raw mut value);
    }
    value
}

/// The bytes that a text on the stack may have. A longer one is read into memory of its own size.
const STACK_BYTES: usize = 256;

unsafe extern "C" fn read_text(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut stack = [0_u8; STACK_BYTES];
    let mut length = 0;
    // SAFETY: Node-API passes the handles of the call under way, and writes at most the size that it is told, a zero included. A
    // value that is no text leaves a length of 0.
    unsafe {
        let [text] = arguments(env, info);
        sys::napi_get_value_string_utf8(env, text, stack.as_mut_ptr().cast(), STACK_BYTES, &raw mut length);
        // A character of up to four bytes may not have fitted.
        if length + 4 < STACK_BYTES {
            return value_of(env, f64::from(last_code(&stack[..length])));
        }
        sys::napi_get_value_string_utf8(env, text, ptr::null_mut(), 0, &raw mut length);
        let mut heap = vec![0_u8; length + 1];
        sys::napi_get_value_string_utf8(env, text, heap.as_mut_ptr().cast(), heap.len(), &raw mut length);
        value_of(env, f64::from(last_code(&heap[..length])))
    }
}

fn last_code(text: &[u8]) -> u32 {
    std::str::from_utf8(text).map_or(0, boundary::last_code)
}

/// A text as a value.
///
/// # Safety
/// The environment must belong to the call under way.
unsafe fn text_of(env: sys::napi_env, text: &str) -> sys::napi_value {
    let mut value = ptr::null_mut();
    let length = isize::try_from(text.len()).unwrap_or_default();
    // SAFETY: the text is as long as is said, and is copied. One of a byte a character needs no decoding.
    unsafe {
        if text.is_ascii() {
            sys::napi_create_string_latin1(env, text.as_ptr().cast(), length, &raw mut value);
        } else {
            sys::napi_create_string_utf8(env, text.as_ptr().cast(), length, &raw mut value);
        }
    }
    value
}

unsafe extern "C" fn short_text(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the environment of the call under way.
    unsafe { text_of(env, &boundary::texts().short[0]) }
}

unsafe extern "C" fn long_text(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the environment of the call under way.
    unsafe { text_of(env, &boundary::texts().long[0]) }
}

unsafe extern "C" fn short_wide_text(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the environment of the call under way.
    unsafe { text_of(env, &boundary::texts().short_wide[0]) }
}

unsafe extern "C" fn long_wide_text(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the environment of the call under way.
    unsafe { text_of(env, &boundary::texts().long_wide[0]) }
}

unsafe extern "C" fn make_text(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut characters = 0;
    // SAFETY: Node-API passes the handles of the call under way. A value that is no number leaves 0.
    unsafe {
        let [wanted] = arguments(env, info);
        sys::napi_get_value_uint32(env, wanted, &raw mut characters);
        text_of(env, boundary::text(characters as usize))
    }
}

/// The memory of a typed array as elements of `T`, or none for a value that is no typed array of the kind, or whose memory is shared.
///
/// # Safety
/// The handles must belong to the call under way, and the slice must not be used once JavaScript runs.
unsafe fn elements<'a, T>(env: sys::napi_env, value: sys::napi_value, kind: i32) -> &'a [T] {
    let (mut found, mut length, mut data, mut buffer) = (-1, 0, ptr::null_mut::<c_void>(), ptr::null_mut());
    let mut is_unshared = false;
    // SAFETY: the outputs are valid for writing. A value that is no typed array leaves no memory.
    unsafe {
        sys::napi_get_typedarray_info(
            env,
            value,
            &raw mut found,
            &raw mut length,
            &raw mut data,
            &raw mut buffer,
            ptr::null_mut(),
        );
        if found == kind && !data.is_null() {
            sys::napi_is_arraybuffer(env, buffer, &raw mut is_unshared);
        }
        if is_unshared { std::slice::from_raw_parts(data.cast(), length) } else { &[] }
    }
}

unsafe extern "C" fn read_bytes(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the handles of the call under way. JavaScript does not run before the return.
    unsafe {
        let [bytes] = arguments(env, info);
        value_of(env, f64::from(boundary::ends(elements(env, bytes, sys::TypedarrayType::uint8_array))))
    }
}

unsafe extern "C" fn copied_bytes(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut data, mut buffer, mut value) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: Node-API passes the handles of the call under way. The new memory has the size that was asked for.
    unsafe {
        let [size] = arguments(env, info);
        let mut wanted = 0;
        sys::napi_get_value_uint32(env, size, &raw mut wanted);
        let source = boundary::bytes().get(..wanted as usize).unwrap_or_default();
        if sys::napi_create_arraybuffer(env, source.len(), &raw mut data, &raw mut buffer) == sys::Status::napi_ok {
            ptr::copy_nonoverlapping(source.as_ptr(), data.cast(), source.len());
            let kind = sys::TypedarrayType::uint8_array;
            sys::napi_create_typedarray(env, kind, source.len(), buffer, 0, &raw mut value);
        }
    }
    value
}

unsafe extern "C" fn sum_typed(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the handles of the call under way. JavaScript does not run before the return, and the memory of an
    // array of doubles is aligned to them.
    unsafe {
        let [values] = arguments(env, info);
        value_of(env, boundary::sum(elements(env, values, sys::TypedarrayType::float64_array)))
    }
}

unsafe extern "C" fn call_back(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut this, mut result) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: Node-API passes the handles of the call under way. An error of the function stays pending.
    unsafe {
        let [function, value] = arguments(env, info);
        sys::napi_get_undefined(env, &raw mut this);
        sys::napi_call_function(env, this, function, 1, &raw const value, &raw mut result);
    }
    result
}

unsafe extern "C" fn fail(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    if let Err(message) = boundary::fail() {
        let message = std::ffi::CString::new(message).unwrap_or_default();
        // SAFETY: Node-API passes the environment of the call under way. The message ends with a zero.
        unsafe {
            sys::napi_throw_error(env, ptr::null(), message.as_ptr());
        }
    }
    ptr::null_mut()
}

unsafe extern "C" fn make_counter(env: sys::napi_env, _: sys::napi_callback_info) -> sys::napi_value {
    let mut object = ptr::null_mut();
    let counter = Box::into_raw(Box::new(Counter::default()));
    // SAFETY: Node-API passes the environment of the call under way. The finalizer alone drops the counter, or the lines below if there
    // is no finalizer.
    unsafe {
        sys::napi_create_object(env, &raw mut object);
        let finalizer = Some(drop_counter as _);
        let status = sys::napi_wrap(env, object, counter.cast(), finalizer, ptr::null_mut(), ptr::null_mut());
        if status != sys::Status::napi_ok {
            drop(Box::from_raw(counter));
            return ptr::null_mut();
        }
        sys::napi_type_tag_object(env, object, &raw const TAG);
    }
    object
}

/// The mark of objects that wrap a counter: another object's memory is not read as one.
static TAG: sys::napi_type_tag = sys::napi_type_tag { lower: 0x6263_6e74_7265_7231, upper: 0x626f_756e_6461_7279 };

unsafe extern "C" fn drop_counter(_: sys::napi_env, counter: *mut c_void, _: *mut c_void) {
    // SAFETY: it was made by `Box::into_raw` of this type, and the finalizer runs once.
    drop(unsafe { Box::from_raw(counter.cast::<Counter>()) });
}

unsafe extern "C" fn add_to(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut counter, mut is_ours) = (ptr::null_mut::<c_void>(), false);
    // SAFETY: Node-API passes the handles of the call under way. An object with the tag wraps a counter. The counter lives as long
    // as the object.
    unsafe {
        let [object, number] = arguments(env, info);
        sys::napi_check_object_type_tag(env, object, &raw const TAG, &raw mut is_ours);
        if !is_ours || sys::napi_unwrap(env, object, &raw mut counter) != sys::Status::napi_ok {
            return ptr::null_mut();
        }
        value_of(env, (*counter.cast::<Counter>()).add(number_of(env, number)))
    }
}
