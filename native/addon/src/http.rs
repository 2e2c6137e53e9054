//! Clients of HTTP as JavaScript sees them. How requests and responses cross is told in `native/http/src/submission.rs`.

use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use boundary_bench_core::{Error, Result};
use boundary_bench_http::{HttpOptions, Paths, Picked, Place, SharedClient, Url, Version};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::tokio::sync::Notify;
use napi_derive::napi;

use crate::buffers::{Handover, bytes_of};
use crate::errors::{js, promise};
use crate::in_flight::InFlight;
use crate::reader::Cancel;
use crate::sql::ResultBytes;
use crate::uv;

/// What a client is told beside the URL.
#[napi(object)]
pub struct HttpPlaceOptions {
    /// The most connections of HTTP/1.1.
    pub connections: u32,
    /// The most requests under way on one of them.
    pub pipelining: u32,
    /// The most milliseconds that connecting may take.
    pub timeout_ms: Option<u32>,
    /// Headers of all requests, each as `name: value` and a line break.
    pub headers: String,
    /// The most bytes of a response's body.
    pub most_bytes: Option<u32>,
    /// Whether to speak HTTP/2.
    pub http2: bool,
    /// A file of certificates to trust in place of the system's.
    pub cacert: Option<String>,
}

/// A server, and how it is spoken to. Where it is `drivable`, its sockets are given to an `HttpLoop`; otherwise it runs
/// submissions by itself.
#[napi]
pub struct HttpPlace {
    pub(crate) place: Arc<Place>,
    client: Option<Arc<SharedClient>>,
    /// What was started here and has not answered yet.
    in_flight: Arc<InFlight>,
}

#[napi]
impl HttpPlace {
    /// Checks a URL and options; connects to nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(url: String, options: HttpPlaceOptions) -> napi::Result<Self> {
        let url: Url = url.parse().map_err(js)?;
        let defaults = HttpOptions::default();
        let options = HttpOptions {
            connections: options.connections as usize,
            pipelining: options.pipelining as usize,
            timeout: options.timeout_ms.map(|time| Duration::from_millis(time.into())),
            headers: options.headers,
            most_bytes: options.most_bytes.map_or(defaults.most_bytes, |bytes| bytes as usize),
            version: if options.http2 { Version::Http2 } else { Version::Http1 },
            cacert: options.cacert.map(Into::into),
        };
        let place = Arc::new(Place::new(url, options).map_err(js)?);
        let is_drivable = uv::is_available() && place.is_drivable();
        let client = (!is_drivable).then(|| Arc::new(SharedClient::new(Arc::clone(&place))));
        Ok(Self { place, client, in_flight: Arc::default() })
    }

    /// Whether an `HttpLoop` can drive its sockets.
    #[napi(getter)]
    pub fn drivable(&self) -> bool {
        self.client.is_none()
    }

    /// Connects a socket for an `HttpLoop`.
    #[napi(catch_unwind)]
    pub fn open(&self, env: Env) -> napi::Result<AsyncBlock<HttpSocket>> {
        let place = Arc::clone(&self.place);
        promise(env, async move {
            let socket = place.open_socket().await.map_err(js)?;
            Ok(HttpSocket { socket: Mutex::new(Some(socket)) })
        })
    }

    /// Connects where no loop drives the sockets, to see that the server is there.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn connect(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let client = self.client.clone();
        promise(env, async move {
            let client = client.ok_or(Error::Closed("the client")).map_err(js)?;
            client.connect().await.map_err(js)
        })
    }

    /// Runs a submission of one group by itself and resolves to the frame of its result.
    #[napi(
        catch_unwind,
        ts_args_type = "submission: Uint8Array, cancel: Cancel",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn run(
        &self,
        env: Env,
        submission: Unknown<'_>,
        cancel: &Cancel,
    ) -> napi::Result<AsyncBlock<Handover<Vec<u8>>>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?.to_vec();
        let (client, token) = (self.client.clone(), cancel.token.clone());
        // The end of this thread of Node's cancels it too.
        let entry = self.in_flight.enter(token.clone());
        promise(env, async move {
            let _entry = entry;
            let client = client.ok_or(Error::Closed("the client")).map_err(js)?;
            let cancelled = Arc::new(Notify::new());
            let notify = Arc::clone(&cancelled);
            let _guard = token.on_cancel(move || notify.notify_one());
            napi::tokio::select! {
                biased;
                () = cancelled.notified() => Err(js(Error::Cancelled)),
                frame = client.run(&submission) => frame.map(Handover).map_err(js),
            }
        })
    }
}

/// A connected socket.
#[napi]
pub struct HttpSocket {
    socket: Mutex<Option<TcpStream>>,
}

impl HttpSocket {
    /// The socket, for the loop that will drive it.
    pub fn take(&self) -> Result<TcpStream> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        socket.ok_or(Error::Closed("the connection"))
    }
}

/// Paths of values in JSON, such as `result.*.body.data.*`.
#[napi]
pub struct JsonPaths {
    paths: Paths,
}

#[napi]
impl JsonPaths {
    /// Checks the paths.
    #[napi(constructor, catch_unwind)]
    pub fn new(paths: Vec<String>) -> napi::Result<Self> {
        Ok(Self { paths: Paths::new(paths.iter().map(String::as_str)).map_err(js)? })
    }

    /// Picks the values of all paths out of a text. For each path, in 32-bit words: the number of its values, the length of
    /// their bytes, and whether these are all ASCII; where each value ends; then a byte for each that says whether it is null,
    /// and the bytes, both filled up to whole words.
    #[napi(catch_unwind, ts_args_type = "json: Uint8Array", ts_return_type = "ArrayBuffer")]
    pub fn pick(&self, env: Env, json: Unknown<'_>) -> napi::Result<ResultBytes> {
        // SAFETY: no JavaScript runs before the values were copied.
        let json = unsafe { bytes_of(env, &json) }?;
        let picked = self.paths.pick(json).map_err(js)?;
        let mut out =
            Vec::with_capacity(picked.iter().map(|Picked { ends, bytes, .. }| ends.len() * 5 + bytes.len() + 24).sum());
        for Picked { ends, nulls, bytes } in &picked {
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            for word in [count(ends.len()), count(bytes.len()), u32::from(bytes.is_ascii())].iter().chain(ends) {
                out.extend_from_slice(&word.to_ne_bytes());
            }
            for part in [nulls, bytes] {
                out.extend_from_slice(part);
                out.resize(out.len().next_multiple_of(4), 0);
            }
        }
        Ok(ResultBytes(out))
    }
}
