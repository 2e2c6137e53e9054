//! Private servers of shards as JavaScript sees them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use boundary_bench_server::ShardProcesses;
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

use crate::errors::{blocking, promise};
use crate::reader::Cancel;

/// Shards of our own, each as a process; all are gone when this process ends, however it ends.
#[napi]
pub struct PrivateShards {
    urls: Vec<String>,
    process_ids: Vec<u32>,
    processes: Arc<Mutex<Option<ShardProcesses>>>,
}

#[napi]
impl PrivateShards {
    /// Starts so many shards by the program given with its first arguments, or by the one that is found. Rows are kept in
    /// `dataDir`, or in memory without.
    #[napi(catch_unwind)]
    pub fn start(
        env: Env,
        command: Vec<String>,
        shards: u32,
        data_dir: Option<String>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<PrivateShards>> {
        let token = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        promise(
            env,
            blocking(move || {
                let words: Vec<&str> = command.iter().map(String::as_str).collect();
                let (program, arguments) =
                    words.split_first().map_or((None, &[][..]), |(first, rest)| (Some(Path::new(*first)), rest));
                let data_dir = data_dir.as_deref().map(Path::new);
                let processes = ShardProcesses::start(program, arguments, shards, data_dir, &token)?;
                Ok(Self {
                    urls: processes.processes().iter().map(|process| process.url()).collect(),
                    process_ids: processes.processes().iter().map(|process| process.process_id()).collect(),
                    processes: Arc::new(Mutex::new(Some(processes))),
                })
            }),
        )
    }

    /// Their addresses, in the order of the shards.
    #[napi(getter)]
    pub fn urls(&self) -> Vec<String> {
        self.urls.clone()
    }

    /// Their processes.
    #[napi(getter)]
    pub fn process_ids(&self) -> Vec<u32> {
        self.process_ids.clone()
    }

    /// How the first that ended by itself did; null while all run and once they were stopped.
    #[napi(getter)]
    pub fn ending(&self) -> Option<String> {
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        processes.iter().flat_map(ShardProcesses::processes).find_map(|process| process.ending())
    }

    /// Kills one of them.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop_one(&self, env: Env, shard: u32) -> napi::Result<AsyncBlock<()>> {
        let processes = Arc::clone(&self.processes);
        promise(
            env,
            blocking(move || {
                let processes = processes.lock().unwrap_or_else(PoisonError::into_inner);
                let all = processes.iter().flat_map(ShardProcesses::processes);
                all.skip(shard as usize).take(1).for_each(boundary_bench_server::ShardProcess::stop);
                Ok(())
            }),
        )
    }

    /// Stops all of them; does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let processes = Arc::clone(&self.processes);
        promise(
            env,
            blocking(move || {
                let stopped = processes.lock().unwrap_or_else(PoisonError::into_inner).take();
                drop(stopped);
                Ok(())
            }),
        )
    }
}
