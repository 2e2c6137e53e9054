//! The kinds of cells of the native suite.

use std::sync::Arc;

use boundary_bench_engine::Engine;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::RequestCell;
use boundary_bench_suite::{
    CellSample, CellSpec, InProcessSpec, Workload, load, run_cell, run_in_process, unload, verify_cell,
};
use serde::Deserialize;

/// The input of the program: a cell to open.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum CellInput {
    /// Rows of an engine. The tables of a query are made first.
    Engine { uri: String, spec: CellSpec },
    /// Requests to a server.
    Requests { spec: Box<FamilySpec> },
    /// Calls that are counted.
    InProcess { spec: InProcessSpec },
}

/// An open cell.
pub(crate) trait Cell {
    /// Executes the work once, or as often as `repeats` says if its calls are counted.
    fn sample(&mut self, repeats: u32) -> Result<CellSample>;

    /// Executes the work once, untimed, and checks each value.
    fn verify(&mut self) -> Result<()>;

    /// Removes the tables or keys of the cell.
    fn close(&mut self) -> Result<()>;
}

impl CellInput {
    pub(crate) fn open(self) -> Result<Box<dyn Cell>> {
        Ok(match self {
            Self::Engine { uri, spec } => Box::new(OnEngine::open(&uri, spec)?),
            Self::Requests { spec } => Box::new(Requests(open_request_cell(&spec, &CancelToken::default())?)),
            Self::InProcess { spec } => Box::new(InProcess(spec)),
        })
    }
}

struct OnEngine {
    engine: Arc<dyn Engine>,
    spec: CellSpec,
}

impl OnEngine {
    fn open(uri: &str, spec: CellSpec) -> Result<Self> {
        spec.validate()?;
        let engine = boundary_bench_engines::open(uri)?;
        if spec.workload != Workload::InsertBulk {
            load(&engine, &spec.table, spec.rows, spec.workers)?;
        }
        Ok(Self { engine, spec })
    }
}

impl Cell for OnEngine {
    fn sample(&mut self, _repeats: u32) -> Result<CellSample> {
        run_cell(&self.engine, &self.spec)
    }

    fn verify(&mut self) -> Result<()> {
        verify_cell(&self.engine, &self.spec)
    }

    fn close(&mut self) -> Result<()> {
        if self.spec.workload == Workload::InsertBulk {
            return Ok(());
        }
        unload(&self.engine, &self.spec.table, self.spec.workers)
    }
}

struct Requests(Box<dyn RequestCell>);

impl Cell for Requests {
    fn sample(&mut self, _repeats: u32) -> Result<CellSample> {
        self.0.sample(&CancelToken::default())
    }

    fn verify(&mut self) -> Result<()> {
        self.0.verify(&CancelToken::default())
    }

    fn close(&mut self) -> Result<()> {
        self.0.close()
    }
}

struct InProcess(InProcessSpec);

impl Cell for InProcess {
    fn sample(&mut self, repeats: u32) -> Result<CellSample> {
        self.0.repeats = repeats;
        run_in_process(&self.0)
    }

    /// Each sample returns the checksum of its results.
    fn verify(&mut self) -> Result<()> {
        self.sample(1).map(drop)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}
