//! HTTP clients, exported to JavaScript. `native/clients/http/src/submission.rs` tells how requests and responses cross.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_event_loop::LoopDriver;
use boundary_bench_http::{HttpOptions, Origin, SharedClient, StreamedResponse, Url, Version, groups};
use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{invalid, js, promise};
use boundary_bench_node::host::loop_runtime::LoopRuntime;
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::tokio;
use napi_derive::napi;

use crate::engine::reader::Cancel;
use boundary_bench_node::host::in_flight::{InFlight, unless_cancelled};
use boundary_bench_node::memory::buffers::{Handover, bytes_of};

/// The options of a client beside the URL.
#[napi(object)]
pub struct HttpOriginOptions {
    /// The most connections to the server with HTTP/1.1.
    pub connections: u32,
    /// The most requests under way on one HTTP/1.1 connection.
    pub pipelining: u32,
    /// The time-out of connecting, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Headers of all requests, each as `name: value` and a line break.
    pub headers: String,
    /// The most bytes of a response's body.
    pub most_bytes: Option<u32>,
    /// Whether to speak HTTP/2.
    pub http2: bool,
    /// The TLS mode of `https`: `verify` (the default) or `required`.
    pub tls: Option<String>,
    /// A file of certificates to trust instead of the system's certificates.
    pub tls_ca: Option<String>,
}

/// A server and the options of connections to it. If it is `drivable`, an `HttpLoop` drives its sockets. Otherwise `run` sends
/// submissions, as tasks of the event loop.
#[napi]
pub struct HttpOrigin {
    pub(crate) place: Arc<Origin>,
    /// The client of a server that is not `drivable`, or `None` once it is closed.
    client: Mutex<Option<Arc<SharedClient>>>,
    /// The streams of this object that are still running.
    in_flight: Arc<InFlight>,
}

#[napi]
impl HttpOrigin {
    /// Checks a URL and options. It does not connect yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(url: String, options: HttpOriginOptions) -> napi::Result<Self> {
        let url: Url = url.parse().map_err(js)?;
        let trust = Trust::of_words(options.tls.as_deref(), options.tls_ca.as_deref(), Some(url.tls));
        let trust = trust.map_err(invalid)?.unwrap_or_default();
        let defaults = HttpOptions::default();
        let options = HttpOptions {
            connections: options.connections as usize,
            pipelining: options.pipelining as usize,
            timeout: options.timeout_ms.map(|time| Duration::from_millis(time.into())),
            headers: options.headers,
            most_bytes: options.most_bytes.map_or(defaults.most_bytes, |bytes| bytes as usize),
            version: if options.http2 { Version::Http2 } else { Version::Http1 },
            trust,
        };
        let place = Arc::new(Origin::new(url, options).map_err(js)?);
        let client = (!place.is_drivable()).then(|| Arc::new(SharedClient::new(Arc::clone(&place), &LoopDriver)));
        Ok(Self { place, client: Mutex::new(client), in_flight: Arc::default() })
    }

    /// Whether an `HttpLoop` can drive its sockets.
    #[napi(getter)]
    pub fn drivable(&self) -> bool {
        self.place.is_drivable()
    }

    /// Connects a socket for an `HttpLoop`.
    #[napi(catch_unwind)]
    pub fn open(&self, env: Env) -> napi::Result<AsyncBlock<HttpSocket>> {
        let place = Arc::clone(&self.place);
        promise(env, async move {
            let stream = place.open_driven().await.map_err(js)?;
            Ok(HttpSocket { stream: Mutex::new(Some(stream)) })
        })
    }

    /// Connects to a server that is not `drivable`, to check that it can be reached.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn connect(&self, env: Env) -> napi::Result<Unknown<'static>> {
        let client = self.client()?;
        LoopRuntime::of_thread(env)?.promise(env, async move { client.connect().await })
    }

    /// Runs a submission of one group by itself and resolves to the frame of its result.
    #[napi(
        catch_unwind,
        ts_args_type = "submission: Uint8Array, cancel: Cancel",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn run(&self, env: Env, submission: Unknown<'_>, cancel: &Cancel) -> napi::Result<Unknown<'static>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?.to_vec();
        let client = self.client()?;
        let token = cancel.token.clone();
        LoopRuntime::of_thread(env)?
            .promise(env, async move { unless_cancelled(&token, client.run(&submission)).await.map(Handover) })
    }

    /// Sends the single request of a submission, and resolves once the head of its response has been received. Tokio's
    /// threads receive the response: its next piece comes while JavaScript reads the last one.
    #[napi(catch_unwind, ts_args_type = "submission: Uint8Array, cancel: Cancel")]
    pub fn stream(&self, env: Env, submission: Unknown<'_>, cancel: &Cancel) -> napi::Result<AsyncBlock<HttpBody>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?.to_vec();
        let (place, token) = (Arc::clone(&self.place), cancel.token.clone());
        let in_flight = Arc::clone(&self.in_flight);
        self.in_flight.promise(env, token.clone(), async move {
            let opened = async {
                let group = groups(&submission).next().transpose()?;
                let request = group.and_then(|group| group.requests().next());
                let request = request.ok_or_else(|| Error::InvalidArgument("there is no request".to_owned()))?;
                StreamedResponse::open(&place, &request?).await
            };
            let response = unless_cancelled(&token, opened).await.map_err(js)?;
            Ok(HttpBody {
                status: response.status(),
                head: response.head().iter().map(|byte| char::from(*byte)).collect(),
                response: Arc::new(tokio::sync::Mutex::new(Some(response))),
                in_flight,
            })
        })
    }

    /// Closes the connection of `run` once no call uses it. Sockets and streams are closed by themselves. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        lock(&self.client).take();
    }
}

