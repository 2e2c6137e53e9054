//! The kinds of cells of the native suite.

use std::sync::Arc;

use boundary_bench_engine::Engine;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_suite::ingest::soak;
#[cfg(feature = "all")]
use boundary_bench_suite::ingest::{NativeStage, StageSpec};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::RequestCell;
use boundary_bench_suite::{
    CellSample, CellSpec, InProcessSpec, Workload, load, load_missing, read_query, run_cell, run_in_process, unload,
    verify_cell,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The input of the program: a cell to open.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum CellInput {
    /// Rows of an engine.
    Engine {
        uri: String,
        /// The engine over the transport by which tables are loaded, if it is another one.
        load_uri: Option<String>,
        /// Whether other processes read the tables of the queries, too. Such tables are loaded if they are missing, and kept.
        #[serde(default)]
        is_shared: bool,
        spec: CellSpec,
    },
    /// A query of the user's own.
    Query { uri: String, sql: String },
    /// Requests to a server.
    Requests { spec: Box<FamilySpec> },
    /// Calls that are counted.
    InProcess { spec: InProcessSpec },
    /// A stage of the ingest of points.
    #[cfg(feature = "all")]
    Ingest { spec: StageSpec },
    /// Posts of points for a while.
    Soak { spec: soak::SoakSpec },
}

/// An open cell.
pub(crate) trait Cell {
    /// Does ahead what the next sample would do before its timed work.
    fn prepare(&mut self, _cancel: &CancelToken) -> Result<()> {
        Ok(())
    }

    /// Executes the work once, or as often as `repeats` says if its calls are counted. Returns the sample.
    fn sample(&mut self, repeats: u32, cancel: &CancelToken) -> Result<Value>;

    /// Executes the work once, untimed, and checks each value.
    fn verify(&mut self, cancel: &CancelToken) -> Result<()>;

    /// Removes the tables or keys of the cell.
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

impl CellInput {
    pub(crate) fn open(self, cancel: &CancelToken) -> Result<Box<dyn Cell>> {
        Ok(match self {
            Self::Engine { uri, load_uri, is_shared, spec } => {
                Box::new(OnEngine::open(&uri, load_uri.as_deref(), is_shared, spec)?)
            }
            Self::Query { uri, sql } => Box::new(OwnQuery { engine: boundary_bench_engines::open(&uri)?, sql }),
            Self::Requests { spec } => Box::new(Requests(open_request_cell(&spec, cancel)?)),
            Self::InProcess { spec } => Box::new(InProcess(spec)),
            #[cfg(feature = "all")]
            Self::Ingest { spec } => Box::new(NativeStage::open(&spec)?),
            Self::Soak { spec } => Box::new(Soak(spec)),
        })
    }
}

/// The sample of an execution, with the peak of the memory in it.
fn sampled(execute: impl FnOnce() -> Result<CellSample>) -> Result<Value> {
    let is_reset = reset_peak_rss();
    let sample = execute()?;
    let peak = if is_reset { peak_rss() } else { None };
    let mut sample = to_json(&sample)?;
    if let Some(peak) = peak {
        sample["peakRssBytes"] = json!(peak);
    }
    Ok(sample)
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::Internal(error.to_string()))
}

struct OnEngine {
    engine: Arc<dyn Engine>,
    spec: CellSpec,
    /// The engine of the tables of a query that nobody else reads.
    loader: Option<Arc<dyn Engine>>,
}

impl OnEngine {
    fn open(uri: &str, load_uri: Option<&str>, is_shared: bool, spec: CellSpec) -> Result<Self> {
        spec.validate()?;
        let engine = boundary_bench_engines::open(uri)?;
        let is_query = spec.workload != Workload::InsertBulk;
        if !is_query {
            return Ok(Self { engine, spec, loader: None });
        }
        let loader = match load_uri {
            Some(uri) => boundary_bench_engines::open(uri)?,
            None => Arc::clone(&engine),
        };
        if is_shared {
            load_missing(&loader, &spec.table, spec.rows, spec.workers)?;
            return Ok(Self { engine, spec, loader: None });
        }
        load(&loader, &spec.table, spec.rows, spec.workers)?;
        Ok(Self { engine, spec, loader: Some(loader) })
    }
}

impl Cell for OnEngine {
    fn sample(&mut self, _repeats: u32, _cancel: &CancelToken) -> Result<Value> {
        sampled(|| run_cell(&self.engine, &self.spec))
    }

    fn verify(&mut self, _cancel: &CancelToken) -> Result<()> {
        verify_cell(&self.engine, &self.spec)
    }

    fn close(&mut self) -> Result<()> {
        match &self.loader {
            Some(loader) => unload(loader, &self.spec.table, self.spec.workers),
            None => Ok(()),
        }
    }
}

struct OwnQuery {
    engine: Arc<dyn Engine>,
    sql: String,
}

impl Cell for OwnQuery {
    fn sample(&mut self, repeats: u32, _cancel: &CancelToken) -> Result<Value> {
        sampled(|| read_query(&self.engine, &self.sql, repeats))
    }

    /// Each sample returns the checksum of what it read.
    fn verify(&mut self, _cancel: &CancelToken) -> Result<()> {
        Ok(())
    }
}

struct Requests(Box<dyn RequestCell>);

impl Cell for Requests {
    fn prepare(&mut self, cancel: &CancelToken) -> Result<()> {
        self.0.prepare(cancel)
    }

    fn sample(&mut self, _repeats: u32, cancel: &CancelToken) -> Result<Value> {
        sampled(|| self.0.sample(cancel))
    }

    fn verify(&mut self, cancel: &CancelToken) -> Result<()> {
        self.0.verify(cancel)
    }

    fn close(&mut self) -> Result<()> {
        self.0.close()
    }
}

struct InProcess(InProcessSpec);

impl Cell for InProcess {
    fn sample(&mut self, repeats: u32, _cancel: &CancelToken) -> Result<Value> {
        self.0.repeats = repeats;
        sampled(|| run_in_process(&self.0))
    }

    /// Each sample returns the checksum of its results.
    fn verify(&mut self, cancel: &CancelToken) -> Result<()> {
        self.sample(1, cancel).map(drop)
    }
}

#[cfg(feature = "all")]
impl Cell for NativeStage {
    fn sample(&mut self, _repeats: u32, cancel: &CancelToken) -> Result<Value> {
        sampled(|| self.sample(cancel))
    }

    fn verify(&mut self, cancel: &CancelToken) -> Result<()> {
        self.verify(cancel)
    }
}

/// A soak. A sample that is aborted has the figures until then.
struct Soak(soak::SoakSpec);

impl Cell for Soak {
    fn sample(&mut self, _repeats: u32, cancel: &CancelToken) -> Result<Value> {
        to_json(&soak::run_soak(&self.0, cancel)?)
    }

    /// Whoever started the soak counts the points.
    fn verify(&mut self, _cancel: &CancelToken) -> Result<()> {
        Ok(())
    }
}
