//! Clients as native addons usually have them, to be measured beside those that the event loop drives. Each call is one request and
//! one promise. Node-API converts arguments and results value by value. They are no part of the library.
//!
//! A class of asynchronous calls makes a future of each, as an `async fn` of napi-rs does, and tokio's threads poll it. A class of
//! blocking calls makes an `AsyncTask` of each: a thread of libuv's pool polls the connection, and is occupied until the answer is
//! there. Both send the same requests by the same clients.

mod http;
mod kv;
mod sql;

use std::sync::Arc;

use boundary_bench_kernel::error::{catch_panic, catch_panic_in};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::caller::{Caller, Request};
use boundary_bench_node::host::errors::{js, promise};
use napi::bindgen_prelude::{AsyncBlock, AsyncTask, ToNapiValue, TypeName};
use napi::tokio::runtime::{Builder, Runtime};
use napi::{Env, Task};

/// Returns a promise of the output of `work`, which tokio's threads poll.
fn on_tokio<T: ToNapiValue + Send + 'static>(
    env: Env,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> napi::Result<AsyncBlock<T>> {
    promise(env, async move { catch_panic_in(work).await.map_err(js) })
}

/// Work for a thread of libuv's pool, or `None` once it is done.
pub struct Blocking<T>(Option<Box<dyn FnOnce() -> Result<T> + Send>>);

/// Returns a promise of the output of `work`, which waits for a free thread of libuv's pool.
fn on_pool<T: ToNapiValue + TypeName + Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> AsyncTask<Blocking<T>> {
    AsyncTask::new(Blocking(Some(Box::new(work))))
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Blocking<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let work = self.0.take().ok_or(Error::Closed("the call"));
        catch_panic(|| work?()).map_err(js)
    }

    fn resolve(&mut self, _: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

/// A client whose requests each block the thread that makes them.
struct BlockingCaller<C> {
    caller: Caller<C>,
    /// The runtime of the client's connection, which the blocked thread polls.
    runtime: Arc<Runtime>,
}

impl<C: Send + 'static> BlockingCaller<C> {
    /// Connects a client on a runtime of its own.
    fn connect(client: impl Future<Output = Result<C>>) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("no async runtime: {error}")))?;
        let client = runtime.block_on(client)?;
        Ok(Self { caller: Caller::new(Some(client)), runtime: Arc::new(runtime) })
    }

    /// Returns a promise of the answer of a request.
    fn call<R: Request<Client = C, Output: ToNapiValue + TypeName>>(
        &self,
        request: R,
    ) -> AsyncTask<Blocking<R::Output>> {
        let (runtime, work) = (Arc::clone(&self.runtime), self.caller.run(request));
        on_pool(move || runtime.block_on(work))
    }
}
