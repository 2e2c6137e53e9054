//! The mapping of the core's errors to JavaScript's.

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, AsyncBlockBuilder, ToNapiValue, spawn_blocking};

/// Converts an error for JavaScript. Node-API's error objects for promises have room for a text only, so the stable code
/// precedes it in brackets. The library over the addon makes it the error's `code`.
pub fn js(error: impl Into<Error>) -> napi::Error {
    napi::Error::from_reason(error.into().coded())
}

/// The error for an invalid argument.
pub fn invalid(message: impl Into<String>) -> napi::Error {
    js(Error::InvalidArgument(message.into()))
}

/// Runs blocking work off the event loop. A panic becomes an error. The work is queued at once, so that works begin in the order of the
/// calls of this function.
pub fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> impl Future<Output = napi::Result<T>> + Send + 'static {
    let work = spawn_blocking(move || catch_panic(work));
    async move {
        match work.await {
            Ok(result) => result.map_err(js),
            Err(error) => Err(js(Error::Internal(error.to_string()))),
        }
    }
}

/// Returns a promise of the output of `work`.
///
/// All asynchronous methods use it instead of being `async fn`s of `&self`: a Node thread that is terminated frees its objects at
/// once, also those that a future still borrows. So a future owns all that it uses.
pub fn promise<T: ToNapiValue + Send + 'static>(
    env: Env,
    work: impl Future<Output = napi::Result<T>> + Send + 'static,
) -> napi::Result<AsyncBlock<T>> {
    AsyncBlockBuilder::new(work).build(&env)
}

/// Returns a promise of the end of blocking work. The work runs off the event loop and can't fail.
pub fn promise_of_end(env: Env, work: impl FnOnce() + Send + 'static) -> napi::Result<AsyncBlock<()>> {
    let work = move || {
        work();
        Ok(())
    };
    promise(env, blocking(work))
}
