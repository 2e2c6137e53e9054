//! Connections driven by the event loop of a thread of Node's, whatever goes over them. Requests go to the sockets, and replies come from them, on
//! that thread itself: a detour over another one costs two wake-ups a request, which take longer than all the rest. All
//! that the loop finds ready in one iteration crosses into JavaScript in one call.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::ptr;
use std::rc::Rc;

use boundary_bench_core::error::catch_panic;
use boundary_bench_core::{Error, Result};
use napi::bindgen_prelude::{Either, Function, JsValue, ToNapiValue, Undefined, Unknown};
use napi::{Env, sys};

use crate::buffers::Handover;
use crate::errors::js;
use crate::uv::{Handle, READABLE, WRITABLE, Watcher};

/// How often a socket is read from before the others have their turn.
const MOST_READS: usize = 8;

/// Results of so many bytes are given to JavaScript before the next socket is looked at: it sends what comes next while
/// the server and we are both busy with the rest. Small ones wait for each other, since one crossing costs more than they do.
const DELIVERED_BYTES: usize = 1 << 10;

/// Frames up to this size are copied into JavaScript's memory: that costs less than handing memory over.
const COPIED_BYTES: usize = 64 << 10;

/// The memory that small frames share, one after the other: making memory for each, and collecting it, costs more than the
/// rest of a crossing.
const SHARED_BYTES: usize = 64 << 10;

/// The largest frame that shares memory. A result that is kept keeps what it shares.
const SMALL_BYTES: usize = 8 << 10;

/// What goes over the connections of a loop: requests become bytes, and bytes results.
pub trait Protocol: Default + 'static {
    /// One connection's requests under way.
    type Session: 'static;

    /// The results that were not given to JavaScript yet, in whole words.
    fn results(&self) -> &[u8];

    /// Forgets the results.
    fn clear_results(&mut self);

    /// The results; there are none then.
    fn take_results(&mut self) -> Vec<u8>;

    /// What is to be sent.
    fn unsent(session: &Self::Session) -> &[u8];

    /// So many bytes of it were sent.
    fn sent(session: &mut Self::Session, bytes: usize);

    /// Room to receive into.
    fn room(session: &mut Self::Session) -> &mut [u8];

    /// So many bytes were received into the room.
    fn received(&mut self, session: &mut Self::Session, bytes: usize) -> Result<()>;

    /// The requests without a result.
    fn in_flight(session: &Self::Session) -> usize;

    /// Whether the connection has done its last.
    fn is_over(_session: &Self::Session) -> bool {
        false
    }

    /// The error for a connection that the server has ended, or that has failed.
    fn lost(&mut self, session: &mut Self::Session, error: &std::io::Error) -> Error;

    /// A connection is gone: its requests get the error.
    fn ended(&mut self, number: usize, session: &mut Self::Session, error: &Error);
}

/// The connections of a thread of Node's.
pub struct SocketLoop<P: Protocol> {
    inner: Rc<Inner<P>>,
}

struct Inner<P: Protocol> {
    env: sys::napi_env,
    uv_loop: *mut c_void,
    state: RefCell<State<P>>,
    /// The handles that the loop has not closed yet.
    handles: Cell<usize>,
    /// Node's, when this thread ends and waits for the handles.
    ending: Cell<sys::napi_async_cleanup_hook_handle>,
}

/// The sockets, and what goes over them.
pub struct State<P: Protocol> {
    pub sockets: Vec<Option<Socket<P>>>,
    pub protocol: P,
    open: Option<Open>,
}

/// What there is until the end.
struct Open {
    check: Handle,
    callback: sys::napi_ref,
    context: sys::napi_async_context,
    shared: Shared,
}

/// The memory of small frames: JavaScript's, filled from the front and never written twice.
struct Shared {
    buffer: sys::napi_ref,
    used: usize,
}

