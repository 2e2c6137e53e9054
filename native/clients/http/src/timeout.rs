//! The time-out of a call.

use std::time::Duration;

use boundary_bench_kernel::{Error, Result};

/// Runs `work` with a time-out, if there is one.
pub(crate) async fn within<T>(timeout: Option<Duration>, work: impl Future<Output = Result<T>>) -> Result<T> {
    let Some(timeout) = timeout else { return work.await };
    tokio::time::timeout(timeout, work)
        .await
        .unwrap_or_else(|_| Err(Error::Timeout(format!("the server did not answer within {} ms", timeout.as_millis()))))
}
