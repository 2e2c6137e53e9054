//! The mapping of the core's errors to JavaScript's.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, AsyncBlockBuilder, ToNapiValue, spawn_blocking};

/// Converts an error for JavaScript. Node-API's error objects for promises have room for a text only, so the stable code
/// precedes it in brackets; the library over the addon makes it the error's `code`.
pub fn to_js(error: &Error) -> napi::Error {
    napi::Error::from_reason(error.coded())
}

/// Converts an error for JavaScript, for `map_err` on results of the core.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
pub fn js(error: Error) -> napi::Error {
    to_js(&error)
}

/// The error for an invalid argument.
pub fn invalid(message: impl Into<String>) -> napi::Error {
    to_js(&Error::InvalidArgument(message.into()))
}

/// Runs blocking work off the event loop; a panic becomes an error.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> napi::Result<T> {
    match spawn_blocking(move || catch_panic(work)).await {
        Ok(result) => result.map_err(js),
        Err(error) => Err(to_js(&Error::Internal(error.to_string()))),
    }
}

/// Runs a future; a panic becomes an error.
pub async fn catching<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_panic(|| Ok(work.as_mut().poll(context))) {
        Ok(polled) => polled,
        Err(error) => Poll::Ready(Err(error)),
    })
    .await
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
