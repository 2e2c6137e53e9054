//! Connections driven by the event loop of one of Node's threads, for any protocol. Requests are sent and replies received on
//! that thread itself: going through another thread costs two wake-ups a request, which take longer than all the rest. All
//! results that the loop finds ready in one iteration cross into JavaScript in one call.

use std::cell::RefCell;
use std::ffi::c_int;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::rc::Rc;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use napi::bindgen_prelude::{Either, Function, ToNapiValue, Undefined, Unknown};
use napi::{Env, sys};

use crate::array_buffer::copy_of;
use crate::attachment::{Attached, Attachment, detach};
use crate::buffers::{COPIED_BYTES, Handover};
use crate::errors::js;
use crate::shared_memory::{SMALL_BYTES, SharedMemory};
use crate::uv::{Handle, READABLE, WRITABLE, Watcher};

/// The most reads from one socket before the other sockets get their turn.
const MOST_READS: usize = 8;

/// Results of at least this many bytes are delivered to JavaScript before the next socket is handled: JavaScript then sends its
/// next requests while the server and we are both busy with the rest. Smaller results are collected, since one crossing costs
/// more than they do.
const DELIVERED_BYTES: usize = 1 << 10;

/// The protocol of a loop's connections: turns requests into bytes, and bytes into results.
pub trait Protocol: 'static {
    /// The number of bytes received from one socket from which the other sockets get their turn.
    const MOST_BYTES: usize = usize::MAX;

    /// The state of one connection: its requests under way and its buffers.
    type Session: 'static;

    /// The frame of the results that are not delivered to JavaScript yet, in whole words.
    fn results(&self) -> &[u8];

    /// Drops the undelivered results.
    fn clear_results(&mut self);

    /// Takes out the undelivered results.
    fn take_results(&mut self) -> Vec<u8>;

    /// The bytes that are still to be sent.
    fn unsent(session: &Self::Session) -> &[u8];

    /// Notes that the first `bytes` unsent bytes were sent.
    fn sent(&mut self, session: &mut Self::Session, bytes: usize);

    /// The buffer to receive into.
    fn room(session: &mut Self::Session) -> &mut [u8];

    /// Handles `bytes` bytes that were received into the buffer of `room`.
    fn received(&mut self, session: &mut Self::Session, bytes: usize) -> Result<()>;

    /// The number of requests without a result.
    fn in_flight(session: &Self::Session) -> usize;

    /// Whether the connection is to be closed: it takes no more requests, and owes no response.
    fn is_over(_session: &Self::Session) -> bool {
        false
    }

    /// The error for a connection that the server has closed, or that has failed.
    fn lost(&mut self, session: &mut Self::Session, error: &std::io::Error) -> Error;

    /// Notes that a connection is closed: its requests get the error.
    fn ended(&mut self, number: usize, session: &mut Self::Session, error: &Error);
}

/// The connections of one of Node's threads.
pub struct SocketLoop<P: Protocol> {
    inner: Rc<Inner<P>>,
}

struct Inner<P: Protocol> {
    attachment: Attachment,
    state: RefCell<State<P>>,
    shared: RefCell<SharedMemory>,
}

/// The sockets of a loop, by their numbers, and the protocol with its results.
pub struct State<P: Protocol> {
    pub sockets: Vec<Option<Socket<P>>>,
    pub protocol: P,
    /// The numbers of closed connections that JavaScript has not heard of: no other connection may get them yet.
    ended: Vec<usize>,
}

/// A connection on the loop.
pub struct Socket<P: Protocol> {
    pub stream: DrivenStream,
    pub session: P::Session,
    handle: Handle,
    events: c_int,
    is_kept_alive: bool,
}

