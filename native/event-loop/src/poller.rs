//! The thread that waits for the sockets of a [`crate::PolledLoop`], and the list of what the loop's next turn reports.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use boundary_bench_kernel::lock;
use mio::event::Event;
#[cfg(unix)]
use mio::unix::SourceFd as Watched;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

use crate::socket_number::SocketNumber;
use crate::watcher::{READABLE, WRITABLE};

/// A socket. mio watches it by its number on Unix only.
#[cfg(windows)]
struct Watched<'a>(#[expect(dead_code, reason = "it is not watched")] &'a SocketNumber);

#[cfg(windows)]
impl mio::event::Source for Watched<'_> {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Event flag in addition to the flags of watchers: the socket has failed.
pub const FAILED: c_int = 1 << 8;

/// The token of the waker that ends the thread. Sockets have smaller tokens.
const END: Token = Token(usize::MAX);

/// The number of events that the thread takes from the system at a time.
const EVENTS: usize = 256;

/// The requests of turns of one loop, made on any thread.
#[derive(Clone)]
pub struct Turns(Arc<Shared>);

struct Shared {
    due: Mutex<Due>,
    /// Makes the loop's thread take a turn soon. Returns `None` once the loop has ended.
    wake: RwLock<Option<Wake>>,
}

type Wake = Box<dyn Fn() + Send + Sync>;

/// The work of the next turn.
#[derive(Default)]
struct Due {
    /// Whether the loop's thread has been woken for the turn.
    is_requested: bool,
    /// The events of the ready sockets, by the sockets' tokens.
    events: BTreeMap<usize, c_int>,
}

impl Turns {
    /// Makes the loop take a turn soon. Does nothing if one was requested already and has not begun.
    pub fn request(&self) {
        self.report([]);
    }

    /// Has the next turn report events of sockets, each with its token, and requests that turn.
    pub fn report(&self, sockets: impl IntoIterator<Item = (usize, c_int)>) {
        let mut due = lock(&self.0.due);
        for (token, events) in sockets {
            *due.events.entry(token).or_default() |= events;
        }
        let was_requested = std::mem::replace(&mut due.is_requested, true);
        drop(due);
        if !was_requested {
            // The lock lasts as long as the call: once `end` has returned, nobody wakes.
            let wake = self.0.wake.read().unwrap_or_else(PoisonError::into_inner);
            wake.iter().for_each(|wake| wake());
        }
    }

    /// Begins a turn: returns the events to report, by the sockets' tokens.
    pub fn begin(&self) -> BTreeMap<usize, c_int> {
        std::mem::take(&mut *lock(&self.0.due)).events
    }

    /// Asks for no turn from now on.
    fn end(&self) {
        self.0.wake.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The sockets that a thread waits for. The system reports an event of a socket once. Then the socket must be armed again.
pub struct Poller {
    registry: Registry,
    turns: Turns,
    end: Waker,
    thread: RefCell<Option<JoinHandle<()>>>,
}

impl Poller {
    /// Starts the thread. `wake` makes the loop's thread take a turn soon. Any thread may call it.
    pub fn start(wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let end = Waker::new(&registry, END)?;
        let turns = Turns(Arc::new(Shared { due: Mutex::default(), wake: RwLock::new(Some(Box::new(wake))) }));
        let reported = turns.clone();
        let thread = thread::Builder::new().name("boundary-poller".to_owned()).spawn(move || wait(poll, &reported))?;
        Ok(Self { registry, turns, end, thread: RefCell::new(Some(thread)) })
    }

    /// The requests of turns of the loop.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Begins to wait for a socket.
    pub fn add(&self, token: usize, socket: SocketNumber, events: c_int) -> io::Result<()> {
        self.registry.register(&mut Watched(&socket), Token(token), interest(events))
    }

    /// Waits for events of a socket again, also for those that are there already.
    pub fn arm(&self, token: usize, socket: SocketNumber, events: c_int) -> io::Result<()> {
        self.registry.reregister(&mut Watched(&socket), Token(token), interest(events))
    }

    /// Stops waiting for a socket. Events that the thread has reported may still be in the next turn's list.
    pub fn remove(&self, socket: SocketNumber) {
        // The system forgets closed sockets by itself, and has no other reason to refuse.
        let _ = self.registry.deregister(&mut Watched(&socket));
    }

    /// Ends the thread, and waits until it has ended. No turn is asked for from then on. Does nothing the second time.
    pub fn end(&self) {
        self.turns.end();
        let thread = self.thread.take();
        if let Some(thread) = thread
            && self.end.wake().is_ok()
        {
            // The thread has no result, and its panic would have been reported.
            let _ = thread.join();
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.end();
    }
}

/// The interest in events, of which there is at least one.
fn interest(events: c_int) -> Interest {
    match events & (READABLE | WRITABLE) {
        READABLE => Interest::READABLE,
        WRITABLE => Interest::WRITABLE,
        _ => Interest::READABLE | Interest::WRITABLE,
    }
}

/// The event flags of an event of the system.
fn flags(event: &Event) -> c_int {
    let readable = if event.is_readable() || event.is_read_closed() { READABLE } else { 0 };
    let writable = if event.is_writable() || event.is_write_closed() { WRITABLE } else { 0 };
    readable | writable | if event.is_error() { FAILED } else { 0 }
}

/// Reports ready sockets until the thread is to end.
fn wait(mut poll: Poll, turns: &Turns) {
    let mut events = Events::with_capacity(EVENTS);
    loop {
        if poll.poll(&mut events, None).is_err() {
            // A signal has interrupted the wait. It has no other reason to fail.
            continue;
        }
        if events.iter().any(|event| event.token() == END) {
            return;
        }
        turns.report(events.iter().map(|event| (event.token().0, flags(event))));
    }
}
