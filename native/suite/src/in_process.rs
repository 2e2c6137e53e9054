//! The families whose work is in process, and whose calls are counted. None depends on this module.

use boundary_bench_kernel::Result;

use crate::calls::InProcessSpec;
use crate::sample::CellSample;
use crate::{boundary, codec};

/// Executes a cell within Rust as often as it says. Returns the time of all executions together, and the sum of the results of the
/// calls of one.
pub fn run_in_process(spec: &InProcessSpec) -> Result<CellSample> {
    match spec.family.as_str() {
        "boundary" => boundary::run_floor(spec),
        "codec" => codec::run(spec),
        _ => Err(spec.unknown()),
    }
}
