//! The handles that one owner has on the event loop of a thread.

use std::cell::{Cell, RefCell};

use boundary_bench_kernel::Result;

use crate::handle::{EventLoop, Handle};
use crate::poller::Turns;
use crate::socket_number::SocketNumber;
use crate::uv;
use crate::watcher::{Phase, Watcher};

/// The handles of one owner, on the loop's thread.
pub struct Handles {
    event_loop: EventLoop,
    /// The number of handles that the loop has not closed yet.
    open: Cell<usize>,
    /// The work to do once the last handle is closed.
    then: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Handles {
    /// No handles yet.
    pub fn new(event_loop: EventLoop) -> Self {
        Self { event_loop, open: Cell::new(0), then: RefCell::default() }
    }

    /// Whether the loop is libuv's.
    pub fn is_libuv(&self) -> bool {
        matches!(self.event_loop, EventLoop::Libuv(_))
    }

    /// Watches a socket for being readable.
    ///
    /// # Safety
    /// The socket stays open until the handle is closed. The watcher calls [`Handles::on_closed`] when it is.
    pub unsafe fn poll(&self, socket: SocketNumber, watcher: Box<dyn Watcher>) -> Result<Handle> {
        Ok(self.counted(match &self.event_loop {
            // SAFETY: the caller's promise.
            EventLoop::Libuv(uv_loop) => Handle::Libuv(unsafe { uv::Handle::poll(*uv_loop, socket, watcher) }?),
            EventLoop::Polled(polled) => Handle::Polled(polled.poll(socket, watcher)?),
        }))
    }

    /// Calls a watcher in every iteration, after all ready sockets have been handled. It calls [`Handles::on_closed`].
    pub fn check(&self, watcher: Box<dyn Watcher>) -> Result<Handle> {
        Ok(self.counted(match &self.event_loop {
            EventLoop::Libuv(uv_loop) => Handle::Libuv(uv::Handle::check(*uv_loop, watcher)?),
            EventLoop::Polled(polled) => Handle::Polled(polled.every_turn(Phase::Check, watcher)?),
        }))
    }

    /// Calls a watcher in every iteration, before the loop waits for sockets. It calls [`Handles::on_closed`].
    pub fn prepare(&self, watcher: Box<dyn Watcher>) -> Result<Handle> {
        Ok(self.counted(match &self.event_loop {
            EventLoop::Libuv(uv_loop) => Handle::Libuv(uv::Handle::prepare(*uv_loop, watcher)?),
            EventLoop::Polled(polled) => Handle::Polled(polled.every_turn(Phase::Prepare, watcher)?),
        }))
    }

    /// The requests of iterations, if the loop has one only on request. `None` for libuv's loop: it has one after each call of JavaScript.
    pub(crate) fn turns(&self) -> Option<Turns> {
        match &self.event_loop {
            EventLoop::Libuv(_) => None,
            EventLoop::Polled(polled) => Some(polled.turns()),
        }
    }

    /// Counts a handle. A handle does not keep the process alive by itself.
    fn counted(&self, handle: Handle) -> Handle {
        self.open.set(self.open.get() + 1);
        handle.keep_alive(false);
        handle
    }

    /// Notes that the loop has closed one of the handles.
    pub fn on_closed(&self) {
        self.open.set(self.open.get().saturating_sub(1));
        self.end_if_closed();
    }

    /// Does work once the last handle is closed, or at once if none is open. It is for the end of the thread, when all handles are
    /// being closed.
    pub fn when_closed(&self, then: Box<dyn FnOnce()>) {
        *self.then.borrow_mut() = Some(then);
        if let EventLoop::Polled(polled) = &self.event_loop {
            // The runtime takes no more turns for it, while it runs libuv's loop to the end.
            polled.close_now();
        }
        self.end_if_closed();
    }

    fn end_if_closed(&self) {
        if self.open.get() == 0 {
            let then = self.then.borrow_mut().take();
            then.into_iter().for_each(|then| then());
        }
    }
}
