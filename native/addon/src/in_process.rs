//! Cells of the side `rust` whose work is in process.

use boundary_bench_suite::run_in_process as run;
use napi_derive::napi;

use crate::errors::js;
use crate::json::to_json;
use crate::suite::parse;

/// Executes a cell once within Rust. Takes `{family, workload, lane, client, batch, calls}` as JSON, and returns the sample as
/// JSON. Blocks.
#[napi(catch_unwind)]
pub fn run_in_process(spec: String) -> napi::Result<String> {
    parse(&spec).and_then(|spec| to_json(&run(&spec)?)).map_err(js)
}
