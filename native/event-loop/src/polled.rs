//! An event loop for a runtime that has none that we could use. A thread waits for the sockets and wakes the thread of JavaScript.
//! That thread then takes a turn. A turn is what an iteration is to libuv, but there is one only when there is work.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::rc::Rc;

use boundary_bench_kernel::error::contained;
use boundary_bench_kernel::{Error, Result};

use crate::poller::{FAILED, Poller, Turns};
use crate::socket_number::SocketNumber;
use crate::watcher::{Phase, READABLE, Watcher, call};

/// The event loop of one of a runtime's threads, used on that thread.
pub struct PolledLoop {
    poller: Poller,
    /// Sets whether the loop keeps the process alive.
    set_alive: Box<dyn Fn(bool)>,
    /// The handles that watch sockets, by their tokens.
    sockets: RefCell<HashMap<usize, Rc<Entry>>>,
    /// The handles of the other phases, in the order in which they were made.
    others: RefCell<Vec<Rc<Entry>>>,
    /// The handles that the next turn closes for good.
    closing: RefCell<VecDeque<Rc<Entry>>>,
    last_token: Cell<usize>,
    /// The number of handles that keep the process alive.
    alive: Cell<usize>,
    has_ended: Cell<bool>,
}

/// A handle, as its loop knows it.
struct Entry {
    /// The number of the handle. No other handle of the loop ever gets it.
    token: usize,
    phase: Phase,
    /// The number of the socket, if the handle watches one.
    socket: Option<SocketNumber>,
    watcher: Box<dyn Watcher>,
    /// The events that the socket is watched for.
    events: Cell<c_int>,
    /// Whether the poller reports the next event of the socket.
    is_armed: Cell<bool>,
    is_alive: Cell<bool>,
    is_closing: Cell<bool>,
}

impl PolledLoop {
    /// A loop of the calling thread.
    ///
    /// `wake` makes the loop's thread call [`PolledLoop::turn`] soon. Any thread may call it. `set_alive` sets whether the loop
    /// keeps the process alive. Only the loop's thread calls it. At first, the loop does not keep the process alive.
    pub fn new(wake: impl Fn() + Send + Sync + 'static, set_alive: impl Fn(bool) + 'static) -> Result<Rc<Self>> {
        let poller = Poller::start(wake);
        let poller = poller.map_err(|error| Error::Internal(format!("an event loop can't be started: {error}")))?;
        Ok(Rc::new(Self {
            poller,
            set_alive: Box::new(set_alive),
            sockets: RefCell::default(),
            others: RefCell::default(),
            closing: RefCell::default(),
            last_token: Cell::default(),
            alive: Cell::default(),
            has_ended: Cell::default(),
        }))
    }

    /// The requests of turns. Any thread may make them.
    pub(crate) fn turns(&self) -> Turns {
        self.poller.turns().clone()
    }

    /// A handle that watches a socket for being readable.
    pub(crate) fn poll(self: &Rc<Self>, socket: SocketNumber, watcher: Box<dyn Watcher>) -> Result<Handle> {
        let handle = self.handle(Phase::Poll, Some(socket), watcher)?;
        let entry = &handle.entry;
        let added = self.poller.add(entry.token, socket, READABLE);
        added.map_err(|error| Error::Internal(format!("a socket can't be watched: {error}")))?;
        entry.events.set(READABLE);
        entry.is_armed.set(true);
        self.sockets.borrow_mut().insert(entry.token, Rc::clone(entry));
        Ok(handle)
    }

    /// A handle whose watcher is called in every turn.
    pub(crate) fn every_turn(self: &Rc<Self>, phase: Phase, watcher: Box<dyn Watcher>) -> Result<Handle> {
        let handle = self.handle(phase, None, watcher)?;
        self.others.borrow_mut().push(Rc::clone(&handle.entry));
        Ok(handle)
    }

    fn handle(
        self: &Rc<Self>,
        phase: Phase,
        socket: Option<SocketNumber>,
        watcher: Box<dyn Watcher>,
    ) -> Result<Handle> {
        if self.has_ended.get() {
            return Err(Error::Closed("the event loop"));
        }
        self.last_token.set(self.last_token.get() + 1);
        let entry = Rc::new(Entry {
            token: self.last_token.get(),
            phase,
            socket,
            watcher,
            events: Cell::default(),
            is_armed: Cell::default(),
            is_alive: Cell::default(),
            is_closing: Cell::default(),
        });
        Ok(Handle { event_loop: Rc::clone(self), entry })
    }

