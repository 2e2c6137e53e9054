//! The rate limit of the REST requests: a number a second, of which a second's worth may come at once after a pause.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const SECOND: u64 = 1_000_000_000;

/// A rate limit that all requests share.
#[derive(Debug)]
pub(crate) struct RateLimit {
    started: Instant,
    /// Nanoseconds between two requests.
    interval: u64,
    /// When the next request is due if every request keeps the interval, in nanoseconds since the start.
    next: AtomicU64,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> Self {
        let interval = SECOND / u64::from(per_second.max(1));
        Self { started: Instant::now(), interval, next: AtomicU64::new(0) }
    }

    /// Whether a request is within the limit now; counts it if so.
    pub(crate) fn admits(&self) -> bool {
        self.admits_at(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn admits_at(&self, now: u64) -> bool {
        let take = |next: u64| {
            let after = next.max(now) + self.interval;
            (after <= now.saturating_add(SECOND)).then_some(after)
        };
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many_requests() {
        let limit = RateLimit::new(4);
        let admitted = |now: u64| (0..10).filter(|_| limit.admits_at(now)).count();
        assert_eq!(admitted(0), 4);
        assert_eq!(admitted(SECOND / 4 - 1), 0);
        assert_eq!(admitted(SECOND / 4), 1);
        assert_eq!(admitted(SECOND * 10), 4);
    }
}
