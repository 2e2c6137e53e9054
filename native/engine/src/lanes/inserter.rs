//! The insert behind every inbound lane. Batches are queued to a thread of their own that gives them to the engine. So making the
//! next batch and storing the last one overlap. If the engine takes batches in less time than it takes to wake a thread, the caller
//! gives them instead.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use tokio::sync::Notify;

use crate::table::TableDefinition;
use crate::{Engine, Ingest, bytes_of};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result, lock};

/// The queued bytes above which [`Inserter::write`] asks its caller to wait.
pub const HIGH_WATER_BYTES: usize = 16 << 20;

/// The queued bytes above which [`Inserter::write`] itself blocks, so that memory stays bounded even if the caller never waits.
pub const LIMIT_BYTES: usize = 64 << 20;

/// An insert into one table. Dropped without [`Inserter::execute`], it leaves nothing.
pub struct Inserter {
    shared: Arc<Shared>,
    giver: Giver,
}

/// The thread or the caller that gives the batches to the engine.
enum Giver {
    /// The insert's own thread, or `None` once it is joined.
    Thread(Mutex<Option<JoinHandle<()>>>),
    /// The engine's insert, driven by the caller. `None` once the insert has ended.
    Caller(Mutex<Option<Box<dyn Ingest>>>),
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Notified whenever the queue shrinks or the insert ends, for callers that wait asynchronously.
    progressed: Notify,
}

#[derive(Default)]
struct State {
    queue: VecDeque<RecordBatch>,
    queued_bytes: usize,
    rows: u64,
    order: Option<Order>,
    outcome: Option<Result<u64>>,
}

impl State {
    /// The result once the engine has taken all queued batches or the insert has ended. `None` before that.
    fn drained(&self) -> Option<Result<()>> {
        match &self.outcome {
            Some(Err(error)) => Some(Err(error.clone())),
            Some(Ok(_)) => Some(Ok(())),
            None => (self.queued_bytes == 0).then_some(Ok(())),
        }
    }
}

/// The order to end the insert.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Execute,
    Abort,
}

impl Order {
    fn carry_out(self, ingest: Box<dyn Ingest>) -> Result<u64> {
        match self {
            Self::Execute => ingest.commit(),
            Self::Abort => ingest.abort().and(Err(Error::Closed("the inserter"))),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the insert, and drops the batches that are left.
    fn end(&self, outcome: Result<u64>) {
        let mut state = self.lock();
        state.queue.clear();
        state.queued_bytes = 0;
        state.outcome = Some(outcome);
        drop(state);
        self.announce();
    }

    fn announce(&self) {
        self.changed.notify_all();
        self.progressed.notify_waiters();
    }

    async fn wait_until<T>(&self, ready: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let progressed = self.progressed.notified();
            tokio::pin!(progressed);
            // The waiter is registered before the state is read, so that no announcement in between is lost.
            progressed.as_mut().enable();
            if let Some(result) = ready(&self.lock()) {
                return result;
            }
            progressed.await;
        }
    }
}

impl Inserter {
    /// Begins an insert. A missing table or other columns are an error of a later call, since an engine may be asked in the
    /// background.
    pub fn begin(engine: Arc<dyn Engine>, table: TableDefinition) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        if engine.takes_batches_at_once() {
            let ingest = catch_panic(|| engine.ingest(&table)).map_err(|error| shared.end(Err(error))).ok();
            return Ok(Self { shared, giver: Giver::Caller(Mutex::new(ingest)) });
        }
        let theirs = Arc::clone(&shared);
        let worker = std::thread::Builder::new()
            .name("bb-insert".to_owned())
            .spawn(move || {
                let outcome = catch_panic(|| ingest(&*engine, &table, &theirs));
                theirs.end(outcome);
            })
            .map_err(|error| Error::Internal(format!("no thread for the insert: {error}")))?;
        Ok(Self { shared, giver: Giver::Thread(Mutex::new(Some(worker))) })
    }

    /// Queues a batch. `false` asks the caller to wait ([`Inserter::drained`]) before it adds more. A caller who does
    /// not wait is blocked here once [`LIMIT_BYTES`] are queued.
    pub fn write(&self, batch: RecordBatch) -> Result<bool> {
        // Locked before the state is read, so that another thread which ends the insert waits for this batch.
        let mut ingest = match &self.giver {
            Giver::Caller(ingest) => Some(lock(ingest)),
            Giver::Thread(_) => None,
        };
        let mut state = self.shared.lock();
        while state.queued_bytes > LIMIT_BYTES && state.outcome.is_none() {
            state = self.shared.wait(state);
        }
        if let Some(Err(error)) = &state.outcome {
            return Err(error.clone());
        }
        if state.order.is_some() || state.outcome.is_some() {
            return Err(Error::Closed("the inserter"));
        }
        state.rows += batch.num_rows() as u64;
        if let Some(ingest) = &mut ingest {
            drop(state);
            self.give(ingest, &batch);
            return Ok(true);
        }
        state.queued_bytes += bytes_of(&batch);
        state.queue.push_back(batch);
        let below = state.queued_bytes <= HIGH_WATER_BYTES;
        drop(state);
        self.shared.changed.notify_all();
        Ok(below)
    }