    /// Takes a turn. It calls the watchers of ready sockets, then the watchers of the check phase, then the watchers of the prepare
    /// phase. Then it closes the handles whose closing was asked for before the turn.
    ///
    /// libuv closes handles in an iteration's end too, and only after watchers of the check phase were called: they deliver what the
    /// closing of a connection has left.
    pub fn turn(&self) {
        let due = self.poller.turns().begin();
        let closing = self.closing.borrow().len();
        for (token, happened) in due {
            let entry = self.sockets.borrow().get(&token).cloned();
            entry.into_iter().for_each(|entry| self.report(&entry, happened));
        }
        for phase in [Phase::Check, Phase::Prepare] {
            let entries: Vec<_> = self.others.borrow().iter().filter(|entry| entry.phase == phase).cloned().collect();
            for entry in entries {
                if !entry.is_closing.get() {
                    call(phase, &*entry.watcher, 0, 0);
                }
            }
        }
        self.close(closing);
    }

    /// Reports the events of a socket that it is watched for, then has it watched again.
    fn report(&self, entry: &Entry, happened: c_int) {
        let watched = entry.events.get();
        if watched == 0 {
            return;
        }
        if happened & FAILED != 0 {
            // As libuv does: the socket is not watched any more, and the number does not tell what has failed.
            entry.events.set(0);
            return call(Phase::Poll, &*entry.watcher, -libc::EBADF, 0);
        }
        if happened & watched == 0 {
            return;
        }
        entry.is_armed.set(false);
        call(Phase::Poll, &*entry.watcher, 0, happened & watched);
        // The watcher may have left bytes in the socket.
        self.arm(entry);
    }

    /// Has the poller report the next event of a socket, unless it does already or there is none to watch for.
    fn arm(&self, entry: &Entry) {
        let (Some(socket), events) = (entry.socket, entry.events.get()) else { return };
        if entry.is_armed.get() || events == 0 || entry.is_closing.get() {
            return;
        }
        entry.is_armed.set(true);
        if self.poller.arm(entry.token, socket, events).is_err() {
            self.poller.turns().report([(entry.token, FAILED)]);
        }
    }

    /// Closes handles for good, the first ones of those whose closing was asked for.
    fn close(&self, handles: usize) {
        for _ in 0..handles {
            let entry = self.closing.borrow_mut().pop_front();
            let Some(entry) = entry else { return };
            contained(|| entry.watcher.on_closed());
            self.set_alive(&entry, false);
            // Dropping the entry drops its watcher.
            contained(|| drop(entry));
        }
    }

    /// Closes for good all handles whose closing was asked for. It is for the end of the thread, after which there are no more turns.
    pub(crate) fn close_now(&self) {
        let closing = self.closing.borrow().len();
        self.close(closing);
    }

    fn set_alive(&self, entry: &Entry, keep: bool) {
        if entry.is_alive.replace(keep) == keep {
            return;
        }
        let before = self.alive.get();
        let now = if keep { before + 1 } else { before - 1 };
        self.alive.set(now);
        if (before == 0 || now == 0) && !self.has_ended.get() {
            (self.set_alive)(now > 0);
        }
    }

    /// Ends the thread that waits for sockets: no thread calls `wake` any more. Does nothing the second time.
    pub fn end(&self) {
        self.has_ended.set(true);
        self.poller.end();
    }
}

/// A handle of the loop. It must be closed: dropping it leaves it to the loop, and the loop continues to use it.
pub struct Handle {
    event_loop: Rc<PolledLoop>,
    entry: Rc<Entry>,
}

impl Handle {
    /// Sets the events that a socket is watched for.
    pub fn watch(&self, events: c_int) {
        self.entry.events.set(events);
        self.entry.is_armed.set(false);
        self.event_loop.arm(&self.entry);
    }

    /// Sets whether the handle keeps the process alive.
    pub fn keep_alive(&self, keep: bool) {
        self.event_loop.set_alive(&self.entry, keep);
    }

    /// Closes the handle. The next turn calls the watcher's `on_closed` and drops the watcher. The process stays alive until then.
    pub fn close(self) {
        let Self { event_loop, entry } = self;
        entry.is_closing.set(true);
        match entry.socket {
            Some(socket) => {
                event_loop.poller.remove(socket);
                event_loop.sockets.borrow_mut().remove(&entry.token);
            }
            None => event_loop.others.borrow_mut().retain(|other| !Rc::ptr_eq(other, &entry)),
        }
        event_loop.set_alive(&entry, true);
        event_loop.closing.borrow_mut().push_back(entry);
        event_loop.poller.turns().request();
    }
}
