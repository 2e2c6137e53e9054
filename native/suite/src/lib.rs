//! The workloads of Boundary Bench in pure Rust: the baseline that all other sides are compared with.
//!
//! A cell is one workload on one lane, in one flavour, with one or more workers ([`CellSpec`]). [`run_cell`] executes
//! it once and returns the time and the checksum of the rows read or written, to be compared with [`expected`]. The
//! tables of queries are prepared once by [`load`]. An insert makes and drops its own.
//!
//! Request work (small requests to a real server) has cells of its own ([`requests`]). [`registry`] opens them by family.
//!
//! The suite depends on engines only through their trait, and not on JavaScript.

#[cfg(feature = "all")]
mod arrow_flight_crate;
mod batch_rows;
pub mod boundary;
mod calls;
pub mod codec;
mod dimensions;
#[cfg(feature = "all")]
mod duckdb_crate;
mod expected;
#[cfg(feature = "all")]
mod hybrid;
#[cfg(feature = "all")]
pub mod hyperdb_api_crate;
mod in_process;
pub mod ingest;
mod insert;
mod kept;
mod kv;
mod matrix;
mod measurements;
mod own_query;
mod query;
pub mod registry;
pub mod requests;
mod rest;
mod row_check;
mod sample;
mod spec;
mod sql;
mod tables;
mod target;
mod warm_thread;
mod workers;

use std::sync::Arc;

use boundary_bench_engine::Engine;
use boundary_bench_kernel::{Error, Result};

pub use calls::InProcessSpec;
pub use dimensions::{Client, Flavor, Lane, Workload};
pub use expected::expected;
pub use in_process::run_in_process;
pub use own_query::read_query;
pub use sample::CellSample;
pub use spec::CellSpec;
pub use tables::{load, load_missing, table_names, unload, worker_ranges};
pub use target::{PrivateTarget, TargetInfo, TargetKind};
pub use warm_thread::WarmThread;

/// Executes a cell once.
///
/// The timed part of an insert is from opening the inserter to the end of `execute`, without making the input. The timed
/// part of a query is from starting it until its last value is consumed. With several workers, it is from their common
/// start until the end of the last one.
pub fn run_cell(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<CellSample> {
    spec.validate()?;
    run(engine, spec, false)
}

/// Executes a cell once. With `verify`, an insert checks each row that it stored.
fn run(engine: &Arc<dyn Engine>, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    match (spec.client, spec.workload) {
        #[cfg(feature = "all")]
        (Some(Client::HyperdbApi), _) => hyperdb_api_crate::run(engine, spec, verify),
        #[cfg(feature = "all")]
        (Some(Client::Duckdb), _) => duckdb_crate::run(engine, spec, verify),
        #[cfg(feature = "all")]
        (Some(Client::ArrowFlight), _) => arrow_flight_crate::run(engine, spec, verify),
        #[cfg(not(feature = "all"))]
        (Some(_), _) => Err(without_references()),
        (None, Workload::InsertBulk) => insert::run(engine, spec, verify),
        (None, _) => query::run(engine, spec),
    }
}

/// Executes a cell once, untimed, and checks each row that it read or stored. A sample's checksum does not show that rows have
/// exchanged values, or that one row came twice instead of others.
pub fn verify_cell(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<()> {
    spec.validate()?;
    if spec.workload == Workload::InsertBulk {
        return run(engine, spec, true).map(drop);
    }
    match spec.client {
        #[cfg(feature = "all")]
        Some(Client::HyperdbApi) => hyperdb_api_crate::verify(engine, spec),
        #[cfg(feature = "all")]
        Some(Client::Duckdb) => duckdb_crate::verify(engine, spec),
        #[cfg(feature = "all")]
        Some(Client::ArrowFlight) => arrow_flight_crate::verify(engine, spec),
        #[cfg(not(feature = "all"))]
        Some(_) => Err(without_references()),
        None => query::verify(engine, spec),
    }
}

/// The error of a cell of a client that is not in this build.
fn without_references() -> Error {
    Error::Unsupported("this build is without the clients of others: npm run build:all".to_owned())
}
