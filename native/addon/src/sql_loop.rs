//! Connections of the MySQL wire, driven by the event loop of one of Node's threads, as `socket_loop` drives those of other
//! wires. All results that the loop finds ready in one iteration cross into JavaScript in one call.

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{DrivenSession, Shapes};
use napi::bindgen_prelude::{Either, Function, ToNapiValue, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use crate::attachment::{Attached, Attachment, detach};
use crate::buffers::Handover;
use crate::errors::{js, to_js};
use crate::shared_memory::{SMALL_BYTES, SharedMemory};
use crate::sql::{SqlConnection, SqlShapes, submission_of};
use crate::uv::{Handle, READABLE, WRITABLE, Watcher};

/// The MySQL connections of one of Node's threads.
#[napi]
pub struct SqlLoop {
    inner: Rc<Inner>,
}

struct Inner {
    attachment: Attachment,
    state: RefCell<State>,
    shared: RefCell<SharedMemory>,
}

#[derive(Default)]
struct State {
    shapes: Arc<Shapes>,
    sockets: Vec<Option<Socket>>,
    /// The outcomes that are not delivered to JavaScript yet, with the numbers of their connections.
    outcomes: Vec<(u32, Outcome)>,
}

/// An outcome on a connection.
enum Outcome {
    /// The connection's call has ended with these results, or with an error.
    Done(Result<Vec<u8>>),
    /// The connection is closed. If it had a call under way, the call's `Done` follows.
    Gone,
}

/// A connection on the loop.
struct Socket {
    session: DrivenSession,
    handle: Handle,
    events: c_int,
    is_kept_alive: bool,
}

impl Socket {
    /// Updates the events that the socket is watched for, and whether it keeps the process alive.
    fn settle(&mut self) {
        let events = if self.session.wants_room() { READABLE | WRITABLE } else { READABLE };
        if events != self.events {
            self.events = events;
            self.handle.watch(events);
        }
        let keep = self.session.is_busy();
        if keep != self.is_kept_alive {
            self.is_kept_alive = keep;
            self.handle.keep_alive(keep);
        }
    }
}

impl State {
    /// Runs work on a session and collects its outcome, to be delivered to JavaScript later.
    fn drive(&mut self, index: usize, work: impl FnOnce(&mut DrivenSession) -> Option<Result<Vec<u8>>>) {
        let Some(socket) = self.sockets.get_mut(index).and_then(Option::as_mut) else { return };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let (outcome, is_over) = match catch_panic(|| Ok(work(&mut socket.session))) {
            Ok(outcome) => (outcome, socket.session.is_over()),
            Err(error) => (Some(Err(error)), true),
        };
        socket.settle();
        if is_over {
            // Pushed before the call's outcome, so that JavaScript does not take the connection for an idle one.
            self.outcomes.push((number, Outcome::Gone));
            self.end(index);
        }
        self.outcomes.extend(outcome.map(|outcome| (number, Outcome::Done(outcome))));
    }

    /// Closes a connection; its call under way gets the error.
    fn fail(&mut self, index: usize, error: &Error) {
        let Some(Some(socket)) = self.sockets.get(index) else { return };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let is_busy = socket.session.is_busy();
        self.outcomes.push((number, Outcome::Gone));
        self.end(index);
        self.outcomes.extend(is_busy.then(|| (number, Outcome::Done(Err(error.clone())))));
    }

    /// Closes a connection without an outcome.
    fn end(&mut self, index: usize) {
        if let Some(socket) = self.sockets.get_mut(index).and_then(Option::take) {
            // The handle is closed first: ending the session closes the socket.
            socket.handle.close();
            socket.session.give_up();
        }
    }
}

/// The watcher of one socket.
struct SocketWatcher {
    inner: Rc<Inner>,
    index: usize,
}

impl Watcher for SocketWatcher {
    fn on_event(&self, status: c_int, _events: c_int) {
        let mut state = self.inner.state.borrow_mut();
        // If the socket has failed, reading from it returns the error.
        state.drive(self.index, DrivenSession::poll);
        if status < 0 {
            // If the first poll read a whole answer that arrived before the error, this one reads the error. Else the rest of
            // the answer is still to be read, though libuv has stopped watching the socket.
            state.drive(self.index, DrivenSession::poll);
            if let Some(Some(socket)) = state.sockets.get(self.index) {
                socket.handle.watch(socket.events);
            }
        }
        // JavaScript must hear of a closed connection before it runs anything else: it must not take the connection for an idle
        // one.
        let is_gone = state.outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Gone));
        drop(state);
        if is_gone {
            self.inner.deliver();
        }
    }

    fn on_panic(&self, error: &Error) {
        self.inner.state.borrow_mut().fail(self.index, error);
        self.inner.deliver();
    }

    fn on_closed(&self) {
        self.inner.attachment.on_handle_closed();
    }
}

