//! Clients of the Redis wire, exported to JavaScript. `native/clients/redis/src/submission.rs` tells how requests and results
//! cross.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_event_loop::is_available;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_redis::{Connection, KvClient, KvOptions, Url, run_submission};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::tokio::sync::{Mutex as AsyncMutex, watch};
use napi_derive::napi;

use crate::buffers::{Handover, bytes_of};
use crate::errors::{js, promise};

/// A connection to a server, or the connections to a cluster. A `KvLoop` drives a `drivable` connection; any other runs
/// submissions by itself.
#[napi]
pub struct KvConnection {
    socket: Mutex<Option<Connection>>,
    client: Arc<AsyncMutex<Option<KvClient>>>,
    /// Whether the connection is closed. It stays true, so that later submissions see it too.
    closed: watch::Sender<bool>,
    drivable: bool,
}

#[napi]
impl KvConnection {
    /// Connects to the server and logs in.
    #[napi(catch_unwind)]
    pub fn open(env: Env, url: String, timeout_ms: Option<u32>) -> napi::Result<AsyncBlock<KvConnection>> {
        promise(env, async move {
            let options = KvOptions { timeout: timeout_ms.map(|time| Duration::from_millis(time.into())) };
            let url: Url = url.parse().map_err(js)?;
            let mut client = Some(KvClient::connect(url, options).await.map_err(js)?);
            let drivable = is_available() && client.as_ref().is_some_and(KvClient::is_drivable);
            let socket = if drivable { client.take().and_then(KvClient::into_connection) } else { None };
            Ok(Self {
                socket: Mutex::new(socket),
                client: Arc::new(AsyncMutex::new(client)),
                closed: watch::Sender::new(false),
                drivable,
            })
        })
    }

    /// Whether a `KvLoop` can drive the connection.
    #[napi(getter)]
    pub fn drivable(&self) -> bool {
        self.drivable
    }

    /// Runs a submission and resolves to the frame of its results. Submissions run one after the other, in the order of the
    /// calls.
    #[napi(catch_unwind, ts_args_type = "submission: Uint8Array", ts_return_type = "Promise<ArrayBuffer>")]
    pub fn run(&self, env: Env, submission: Unknown<'_>) -> napi::Result<AsyncBlock<Handover<Vec<u8>>>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?.to_vec();
        let (client, mut closed) = (Arc::clone(&self.client), self.closed.subscribe());
        promise(env, async move {
            let work = async {
                let mut client = client.lock().await;
                let client = client.as_mut().ok_or(Error::Closed("the connection"))?;
                run_submission(client, &submission).await
            };
            // Also completes when the sender is dropped: then nobody is left to read the results.
            let closed = async { drop(closed.wait_for(|closed| *closed).await) };
            napi::tokio::select! {
                biased;
                () = closed => {
                    client.lock().await.take();
                    Err(js(Error::Closed("the connection")))
                }
                frame = work => frame.map(Handover).map_err(js),
            }
        })
    }

    /// Closes the connection. A submission under way ends with `BB_CLOSED`; the requests already sent may have been executed or
    /// not. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.closed.send_replace(true);
        // A submission under way holds the lock, and closes the client itself.
        if let Ok(mut client) = self.client.try_lock() {
            client.take();
        }
        lock(&self.socket).take();
    }
}

impl KvConnection {
    /// Takes the connection out, for the loop that will drive it.
    pub fn take(&self) -> Result<Connection> {
        let connection = lock(&self.socket).take();
        connection.ok_or(Error::Closed("the connection"))
    }
}
