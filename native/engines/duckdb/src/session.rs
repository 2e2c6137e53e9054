//! A session: a connection that calls share, so that what one of them sets is there for the next. Calls take turns on it. A result that
//! is being read does not hold up the next call: its rest is read into memory then. The turns come in the order of the tickets.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::ffi::{Connection, Database};
use super::stream::EmbeddedStream;
use boundary_bench_engine::BatchStream;
use boundary_bench_engine::table::Column;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result, lock};

/// The time after which a call that waits for its turn looks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(5);

/// A session, whose connection is made by the first call that needs it.
pub(super) struct Session {
    database: Arc<Database>,
    exists: AtomicBool,
    /// The number of calls that may have changed what a plan depends on, such as a setting.
    changes: AtomicU64,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// Whether a call has the turn.
    is_taken: bool,
    /// The number of the next ticket.
    next_ticket: u64,
    /// The tickets of the calls that have not ended their turn, and do not go without one.
    tickets: BTreeSet<u64>,
    /// The result that is being read from the connection.
    open: Weak<OpenResult>,
}

impl Session {
    pub(super) fn new(database: Arc<Database>) -> Arc<Self> {
        Arc::new(Self {
            database,
            exists: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            state: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    /// Whether a call has needed the session, so that all calls use it from then on.
    pub(super) fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Forgets the connection. It ends with the calls that use it.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        self.exists.store(false, Ordering::Release);
        let connection = state.connection.take();
        state.open = Weak::new();
        drop(state);
        drop(connection);
    }

    /// The number of calls until now that may have changed what a plan depends on.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Notes that a call may have changed what a plan depends on.
    pub(super) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// A place in the order of the calls, behind all that have one already.
    pub(super) fn ticket(self: &Arc<Self>) -> Ticket {
        let mut state = lock(&self.state);
        let number = state.next_ticket;
        state.next_ticket += 1;
        state.tickets.insert(number);
        Ticket { session: Arc::clone(self), number }
    }

    /// Waits for the turn of the caller, behind all calls that have a ticket.
    pub(super) fn turn(self: &Arc<Self>, cancel: &CancelToken) -> Result<Turn> {
        self.ticket().turn(cancel)
    }
}

/// A place in the order of a session's calls. Its drop gives it up.
pub(super) struct Ticket {
    session: Arc<Session>,
    number: u64,
}

impl Ticket {
    /// Waits until no earlier call can still begin something.
    fn wait(&self, until_free: bool, cancel: &CancelToken) -> Result<MutexGuard<'_, State>> {
        let mut state = lock(&self.session.state);
        while (until_free && state.is_taken) || state.tickets.first() != Some(&self.number) {
            cancel.check()?;
            state = self.session.freed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        cancel.check()?;
        Ok(state)
    }

    /// Whether an earlier call has begun the session.
    pub(super) fn finds_session(&self, cancel: &CancelToken) -> Result<bool> {
        // If there is a session, earlier calls need not be waited for twice.
        Ok(self.session.exists() || self.wait(false, cancel).map(|_| self.session.exists())?)
    }

    /// Waits for the turn of the caller, until when the result of an earlier call is read to its end.
    pub(super) fn turn(self, cancel: &CancelToken) -> Result<Turn> {
        let session = Arc::clone(&self.session);
        let mut state = self.wait(true, cancel)?;
        let connection = match &state.connection {
            Some(connection) => connection.clone(),
            None => state.connection.insert(session.database.connect()?).clone(),
        };
        session.exists.store(true, Ordering::Release);
        state.is_taken = true;
        let open = std::mem::take(&mut state.open).upgrade();
        drop(state);
        let turn = Turn { ticket: Some(self), session, connection };
        if let Some(open) = open
            && let Err(error) = open.settle(cancel)
        {
            lock(&turn.session.state).open = Arc::downgrade(&open);
            return Err(error);
        }
        Ok(turn)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.session.state).tickets.remove(&self.number);
        self.session.freed.notify_all();
    }
}

/// The right to use the connection of a session alone. It ends with the drop.
pub(super) struct Turn {
    // Dropped after the turn has ended.
    ticket: Option<Ticket>,
    session: Arc<Session>,
    connection: Connection,
}

impl Turn {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends the turn, and keeps the caller's place before all later calls.
    pub(super) fn keep_place(mut self) -> Option<Ticket> {
        self.ticket.take()
    }

    /// Ends the turn, while the result of its query may still be read from the connection.
    pub(super) fn lend(self, stream: EmbeddedStream) -> SessionStream {
        let (columns, schema) = (stream.columns().to_vec(), stream.schema());
        let result = Arc::new(OpenResult {
            stream: Mutex::new(Some(stream)),
            is_settled: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            is_gathered: AtomicBool::new(false),
        });
        lock(&self.session.state).open = Arc::downgrade(&result);
        SessionStream { columns, schema, result }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.session.state).is_taken = false;
        self.session.freed.notify_all();
    }
}

/// A result on the connection of a session.
struct OpenResult {
    /// The result, or `None` once nobody reads it.
    stream: Mutex<Option<EmbeddedStream>>,
    /// Whether the connection is not needed any more.
    is_settled: AtomicBool,
    /// Whether nobody reads the result.
    is_left: AtomicBool,
    /// Whether a thread gathers the rest of the result.
    is_gathered: AtomicBool,
}

impl OpenResult {
    /// Waits until the connection is not needed any more. The rest of the result is gathered by a thread of its own, so that the wait
    /// can be cancelled.
    fn settle(self: &Arc<Self>, cancel: &CancelToken) -> Result<()> {
        if let Ok(stream) = self.stream.try_lock()
            && stream.as_ref().is_none_or(EmbeddedStream::has_ended)
        {
            return Ok(());
        }
        if !self.is_gathered.swap(true, Ordering::AcqRel) {
            let theirs = Arc::clone(self);
            let gathering = std::thread::Builder::new().name("bb-gather".to_owned()).spawn(move || {
                // An error is told to the reader of the result.
                let _ = catch_panic(|| {
                    theirs.gather();
                    Ok(())
                });
                theirs.is_settled.store(true, Ordering::Release);
            });
            gathering.map_err(|error| Error::Internal(format!("no thread for the rest of a result: {error}")))?;
        }
        while !self.is_settled.load(Ordering::Acquire) {
            cancel.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Reads batch after batch, between which the reader gets its own.
    fn gather(&self) {
        loop {
            let mut stream = lock(&self.stream);
            if self.is_left.load(Ordering::Acquire) {
                *stream = None;
            }
            if !stream.as_mut().is_some_and(EmbeddedStream::gather_batch) {
                return;
            }
        }
    }
}

/// The rows of a query of a session.
pub(super) struct SessionStream {
    columns: Vec<Column>,
    schema: SchemaRef,
    result: Arc<OpenResult>,
}

impl BatchStream for SessionStream {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        lock(&self.result.stream).as_mut().map_or(Ok(None), BatchStream::next_batch)
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        self.result.is_left.store(true, Ordering::Release);
        // A thread that gathers the rest has the lock, and sees that it is not wanted.
        if let Ok(mut stream) = self.result.stream.try_lock() {
            *stream = None;
        }
    }
}
