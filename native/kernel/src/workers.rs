//! Bounds on blocking work of one kind: a limited number of pieces runs at a time, a limited number waits, and further pieces are
//! refused. So one kind of calls can't take all threads of a runtime.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::runtime::blocking;
use crate::{Error, Result};

/// The bounds of one kind of work.
#[derive(Debug, Clone)]
pub struct Workers(Arc<Bounds>);

#[derive(Debug)]
struct Bounds {
    /// The name of the work in errors, in the plural.
    what: &'static str,
    threads: Arc<Semaphore>,
    places: Arc<Semaphore>,
    most_places: usize,
}

/// The error for work beyond the bounds of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Full {
    what: &'static str,
    most: usize,
}

impl Display for Full {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{} {} are under way, which is the limit; try again when some have ended",
            self.most, self.what
        )
    }
}

impl std::error::Error for Full {}

impl Workers {
    /// The bounds of work that errors call `what`: it has this many threads, and this many places for work that runs or
    /// waits.
    pub fn new(what: &'static str, threads: usize, places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Bounds {
            what,
            threads: Arc::new(Semaphore::new(threads.min(Semaphore::MAX_PERMITS))),
            places: Arc::new(Semaphore::new(places)),
            most_places: places,
        }))
    }

    /// Takes a place for a piece of work. The place is held until it is dropped and the work has ended.
    pub fn admit(&self) -> std::result::Result<WorkPermit, Full> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        let place = place.map_err(|_| Full { what: self.0.what, most: self.0.most_places })?;
        Ok(WorkPermit { bounds: Arc::clone(&self.0), place: Arc::new(place) })
    }
}

/// A place for a piece of work.
#[derive(Debug)]
pub struct WorkPermit {
    bounds: Arc<Bounds>,
    place: Arc<OwnedSemaphorePermit>,
}

impl WorkPermit {
    /// Runs `work` on a thread that may block, once one is free for it. A panic becomes an error.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let thread = Arc::clone(&self.bounds.threads).acquire_owned().await;
        let thread = thread.map_err(|error| Error::Internal(error.to_string()))?;
        let place = Arc::clone(&self.place);
        let work = move || {
            // The work continues if its caller drops this future, and holds its thread and place until it ends.
            let _held = (thread, place);
            work()
        };
        blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn what_has_no_place_is_refused_until_some_have_ended() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let workers = Workers::new("tests", 1, 2);
            let (first, second) = (workers.admit().unwrap(), workers.admit().unwrap());
            let full = workers.admit().unwrap_err();
            assert_eq!(full.to_string(), "2 tests are under way, which is the limit; try again when some have ended");
            let (ends, end) = std::sync::mpsc::channel::<()>();
            // A caller that drops its future leaves its work behind. The work keeps its place and its thread.
            let given_up = first.run(move || Ok(end.recv()));
            assert!(timeout(Duration::from_millis(50), given_up).await.is_err());
            drop(first);
            assert!(workers.admit().is_err());
            assert!(timeout(Duration::from_millis(50), second.run(|| Ok(()))).await.is_err());
            drop(ends);
            second.run(|| Ok(())).await.unwrap();
            let panicked = second.run(|| -> Result<()> { panic!("on purpose") }).await.unwrap_err();
            assert_eq!(panicked.code(), "BB_INTERNAL");
            while workers.admit().is_err() {
                tokio::task::yield_now().await;
            }
        });
    }
}
