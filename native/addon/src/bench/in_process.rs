//! Cells of the side `rust` whose work is in process.

use boundary_bench_suite::run_in_process as run;
use napi_derive::napi;

use crate::bench::suite::parse;
use crate::host::errors::js;
use crate::memory::json::to_json;

/// Executes a cell within Rust, `repeats` times one after the other. Takes `{family, workload, lane, client, batch, calls, repeats?}`
/// as JSON, and returns the sample as JSON: the time of all executions together, and the checksum of one. Blocks.
#[napi(catch_unwind)]
pub fn run_in_process(spec: String) -> napi::Result<String> {
    parse(&spec).and_then(|spec| to_json(&run(&spec)?)).map_err(js)
}
