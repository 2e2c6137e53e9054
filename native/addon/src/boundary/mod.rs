//! The functions of the family `boundary`: the same ones by napi-rs as everyone uses it, and by Node-API called by hand.
//! `boundary_bench_suite::boundary` has their work.

mod by_event_loop;
mod by_ffi;
mod by_napi_rs;
mod by_node_api;

use boundary_bench_kernel::Error;
use boundary_bench_suite::boundary;
use napi_derive::napi;

use crate::errors::js;

/// Executes the calls of a workload within Rust, and returns the sample as JSON. Blocks.
#[napi(catch_unwind)]
pub fn run_boundary_floor(workload: String, lane: String, calls: u32) -> napi::Result<String> {
    let sample = boundary::run_floor(&workload, &lane, calls).map_err(js)?;
    serde_json::to_string(&sample).map_err(|error| js(Error::Internal(error.to_string())))
}
