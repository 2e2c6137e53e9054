//! Private servers of shards, exported to JavaScript.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_node::host::errors::{blocking, invalid, promise, promise_of_end};
use boundary_bench_processes::{NetworkOptions, PrivateServer, ShardProcesses};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

/// Private shards, each a process. All end when this process ends, however it ends.
#[napi]
pub struct PrivateShards {
    processes: Arc<ShardProcesses>,
}

#[napi]
impl PrivateShards {
    /// Starts `shards` shards. Rows are kept in `dataDir`, or in memory without it.
    #[napi(catch_unwind)]
    pub fn start(env: Env, shards: u32, data_dir: Option<String>) -> napi::Result<AsyncBlock<PrivateShards>> {
        let start = move || {
            let data_dir = data_dir.map(PathBuf::from);
            let processes = ShardProcesses::start(shards, data_dir.as_deref(), &CancelToken::default())?;
            Ok(Self { processes: Arc::new(processes) })
        };
        promise(env, blocking(start))
    }

    /// The addresses of the shards, in their order.
    #[napi(getter)]
    pub fn urls(&self) -> Vec<String> {
        self.processes.urls()
    }

    /// The process ids of the shards, in their order.
    #[napi(getter)]
    pub fn process_ids(&self) -> Vec<u32> {
        self.processes.processes().iter().map(PrivateServer::process_id).collect()
    }

    /// The reason why the first shard in order ended by itself, or null while all run, and after `stop`.
    #[napi(getter)]
    pub fn ending(&self) -> Option<String> {
        self.processes.processes().iter().find_map(PrivateServer::ending)
    }

    /// Stops all shards. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let processes = Arc::clone(&self.processes);
        promise_of_end(env, move || processes.processes().iter().for_each(PrivateServer::stop))
    }
}

fn network_of(delay_us: u32, megabits: Option<f64>) -> napi::Result<NetworkOptions> {
    if megabits.is_some_and(|megabits| !(megabits.is_finite() && megabits > 0.0)) {
        return Err(invalid("a bandwidth must be above 0 megabits per second"));
    }
    Ok(NetworkOptions { delay: Duration::from_micros(delay_us.into()), megabits })
}

/// Private proxies that make the loopback as slow as a network, one in front of each of several servers.
#[napi]
pub struct PrivateDelays {
    processes: Arc<Vec<PrivateServer>>,
}

#[napi]
impl PrivateDelays {
    /// Starts a proxy in front of each address (`host:port`). All traffic arrives `delayUs` later in each direction, at most
    /// `megabits` a second.
    #[napi(catch_unwind)]
    pub fn start(
        env: Env,
        addresses: Vec<String>,
        delay_us: u32,
        megabits: Option<f64>,
    ) -> napi::Result<AsyncBlock<PrivateDelays>> {
        let network = network_of(delay_us, megabits)?;
        let start = move || {
            let starting = addresses.iter().map(|to| PrivateServer::start_delay(to, &network, &CancelToken::default()));
            Ok(Self { processes: Arc::new(starting.collect::<Result<_>>()?) })
        };
        promise(env, blocking(start))
    }

    /// The addresses of the proxies, in the order of the servers.
    #[napi(getter)]
    pub fn urls(&self) -> Vec<String> {
        self.processes.iter().map(PrivateServer::url).collect()
    }

    /// Stops all proxies. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let processes = Arc::clone(&self.processes);
        promise_of_end(env, move || processes.iter().for_each(PrivateServer::stop))
    }
}
