//! The callbacks of the handles of an event loop, the same for both kinds of loops.

use std::cell::Cell;
use std::ffi::c_int;

use boundary_bench_kernel::Error;
use boundary_bench_kernel::error::contained;

/// Event flag, libuv's `UV_READABLE`: there are bytes to read, or the peer has closed the connection.
pub const READABLE: c_int = 1;

/// Event flag, libuv's `UV_WRITABLE`: the socket has room for bytes.
pub const WRITABLE: c_int = 2;

/// The part of a loop's iteration in which the watcher of a handle is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The reports of ready sockets.
    Poll,
    /// The part after the sockets.
    Check,
    /// The part before the loop waits.
    Prepare,
}

/// The callbacks of a handle, called on the loop's thread. They may close the handle.
pub trait Watcher: 'static {
    /// The socket is ready, or the loop's iteration has reached the handle's phase. A negative status is an error number.
    fn on_event(&self, status: c_int, events: c_int);

    /// `on_event` has panicked: the work of this watcher fails with the error.
    fn on_panic(&self, error: &Error);

    /// The handle is closed for good. Never called from within `on_event`.
    fn on_closed(&self);
}

thread_local! {
    /// The phase whose next callback on this thread panics, for tests of the error handling.
    static PANICKING: Cell<Option<Phase>> = const { Cell::new(None) };
}

/// Makes the next callback of a phase panic on this thread.
pub fn panic_in_next(phase: Phase) {
    PANICKING.set(Some(phase));
}

/// Calls a watcher, and catches its panics.
pub fn call(phase: Phase, watcher: &dyn Watcher, status: c_int, events: c_int) {
    let panicked = contained(|| {
        if PANICKING.get() == Some(phase) {
            PANICKING.set(None);
            panic!("a test asked for it");
        }
        watcher.on_event(status, events);
    });
    if let Some(error) = panicked {
        // If `on_panic` panics too, nothing is left to call.
        contained(|| watcher.on_panic(&error));
    }
}
