//! JSON.

use boundary_bench_kernel::{Error, Result};
use serde::Serialize;

/// A value as JSON text.
pub fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))
}
