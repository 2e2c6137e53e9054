//! Bounds on blocking work. An async runtime has a few hundred threads for it in total. Of each kind of work, a limited number of
//! pieces runs at a time, a limited number waits, and further pieces are refused. So one kind of calls can't block the others, no
//! matter what its clients do.

use std::fmt::{Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::error::catch_panic;
use crate::{Error, Result};

/// The most items that a thread makes in one turn before it yields to other work, however fast its reader is.
const MOST_OF_A_TURN: usize = 64;

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
    /// The number of pieces of work that were ended because their readers took no items.
    stalled: AtomicU64,
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
            stalled: AtomicU64::new(0),
        }))
    }

    /// Takes a place for a piece of work. The place is held until it is dropped and the work has ended.
    pub fn admit(&self) -> std::result::Result<WorkPermit, Full> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        let place = place.map_err(|_| Full { what: self.0.what, most: self.0.most_places })?;
        Ok(WorkPermit { bounds: Arc::clone(&self.0), place: Arc::new(place) })
    }

    /// The number of places taken.
    pub fn taken(&self) -> usize {
        self.0.most_places - self.0.places.available_permits()
    }

    /// The number of pieces of work that were ended because their readers took no items.
    pub fn stalled(&self) -> u64 {
        self.0.stalled.load(Ordering::Relaxed)
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
        let done = tokio::task::spawn_blocking(move || {
            // The work continues if its caller drops this future, and holds its thread and place until it ends.
            let _held = (thread, place);
            catch_panic(work)
        });
        done.await.map_err(|error| Error::Internal(error.to_string())).flatten()
    }

    /// Counts this work as ended because its reader took no items.
    pub fn note_stalled(&self) {
        self.bounds.stalled.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends the items that `next` makes on a thread that may block, until it returns `None`. Items are made only while there is room
    /// for them. A reader that takes none holds no thread. After `patience` without taking one it gets an error as the last item.
    pub fn produce<T: Send + 'static>(
        self,
        room: usize,
        patience: Duration,
        next: impl FnMut() -> Option<Result<T>> + Send + 'static,
    ) -> mpsc::Receiver<Result<T>> {
        // The channel has one more slot, reserved for an error.
        let (sender, receiver) = mpsc::channel(room + 1);
        tokio::spawn(async move {
            let Ok(last) = sender.clone().reserve_owned().await else { return };
            if let Err(error) = self.feed(&sender, room, patience, next).await {
                last.send(Err(error));
            }
        });
        receiver
    }

    async fn feed<T: Send + 'static>(
        &self,
        sender: &mpsc::Sender<Result<T>>,
        room: usize,
        patience: Duration,
        mut next: impl FnMut() -> Option<Result<T>> + Send + 'static,
    ) -> Result<()> {
        loop {
            // Half of the room must be free, since a single item is not worth a thread.
            let waited = self.wait_for_room(sender, room.div_ceil(2), patience).await;
            if !matches!(waited, Ok(true)) {
                // The drop of `next` may block.
                return self
                    .run(move || {
                        drop(next);
                        waited.map(drop)
                    })
                    .await;
            }
            let theirs = sender.clone();
            let turn = move || {
                for _ in 0..MOST_OF_A_TURN {
                    let Ok(place) = theirs.try_reserve() else { break };
                    match next().transpose()? {
                        Some(item) => place.send(Ok(item)),
                        None => return Ok(None),
                    }
                }
                Ok(Some(next))
            };
            match self.run(turn).await? {
                Some(more) => next = more,
                None => return Ok(()),
            }
        }
    }

    /// Waits for room. Returns `false` if the reader was dropped.
    async fn wait_for_room<T>(
        &self,
        sender: &mpsc::Sender<Result<T>>,
        room: usize,
        patience: Duration,
    ) -> Result<bool> {
        loop {
            let free = sender.capacity();
            let waited = timeout(patience, sender.reserve_many(room)).await.map(|room| room.is_ok());
            match waited {
                Ok(is_read) => return Ok(is_read),
                Err(_) if sender.capacity() > free => {}
                Err(_) => {
                    self.note_stalled();
                    return Err(stalled_reader(patience));
                }
            }
        }
    }
}

