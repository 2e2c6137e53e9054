//! The family `codec`: work on values in process, within Rust. The addon calls the same functions.

pub mod filter;
pub mod formats;
pub mod parser;
pub mod row_format;
pub mod rows;
pub mod tree;

use boundary_bench_kernel::Result;

use crate::boundary::ends;
use crate::calls::InProcessSpec;
use crate::sample::CellSample;

/// The sum of a length with the first and the last character or byte.
fn extent(bytes: &[u8]) -> f64 {
    bytes.len() as f64 + f64::from(ends(bytes))
}

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    match spec.workload.split('.').next() {
        Some("parse") => parser::run(spec),
        Some("row_encode" | "row_decode") => rows::run(spec),
        Some("filter") => filter::run(spec),
        Some("tree_get" | "tree_range" | "tree_insert") => tree::run(spec),
        _ => formats::run(spec),
    }
}