impl Attached for Inner {
    fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    fn deliver(&self) {
        let outcomes = std::mem::take(&mut self.state.borrow_mut().outcomes);
        if !outcomes.is_empty() {
            // SAFETY: the scope of handles is that of `call`.
            self.attachment.call(|env| unsafe { self.array_of(env, outcomes) }.ok().map(|outcomes| [outcomes]));
        }
    }

    fn fail(&self, error: &Error) {
        let mut state = self.state.borrow_mut();
        for index in 0..state.sockets.len() {
            state.fail(index, error);
        }
        drop(state);
        self.deliver();
    }

    fn end(&self) {
        let mut state = self.state.borrow_mut();
        for index in 0..state.sockets.len() {
            state.end(index);
        }
        // SAFETY: this is the thread of the environment, which lives as long as it is attached; nothing is placed later.
        unsafe { self.shared.borrow_mut().release(self.attachment.env()) };
    }
}

impl Inner {
    /// An array of four elements for each outcome: the number of the connection; the buffer of its results, the text of its
    /// error, or null if the connection is closed; and the byte offsets in the buffer at which the results start and end.
    ///
    /// # Safety
    /// A scope of handles of the environment is open.
    unsafe fn array_of(&self, env: sys::napi_env, outcomes: Vec<(u32, Outcome)>) -> napi::Result<sys::napi_value> {
        let mut array = ptr::null_mut();
        let mut shared = self.shared.borrow_mut();
        // SAFETY: the caller's promise.
        unsafe {
            sys::napi_create_array_with_length(env, outcomes.len() * 4, &raw mut array);
            for (place, (number, outcome)) in (0..).zip(outcomes) {
                let (value, start, end) = match outcome {
                    Outcome::Done(Ok(bytes)) => {
                        let length = bytes.len();
                        let (buffer, start) = if length <= SMALL_BYTES {
                            let placed = shared.place(env, &bytes);
                            placed.ok_or_else(|| js(Error::Internal("no memory for the results".to_owned())))?
                        } else {
                            (Handover::to_napi_value(env, Handover(bytes))?, 0)
                        };
                        (buffer, start, start + length)
                    }
                    Outcome::Done(Err(error)) => (String::to_napi_value(env, to_js(&error).reason.clone())?, 0, 0),
                    Outcome::Gone => {
                        let mut null = ptr::null_mut();
                        sys::napi_get_null(env, &raw mut null);
                        (null, 0, 0)
                    }
                };
                let number = u32::to_napi_value(env, number)?;
                sys::napi_set_element(env, array, 4 * place, number);
                sys::napi_set_element(env, array, 4 * place + 1, value);
                for (offset, bytes) in [(2, start), (3, end)] {
                    let mut number = ptr::null_mut();
                    sys::napi_create_double(env, bytes as f64, &raw mut number);
                    sys::napi_set_element(env, array, 4 * place + offset, number);
                }
            }
        }
        Ok(array)
    }
}

