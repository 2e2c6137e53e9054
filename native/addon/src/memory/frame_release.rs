//! The functions by which JavaScript releases the memory of a frame before it is garbage collected.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use boundary_bench_node::host::errors::invalid;
use napi::bindgen_prelude::Unknown;
use napi::{Env, JsValue, ValueType, sys};
use napi_derive::napi;

use boundary_bench_node::memory::loans::{collect_by, loan_of, recycle, release};

thread_local! {
    /// The function of `keeper`, made at its first use.
    static KEEPER: Cell<sys::napi_ref> = const { Cell::new(ptr::null_mut()) };
}

/// Forgets the keeper: Node frees the reference with its environment.
unsafe extern "C" fn on_environment_end(_: *mut c_void) {
    KEEPER.set(ptr::null_mut());
}

/// The address of an attached buffer's memory, or `None` for a detached buffer.
fn place_of(env: Env, buffer: &Unknown<'_>) -> napi::Result<Option<*mut c_void>> {
    let (mut is_buffer, mut is_detached) = (false, false);
    let (mut place, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the handle belongs to the call under way, and the out-pointers are valid.
    unsafe {
        sys::napi_is_arraybuffer(env.raw(), buffer.raw(), &raw mut is_buffer);
        if !is_buffer {
            return Err(invalid("releaseFrame takes an ArrayBuffer"));
        }
        sys::napi_is_detached_arraybuffer(env.raw(), buffer.raw(), &raw mut is_detached);
        sys::napi_get_arraybuffer_info(env.raw(), buffer.raw(), &raw mut place, &raw mut length);
    }
    Ok((!is_detached).then_some(place))
}

fn detach(env: Env, buffer: &Unknown<'_>) -> napi::Result<()> {
    // SAFETY: the handle belongs to the call under way. Detaching runs no JavaScript.
    let status = unsafe { sys::napi_detach_arraybuffer(env.raw(), buffer.raw()) };
    if status == sys::Status::napi_ok { Ok(()) } else { Err(cannot_detach()) }
}

fn cannot_detach() -> napi::Error {
    invalid("the buffer can't be detached")
}

/// Releases the memory of a frame before the buffer is garbage collected: detaches the buffer, whose views become empty. The
/// memory is reused as soon as no request under way can read it, such as an `fs.write` that was given a view. Does nothing to a
/// buffer that is already detached.
///
/// Throws `BB_INVALID_ARGUMENT` for anything that can't be detached.
#[napi(catch_unwind, ts_args_type = "buffer: ArrayBuffer")]
pub fn release_frame(env: Env, buffer: Unknown<'_>) -> napi::Result<()> {
    let Some(place) = place_of(env, &buffer)? else { return Ok(()) };
    let Some(number) = loan_of(env, &buffer, place) else {
        return keep_store(env, &buffer);
    };
    detach(env, &buffer)?;
    release(env, number);
    Ok(())
}

/// Releases the memory of a frame of which nobody but the caller has ever had a view: it is reused at once. Else like
/// `releaseFrame`.
///
/// Throws `BB_INVALID_ARGUMENT` for anything that can't be detached.
#[napi(catch_unwind, ts_args_type = "buffer: ArrayBuffer")]
pub fn recycle_frame(env: Env, buffer: Unknown<'_>) -> napi::Result<()> {
    let Some(place) = place_of(env, &buffer)? else { return Ok(()) };
    let number = loan_of(env, &buffer, place);
    detach(env, &buffer)?;
    // The memory of a buffer that is no loan is V8's to free.
    if let Some(number) = number {
        recycle(env, number);
    }
    Ok(())
}

/// Sets the function that collects this thread's young generation, so that the buffers of released frames are collected and their
/// memory is reused. `releaseFrame` calls it now and then. It must not touch frames.
///
/// Throws `BB_INVALID_ARGUMENT` for anything but a function.
#[napi(catch_unwind, ts_args_type = "collect: () => void")]
pub fn collect_young_by(env: Env, collect: Unknown<'_>) -> napi::Result<()> {
    if collect.get_type()? != ValueType::Function {
        return Err(invalid("collectYoungBy takes a function"));
    }
    collect_by(env, &collect)
}

/// Detaches a buffer whose store belongs to V8, and keeps the store until the buffer is collected.
fn keep_store(env: Env, buffer: &Unknown<'_>) -> napi::Result<()> {
    let (mut receiver, mut kept, mut is_detached) = (ptr::null_mut(), ptr::null_mut(), false);
    // SAFETY: the handles belong to the call under way, and the out-pointers are valid.
    unsafe {
        let keeper = keeper(env.raw()).ok_or_else(cannot_detach)?;
        sys::napi_get_undefined(env.raw(), &raw mut receiver);
        let status = sys::napi_call_function(env.raw(), receiver, keeper, 1, [buffer.raw()].as_ptr(), &raw mut kept);
        if status == sys::Status::napi_pending_exception {
            sys::napi_get_and_clear_last_exception(env.raw(), &raw mut kept);
        }
        sys::napi_is_detached_arraybuffer(env.raw(), buffer.raw(), &raw mut is_detached);
    }
    if is_detached { Ok(()) } else { Err(cannot_detach()) }
}

/// The function that moves the store of a buffer into another buffer. That buffer lives as long as the first one.
///
/// # Safety
/// `env` is the environment of the call under way.
unsafe fn keeper(env: sys::napi_env) -> Option<sys::napi_value> {
    /// The source of the function. Node 20 has no `transfer`, so `structuredClone` moves the store there.
    const SOURCE: &str = "(() => {
        const stores = new WeakMap();
        const { transfer } = ArrayBuffer.prototype;
        const moved = (buffer) =>
            transfer === undefined ? structuredClone(buffer, { transfer: [buffer] }) : transfer.call(buffer);
        return (buffer) => void stores.set(buffer, moved(buffer));
    })()";
    let mut function = ptr::null_mut();
    // SAFETY: the caller's promise, and the out-pointers are valid.
    unsafe {
        let known = KEEPER.get();
        if !known.is_null() {
            sys::napi_get_reference_value(env, known, &raw mut function);
            return (!function.is_null()).then_some(function);
        }
        let (mut source, mut reference) = (ptr::null_mut(), ptr::null_mut());
        let length = isize::try_from(SOURCE.len()).unwrap_or_default();
        sys::napi_create_string_utf8(env, SOURCE.as_ptr().cast(), length, &raw mut source);
        if sys::napi_run_script(env, source, &raw mut function) != sys::Status::napi_ok {
            sys::napi_get_and_clear_last_exception(env, &raw mut function);
            return None;
        }
        sys::napi_create_reference(env, function, 1, &raw mut reference);
        sys::napi_add_env_cleanup_hook(env, Some(on_environment_end), ptr::null_mut());
        KEEPER.set(reference);
    }
    Some(function)
}
