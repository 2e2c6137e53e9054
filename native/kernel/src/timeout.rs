//! The time-out of work that waits.

use std::time::Duration;

/// Runs `work`, which is dropped after `limit`, if there is one; `late` makes the error of that.
///
/// # Errors
/// The errors of the work, and that of `late`.
pub async fn within<T, E>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, E>>,
    late: impl FnOnce(Duration) -> E,
) -> Result<T, E> {
    let Some(limit) = limit else { return work.await };
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late(limit)))
}
