//! Rows filtered by `age > 18 AND active = TRUE`: by napi-rs, a row or an array of rows per call, and columns in the caller's memory.

use std::sync::LazyLock;

use boundary_bench_node::host::errors::invalid;
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::typed_memory::{BYTES, slice_of};
use boundary_bench_suite::codec::filter::{Column, Expression, Value};
use napi::bindgen_prelude::{Array, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use super::rows::objects_of;

static EXPRESSION: LazyLock<Expression> = LazyLock::new(Expression::of_the_family);

/// The columns of a row that the expression names.
#[napi(object, namespace = "codec")]
pub struct FilterRow {
    pub age: i32,
    pub active: bool,
}

/// Whether a row matches.
#[napi(namespace = "codec", catch_unwind)]
pub fn row_matches(age: i32, active: bool) -> bool {
    EXPRESSION.matches(&[Value::Integer(age), Value::Truth(active)])
}

/// The number of rows that match.
#[napi(namespace = "codec", catch_unwind, ts_args_type = "rows: ReadonlyArray<codec.FilterRow>")]
pub fn count_matching_rows(rows: Array<'_>) -> napi::Result<u32> {
    let matching =
        objects_of(&rows)?.map(|row| row.map(|FilterRow { age, active }| u32::from(row_matches(age, active))));
    matching.sum()
}

const AGES: &str = "an Int32Array of ages";

/// Counts the rows of columns.
struct CountColumns;

impl FastCall<2> for CountColumns {
    fn call(&self, env: Env, [ages, active]: [sys::napi_value; 2]) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return, and nothing is written.
        let (ages, active) = unsafe { (slice_of(env, ages, AGES)?, slice_of(env, active, BYTES)?) };
        if ages.len() != active.len() {
            return Err(invalid(format!("the columns have {} and {} rows", ages.len(), active.len())));
        }
        Ok(EXPRESSION.count(&[Column::Integers(ages), Column::Truths(active)]) as f64)
    }
}

/// Returns a function that returns the number of rows that match, of columns of the same length. Each byte of `active` but 0 is TRUE.
#[napi(namespace = "codec", catch_unwind, ts_return_type = "(ages: Int32Array, active: Uint8Array) => number")]
pub fn column_filter(env: &Env) -> napi::Result<Unknown<'_>> {
    function(env, "countMatching", CountColumns)
}
