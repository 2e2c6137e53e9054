//! Functions for short work. They call Node-API directly. Calling a method of napi-rs would cost as much as the work, mostly to
//! find its object. A function carries its state.

use std::ptr;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::error::contained;
use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, JsError, sys};

use crate::host::errors::js;

/// The body of a function.
pub trait FastCall<const ARGUMENTS: usize>: 'static {
    /// Runs the function with exactly `ARGUMENTS` arguments, of which missing ones are undefined. Returns a number.
    fn call(&self, env: Env, arguments: [sys::napi_value; ARGUMENTS]) -> napi::Result<f64>;
}

/// Makes a JavaScript function with this state. The state is dropped when the function is collected.
pub fn function<'env, const ARGUMENTS: usize, T: FastCall<ARGUMENTS>>(
    env: &'env Env,
    name: &str,
    state: T,
) -> napi::Result<Unknown<'env>> {
    let state = Box::into_raw(Box::new(state));
    let mut value = ptr::null_mut();
    // SAFETY: the environment belongs to the call under way. The state lives until the function is collected, since only
    // its finalizer drops it, or the lines below if there is no finalizer.
    unsafe {
        let length = isize::try_from(name.len()).unwrap_or_default();
        let callback = Some(callback::<ARGUMENTS, T> as unsafe extern "C" fn(_, _) -> _);
        let mut status =
            sys::napi_create_function(env.raw(), name.as_ptr().cast(), length, callback, state.cast(), &raw mut value);
        if status == sys::Status::napi_ok {
            status = sys::napi_add_finalizer(
                env.raw(),
                value,
                state.cast(),
                Some(drop_state::<T>),
                ptr::null_mut(),
                ptr::null_mut(),
            );
        }
        if status != sys::Status::napi_ok {
            drop(Box::from_raw(state));
            return Err(napi::Error::from_status(napi::Status::from(status)));
        }
        Unknown::from_napi_value(env.raw(), value)
    }
}

unsafe extern "C" fn drop_state<T>(_: sys::napi_env, state: *mut std::ffi::c_void, _: *mut std::ffi::c_void) {
    // SAFETY: it was made by `Box::into_raw` of this type, and the finalizer runs once.
    let state = unsafe { Box::from_raw(state.cast::<T>()) };
    contained(|| drop(state));
}

unsafe extern "C" fn callback<const ARGUMENTS: usize, T: FastCall<ARGUMENTS>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let mut arguments = [ptr::null_mut(); ARGUMENTS];
    let mut count = ARGUMENTS;
    let mut state = ptr::null_mut();
    let mut value = ptr::null_mut();
    // SAFETY: Node-API fills all arguments, the missing ones with undefined. The state belongs to `function`. It lives as long
    // as the called function.
    let outcome = unsafe {
        let status =
            sys::napi_get_cb_info(env, info, &raw mut count, arguments.as_mut_ptr(), ptr::null_mut(), &raw mut state);
        if status != sys::Status::napi_ok {
            return value;
        }
        let state = &*state.cast::<T>();
        catch_panic(|| Ok(state.call(Env::from_raw(env), arguments)))
    };
    match outcome.unwrap_or_else(|panic| Err(js(panic))) {
        // SAFETY: the environment belongs to the call under way.
        Ok(number) => unsafe {
            sys::napi_create_double(env, number, &raw mut value);
        },
        // SAFETY: as above, or nothing of JavaScript runs after it.
        Err(error) => unsafe { JsError::from(error).throw_into(env) },
    }
    value
}
