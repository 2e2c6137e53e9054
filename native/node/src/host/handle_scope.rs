//! Handle scopes of Node-API.

use std::ptr;

use napi::{Env, sys};

/// An open handle scope. Dropping it closes the scope.
struct Scope(sys::napi_env, sys::napi_handle_scope);

impl Drop for Scope {
    fn drop(&mut self) {
        // SAFETY: it was opened in this environment, and those opened within it are closed.
        unsafe { sys::napi_close_handle_scope(self.0, self.1) };
    }
}

/// Runs work within a handle scope of its own. The scope is closed when the work returns or panics. `env` must be the environment of
/// this thread, and alive.
pub fn scoped<T>(env: Env, work: impl FnOnce() -> T) -> T {
    let mut scope = ptr::null_mut();
    // SAFETY: the caller's promise, and the out-pointer is valid.
    let status = unsafe { sys::napi_open_handle_scope(env.raw(), &raw mut scope) };
    let _scope = (status == sys::Status::napi_ok).then(|| Scope(env.raw(), scope));
    work()
}
