//! The handles that one owner has on the event loop of a thread.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::os::fd::RawFd;

use boundary_bench_kernel::Result;

use crate::uv::{Handle, READABLE, Watcher};

/// The handles of one owner, on the loop's thread.
pub struct Handles {
    uv_loop: *mut c_void,
    /// The number of handles that the loop has not closed yet.
    open: Cell<usize>,
    /// The work to do once the last handle is closed.
    then: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Handles {
    /// No handles yet.
    ///
    /// # Safety
    /// `uv_loop` is libuv's loop of this thread, and lives until all handles are closed.
    #[must_use]
    pub unsafe fn new(uv_loop: *mut c_void) -> Self {
        Self { uv_loop, open: Cell::new(0), then: RefCell::default() }
    }

    /// Watches a socket for being readable.
    ///
    /// # Safety
    /// The socket stays open until the handle is closed. The watcher calls [`Handles::on_closed`] when it is.
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::Internal`] where the loop refuses.
    pub unsafe fn poll(&self, socket: RawFd, watcher: Box<dyn Watcher>) -> Result<Handle> {
        // SAFETY: the loop is this thread's, and the caller's promise.
        let handle = unsafe { Handle::poll(self.uv_loop, socket, watcher) }?;
        handle.watch(READABLE);
        Ok(self.counted(handle))
    }

    /// Calls a watcher in every iteration, after all ready sockets have been handled. It calls [`Handles::on_closed`].
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::Internal`] where the loop refuses.
    pub fn check(&self, watcher: Box<dyn Watcher>) -> Result<Handle> {
        // SAFETY: the loop is this thread's.
        unsafe { Handle::check(self.uv_loop, watcher) }.map(|handle| self.counted(handle))
    }

    /// Calls a watcher in every iteration, before the loop waits for sockets. It calls [`Handles::on_closed`].
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::Internal`] where the loop refuses.
    pub fn prepare(&self, watcher: Box<dyn Watcher>) -> Result<Handle> {
        // SAFETY: the loop is this thread's.
        unsafe { Handle::prepare(self.uv_loop, watcher) }.map(|handle| self.counted(handle))
    }

    /// Counts a handle, which does not keep the process alive by itself.
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

    /// Does work once the last handle is closed; at once, if none is open.
    pub fn when_closed(&self, then: Box<dyn FnOnce()>) {
        *self.then.borrow_mut() = Some(then);
        self.end_if_closed();
    }

    fn end_if_closed(&self) {
        if self.open.get() == 0 {
            let then = self.then.borrow_mut().take();
            then.into_iter().for_each(|then| then());
        }
    }
}
