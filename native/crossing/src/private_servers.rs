//! Private servers of request work, exported to JavaScript.

use std::sync::Arc;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_node::host::errors::{blocking, js, promise, promise_of_end};
use boundary_bench_node::values::json::to_json;
use boundary_bench_suite::{PrivateTarget, TargetKind};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

/// A kind of server, by its wire.
#[napi(string_enum = "kebab-case")]
pub enum ServerKind {
    /// The MySQL wire.
    Mysql,
    /// The Redis wire.
    Redis,
    /// The Redis wire, divided among the masters of a Redis Cluster.
    RedisCluster,
    /// `RonDB`'s REST requests over HTTP.
    Rest,
    /// `HyperbyteDB`'s writes over HTTP.
    Ingest,
}

impl From<ServerKind> for TargetKind {
    fn from(kind: ServerKind) -> Self {
        match kind {
            ServerKind::Mysql => Self::Mysql,
            ServerKind::Redis => Self::Redis,
            ServerKind::RedisCluster => Self::RedisCluster,
            ServerKind::Rest => Self::Rest,
            ServerKind::Ingest => Self::Ingest,
        }
    }
}

/// A private server in a folder of its own. The server ends and the folder is removed when this process ends, however it ends.
#[napi]
pub struct PrivateServer {
    server: Arc<PrivateTarget>,
}

#[napi]
impl PrivateServer {
    /// Starts a server, the first program of its kind that is found, with `arguments` before ours.
    #[napi(catch_unwind)]
    pub fn start(
        env: Env,
        kind: ServerKind,
        arguments: Option<Vec<String>>,
    ) -> napi::Result<AsyncBlock<PrivateServer>> {
        let kind = TargetKind::from(kind);
        promise(env, async move {
            let start = move || {
                let arguments: Vec<&str> = arguments.iter().flatten().map(String::as_str).collect();
                kind.start(&arguments, &CancelToken::default())
            };
            Ok(Self { server: Arc::new(blocking(start).await?) })
        })
    }

    /// The program that `start` would run. Throws `BB_NOT_INSTALLED` if there is none.
    #[napi(catch_unwind)]
    pub fn find(kind: ServerKind) -> napi::Result<String> {
        TargetKind::from(kind).executable().map(|path| path.display().to_string()).map_err(js)
    }

    /// Asks the server at a URL for its version: resolves to `{version, processId?, isCluster, places?, isWhole}` as JSON.
    #[napi(catch_unwind)]
    pub fn describe(env: Env, kind: ServerKind, url: String) -> napi::Result<AsyncBlock<String>> {
        let kind = TargetKind::from(kind);
        promise(env, blocking(move || to_json(&kind.describe(&url)?)))
    }

    /// The URL of the server, with its generated password.
    #[napi(getter)]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The ids of the server's processes: one process, or a cluster's masters.
    #[napi(getter)]
    pub fn process_ids(&self) -> Vec<u32> {
        self.server.process_ids()
    }

    /// The reason why the server ended by itself, or null while it runs, and after `stop`.
    #[napi(getter)]
    pub fn ending(&self) -> Option<String> {
        self.server.ending()
    }

    /// Stops the server and removes its folder. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let server = Arc::clone(&self.server);
        promise_of_end(env, move || server.stop())
    }
}