#[napi]
impl SqlLoop {
    /// Makes a loop on this thread. `callback` gets arrays of four elements for each outcome: the number of the connection; the
    /// buffer of its call's results, the text of its error, or null if the connection is closed; and the byte offsets in the
    /// buffer at which the results start and end.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "shapes: SqlShapes, callback: (outcomes: (number | ArrayBuffer | string | null)[]) => void"
    )]
    pub fn new(env: Env, shapes: &SqlShapes, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let state = State { shapes: Arc::clone(&shapes.shapes), ..State::default() };
        let inner = Rc::new(Inner {
            attachment: Attachment::new(env)?,
            state: RefCell::new(state),
            shared: RefCell::default(),
        });
        Attachment::attach(&inner, env, Some(&callback))?;
        Ok(Self { inner })
    }

    /// Adds a connection; returns its number.
    #[napi(catch_unwind)]
    pub fn add(&self, connection: &SqlConnection) -> napi::Result<u32> {
        let session = connection.take().map_err(js)?;
        if !self.inner.attachment.is_open() {
            return Err(js(Error::Closed("the loop")));
        }
        let mut state = self.inner.state.borrow_mut();
        // A number is free only once JavaScript has got all outcomes of its last connection.
        let is_free = |index: usize| state.outcomes.iter().all(|(number, _)| *number as usize != index);
        let free = state.sockets.iter().enumerate().position(|(index, socket)| socket.is_none() && is_free(index));
        let index = free.unwrap_or_else(|| {
            state.sockets.push(None);
            state.sockets.len() - 1
        });
        let watcher = Box::new(SocketWatcher { inner: Rc::clone(&self.inner), index });
        // SAFETY: the socket goes with the session, and the handle is closed first; the watcher tells the attachment.
        let handle = unsafe { self.inner.attachment.watch(session.socket(), watcher) }.map_err(js)?;
        state.sockets[index] = Some(Socket { session, handle, events: READABLE, is_kept_alive: false });
        u32::try_from(index).map_err(|error| js(Error::Internal(error.to_string())))
    }

    /// Begins the call in the first `bytes` bytes of a submission, on a connection that has no call under way. The callback gets
    /// the results. Returns true if outcomes are ready at once, which the caller takes with `outcomes`.
    #[napi(catch_unwind, ts_args_type = "connection: number, submission: Uint8Array, bytes: number")]
    pub fn submit(&self, env: Env, connection: u32, submission: Unknown<'_>, bytes: u32) -> napi::Result<bool> {
        let submission = submission_of(env, &submission, bytes)?;
        let mut state = self.inner.state.borrow_mut();
        let index = connection as usize;
        if state.sockets.get(index).is_none_or(Option::is_none) {
            return Err(js(Error::Closed("the connection")));
        }
        let shapes = Arc::clone(&state.shapes);
        state.drive(index, |session| session.submit(submission, shapes));
        Ok(!state.outcomes.is_empty())
    }

    /// Takes the outcomes that are not delivered yet, in the array that the callback would get.
    #[napi(catch_unwind, ts_return_type = "(number | ArrayBuffer | string | null)[]")]
    pub fn outcomes(&self, env: Env) -> napi::Result<Either<Unknown<'static>, ()>> {
        let outcomes = std::mem::take(&mut self.inner.state.borrow_mut().outcomes);
        // SAFETY: the environment is that of the call under way, and the value is returned from it.
        unsafe {
            let array = self.inner.array_of(env.raw(), outcomes)?;
            Ok(Either::A(Unknown::from_raw_unchecked(env.raw(), array)))
        }
    }

    /// Closes a connection and asks the server to end its call under way. The callback gets no more outcomes of it.
    #[napi(catch_unwind)]
    pub fn remove(&self, connection: u32) {
        let mut state = self.inner.state.borrow_mut();
        state.outcomes.retain(|(number, _)| *number != connection);
        state.end(connection as usize);
    }
}

impl Drop for SqlLoop {
    fn drop(&mut self) {
        detach(&*self.inner);
    }
}
