//! Work in process whose calls are counted.

use std::hint::black_box;
use std::time::Instant;

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::Error;
use serde::Deserialize;

use crate::sample::CellSample;

/// A cell of such work.
#[derive(Debug, Clone, Deserialize)]
pub struct InProcessSpec {
    /// The name of the family.
    pub family: String,
    /// The workload.
    pub workload: String,
    /// The lane.
    pub lane: String,
    /// The crate that does the work; `None`: code of ours, or Rust's own.
    pub client: Option<String>,
    /// The operations of one call.
    pub batch: u32,
    /// The operations of a sample, a multiple of the batch.
    pub calls: u32,
}

impl InProcessSpec {
    /// The error for a cell that the matrix has, but no code.
    pub(crate) fn unknown(&self) -> Error {
        let Self { family, workload, lane, .. } = self;
        Error::InvalidArgument(format!("the family {family} has no workload {workload} on the lane {lane} in Rust"))
    }
}

#[cfg(test)]
impl InProcessSpec {
    /// A cell of a family, by its workload and its lane.
    pub(crate) fn of([family, workload, lane]: [&str; 3], batch: u32, calls: u32) -> Self {
        let [family, workload, lane] = [family, workload, lane].map(str::to_owned);
        Self { family, workload, lane, client: None, batch, calls }
    }
}

/// The sum of the results of a sample's calls.
#[cfg(test)]
pub(crate) fn result_of(sample: &CellSample) -> f64 {
    let Some(ChecksumSum::Float(sum)) = sample.checksum.sums.get("result") else { panic!("no sum") };
    sum
}

/// Executes so many calls one after the other. The sum of their results is used, so that no call can be left out.
pub(crate) fn timed(calls: u32, mut call: impl FnMut(u32) -> f64) -> CellSample {
    timed_once(calls, || (0..calls).map(&mut call).sum())
}

/// Executes work that makes so many calls by itself, and returns the sum of their results.
pub(crate) fn timed_once(calls: u32, work: impl FnOnce() -> f64) -> CellSample {
    let start = Instant::now();
    let sum = black_box(work());
    CellSample::new(start.elapsed().as_secs_f64(), None, checksum(calls, sum))
}

/// The checksum of so many calls whose results have this sum.
pub(crate) fn checksum(calls: u32, sum: f64) -> Checksum {
    Checksum::from_sums(u64::from(calls), [("result", ChecksumSum::Float(sum))])
}
