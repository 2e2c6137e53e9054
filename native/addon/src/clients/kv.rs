//! Clients of the Redis wire, exported to JavaScript. `native/clients/redis/src/submission.rs` tells how requests and results
//! cross.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_event_loop::LoopDriver;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{js, promise};
use boundary_bench_redis::{ClusterCalls, Connection, KvClient, KvOptions, STATEFUL, Url, refusal};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

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

/// A connection to a server, or the connections to a cluster. A `KvLoop` runs its requests.
#[napi]
pub struct KvConnection {
    socket: Mutex<Option<Connection>>,
    /// The calls on a cluster.
    calls: Option<Arc<ClusterCalls>>,
}

#[napi]
impl KvConnection {
    /// Connects to the server and logs in.
    #[napi(catch_unwind)]
    pub fn open(env: Env, url: String, timeout_ms: Option<u32>) -> napi::Result<AsyncBlock<KvConnection>> {
        promise(env, async move {
            let options = KvOptions { timeout: timeout_ms.map(|time| Duration::from_millis(time.into())) };
            let url: Url = url.parse().map_err(js)?;
            let client = KvClient::connect(url, options).await.map_err(js)?.driven_by(&LoopDriver);
            let calls = ClusterCalls::new(&client).map(Arc::new);
            Ok(Self { socket: Mutex::new(client.into_connection()), calls })
        })
    }

    /// Whether it is one connection to a server.
    #[napi(getter)]
    pub fn drivable(&self) -> bool {
        self.calls.is_none()
    }

    /// Gives up a request whose caller no longer waits. Later requests take other connections to the servers that have not answered it.
    #[napi(catch_unwind)]
    pub fn give_up(&self, id: u32) -> napi::Result<()> {
        self.calls().map(|calls| calls.give_up(id)).map_err(js)
    }

    /// Closes the connection. Requests under way end with `BB_CLOSED`. What was sent may have been executed or not. Does nothing the
    /// second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.calls.iter().for_each(|calls| calls.close());
        lock(&self.socket).take();
    }
}

impl KvConnection {
    /// The calls on a cluster.
    pub fn calls(&self) -> Result<&Arc<ClusterCalls>> {
        self.calls.as_ref().ok_or_else(|| Error::Unsupported("this is a connection to one server".to_owned()))
    }

    /// Takes the connection out, for the loop that will drive it.
    pub fn take(&self) -> Result<Connection> {
        let connection = lock(&self.socket).take();
        connection.ok_or(Error::Closed("the connection"))
    }
}
