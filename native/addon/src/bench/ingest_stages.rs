//! The stages of time-series ingest in the native suite, exported to JavaScript.

use std::sync::{Arc, Mutex};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_suite::ingest::{NativeStage, StageCell, StageSpec, soak};
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue, Unknown};
use napi::{Env, JsValue};
use napi_derive::napi;

use crate::bench::suite::{on_suite_thread, parse};
use crate::engine::reader::Cancel;
use crate::host::errors::{blocking, js, promise, promise_of_end};
use crate::memory::json::to_json;
use crate::memory::typed_memory::{BYTES, slice_of};

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
            let cell = blocking(move || StageCell::open(&parse::<StageSpec>(&spec)?)).await?;
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

/// A stage of the native suite with its own input: a cell of the `rust` side.
#[napi]
pub struct NativeIngest {
    stage: Arc<Mutex<Option<NativeStage>>>,
}

#[napi]
impl NativeIngest {
    /// Opens a stage and makes its input. Takes `{workload, batches, batch, inputs, durable?}` as JSON.
    #[napi(catch_unwind)]
    pub fn open(env: Env, spec: String) -> napi::Result<AsyncBlock<NativeIngest>> {
        promise(env, async move {
            let stage = on_suite_thread(move || NativeStage::open(&parse::<StageSpec>(&spec)?)).await?;
            Ok(Self { stage: Arc::new(Mutex::new(Some(stage))) })
        })
    }

    /// Takes a sample on the suite's thread, and resolves to the sample as JSON.
    #[napi(catch_unwind)]
    pub fn sample(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<String>> {
        self.run(env, cancel, |stage, token| to_json(&stage.sample(token)?))
    }

    /// Runs all batches once more, and compares each point with the one that it must be.
    #[napi(catch_unwind)]
    pub fn verify(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<()>> {
        self.run(env, cancel, NativeStage::verify)
    }

    /// Closes the stage and removes its files. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let stage = Arc::clone(&self.stage);
        promise_of_end(env, move || drop(lock(&stage).take()))
    }
}

impl NativeIngest {
    /// Works with the open stage on the suite's thread.
    fn run<T: ToNapiValue + Send + 'static>(
        &self,
        env: Env,
        cancel: Option<&Cancel>,
        work: impl FnOnce(&mut NativeStage, &CancelToken) -> Result<T> + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>> {
        let (token, stage) = (Cancel::token_of(cancel), Arc::clone(&self.stage));
        let work = move || work(lock(&stage).as_mut().ok_or(Error::Closed("the stage"))?, &token);
        promise(env, on_suite_thread(work))
    }
}

/// Posts batches of points for a while, with the native client on threads of its own. Takes `{url, path, measurement, encoding,
/// workers, batchSize, durationSeconds, warmupSeconds, rate?, firstTime}` as JSON, and resolves to `{points, seconds, requests,
/// latency, errors, acknowledged, uncertain, unsent}`. If it is cancelled, it resolves to the measurements until then.
#[napi(catch_unwind)]
pub fn run_soak(env: Env, spec: String, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<String>> {
    let token = Cancel::token_of(cancel);
    promise(env, on_suite_thread(move || to_json(&soak::run_soak(&parse(&spec)?, &token)?)))
}
