//! Connections driven by the event loop, for any protocol.

use std::cell::RefCell;
use std::ffi::c_int;
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;

use boundary_bench_kernel::driven_stream::{Driven, DrivenStream};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::{Error, Result};

use crate::handle::Handle;
use crate::handles::Handles;
use crate::socket_number::number_of;
use crate::watcher::{READABLE, WRITABLE, Watcher};

/// The most reads from one socket before the other sockets get their turn.
const MOST_READS: usize = 8;

/// Results of at least this many bytes are delivered to JavaScript before the next socket is handled. JavaScript then sends its
/// next requests while the server and we are both busy with the rest. Smaller results are collected, since one crossing costs
/// more than they do.
const DELIVERED_BYTES: usize = 1 << 10;

/// The protocol of a loop's connections: turns requests into bytes, and bytes into results.
pub trait Protocol: 'static {
    /// The number of bytes received from one socket from which the other sockets get their turn.
    const MOST_BYTES: usize = usize::MAX;

    /// The state of one connection: its requests under way and its buffers.
    type Session: Driven + 'static;

    /// The frame of the results that are not delivered to JavaScript yet.
    fn frame(&mut self) -> &mut Frame;

    /// Notes that the first `bytes` unsent bytes were sent.
    fn sent(&mut self, session: &mut Self::Session, bytes: usize);

    /// Handles `bytes` bytes that were received into the session's [`Driven::room`].
    fn received(&mut self, session: &mut Self::Session, bytes: usize) -> Result<()>;

    /// The error for a connection that the server has closed, or that has failed.
    fn lost(&mut self, session: &mut Self::Session, error: &std::io::Error) -> Error;

    /// Notes that a connection is closed: its requests get the error.
    fn ended(&mut self, number: usize, session: &mut Self::Session, error: &Error);
}

/// The owner of sockets. It delivers their results.
pub trait SocketOwner: 'static {
    /// The protocol of the sockets.
    type Protocol: Protocol;

    /// The handles of the sockets.
    fn handles(&self) -> &Handles;

    /// The sockets. They are not borrowed while JavaScript runs.
    fn sockets(&self) -> &RefCell<Sockets<Self::Protocol>>;

    /// Gives the collected results to JavaScript.
    fn deliver(&self);
}

/// The sockets of a loop, by their numbers, and the protocol with its results.
pub struct Sockets<P: Protocol> {
    /// The sockets. A number without a socket is free.
    pub sockets: Vec<Option<Socket<P>>>,
    /// The protocol, with the undelivered results.
    pub protocol: P,
    /// The numbers of closed connections that JavaScript has not heard of: no other connection may get them yet.
    ended: Vec<usize>,
}

/// A connection on the loop.
pub struct Socket<P: Protocol> {
    /// The stream to the server.
    pub stream: DrivenStream,
    /// The protocol's state of the connection.
    pub session: P::Session,
    handle: Handle,
    events: c_int,
    is_kept_alive: bool,
    /// The error that the socket has told already, after which reading it finds an end.
    failure: Option<std::io::Error>,
}

impl<P: Protocol> Socket<P> {
    /// Sends unsent bytes until the socket's buffer is full.
    fn send(&mut self, protocol: &mut P) -> Result<()> {
        while self.has_unsent() {
            let sent = match self.session.unsent() {
                [] => self.stream.flush().map(|()| 0),
                unsent => self.stream.write(unsent),
            };
            match sent {
                Ok(bytes) => protocol.sent(&mut self.session, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The server's last bytes are still to be read: they may tell why it closed the connection.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                    self.note(error);
                    break;
                }
                Err(error) => return Err(protocol.lost(&mut self.session, &error)),
            }
        }
        Ok(())
    }