impl Shared {
    /// Copies a frame to the end, into new memory where it does not fit: returns the buffer and where the frame begins.
    ///
    /// # Safety
    /// `env` is the environment of this thread, and a scope of handles is open.
    unsafe fn place(&mut self, env: sys::napi_env, bytes: &[u8]) -> Option<(sys::napi_value, usize)> {
        let (mut data, mut length, mut buffer) = (ptr::null_mut(), 0, ptr::null_mut());
        // SAFETY: the caller's promise. JavaScript may have detached the buffer: then it is told to have no length.
        unsafe {
            if !self.buffer.is_null() {
                sys::napi_get_reference_value(env, self.buffer, &raw mut buffer);
                sys::napi_get_arraybuffer_info(env, buffer, &raw mut data, &raw mut length);
            }
            if length < self.used + bytes.len() {
                if !self.buffer.is_null() {
                    sys::napi_delete_reference(env, self.buffer);
                    self.buffer = ptr::null_mut();
                }
                let status = sys::napi_create_arraybuffer(env, SHARED_BYTES, &raw mut data, &raw mut buffer);
                if status != sys::Status::napi_ok {
                    return None;
                }
                sys::napi_create_reference(env, buffer, 1, &raw mut self.buffer);
                self.used = 0;
            }
        }
        let start = self.used;
        // SAFETY: the memory has room for these bytes from `start` on, as was just checked, and no JavaScript has run since.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>().add(start), bytes.len()) };
        // Frames are whole words.
        self.used += bytes.len();
        Some((buffer, start))
    }
}

/// A connection on the loop.
pub struct Socket<P: Protocol> {
    /// Also of a Unix domain socket: it is only read from and written to.
    pub stream: TcpStream,
    pub session: P::Session,
    handle: Handle,
    events: c_int,
    is_kept_alive: bool,
}

