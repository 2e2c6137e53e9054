//! Watches over connections: one task looks at all of them a few times a second and ends those that take too long.
//!
//! A timer for each request costs a fifth of the small requests a second (measured with hyper's own header timeout); a
//! deadline kept in an atomic costs nothing that can be measured, and need not be exact.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How often the connections are looked at.
pub(crate) const ROUND: Duration = Duration::from_millis(100);

/// No request has been answered or begun.
const FRESH: u8 = 0;
/// Bytes of a header have come.
const HEADER: u8 = 1;
/// Between two requests.
const IDLE: u8 = 2;

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Watch {
    started: Instant,
    /// Milliseconds since the start, as of the last round.
    now: AtomicU64,
    header_time: u64,
    idle_time: u64,
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Of connections that came to an end.
    ended: Notify,
    stopping: AtomicBool,
}

/// What the watch knows of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    phase: AtomicU8,
    /// Requests whose answer is not made yet.
    in_flight: AtomicU32,
    /// In milliseconds since the start of the server; counts while nothing is in flight.
    deadline: AtomicU64,
    ends: AtomicBool,
    stops: AtomicBool,
    /// Whether it speaks HTTP/2, whose bytes may belong to no request.
    is_http2: AtomicBool,
    signal: Notify,
}

/// What a connection is told.
pub(crate) enum Signal {
    /// To end now.
    End,
    /// To answer what is in flight, and then end.
    Stop,
}

impl Watch {
    pub(crate) fn new(header_time: Duration, idle_time: Duration) -> Self {
        Self {
            started: Instant::now(),
            now: AtomicU64::new(0),
            header_time: milliseconds(header_time),
            idle_time: milliseconds(idle_time),
            next: AtomicU64::new(0),
            connections: Mutex::default(),
            ended: Notify::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// Takes a connection under watch, until the entry is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Entry {
        let connection = Arc::new(Connection {
            phase: AtomicU8::new(FRESH),
            in_flight: AtomicU32::new(0),
            deadline: AtomicU64::new(self.now.load(Ordering::Relaxed) + self.idle_time),
            ends: AtomicBool::new(false),
            stops: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            signal: Notify::new(),
        });
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(id, Arc::clone(&connection));
        // One that came while the others were told.
        if self.stopping.load(Ordering::SeqCst) {
            connection.stop();
        }
        Entry { id, watch: Arc::clone(self), connection }
    }

    /// The number of connections.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Looks at all connections once.
    pub(crate) fn round(&self) {
        let now = milliseconds(self.started.elapsed());
        self.now.store(now, Ordering::Relaxed);
        for connection in self.lock().values() {
            let waits = connection.in_flight.load(Ordering::Acquire) == 0;
            if waits && connection.deadline.load(Ordering::Relaxed) < now {
                connection.end();
            }
        }
    }

    /// Tells all connections to answer what is in flight and then end; ends those without a request.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.lock().values().for_each(|connection| connection.stop());
    }

    /// Ends all connections.
    pub(crate) fn end(&self) {
        self.lock().values().for_each(|connection| connection.end());
    }

    /// Waits until no connection is left.
    pub(crate) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection under watch.
#[derive(Debug)]
pub(crate) struct Entry {
    id: u64,
    watch: Arc<Watch>,
    connection: Arc<Connection>,
}

impl Entry {
    /// Another hold on the same connection; the watch ends with the first that is dropped of its own.
    pub(crate) fn marks(&self) -> Marks {
        Marks { watch: Arc::clone(&self.watch), connection: Arc::clone(&self.connection) }
    }

    /// Waits until the connection is told something.
    pub(crate) async fn signal(&self) -> Signal {
        loop {
            let signalled = self.connection.signal.notified();
            if self.connection.ends.load(Ordering::Acquire) {
                return Signal::End;
            }
            if self.connection.stops.swap(false, Ordering::AcqRel) {
                return Signal::Stop;
            }
            signalled.await;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.watch.lock().remove(&self.id);
        self.watch.ended.notify_waiters();
    }
}

/// Marks what happens on a connection.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    watch: Arc<Watch>,
    connection: Arc<Connection>,
}

impl Marks {
    /// The client speaks HTTP/2. Between two requests it answers pings and settings, and gives room for more: none of it begins
    /// a header, so the time of idle connections is that of its connection until a request is there.
    pub(crate) fn http2(&self) {
        self.connection.is_http2.store(true, Ordering::Relaxed);
        self.set(FRESH, self.watch.idle_time);
    }

    /// Bytes came from the client. The first ones of a request begin its header's time, later ones do not prolong it.
    pub(crate) fn read(&self) {
        let connection = &self.connection;
        if connection.is_http2.load(Ordering::Relaxed) {
            return;
        }
        if connection.in_flight.load(Ordering::Relaxed) == 0 && connection.phase.load(Ordering::Relaxed) != HEADER {
            self.set(HEADER, self.watch.header_time);
        }
    }

    /// The client took bytes of an answer.
    pub(crate) fn written(&self) {
        if self.connection.phase.load(Ordering::Relaxed) == IDLE {
            self.set(IDLE, self.watch.idle_time);
        }
    }

    /// A request came with its whole header; the answer is made when the guard is dropped.
    pub(crate) fn request(&self) -> InFlight {
        self.connection.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight { marks: self.clone() }
    }

    fn set(&self, phase: u8, time: u64) {
        self.connection.phase.store(phase, Ordering::Relaxed);
        self.connection.deadline.store(self.watch.now.load(Ordering::Relaxed) + time, Ordering::Relaxed);
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    marks: Marks,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.marks.set(IDLE, self.marks.watch.idle_time);
        self.marks.connection.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Connection {
    fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.signal.notify_one();
    }

    /// A connection that waits for its first request, or its next one, has nothing to finish.
    fn stop(&self) {
        if self.in_flight.load(Ordering::Acquire) == 0 && self.phase.load(Ordering::Relaxed) == FRESH {
            self.end();
            return;
        }
        self.stops.store(true, Ordering::Release);
        self.signal.notify_one();
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX >> 1)
}
