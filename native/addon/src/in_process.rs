//! Cells of the side `rust` whose work is in process.

use boundary_bench_kernel::Error;
use boundary_bench_suite::{InProcessSpec, run_in_process as run};
use napi_derive::napi;

use crate::errors::{invalid, js};

/// Executes a cell once within Rust. Takes `{family, workload, lane, client, batch, calls}` as JSON, and returns the sample as
/// JSON. Blocks.
#[napi(catch_unwind)]
pub fn run_in_process(spec: String) -> napi::Result<String> {
    let spec: InProcessSpec =
        serde_json::from_str(&spec).map_err(|error| invalid(format!("the cell is unreadable: {error}")))?;
    let sample = run(&spec).map_err(js)?;
    serde_json::to_string(&sample).map_err(|error| js(Error::Internal(error.to_string())))
}