/// The error for a reader that takes nothing of a response for too long.
pub fn stalled_reader(patience: Duration) -> Error {
    Error::Timeout(format!(
        "nothing of the answer was read for {} s, which is the server's limit; read on sooner, or raise it (--stall-timeout)",
        patience.as_secs_f64()
    ))
}

/// The error for a sender that sends nothing for too long.
pub fn stalled_sender(patience: Duration) -> Error {
    Error::Timeout(format!(
        "nothing of the call came for {} s, which is the server's limit; send on sooner, or raise it (--stall-timeout)",
        patience.as_secs_f64()
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        // The runtime has fewer threads than there are pieces of work.
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).max_blocking_threads(2).enable_time().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn what_has_no_place_is_refused_until_some_have_ended() {
        block_on(async {
            let workers = Workers::new("tests", 1, 2);
            let (first, second) = (workers.admit().unwrap(), workers.admit().unwrap());
            let full = workers.admit().unwrap_err();
            assert_eq!(full.to_string(), "2 tests are under way, which is the limit; try again when some have ended");
            let (ends, end) = std::sync::mpsc::channel::<()>();
            // A caller that drops its future leaves its work behind. The work keeps its place and its thread.
            let given_up = first.run(move || Ok(end.recv()));
            assert!(timeout(Duration::from_millis(50), given_up).await.is_err());
            drop(first);
            assert_eq!(workers.taken(), 2);
            assert!(timeout(Duration::from_millis(50), second.run(|| Ok(()))).await.is_err());
            drop(ends);
            second.run(|| Ok(())).await.unwrap();
            while workers.taken() > 1 {
                tokio::task::yield_now().await;
            }
            let third = workers.admit().unwrap();
            let panicked = third.run(|| -> Result<()> { panic!("on purpose") }).await.unwrap_err();
            assert_eq!(panicked.code(), "BB_INTERNAL");
        });
    }

    #[test]
    fn readers_that_take_nothing_hold_no_thread() {
        block_on(async {
            let workers = Workers::new("tests", 2, 1000);
            let made = Arc::new(AtomicUsize::new(0));
            let count_to = |end: usize| {
                let (made, mut next) = (Arc::clone(&made), 0..end);
                move || {
                    made.fetch_add(1, Ordering::Relaxed);
                    next.next().map(Ok)
                }
            };
            let unread: Vec<_> = (0..600).map(|_| workers.admit().unwrap().produce(4, LONG, count_to(1000))).collect();
            let mut read = workers.admit().unwrap().produce(4, LONG, count_to(1000));
            for expected in 0..1000 {
                assert_eq!(read.recv().await.unwrap().unwrap(), expected);
            }
            assert!(read.recv().await.is_none());
            assert!(made.load(Ordering::Relaxed) <= 600 * 4 + 1001);
            drop(unread);
            while workers.taken() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(workers.stalled(), 0);
        });
    }

    #[test]
    fn a_reader_that_takes_nothing_for_long_finds_an_error_and_a_slow_one_finds_all() {
        block_on(async {
            let patience = Duration::from_millis(200);
            let workers = Workers::new("tests", 2, 1000);
            let endless = || Some(Ok(7));
            let mut stalled = workers.admit().unwrap().produce(4, patience, endless);
            let mut slow = workers.admit().unwrap().produce(8, patience, endless);
            let mut failing = workers.admit().unwrap().produce(4, patience, || Some(Err::<u8, _>(Error::Cancelled)));
            // The reading takes far longer than `patience` in total, but no single wait does.
            for _ in 0..20 {
                assert_eq!(slow.recv().await.unwrap().unwrap(), 7);
                tokio::time::sleep(patience / 5).await;
            }
            while workers.stalled() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            for _ in 0..4 {
                assert_eq!(stalled.recv().await.unwrap().unwrap(), 7);
            }
            let error = stalled.recv().await.unwrap().unwrap_err();
            assert_eq!(error.code(), "BB_TIMEOUT");
            assert!(error.to_string().contains("--stall-timeout"), "{error}");
            assert!(stalled.recv().await.is_none());
            assert_eq!(failing.recv().await.unwrap().unwrap_err().code(), "BB_ABORTED");
            assert!(failing.recv().await.is_none());
        });
    }
}
