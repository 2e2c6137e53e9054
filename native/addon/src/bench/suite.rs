//! The native suite, exported to JavaScript. Its cells run on a thread of the suite. That thread stays warm, while the event loop idles.

use std::sync::Arc;

use boundary_bench_engine::Engine as CoreEngine;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_suite::{CellSpec, WarmThread};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue};
use napi::tokio::sync::oneshot;
use napi_derive::napi;
use serde::de::DeserializeOwned;

use crate::engine::opened::Engine;
use crate::host::errors::{js, promise};
use crate::memory::json::to_json;

/// The tables of a native query cell.
#[derive(serde::Deserialize)]
struct Tables {
    table: String,
    rows: u64,
    workers: u32,
}

pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| Error::InvalidArgument(format!("not a cell of the native suite: {error}")))
}

/// Runs work on the suite's thread. It has also run the earlier work, so its stack and the memory that it has freed are warm, as on Node's
/// thread. Work that comes while other work runs gets a thread of its own.
pub async fn on_suite_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> napi::Result<T> {
    let (sender, receiver) = oneshot::channel();
    WarmThread::take().and_then(|thread| thread.run(work, move |result| drop(sender.send(result)))).map_err(js)?;
    match receiver.await {
        Ok(result) => result.map_err(js),
        Err(_) => Err(js(Error::Internal("the suite's thread ended early".to_owned()))),
    }
}

impl Engine {
    /// Parses a JSON text and runs work on it, on the suite's thread.
    fn run_on_suite_thread<S: DeserializeOwned, T: ToNapiValue + Send + 'static>(
        &self,
        env: Env,
        json: String,
        work: impl FnOnce(&Arc<dyn CoreEngine>, &S) -> Result<T> + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>> {
        let engine = self.get();
        promise(env, async move {
            let engine = engine?;
            on_suite_thread(move || work(&engine, &parse(&json)?)).await
        })
    }
}

#[napi]
impl Engine {
    /// Executes a cell of the native suite once. Takes `{workload, lane, flavor, workers, rows, table}` as JSON, and
    /// resolves to `{seconds, cpuUserSeconds, cpuSystemSeconds, minorFaults, threads, checksum}` as JSON.
    #[napi(catch_unwind)]
    pub fn run_native(&self, env: Env, spec: String) -> napi::Result<AsyncBlock<String>> {
        self.run_on_suite_thread(env, spec, |engine, spec: &CellSpec| {
            to_json(&boundary_bench_suite::run_cell(engine, spec)?)
        })
    }

    /// Executes a cell of the native suite once, untimed, and checks each row that it read or stored. Takes what `runNative` takes.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn verify_native(&self, env: Env, spec: String) -> napi::Result<AsyncBlock<()>> {
        self.run_on_suite_thread(env, spec, boundary_bench_suite::verify_cell)
    }

    /// Makes the tables that the native suite's queries read. Takes `{table, rows, workers}` as JSON: makes one table of that
    /// name, or for several workers `table_0`, `table_1`, ... with their share of the rows.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn load_native(&self, env: Env, tables: String) -> napi::Result<AsyncBlock<()>> {
        self.run_on_suite_thread(env, tables, |engine, tables: &Tables| {
            boundary_bench_suite::load(engine, &tables.table, tables.rows, tables.workers)
        })
    }

    /// Drops the tables that `loadNative` made.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn unload_native(&self, env: Env, tables: String) -> napi::Result<AsyncBlock<()>> {
        self.run_on_suite_thread(env, tables, |engine, tables: &Tables| {
            boundary_bench_suite::unload(engine, &tables.table, tables.workers)
        })
    }
}
