//! Scopes of Node-API's handles.

use std::ptr;

use napi::sys;

/// Closes a scope when it is dropped.
struct Scope(sys::napi_env, sys::napi_handle_scope);

impl Drop for Scope {
    fn drop(&mut self) {
        // SAFETY: it was opened in this environment, and those opened within it are closed.
        unsafe { sys::napi_close_handle_scope(self.0, self.1) };
    }
}

/// Does work within a scope of handles of its own, which ends with it, also where it panics. `env` is the environment of this
/// thread, and alive.
pub fn scoped<T>(env: sys::napi_env, work: impl FnOnce() -> T) -> T {
    let mut scope = ptr::null_mut();
    // SAFETY: the caller's promise, and the out-pointer is valid.
    let status = unsafe { sys::napi_open_handle_scope(env, &raw mut scope) };
    let _scope = (status == sys::Status::napi_ok).then(|| Scope(env, scope));
    work()
}
