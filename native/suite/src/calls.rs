//! Work in process whose calls are counted.

use std::hint::black_box;
use std::time::Instant;

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::used::Reading;
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
    /// The crate that does the work. `None`: code of ours, or Rust's own.
    pub client: Option<String>,
    /// The operations of one call.
    pub batch: u32,
    /// The operations of an execution, a multiple of the batch.
    pub calls: u32,
    /// The number of executions within the timed part, one after the other. 0 is taken for 1.
    #[serde(default)]
    pub repeats: u32,
}

/// The number of calls of an execution, and of executions of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The calls of an execution.
    pub(crate) calls: u32,
    /// The executions.
    pub(crate) repeats: u32,
}

impl InProcessSpec {
    /// How often the work of a sample is done.
    pub(crate) fn times(&self) -> Times {
        Times { calls: self.calls, repeats: self.repeats.max(1) }
    }

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
        Self { family, workload, lane, client: None, batch, calls, repeats: 1 }
    }
}

/// The sum of the results of a sample's calls.
#[cfg(test)]
pub(crate) fn result_of(sample: &CellSample) -> f64 {
    let Some(ChecksumSum::Float(sum)) = sample.checksum.sums.get("result") else { panic!("no sum") };
    sum
}

/// Executes `times.calls` calls one after the other. The sum of their results is used, so that no call can be left out.
pub(crate) fn timed(times: Times, mut call: impl FnMut(u32) -> f64) -> CellSample {
    timed_work(times, || (0..times.calls).map(&mut call).sum())
}

/// Executes work that makes `calls` calls by itself and returns the sum of their results. The time of the sample is the time of all
/// executions together, and its checksum is the checksum of one execution. If the executions disagree, it is the checksum of the last
/// execution that differs from the first.
pub(crate) fn timed_work(Times { calls, repeats }: Times, mut work: impl FnMut() -> f64) -> CellSample {
    let before = Reading::before();
    let start = Instant::now();
    let first = black_box(work());
    let mut other = first;
    for _ in 1..repeats {
        let sum = black_box(work());
        if sum.to_bits() != first.to_bits() {
            other = sum;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let used = Reading::after().since(&before, seconds);
    CellSample::new(seconds, used, checksum(calls, other))
}

/// Hides from the compiler what an integer is, at no cost: else it would find a closed form of a loop. No engine of JavaScript looks for
/// one.
#[inline]
pub(crate) fn opaque(value: i64) -> i64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = value;
        // SAFETY: there is no instruction: the register keeps its value, and nothing else is read or written.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    black_box(value)
}

/// The checksum of `calls` calls whose results have this sum.
pub(crate) fn checksum(calls: u32, sum: f64) -> Checksum {
    Checksum::from_sums(u64::from(calls), [("result", ChecksumSum::Float(sum))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_time_of_all_executions_and_the_checksum_of_one() {
        let mut executions = 0;
        let sample = timed_work(Times { calls: 3, repeats: 5 }, || {
            executions += 1;
            std::thread::sleep(std::time::Duration::from_millis(2));
            7.0
        });
        assert_eq!(executions, 5);
        assert!(sample.seconds >= 0.01, "{}", sample.seconds);
        assert_eq!((sample.checksum.rows, result_of(&sample).to_bits()), (3, 7_f64.to_bits()));
    }

    #[test]
    fn an_execution_that_disagrees_is_noticed_wherever_it_is() {
        for odd in 0..4 {
            let mut execution = 0;
            let sample = timed_work(Times { calls: 1, repeats: 4 }, || {
                execution += 1;
                if execution - 1 == odd { 8.0 } else { 7.0 }
            });
            let expected: f64 = if odd == 0 { 7.0 } else { 8.0 };
            // The first one that is wrong by itself makes all others unlike it.
            assert_eq!(result_of(&sample).to_bits(), expected.to_bits(), "{odd}");
        }
    }
}