impl<P: Protocol> Socket<P> {
    /// Sends unsent bytes until the socket's buffer is full.
    fn send(&mut self, protocol: &mut P) -> Result<()> {
        while self.has_unsent() {
            let sent = match P::unsent(&self.session) {
                [] => self.stream.flush().map(|()| 0),
                unsent => self.stream.write(unsent),
            };
            match sent {
                Ok(bytes) => protocol.sent(&mut self.session, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The server's last bytes are still to be read: they may tell why it closed the connection.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => break,
                Err(error) => return Err(protocol.lost(&mut self.session, &error)),
            }
        }
        Ok(())
    }

    /// Receives the bytes that the socket has, in about [`MOST_READS`] reads at most; returns their number.
    fn receive(&mut self, protocol: &mut P) -> Result<usize> {
        let (mut received, mut reads) = (0, 0);
        loop {
            reads += 1;
            let room = P::room(&mut self.session);
            let wanted = room.len();
            match self.stream.read(room) {
                Ok(0) => return Err(protocol.lost(&mut self.session, &ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    protocol.received(&mut self.session, bytes)?;
                    received += bytes;
                    let is_enough = bytes < wanted || received >= P::MOST_BYTES || reads >= MOST_READS;
                    // The loop does not watch for bytes that the stream holds.
                    if is_enough && !self.stream.has_input() {
                        return Ok(received);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(received),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(protocol.lost(&mut self.session, &error)),
            }
        }
    }

    /// Receives the bytes that arrived before the socket failed; returns the error of the connection.
    fn broken(&mut self, status: c_int, protocol: &mut P) -> Error {
        // Taken before reading, which would clear it. The loop's status says no more than that there is an error.
        let problem = self.stream.take_error();
        loop {
            match self.receive(protocol) {
                Ok(0) => {
                    let problem = problem.unwrap_or_else(|| std::io::Error::from_raw_os_error(-status));
                    return protocol.lost(&mut self.session, &problem);
                }
                Ok(_) => {}
                Err(error) => return problem.map_or(error, |problem| protocol.lost(&mut self.session, &problem)),
            }
        }
    }

    fn has_unsent(&self) -> bool {
        !P::unsent(&self.session).is_empty() || self.stream.has_unsent()
    }

    /// Updates the events that the socket is watched for, and whether it keeps the process alive.
    fn settle(&mut self) {
        let events = if self.has_unsent() { READABLE | WRITABLE } else { READABLE };
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
    /// Runs work on a socket, then sends the unsent bytes. An error closes the connection. Returns whether it was closed.
    fn drive(&mut self, index: usize, work: impl FnOnce(&mut Socket<P>, &mut P) -> Result<()>) -> bool {
        let Some(socket) = self.sockets.get_mut(index).and_then(Option::as_mut) else { return false };
        let protocol = &mut self.protocol;
        let work = || {
            work(socket, protocol)?;
            socket.send(protocol)
        };
        let error = match catch_panic(work) {
            Ok(()) if P::is_over(&socket.session) => Error::Closed("the connection"),
            Ok(()) => {
                socket.settle();
                return false;
            }
            Err(error) => error,
        };
        self.end(index, &error);
        true
    }

    /// Sends the unsent bytes of a socket's session.
    pub fn send(&mut self, index: usize) {
        self.drive(index, |_, _| Ok(()));
    }

    /// Closes a connection; its requests get the error.
    pub fn end(&mut self, index: usize, error: &Error) {
        if let Some(mut socket) = self.sockets.get_mut(index).and_then(Option::take) {
            self.protocol.ended(index, &mut socket.session, error);
            self.ended.push(index);
            // The handle is closed first: dropping the stream closes the socket.
            socket.handle.close();
        }
    }

    /// Takes the undelivered results, which tell of the closed connections too.
    fn take_results(&mut self) -> Vec<u8> {
        self.ended.clear();
        self.protocol.take_results()
    }

    /// Drops the results, which were copied.
    fn clear_results(&mut self) {
        self.ended.clear();
        self.protocol.clear_results();
    }

    fn end_all(&mut self, error: &Error) {
        for index in 0..self.sockets.len() {
            self.end(index, error);
        }
    }
}

/// The watcher of one socket.
struct SocketWatcher<P: Protocol> {
    inner: Rc<Inner<P>>,
    index: usize,
}

impl<P: Protocol> Watcher for SocketWatcher<P> {
    fn on_event(&self, status: c_int, events: c_int) {
        let is_gone = self.inner.state.borrow_mut().drive(self.index, |socket, protocol| {
            if status < 0 {
                return Err(socket.broken(status, protocol));
            }
            if events & WRITABLE != 0 {
                socket.send(protocol)?;
            }
            if events & READABLE != 0 {
                socket.receive(protocol)?;
            }
            Ok(())
        });
        // A statement of its own, which ends the borrow: JavaScript may submit requests while it runs.
        let is_much = self.inner.state.borrow().protocol.results().len() >= DELIVERED_BYTES;
        // JavaScript must hear of a closed connection before it runs anything else: it must not take the connection for an idle
        // one.
        if is_much || is_gone {
            self.inner.deliver();
        }
    }

    fn on_panic(&self, error: &Error) {
        self.inner.state.borrow_mut().end(self.index, error);
        self.inner.deliver();
    }

    fn on_closed(&self) {
        self.inner.attachment.on_handle_closed();
    }
}

impl<P: Protocol> Attached for Inner<P> {
    fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    fn deliver(&self) {
        if self.state.borrow().protocol.results().is_empty() {
            return;
        }
        self.attachment.call(|env| {
            let mut state = self.state.borrow_mut();
            let length = state.protocol.results().len();
            // SAFETY: the environment is that of this thread, and the scope of handles is that of `call`.
            let (buffer, start) = unsafe {
                if length > SMALL_BYTES {
                    (buffer_of(env, &mut state).ok()?, 0)
                } else {
                    let placed = self.shared.borrow_mut().place(env, state.protocol.results());
                    state.clear_results();
                    placed?
                }
            };
            let mut arguments = [buffer, ptr::null_mut(), ptr::null_mut()];
            // SAFETY: as above.
            unsafe {
                sys::napi_create_double(env, start as f64, &raw mut arguments[1]);
                sys::napi_create_double(env, (start + length) as f64, &raw mut arguments[2]);
            }
            Some(arguments)
        });
    }

    fn fail(&self, error: &Error) {
        self.state.borrow_mut().end_all(error);
        self.deliver();
    }

    fn end(&self) {
        self.state.borrow_mut().end_all(&Error::Closed("the connection"));
        // SAFETY: this is the thread of the environment, which lives as long as it is attached; nothing is placed later.
        unsafe { self.shared.borrow_mut().release(self.attachment.env()) };
    }
}

/// Takes the undelivered results as an `ArrayBuffer`.
unsafe fn buffer_of(env: sys::napi_env, state: &mut State<impl Protocol>) -> napi::Result<sys::napi_value> {
    if state.protocol.results().len() > COPIED_BYTES {
        // SAFETY: the caller's environment.
        return unsafe { ToNapiValue::to_napi_value(env, Handover(state.take_results())) };
    }
    // SAFETY: the caller's environment.
    let buffer = unsafe { copy_of(env, state.protocol.results()) }?;
    state.clear_results();
    Ok(buffer)
}

impl<P: Protocol> SocketLoop<P> {
    /// A loop on this thread. `callback` gets frames of results, each as a buffer and the byte offsets of its start and end.
    pub fn new(env: Env, protocol: P, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let inner = Rc::new(Inner {
            attachment: Attachment::new(env)?,
            state: RefCell::new(State { sockets: Vec::new(), protocol, ended: Vec::new() }),
            shared: RefCell::default(),
        });
        Attachment::attach(&inner, env, Some(&callback))?;
        Ok(Self { inner })
    }

    /// Adds a connection; returns its number.
    pub fn add(&self, stream: DrivenStream, session: P::Session) -> napi::Result<u32> {
        if !self.inner.attachment.is_open() {
            return Err(js(Error::Closed("the loop")));
        }
        let mut state = self.inner.state.borrow_mut();
        let State { sockets, ended, .. } = &mut *state;
        let mut numbers = sockets.iter().enumerate();
        let free = numbers.position(|(index, socket)| socket.is_none() && !ended.contains(&index));
        let index = free.unwrap_or_else(|| {
            sockets.push(None);
            sockets.len() - 1
        });
        let watcher = Box::new(SocketWatcher { inner: Rc::clone(&self.inner), index });
        // SAFETY: the stream goes with the handle, which is closed first; the watcher tells the attachment.
        let handle = unsafe { self.inner.attachment.watch(stream.as_fd().as_raw_fd(), watcher) }.map_err(js)?;
        let has_input = stream.has_input();
        state.sockets[index] = Some(Socket { stream, session, handle, events: READABLE, is_kept_alive: false });
        if has_input {
            state.drive(index, |socket, protocol| socket.receive(protocol).map(drop));
        }
        u32::try_from(index).map_err(|error| js(Error::Internal(error.to_string())))
    }

    /// Runs work on the connections; no JavaScript may run in it.
    pub fn state<T>(&self, work: impl FnOnce(&mut State<P>) -> T) -> T {
        work(&mut self.inner.state.borrow_mut())
    }

    /// Runs work as [`SocketLoop::state`] does, and returns a frame if there are results at once.
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
        let buffer = unsafe { buffer_of(env.raw(), &mut state) }?;
        // SAFETY: the value is returned from that call.
        Ok(Either::A(unsafe { Unknown::from_raw_unchecked(env.raw(), buffer) }))
    }
}

impl<P: Protocol> Drop for SocketLoop<P> {
    fn drop(&mut self) {
        detach(&*self.inner);
    }
}
