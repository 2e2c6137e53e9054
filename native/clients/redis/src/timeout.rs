//! The time-out of a call.

use std::time::Duration;

use boundary_bench_kernel::{Error, Result};

/// Runs `work` with a time-out, if there is one.
pub(crate) async fn within<T>(timeout: Option<Duration>, work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout {
        None => work.await,
        Some(timeout) => match tokio::time::timeout(timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(Error::Timeout(format!(
                "the Redis server did not answer within {} ms; what was sent may have been executed or not",
                timeout.as_millis()
            ))),
        },
    }
}
