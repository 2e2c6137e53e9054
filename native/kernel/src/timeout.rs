//! The time-out of work that waits, and of calls of gRPC.

use std::time::Duration;

/// Runs `work`, and drops it after `limit`, if there is one. `late` makes the error for that.
pub async fn within<T, E>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, E>>,
    late: impl FnOnce(Duration) -> E,
) -> Result<T, E> {
    let Some(limit) = limit else { return work.await };
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late(limit)))
}

/// The duration in a `grpc-timeout` header: at most eight digits and a unit.
pub fn grpc_time(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}
