//! Clients as native addons usually have them, to be measured beside those that the event loop drives. Each call is one request and
//! one promise. Node-API converts arguments and results value by value. They are no part of the library.
//!
//! Asynchronous calls are futures, as an `async fn` of napi-rs is, and tokio's threads poll them. Blocking calls are `AsyncTask`s: a thread
//! of libuv's pool polls the connection, and is occupied until the answer is there. Both send the same requests by the same clients.

mod http;
mod kv;
mod sql;

use std::sync::Arc;

use boundary_bench_kernel::error::{catch_panic, catch_panic_in};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::errors::{js, promise};
use napi::bindgen_prelude::{AsyncBlock, AsyncTask, Either, ToNapiValue, TypeName};
use napi::tokio::runtime::{Builder, Runtime};
use napi::tokio::sync::{Mutex, watch};
use napi::{Env, Task, tokio};

/// A promise of a call's output.
type Promised<T> = Either<AsyncBlock<T>, AsyncTask<Blocking<T>>>;

/// Returns a promise of the output of `work`, which tokio's threads poll.
fn on_tokio<T: ToNapiValue + TypeName + Send + 'static>(
    env: Env,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> napi::Result<Promised<T>> {
    promise(env, async move { catch_panic_in(work).await.map_err(js) }).map(Either::A)
}

/// Work for a thread of libuv's pool, or `None` once it is done.
pub struct Blocking<T>(Option<Box<dyn FnOnce() -> Result<T> + Send>>);

/// Returns a promise of the output of `work`, which waits for a free thread of libuv's pool.
fn on_pool<T: ToNapiValue + TypeName + Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Promised<T> {
    Either::B(AsyncTask::new(Blocking(Some(Box::new(work)))))
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

/// A request that a client sends.
trait Request: Send + 'static {
    /// The client that sends it.
    type Client: Send + 'static;
    /// The answer, without references into the client's memory.
    type Output: ToNapiValue + TypeName + Send + 'static;

    /// Sends the request and reads its answer.
    fn send(self, client: &mut Self::Client) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A client that many promises share, one request after the other. Each request owns a share of the client, so that it outlives the object
/// that JavaScript has.
struct Calls<C> {
    /// The client, or `None` once it is closed.
    client: Arc<Mutex<Option<C>>>,
    /// Whether the client is closed. It stays true, so that later requests see it too.
    closed: watch::Sender<bool>,
    /// The runtime of the connection, if blocked threads poll it.
    runtime: Option<Arc<Runtime>>,
}

impl<C: Send + 'static> Calls<C> {
    /// Connects a client, and returns a promise of the object that `make` makes of its calls.
    fn open<T: ToNapiValue + TypeName + Send + 'static>(
        env: Env,
        is_blocking: bool,
        client: impl Future<Output = Result<C>> + Send + 'static,
        make: fn(Self) -> T,
    ) -> napi::Result<Promised<T>> {
        let calls = move |client, runtime| {
            make(Self { client: Arc::new(Mutex::new(Some(client))), closed: watch::Sender::new(false), runtime })
        };
        if !is_blocking {
            return on_tokio(env, async move { Ok(calls(client.await?, None)) });
        }
        Ok(on_pool(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Error::Internal(format!("no async runtime: {error}")))?;
            Ok(calls(runtime.block_on(client)?, Some(Arc::new(runtime))))
        }))
    }

    /// Returns a promise of the answer of a request.
    fn call<R: Request<Client = C>>(&self, env: Env, request: R) -> napi::Result<Promised<R::Output>> {
        let work = self.run(request);
        let Some(runtime) = self.runtime.clone() else { return on_tokio(env, work) };
        Ok(on_pool(move || runtime.block_on(work)))
    }

    /// The answer of a request. The request is sent once the requests before it are answered. Ends with [`Error::Closed`] as soon as the
    /// client is closed. A request already sent may have been executed or not.
    fn run<R: Request<Client = C>>(&self, request: R) -> impl Future<Output = Result<R::Output>> + Send + use<C, R> {
        let (client, mut closed) = (Arc::clone(&self.client), self.closed.subscribe());
        async move {
            let work = async {
                let mut client = client.lock().await;
                request.send(client.as_mut().ok_or(Error::Closed("the connection"))?).await
            };
            // Also completes when the sender is dropped: then nobody is left to read the answer.
            let closed = async { drop(closed.wait_for(|closed| *closed).await) };
            tokio::select! {
                biased;
                () = closed => {
                    client.lock().await.take();
                    Err(Error::Closed("the connection"))
                }
                answer = work => answer,
            }
        }
    }

    /// Closes the client. Does nothing the second time.
    fn close(&self) {
        self.closed.send_replace(true);
        // A request under way holds the lock, and closes the client itself.
        if let Ok(mut client) = self.client.try_lock() {
            client.take();
        }
    }
}
