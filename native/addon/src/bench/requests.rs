//! Request cells of the native suite, and private servers, exported to JavaScript.

use std::sync::{Arc, Mutex};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, lock};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::RequestCell;
use boundary_bench_suite::{PrivateTarget, TargetKind};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue};
use napi_derive::napi;

use crate::bench::suite::{on_suite_thread, parse};
use crate::engine::reader::Cancel;
use crate::host::errors::{blocking, js, promise, promise_of_end};
use crate::host::in_flight::InFlight;
use crate::memory::json::to_json;

/// A cell of request work in Rust, connected and loaded.
#[napi]
pub struct NativeRequests {
    cell: Mutex<Option<Arc<dyn RequestCell>>>,
    /// Samples under way.
    in_flight: Arc<InFlight>,
}

#[napi]
impl NativeRequests {
    /// Connects a cell and loads the data that it reads. Takes `{family, workload, lane, setting?, driver?, client?, url,
    /// connections, batch, operations, rate?, prefix, serverProcesses?, options?}` as JSON.
    #[napi(catch_unwind)]
    pub fn open(env: Env, spec: String, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<NativeRequests>> {
        let token = Cancel::token_of(cancel);
        promise(env, async move {
            let cell = on_suite_thread(move || open_request_cell(&parse::<FamilySpec>(&spec)?, &token)).await?;
            Ok(Self { cell: Mutex::new(Some(Arc::from(cell))), in_flight: Arc::default() })
        })
    }

    /// Does ahead what the next sample would do before its load, so that loads of several processes begin together.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn prepare(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<()>> {
        self.run(env, cancel, |cell, token| cell.prepare(token))
    }

    /// Runs the load once, on threads of its own, and resolves to the sample as JSON.
    #[napi(catch_unwind)]
    pub fn sample(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<String>> {
        self.run(env, cancel, |cell, token| to_json(&cell.sample(token)?))
    }

    /// Executes the work once more, untimed, and compares each answer with the one that it must be.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn verify(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<()>> {
        self.run(env, cancel, |cell, token| cell.verify(token))
    }

    /// The checksum that every sample must return, as JSON.
    #[napi(getter)]
    pub fn expected(&self) -> napi::Result<String> {
        let cell = lock(&self.cell).clone();
        let cell = cell.ok_or(Error::Closed("the cell")).map_err(js)?;
        to_json(cell.expected()).map_err(js)
    }

    /// Removes the cell's tables or keys and closes its connections. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let cell = lock(&self.cell).take();
        promise(env, async move {
            match cell {
                Some(cell) => on_suite_thread(move || cell.close()).await,
                None => Ok(()),
            }
        })
    }
}

impl NativeRequests {
    /// Works with the open cell on the suite's thread.
    fn run<T: ToNapiValue + Send + 'static>(
        &self,
        env: Env,
        cancel: Option<&Cancel>,
        work: impl FnOnce(&dyn RequestCell, &CancelToken) -> boundary_bench_kernel::Result<T> + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>> {
        let token = Cancel::token_of(cancel);
        let cell = lock(&self.cell).clone();
        self.in_flight.promise(env, token.clone(), async move {
            let cell = cell.ok_or(Error::Closed("the cell")).map_err(js)?;
            on_suite_thread(move || work(&*cell, &token)).await
        })
    }
}

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
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<PrivateServer>> {
        let token = Cancel::token_of(cancel);
        let kind = TargetKind::from(kind);
        promise(env, async move {
            let start = move || {
                let arguments: Vec<&str> = arguments.iter().flatten().map(String::as_str).collect();
                kind.start(&arguments, &token)
            };
            Ok(Self { server: Arc::new(blocking(start).await?) })
        })
    }

    /// The program that `start` would run. Throws `BB_NOT_INSTALLED` if there is none.
    #[napi(catch_unwind)]
    pub fn find(kind: ServerKind) -> napi::Result<String> {
        TargetKind::from(kind).executable().map(|path| path.display().to_string()).map_err(js)
    }

    /// Asks the server at a URL for its version: resolves to `{version, processId?, isCluster}` as JSON.
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