impl<P: Protocol> Socket<P> {
    /// Sends what the socket takes.
    fn send(&mut self, protocol: &mut P) -> Result<()> {
        while !P::unsent(&self.session).is_empty() {
            match self.stream.write(P::unsent(&self.session)) {
                Ok(bytes) => P::sent(&mut self.session, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What the server said before it closed is still to be read: it may be the reason.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => break,
                Err(error) => return Err(protocol.lost(&mut self.session, &error)),
            }
        }
        Ok(())
    }

    /// Receives what the socket has.
    fn receive(&mut self, protocol: &mut P) -> Result<()> {
        for _ in 0..MOST_READS {
            let room = P::room(&mut self.session);
            let wanted = room.len();
            match self.stream.read(room) {
                Ok(0) => return Err(protocol.lost(&mut self.session, &ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    protocol.received(&mut self.session, bytes)?;
                    if bytes < wanted {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(protocol.lost(&mut self.session, &error)),
            }
        }
        Ok(())
    }

    /// Watches for what is to come.
    fn settle(&mut self) {
        let events = if P::unsent(&self.session).is_empty() { READABLE } else { READABLE | WRITABLE };
        if events != self.events {
            self.events = events;
            self.handle.watch(events);
        }
        let keep = P::in_flight(&self.session) > 0;
        if keep != self.is_kept_alive {
            self.is_kept_alive = keep;
            self.handle.keep_alive(keep);
        }
    }
}

impl<P: Protocol> State<P> {
    /// Does work on a socket, then sends what that has led to; an error ends its connection.
    fn drive(&mut self, index: usize, work: impl FnOnce(&mut Socket<P>, &mut P) -> Result<()>) {
        let Some(socket) = self.sockets.get_mut(index).and_then(Option::as_mut) else { return };
        let protocol = &mut self.protocol;
        let work = || {
            work(socket, protocol)?;
            socket.send(protocol)
        };
        match catch_panic(work) {
            Ok(()) if P::is_over(&socket.session) => self.end(index, &Error::Closed("the connection")),
            Ok(()) => socket.settle(),
            Err(error) => self.end(index, &error),
        }
    }

    /// Sends what a socket's session has to send.
    pub fn send(&mut self, index: usize) {
        self.drive(index, |_, _| Ok(()));
    }

    /// Closes a connection; its requests get the error.
    pub fn end(&mut self, index: usize, error: &Error) {
        if let Some(mut socket) = self.sockets.get_mut(index).and_then(Option::take) {
            self.protocol.ended(index, &mut socket.session, error);
            // Before the socket, which is closed with the stream.
            socket.handle.close();
        }
    }
}

/// What the loop calls for one socket.
struct SocketWatcher<P: Protocol> {
    inner: Rc<Inner<P>>,
    index: usize,
}

impl<P: Protocol> Watcher for SocketWatcher<P> {
    fn on_event(&self, status: c_int, events: c_int) {
        self.inner.state.borrow_mut().drive(self.index, |socket, protocol| {
            if status < 0 {
                return Err(protocol.lost(&mut socket.session, &std::io::Error::from_raw_os_error(-status)));
            }
            if events & WRITABLE != 0 {
                socket.send(protocol)?;
            }
            if events & READABLE != 0 {
                socket.receive(protocol)?;
            }
            Ok(())
        });
        // A statement of its own: JavaScript may submit while it runs.
        let is_much = self.inner.state.borrow().protocol.results().len() >= DELIVERED_BYTES;
        if is_much {
            self.inner.deliver();
        }
    }

    fn on_closed(&self) {
        self.inner.on_handle_closed();
    }
}

/// What the loop calls when all sockets were looked at.
struct CheckWatcher<P: Protocol>(Rc<Inner<P>>);

impl<P: Protocol> Watcher for CheckWatcher<P> {
    fn on_event(&self, _status: c_int, _events: c_int) {
        self.0.deliver();
    }

    fn on_closed(&self) {
        self.0.on_handle_closed();
    }
}

impl<P: Protocol> Inner<P> {
    /// Gives the results to JavaScript.
    fn deliver(&self) {
        let mut state = self.state.borrow_mut();
        let State { protocol, open: Some(open), .. } = &mut *state else { return };
        if protocol.results().is_empty() {
            return;
        }
        let (callback, context) = (open.callback, open.context);
        // SAFETY: this is the thread of the environment, which lives as long as `open` does; the scope is closed in all
        // cases. Nothing of the state is borrowed while JavaScript runs.
        unsafe {
            let mut scope = ptr::null_mut();
            if sys::napi_open_handle_scope(self.env, &raw mut scope) != sys::Status::napi_ok {
                return;
            }
            let length = protocol.results().len();
            let placed = if length > SMALL_BYTES {
                buffer_of(self.env, protocol).ok().map(|buffer| (buffer, 0))
            } else {
                let placed = open.shared.place(self.env, protocol.results());
                protocol.clear_results();
                placed
            };
            drop(state);
            if let Some((buffer, start)) = placed {
                let mut arguments = [buffer, ptr::null_mut(), ptr::null_mut()];
                sys::napi_create_double(self.env, start as f64, &raw mut arguments[1]);
                sys::napi_create_double(self.env, (start + length) as f64, &raw mut arguments[2]);
                let (mut function, mut receiver) = (ptr::null_mut(), ptr::null_mut());
                sys::napi_get_reference_value(self.env, callback, &raw mut function);
                sys::napi_get_global(self.env, &raw mut receiver);
                let status = sys::napi_make_callback(
                    self.env,
                    context,
                    receiver,
                    function,
                    arguments.len(),
                    arguments.as_ptr(),
                    ptr::null_mut(),
                );
                if status == sys::Status::napi_pending_exception {
                    let mut exception = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(self.env, &raw mut exception);
                    sys::napi_fatal_exception(self.env, exception);
                }
            }
            sys::napi_close_handle_scope(self.env, scope);
        }
    }

    /// Closes everything; does nothing the second time.
    fn close(&self) {
        let mut state = self.state.borrow_mut();
        for index in 0..state.sockets.len() {
            state.end(index, &Error::Closed("the connection"));
        }
        if let Some(open) = state.open.take() {
            open.check.close();
            // SAFETY: this is the thread of the environment, which still lives.
            unsafe {
                sys::napi_delete_reference(self.env, open.callback);
                if !open.shared.buffer.is_null() {
                    sys::napi_delete_reference(self.env, open.shared.buffer);
                }
                sys::napi_async_destroy(self.env, open.context);
            }
        }
    }

    fn on_handle_closed(&self) {
        self.handles.set(self.handles.get().saturating_sub(1));
        self.end_if_closed();
    }

    /// Lets the thread end that waits for the last handle.
    fn end_if_closed(&self) {
        let ending = self.ending.get();
        if self.handles.get() == 0 && !ending.is_null() {
            self.ending.set(ptr::null_mut());
            // SAFETY: it is the handle that Node gave, and it is removed once.
            unsafe { sys::napi_remove_async_cleanup_hook(ending) };
        }
    }
}

/// The results as an `ArrayBuffer`; there are none then.
unsafe fn buffer_of(env: sys::napi_env, protocol: &mut impl Protocol) -> napi::Result<sys::napi_value> {
    let bytes = protocol.results();
    if bytes.len() > COPIED_BYTES {
        // SAFETY: the caller's environment.
        return unsafe { ToNapiValue::to_napi_value(env, Handover(protocol.take_results())) };
    }
    let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's environment; the memory that Node gives has the length asked for, and nobody else sees it yet.
    unsafe {
        let status = sys::napi_create_arraybuffer(env, bytes.len(), &raw mut data, &raw mut buffer);
        if status != sys::Status::napi_ok {
            return Err(js(Error::Internal("no memory for the results".to_owned())));
        }
        ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
    }
    protocol.clear_results();
    Ok(buffer)
}

/// Node calls this when the thread ends, and waits until the hook is removed.
unsafe extern "C" fn on_thread_end<P: Protocol>(hook: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    // SAFETY: the pointer is that of `SocketLoop::new`, and Node calls once.
    let inner = unsafe { Rc::from_raw(data.cast::<Inner<P>>().cast_const()) };
    inner.ending.set(hook);
    inner.close();
    inner.end_if_closed();
}

impl<P: Protocol> SocketLoop<P> {
    /// The connections of this thread; `callback` gets the frames of results: each lies between two places of a buffer.
    pub fn new(env: Env, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let raw = env.raw();
        let mut uv_loop = ptr::null_mut();
        // SAFETY: the environment is that of the call under way, and the out-pointer is valid.
        let status = unsafe { sys::napi_get_uv_event_loop(raw, &raw mut uv_loop) };
        if status != sys::Status::napi_ok {
            return Err(js(Error::Unsupported("this host has no event loop of libuv".to_owned())));
        }
        let inner = Rc::new(Inner {
            env: raw,
            uv_loop: uv_loop.cast(),
            state: RefCell::new(State { sockets: Vec::new(), protocol: P::default(), open: None }),
            handles: Cell::new(1),
            ending: Cell::new(ptr::null_mut()),
        });
        let watcher = Box::new(CheckWatcher(Rc::clone(&inner)));
        // SAFETY: the loop is this thread's, as Node says.
        let check = unsafe { Handle::check(inner.uv_loop, watcher) }.map_err(js)?;
        check.keep_alive(false);
        let name = env.create_string("boundary-bench")?;
        let (mut reference, mut context, mut hook) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handles are those of the call under way; the pointer that Node keeps owns a count of the `Rc`,
        // which `on_thread_end` takes back.
        unsafe {
            sys::napi_create_reference(raw, callback.raw(), 1, &raw mut reference);
            sys::napi_async_init(raw, ptr::null_mut(), name.raw(), &raw mut context);
            let data = Rc::into_raw(Rc::clone(&inner)).cast_mut().cast();
            sys::napi_add_async_cleanup_hook(raw, Some(on_thread_end::<P>), data, &raw mut hook);
        }
        inner.state.borrow_mut().open =
            Some(Open { check, callback: reference, context, shared: Shared { buffer: ptr::null_mut(), used: 0 } });
        Ok(Self { inner })
    }

    /// Takes a connection; returns its number.
    pub fn add(&self, stream: TcpStream, session: P::Session) -> napi::Result<usize> {
        let mut state = self.inner.state.borrow_mut();
        if state.open.is_none() {
            return Err(js(Error::Closed("the loop")));
        }
        let index = state.sockets.iter().position(Option::is_none).unwrap_or_else(|| {
            state.sockets.push(None);
            state.sockets.len() - 1
        });
        let watcher = Box::new(SocketWatcher { inner: Rc::clone(&self.inner), index });
        // SAFETY: the loop is this thread's; the stream goes with the handle, which is closed first.
        let handle = unsafe { Handle::poll(self.inner.uv_loop, stream.as_raw_fd(), watcher) }.map_err(js)?;
        self.inner.handles.set(self.inner.handles.get() + 1);
        handle.watch(READABLE);
        handle.keep_alive(false);
        state.sockets[index] = Some(Socket { stream, session, handle, events: READABLE, is_kept_alive: false });
        Ok(index)
    }

    /// Does work on the connections; no JavaScript may run in it.
    pub fn state<T>(&self, work: impl FnOnce(&mut State<P>) -> T) -> T {
        work(&mut self.inner.state.borrow_mut())
    }

    /// As [`SocketLoop::state`]. Returns a frame where there are results at once.
    pub fn with<T>(
        &self,
        env: Env,
        work: impl FnOnce(&mut State<P>) -> napi::Result<T>,
    ) -> napi::Result<Either<Unknown<'static>, Undefined>> {
        let mut state = self.inner.state.borrow_mut();
        work(&mut state)?;
        if state.protocol.results().is_empty() {
            return Ok(Either::B(()));
        }
        // SAFETY: the environment is that of the call under way.
        let buffer = unsafe { buffer_of(env.raw(), &mut state.protocol) }?;
        // SAFETY: the value is returned from that call.
        Ok(Either::A(unsafe { Unknown::from_raw_unchecked(env.raw(), buffer) }))
    }
}

impl<P: Protocol> Drop for SocketLoop<P> {
    fn drop(&mut self) {
        self.inner.close();
    }
}
