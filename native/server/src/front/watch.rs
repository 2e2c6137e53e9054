//! Watches over connections: one task checks all of them several times a second and ends those past their deadline.
//!
//! A timer for each request costs a fifth of the small requests a second (measured with hyper's own header timeout); a
//! deadline kept in an atomic costs nothing that can be measured, and need not be exact.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The time between two checks of all connections.
pub(crate) const ROUND: Duration = Duration::from_millis(100);

/// The phase before the first request.
const FRESH: u8 = 0;
/// The phase after the first bytes of a request's header.
const HEADER: u8 = 1;
/// The phase between two requests.
const IDLE: u8 = 2;

/// An HTTP/2 write of fewer bytes is no part of a response, only a control frame such as the reply to a ping.
const CONTROL_BYTES: usize = 256;

/// All open connections of a server.
#[derive(Debug)]
pub(crate) struct Watch {
    started: Instant,
    /// Milliseconds since the start, as of the last check.
    now: AtomicU64,
    header_time: u64,
    idle_time: u64,
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Notified whenever a connection has ended.
    ended: Notify,
    stopping: AtomicBool,
}

/// The watch's state of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    phase: AtomicU8,
    /// Requests whose response is not complete yet.
    in_flight: AtomicU32,
    /// When the connection is ended, in milliseconds since the start of the server; counts while no request is in flight.
    deadline: AtomicU64,
    ends: AtomicBool,
    stops: AtomicBool,
    /// Whether the connection speaks HTTP/2, whose bytes may belong to no request.
    is_http2: AtomicBool,
    signal: Notify,
}

/// What a connection is told to do.
pub(crate) enum Signal {
    /// End now.
    End,
    /// Finish the requests in flight, and then end.
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

    /// Puts a connection under watch, until the entry is dropped.
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
        // The connection may have come after `stop` went through the others.
        if self.stopping.load(Ordering::SeqCst) {
            connection.stop();
        }
        Entry { id, watch: Arc::clone(self), connection }
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Checks all connections once, and ends those past their deadline.
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

    /// Tells all connections to finish their requests in flight and then end; ends those that never had a request.
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

/// A connection under watch; dropping the entry ends the watch.
#[derive(Debug)]
pub(crate) struct Entry {
    id: u64,
    watch: Arc<Watch>,
    connection: Arc<Connection>,
}

impl Entry {
    /// A handle that marks what happens on the connection; dropping it does not end the watch.
    pub(crate) fn marks(&self) -> Marks {
        Marks { watch: Arc::clone(&self.watch), connection: Arc::clone(&self.connection) }
    }

    /// Waits until the connection is told to stop or end.
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

/// A handle of a connection, to mark what happens on it.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    watch: Arc<Watch>,
    connection: Arc<Connection>,
}

impl Marks {
    /// The client speaks HTTP/2. Between requests it sends pings, settings and window updates, none of which begins a header:
    /// the idle time-out holds until the first request.
    pub(crate) fn http2(&self) {
        self.connection.is_http2.store(true, Ordering::Relaxed);
        self.set(FRESH, self.watch.idle_time);
    }

    /// Bytes arrived from the client. The first bytes of a request start the time-out of its header; later ones do not prolong
    /// it.
    pub(crate) fn read(&self) {
        let connection = &self.connection;
        if connection.is_http2.load(Ordering::Relaxed) {
            return;
        }
        if connection.in_flight.load(Ordering::Relaxed) == 0 && connection.phase.load(Ordering::Relaxed) != HEADER {
            self.set(HEADER, self.watch.header_time);
        }
    }

    /// The client took bytes of a response.
    pub(crate) fn written(&self, bytes: usize) {
        let connection = &self.connection;
        if connection.phase.load(Ordering::Relaxed) == IDLE
            && (bytes >= CONTROL_BYTES || !connection.is_http2.load(Ordering::Relaxed))
        {
            self.set(IDLE, self.watch.idle_time);
        }
    }

    /// A request arrived with its whole header; its response is complete when the guard is dropped.
    pub(crate) fn request(&self) -> InFlight {
        self.connection.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight { marks: self.clone() }
    }

    fn set(&self, phase: u8, time: u64) {
        self.connection.phase.store(phase, Ordering::Relaxed);
        self.connection.deadline.store(self.watch.now.load(Ordering::Relaxed) + time, Ordering::Relaxed);
    }
}

/// A guard that counts its request as in flight.
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

    /// Ends a connection that never had a request, since it has nothing to finish; others are told to stop.
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