    /// Gives a batch to the engine. An error ends the insert, and the next call reports it, as it does if a thread gives the batch.
    fn give(&self, ingest: &mut Option<Box<dyn Ingest>>, batch: &RecordBatch) {
        if let Some(Err(error)) = ingest.as_mut().map(|open| catch_panic(|| open.write(batch))) {
            *ingest = None;
            self.shared.end(Err(error));
        }
    }

    /// The number of rows queued so far.
    pub fn rows(&self) -> u64 {
        self.shared.lock().rows
    }

    /// `Ok` if the engine has taken all queued batches, the error that stopped the insert, or `None` while batches are queued.
    pub fn try_drained(&self) -> Option<Result<()>> {
        self.shared.lock().drained()
    }

    /// Waits until the engine has taken all queued batches.
    pub fn drained(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move { shared.wait_until(State::drained).await }
    }

    /// Blocks until the engine has taken all queued batches.
    pub fn drain(&self) -> Result<()> {
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.drained() {
                return result;
            }
            state = self.shared.wait(state);
        }
    }

    /// Publishes every row at once and returns their number.
    ///
    /// # Errors
    /// The error that stopped the insert. Nothing is published then. [`Error::Closed`] the second time.
    pub fn execute(&self) -> Result<u64> {
        self.close(Order::Execute)?;
        self.join();
        self.shared.lock().outcome.clone().unwrap_or(Err(Error::Closed("the inserter")))
    }

    /// Does as [`Inserter::execute`], without blocking the thread. The insert is closed by the call, not by the first
    /// poll, so that no row written after the call is included.
    pub fn execute_async(&self) -> impl Future<Output = Result<u64>> + Send + use<> {
        let closed = self.close(Order::Execute);
        let shared = Arc::clone(&self.shared);
        async move {
            closed?;
            shared.wait_until(|state| state.outcome.clone()).await
        }
    }

    /// Discards every row. Does nothing after the end of the insert.
    pub fn abort(&self) {
        if self.close(Order::Abort).is_ok() {
            self.join();
        }
    }

    /// Does as [`Inserter::abort`], without blocking the thread. The insert is closed by the call.
    pub fn abort_async(&self) -> impl Future<Output = ()> + Send + use<> {
        let closed = self.close(Order::Abort);
        let shared = Arc::clone(&self.shared);
        async move {
            if closed.is_ok() {
                shared.wait_until(|state| state.outcome.as_ref().map(|_| ())).await;
            }
        }
    }

    fn close(&self, order: Order) -> Result<()> {
        let mut state = self.shared.lock();
        if state.order.is_some() {
            return Err(Error::Closed("the inserter"));
        }
        state.order = Some(order);
        drop(state);
        match &self.giver {
            Giver::Thread(_) => self.shared.changed.notify_all(),
            Giver::Caller(ingest) => {
                if let Some(ingest) = lock(ingest).take() {
                    self.shared.end(catch_panic(|| order.carry_out(ingest)));
                }
            }
        }
        Ok(())
    }

    fn join(&self) {
        let Giver::Thread(worker) = &self.giver else { return };
        let worker = lock(worker).take();
        if let Some(worker) = worker {
            // The thread catches panics, so its result is always `Ok`.
            let _ = worker.join();
        }
    }
}

impl Drop for Inserter {
    /// The drop does not wait: a thread sees the order and ends by itself.
    fn drop(&mut self) {
        let _ = self.close(Order::Abort);
    }
}

/// The work of the thread: gives the queued batches to the engine until the order to end.
fn ingest(engine: &dyn Engine, table: &TableDefinition, shared: &Shared) -> Result<u64> {
    let mut ingest = engine.ingest(table)?;
    loop {
        let mut state = shared.lock();
        let batch = loop {
            if state.order == Some(Order::Abort) {
                break None;
            }
            if let Some(batch) = state.queue.pop_front() {
                break Some(batch);
            }
            if state.order == Some(Order::Execute) {
                drop(state);
                return Order::Execute.carry_out(ingest);
            }
            state = shared.wait(state);
        };
        drop(state);
        let Some(batch) = batch else { return Order::Abort.carry_out(ingest) };
        ingest.write(&batch)?;
        let bytes = bytes_of(&batch);
        // The batch is freed before the queue is announced to have shrunk, so that the bound holds for memory, too.
        drop(batch);
        shared.lock().queued_bytes -= bytes;
        shared.announce();
    }
}
