//! The family `kv`: keys and values over the Redis wire.

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};

use crate::requests::{RequestCell, RequestSpec, runtime};

pub(crate) fn open(spec: &RequestSpec, _cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    runtime()?;
    Err(Error::Unsupported(format!("the family kv has no workload {} yet", spec.workload)))
}