    /// Receives the bytes that the socket has, in about [`MOST_READS`] reads at most, and returns their number.
    fn receive(&mut self, protocol: &mut P) -> Result<usize> {
        let (mut received, mut reads) = (0, 0);
        loop {
            reads += 1;
            let room = self.session.room();
            let wanted = room.len();
            match self.stream.read(room) {
                Ok(0) => {
                    // TLS has an end of its own. It is valid no matter what happened to the socket.
                    let failure = self.failure.take().filter(|_| !self.stream.has_input());
                    let error = failure.unwrap_or_else(|| ErrorKind::UnexpectedEof.into());
                    return Err(protocol.lost(&mut self.session, &error));
                }
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

    /// Receives the bytes that arrived before the socket failed. Returns the error of the connection.
    fn broken(&mut self, status: c_int, protocol: &mut P) -> Error {
        // Taken before reading, because reading would clear it. The loop's status says no more than that there is an error.
        if let Some(error) = self.stream.take_error() {
            self.note(error);
        }
        loop {
            let received = self.receive(protocol);
            if matches!(received, Ok(1..)) {
                continue;
            }
            let problem = self.failure.take();
            return match (problem, received) {
                (None, Err(error)) => error,
                (problem, _) => {
                    let problem = problem.unwrap_or_else(|| std::io::Error::from_raw_os_error(-status));
                    protocol.lost(&mut self.session, &problem)
                }
            };
        }
    }

    /// Keeps the first error of the socket for the read that finds its end. A broken pipe is none: it says that the server
    /// had ended the stream before it refused more bytes.
    fn note(&mut self, error: std::io::Error) {
        if error.kind() != ErrorKind::BrokenPipe {
            self.failure.get_or_insert(error);
        }
    }

    fn has_unsent(&self) -> bool {
        !self.session.unsent().is_empty() || self.stream.has_unsent()
    }

    /// Updates the events that the socket is watched for, and whether it keeps the process alive.
    fn settle(&mut self) {
        let events = if self.has_unsent() { READABLE | WRITABLE } else { READABLE };
        if events != self.events {
            self.events = events;
            self.handle.watch(events);
        }
        let keep = self.session.in_flight() > 0;
        if keep != self.is_kept_alive {
            self.is_kept_alive = keep;
            self.handle.keep_alive(keep);
        }
    }
}

impl<P: Protocol> Sockets<P> {
    /// No sockets yet.
    pub fn new(protocol: P) -> Self {
        Self { sockets: Vec::new(), protocol, ended: Vec::new() }
    }

    /// Runs work on a socket, then sends the unsent bytes. An error closes the connection. Returns whether it was closed.
    fn drive(&mut self, index: usize, work: impl FnOnce(&mut Socket<P>, &mut P) -> Result<()>) -> bool {
        let Some(socket) = self.sockets.get_mut(index).and_then(Option::as_mut) else { return false };
        let protocol = &mut self.protocol;
        let work = || {
            work(socket, protocol)?;
            socket.send(protocol)
        };
        let error = match catch_panic(work) {
            Ok(()) if socket.session.is_over() => Error::Closed("the connection"),
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

    /// Closes a connection. Its requests get the error.
    pub fn end(&mut self, index: usize, error: &Error) {
        if let Some(mut socket) = self.sockets.get_mut(index).and_then(Option::take) {
            self.protocol.ended(index, &mut socket.session, error);
            self.ended.push(index);
            // The handle is closed first: dropping the stream closes the socket.
            socket.handle.close();
        }
    }

    /// Takes the undelivered results. They also report the closed connections.
    pub fn take_results(&mut self) -> Vec<u8> {
        self.ended.clear();
        self.protocol.frame().take()
    }

    /// Drops the results, after they were copied.
    pub fn clear_results(&mut self) {
        self.ended.clear();
        self.protocol.frame().clear();
    }

    /// Closes all connections. Their requests get the error.
    pub fn end_all(&mut self, error: &Error) {
        for index in 0..self.sockets.len() {
            self.end(index, error);
        }
    }
}

/// Adds a connection to the sockets of an owner, and returns its number.
pub fn add<O: SocketOwner>(
    owner: &Rc<O>,
    stream: DrivenStream,
    session: <O::Protocol as Protocol>::Session,
) -> Result<u32> {
    let mut state = owner.sockets().borrow_mut();
    let Sockets { sockets, ended, .. } = &mut *state;
    let mut numbers = sockets.iter().enumerate();
    let free = numbers.position(|(index, socket)| socket.is_none() && !ended.contains(&index));
    let index = free.unwrap_or_else(|| {
        sockets.push(None);
        sockets.len() - 1
    });
    let watcher = Box::new(SocketWatcher { owner: Rc::clone(owner), index });
    // SAFETY: the stream goes with the handle, and the handle is closed first. The watcher tells the handles.
    let handle = unsafe { owner.handles().poll(number_of(&stream.system_socket()), watcher) }?;
    let has_input = stream.has_input();
    sockets[index] = Some(Socket { stream, session, handle, events: READABLE, is_kept_alive: false, failure: None });
    if has_input {
        state.drive(index, |socket, protocol| socket.receive(protocol).map(drop));
    }
    u32::try_from(index).map_err(|error| Error::Internal(error.to_string()))
}

/// The watcher of one socket.
struct SocketWatcher<O> {
    owner: Rc<O>,
    index: usize,
}

impl<O: SocketOwner> Watcher for SocketWatcher<O> {
    fn on_event(&self, status: c_int, events: c_int) {
        let is_gone = self.owner.sockets().borrow_mut().drive(self.index, |socket, protocol| {
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
        // A statement of its own ends the borrow: JavaScript may submit requests while it runs.
        let is_much = self.owner.sockets().borrow_mut().protocol.frame().bytes().len() >= DELIVERED_BYTES;
        // JavaScript must hear of a closed connection before it runs anything else: it must not take the connection for an idle
        // one.
        if is_much || is_gone {
            self.owner.deliver();
        }
    }

    fn on_panic(&self, error: &Error) {
        self.owner.sockets().borrow_mut().end(self.index, error);
        self.owner.deliver();
    }

    fn on_closed(&self) {
        self.owner.handles().on_closed();
    }
}
