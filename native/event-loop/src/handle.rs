//! A handle on an event loop of either kind.

use std::ffi::c_int;
use std::rc::Rc;

use crate::polled::{self, PolledLoop};
use crate::uv::{self, LibuvLoop};

/// The event loop of one of a runtime's threads.
#[derive(Clone)]
pub enum EventLoop {
    /// The runtime's own loop: libuv's.
    Libuv(LibuvLoop),
    /// A loop of ours, beside one that the runtime does not share.
    Polled(Rc<PolledLoop>),
}

/// A handle of a loop, used on the loop's thread. It must be closed: dropping it leaks it, and the loop goes on using it.
pub enum Handle {
    /// A handle of libuv.
    Libuv(uv::Handle),
    /// A handle of a loop of ours.
    Polled(polled::Handle),
}

impl Handle {
    /// Sets the events ([`crate::READABLE`], [`crate::WRITABLE`]) that a socket is watched for.
    pub fn watch(&self, events: c_int) {
        match self {
            Self::Libuv(handle) => handle.watch(events),
            Self::Polled(handle) => handle.watch(events),
        }
    }

    /// Sets whether the handle keeps the loop, and with it the process, alive.
    pub fn keep_alive(&self, keep: bool) {
        match self {
            Self::Libuv(handle) => handle.keep_alive(keep),
            Self::Polled(handle) => handle.keep_alive(keep),
        }
    }

    /// Closes the handle. Later the loop calls the watcher's `on_closed` and drops the watcher.
    pub fn close(self) {
        match self {
            Self::Libuv(handle) => handle.close(),
            Self::Polled(handle) => handle.close(),
        }
    }
}
