//! Clients of the Redis wire, exported to JavaScript. `native/clients/redis/src/submission.rs` tells how requests and results
//! cross.

use std::sync::Mutex;
use std::time::Duration;

use boundary_bench_event_loop::LoopDriver;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::caller::{Caller, Request};
use boundary_bench_node::host::errors::{js, promise};
use boundary_bench_node::host::loop_runtime::LoopRuntime;
use boundary_bench_redis::{Connection, KvClient, KvOptions, STATEFUL, Url, refusal, run_submission};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi_derive::napi;

use boundary_bench_node::memory::buffers::{Handover, bytes_of};

/// The requests of a submission.
struct Run(Vec<u8>);

impl Request for Run {
    type Client = KvClient;
    type Output = Vec<u8>;

    async fn send(self, client: &mut KvClient) -> Result<Vec<u8>> {
        run_submission(client, &self.0).await
    }
}

/// The names, in capitals, of the commands that `kvCheckCommand` looks at. Pipelines with one of them are checked as a whole.
#[napi(catch_unwind)]
pub fn kv_stateful_commands() -> Vec<&'static str> {
    STATEFUL.to_vec()
}

/// Throws for a command that a connection of many callers never takes. Both words must be in capitals.
#[napi(catch_unwind)]
pub fn kv_check_command(name: String, first_argument: String) -> napi::Result<()> {
    refusal(&name, &first_argument).map_or(Ok(()), |error| Err(js(error)))
}

/// A connection to a server, or the connections to a cluster. A `KvLoop` drives a `drivable` connection. Connections to a cluster run
/// submissions as tasks of the event loop.
#[napi]
pub struct KvConnection {
    socket: Mutex<Option<Connection>>,
    caller: Caller<KvClient>,
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
            let mut client = Some(KvClient::connect(url, options).await.map_err(js)?.driven_by(&LoopDriver));
            let drivable = client.as_ref().is_some_and(KvClient::is_drivable);
            let socket = if drivable { client.take().and_then(KvClient::into_connection) } else { None };
            Ok(Self { socket: Mutex::new(socket), caller: Caller::new(client), drivable })
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
    pub fn run(&self, env: Env, submission: Unknown<'_>) -> napi::Result<Unknown<'static>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?.to_vec();
        let frame = self.caller.run(Run(submission));
        LoopRuntime::of_thread(env)?.promise(env, async move { frame.await.map(Handover) })
    }

    /// Closes the connection. A submission under way ends with `BB_CLOSED`. The requests already sent may have been executed or
    /// not. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.caller.close();
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