impl HttpOrigin {
    fn client(&self) -> napi::Result<Arc<SharedClient>> {
        lock(&self.client).clone().ok_or(Error::Closed("the client")).map_err(js)
    }
}

/// A response whose body is streamed, on a connection of its own.
#[napi]
pub struct HttpBody {
    status: u16,
    head: String,
    /// The response, or `None` once it is closed.
    response: Arc<tokio::sync::Mutex<Option<StreamedResponse>>>,
    in_flight: Arc<InFlight>,
}

#[napi]
impl HttpBody {
    /// The status code of the response.
    #[napi(getter)]
    pub fn status(&self) -> u32 {
        self.status.into()
    }

    /// The header lines as received.
    #[napi(getter)]
    pub fn head(&self) -> String {
        self.head.clone()
    }

    /// The next piece of the body, or null at its end. Only one call may run at a time. A cancelled call closes the connection.
    #[napi(catch_unwind, ts_args_type = "cancel: Cancel", ts_return_type = "Promise<ArrayBuffer | null>")]
    pub fn next(&self, env: Env, cancel: &Cancel) -> napi::Result<AsyncBlock<Option<Handover<Vec<u8>>>>> {
        let (response, token) = (Arc::clone(&self.response), cancel.token.clone());
        self.in_flight.promise(env, token.clone(), async move {
            let mut place = response.lock().await;
            let piece = async {
                match place.as_mut() {
                    Some(response) => response.take_piece().await,
                    None => Err(Error::Closed("the response")),
                }
            };
            let piece = unless_cancelled(&token, piece).await;
            if !matches!(piece, Ok(Some(_))) {
                place.take();
            }
            piece.map(|piece| piece.map(Handover)).map_err(js)
        })
    }

    /// Closes the connection, unless a call of `next` is under way. Then that call closes it when it is cancelled.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        if let Ok(mut place) = self.response.try_lock() {
            place.take();
        }
    }
}

/// A connected socket for an `HttpLoop`.
#[napi]
pub struct HttpSocket {
    stream: Mutex<Option<DrivenStream>>,
}

#[napi]
impl HttpSocket {
    /// Closes the socket, unless a loop has taken it.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        lock(&self.stream).take();
    }
}

impl HttpSocket {
    /// Takes the stream out, for the loop that will drive it.
    pub fn take(&self) -> Result<DrivenStream> {
        let stream = lock(&self.stream).take();
        stream.ok_or(Error::Closed("the connection"))
    }
}
