use boundary_bench_kernel::Result;

use crate::calls::InProcessSpec;
use crate::sample::CellSample;

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    Err(spec.unknown())
}
