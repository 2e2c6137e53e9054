//! The stages of time-series ingest in the native suite, exported to JavaScript.

use std::sync::Mutex;

use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{blocking, js, promise, promise_of_end};
use boundary_bench_node::memory::typed_memory::{BYTES, slice_of};
use boundary_bench_node::values::json::to_json;
use boundary_bench_suite::ingest::{StageCell, StageSpec};
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::{Env, JsValue};
use napi_derive::napi;

fn parsed(spec: &str) -> Result<StageSpec> {
    serde_json::from_str(spec)
        .map_err(|error| Error::InvalidArgument(format!("not a stage of the native suite: {error}")))
}

/// A stage of the native suite that runs on bodies from JavaScript.
#[napi]
pub struct IngestStage {
    cell: Mutex<Option<StageCell>>,
}

impl IngestStage {
    fn with<T>(&self, work: impl FnOnce(&mut StageCell) -> Result<T>) -> napi::Result<T> {
        let mut cell = lock(&self.cell);
        let cell = cell.as_mut().ok_or(Error::Closed("the stage")).map_err(js)?;
        work(cell).map_err(js)
    }
}

#[napi]
impl IngestStage {
    /// Opens a stage. Takes `{workload, batches, batch, inputs, durable?}` as JSON.
    #[napi(catch_unwind)]
    pub fn open(env: Env, spec: String) -> napi::Result<AsyncBlock<IngestStage>> {
        promise(env, async move {
            let cell = blocking(move || StageCell::open(&parsed(&spec)?)).await?;
            Ok(Self { cell: Mutex::new(Some(cell)) })
        })
    }

    /// Begins a sample.
    #[napi(catch_unwind)]
    pub fn begin(&self) -> napi::Result<()> {
        self.with(StageCell::begin)
    }

    /// Begins a sample of which each point is compared with the one that it must be, instead of being summed.
    #[napi(catch_unwind)]
    pub fn begin_check(&self) -> napi::Result<()> {
        self.with(StageCell::begin_check)
    }

    /// Runs the stage on a body, and returns the body's number of points.
    #[napi(catch_unwind, ts_args_type = "body: Uint8Array")]
    pub fn run(&self, env: Env, body: Unknown<'_>) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let body = unsafe { slice_of(env, body.raw(), BYTES) }?;
        self.with(|cell| cell.run(body)).map(|points| points as f64)
    }

    /// Adds the result of the last body to the sample's checksum, or checks it.
    #[napi(catch_unwind)]
    pub fn consume(&self) -> napi::Result<()> {
        self.with(StageCell::consume)
    }

    /// The checksum of the sample, as JSON. The checksum of a check is empty.
    #[napi(catch_unwind)]
    pub fn finish(&self) -> napi::Result<String> {
        self.with(|cell| to_json(&cell.finish()?))
    }

    /// Closes the stage and removes its files. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let cell = lock(&self.cell).take();
        promise_of_end(env, move || drop(cell))
    }
}
