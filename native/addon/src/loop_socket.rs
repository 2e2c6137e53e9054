//! A socket that a task reads and writes, and the event loop watches.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use napi::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use socket2::SockRef;

use crate::loop_runtime::{forget, send_later, set_events};
use crate::uv::{READABLE, WRITABLE};

/// What tasks write is sent at once where it is so much, or so much is unsent: else with what they write next.
const MUCH: usize = 16 << 10;

/// Tasks wait while so much is unsent.
const MOST_UNSENT: usize = 256 << 10;

/// A socket, and the tasks that wait for it. It lives as long as the loop watches it.
pub struct Events {
    number: u64,
    stream: TcpStream,
    state: Mutex<State>,
}

struct State {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// What the loop watches it for.
    events: c_int,
    /// Whether there may be something to read: the loop says so, and a read that finds less than it has room for, not.
    is_readable: bool,
    /// What is not sent yet. A ring: while a socket is full all the time, this is never empty.
    output: VecDeque<u8>,
    /// What a send failed with, for whoever writes next.
    failure: Option<io::Error>,
}

impl Events {
    /// A socket that the loop watches for what is to read.
    pub fn new(number: u64, stream: TcpStream) -> Self {
        let state = State {
            reader: None,
            writer: None,
            events: READABLE,
            is_readable: false,
            output: VecDeque::new(),
            failure: None,
        };
        Self { number, stream, state: Mutex::new(state) }
    }

    /// The socket, as long as this lives.
    pub fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what tasks have written, as far as the socket takes it; the loop says when it takes more.
    pub fn send(&self) {
        self.send_output(&mut self.state());
    }

    fn send_output(&self, state: &mut State) {
        while !state.output.is_empty() {
            match (&self.stream).write(state.output.as_slices().0) {
                Ok(bytes) => drop(state.output.drain(..bytes)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let events = state.events | WRITABLE;
                    return self.set(state, events);
                }
                Err(error) => {
                    state.output.clear();
                    state.failure = Some(error);
                    // It finds what the server said before, or the end.
                    state.is_readable = true;
                    state.reader.take().into_iter().chain(state.writer.take()).for_each(Waker::wake);
                    return;
                }
            }
        }
        state.output.shrink_to(MOST_UNSENT);
    }

    fn set(&self, state: &mut State, events: c_int) {
        if events != state.events {
            state.events = events;
            set_events(self.number, events);
        }
    }
}

/// The loop's side of a socket.
pub struct SocketWatcher(pub Arc<Events>);

impl SocketWatcher {
    /// Wakes who waits for it.
    pub fn on_event(&self, status: c_int, events: c_int) {
        let mut state = self.0.state();
        let happened = if status < 0 { READABLE | WRITABLE } else { events };
        if status < 0 {
            // libuv stops to watch it then.
            state.events = 0;
        }
        let mut wanted = state.events;
        if happened & READABLE != 0 {
            state.is_readable = true;
            match state.reader.take() {
                Some(reader) => reader.wake(),
                // What nobody waits for would be told again and again.
                None => wanted &= !READABLE,
            }
        }
        if happened & WRITABLE != 0 {
            wanted &= !WRITABLE;
        }
        self.0.set(&mut state, wanted);
        if happened & WRITABLE != 0 {
            self.0.send_output(&mut state);
            if state.output.len() < MOST_UNSENT {
                state.writer.take().into_iter().for_each(Waker::wake);
            }
        }
    }
}

/// A task's side of a socket. Dropping it closes the connection.
pub struct LoopSocket(Arc<Events>);

impl LoopSocket {
    /// The task's side of what the loop watches.
    pub fn new(events: Arc<Events>) -> Self {
        Self(events)
    }
}

impl Drop for LoopSocket {
    fn drop(&mut self) {
        // The other side may be told why it ends.
        self.0.send();
        forget(self.0.number);
    }
}

/// Notes who waits.
fn note(place: &mut Option<Waker>, context: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(context.waker()),
        None => *place = Some(context.waker().clone()),
    }
}

impl AsyncRead for LoopSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        while state.is_readable {
            let wanted = into.remaining();
            // SAFETY: nothing is written there but the bytes that come.
            let room = unsafe { into.unfilled_mut() };
            match SockRef::from(&self.0.stream).recv(room) {
                Ok(bytes) => {
                    // The end is found again.
                    state.is_readable = bytes == wanted || bytes == 0;
                    // SAFETY: so many bytes came.
                    unsafe { into.assume_init(bytes) };
                    into.advance(bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => state.is_readable = false,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        note(&mut state.reader, context);
        let events = state.events | READABLE;
        self.0.set(&mut state, events);
        Poll::Pending
    }
}

impl AsyncWrite for LoopSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(from)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        let is_first = state.output.is_empty();
        let bytes: usize = from.iter().map(|slice| slice.len()).sum();
        if let Some(failure) = state.failure.take() {
            return Poll::Ready(Err(failure));
        }
        if state.output.len() >= MOST_UNSENT {
            note(&mut state.writer, context);
            return Poll::Pending;
        }
        if is_first && bytes >= MUCH {
            match (&self.0.stream).write_vectored(from) {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                done => return Poll::Ready(done),
            }
        }
        for slice in from {
            state.output.extend(slice.iter());
        }
        if state.output.len() >= MUCH {
            self.0.send_output(&mut state);
        } else if is_first {
            send_later(&self.0);
        }
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // What is written is sent by the loop, as the system sends what a socket has taken.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    // What the socket does not take is not waited for: the other side of a closed client may never read it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.send();
        Poll::Ready(self.0.stream.shutdown(Shutdown::Write))
    }
}
