//! The family `ingest` in this process: the stages that a body of points goes through, batch by batch.
//!
//! Point `i` of the input has the value `i` thousandths, and its time is `i` milliseconds after the first, in one series and one field.
//! A few dozen batches of different points are taken in turn: a single batch would measure caches of numbers that no
//! application hits. Each batch is timed by itself, as `tinybench` times it on the other sides, and its result is summed,
//! untimed.

mod points_query;
pub mod soak;
mod soak_cell;
mod soak_client;
#[cfg(feature = "all")]
mod stages;

#[cfg(feature = "all")]
use std::collections::BTreeMap;

use boundary_bench_kernel::Result;
use serde::Deserialize;

pub(crate) use self::soak_cell::open;
#[cfg(feature = "all")]
pub use self::stages::{InputBatch, NativeStage, Stage, StageCell, StageSpec};
use crate::matrix::FamilyPart;

/// The family `ingest` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    /// The time of the first point, in milliseconds.
    timestamp_start: i64,
    /// The divisor of a point's index that gives its value.
    value_divisor: u32,
    /// The name of the points' measurement.
    #[cfg(feature = "all")]
    measurement: String,
    /// The tags of the points' series.
    #[cfg(feature = "all")]
    tags: BTreeMap<String, String>,
    /// The name of the points' field.
    field: String,
}

fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("ingest");
    FAMILY.get()
}

/// The most points of a batch: servers take no more.
const MOST_BATCH: u32 = 500_000;

/// The memory of a buffer. It grows to at least `needed` bytes.
fn room(memory: &mut Vec<u8>, needed: usize) -> &mut [u8] {
    if memory.len() < needed {
        memory.resize(needed, 0);
    }
    memory
}
