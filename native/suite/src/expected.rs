//! The checksum that every execution of a cell must return, in closed form.

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_engine::measurements::{expected_aggregation, expected_all, expected_filtered};
use boundary_bench_kernel::Result;

use crate::dimensions::Workload;
use crate::spec::CellSpec;
use crate::tables::worker_ranges;

/// The expected checksum of a cell: the sum of its workers' checksums.
pub fn expected(spec: &CellSpec) -> Result<Checksum> {
    let of_range = match spec.workload {
        Workload::InsertBulk | Workload::QueryFullScan => expected_all,
        Workload::QueryFiltered => expected_filtered,
        Workload::QueryAggregation => expected_aggregation,
    };
    let ranges = worker_ranges(0, spec.rows, spec.workers)?;
    crate::sample::merge(ranges.into_iter().map(of_range))
}
