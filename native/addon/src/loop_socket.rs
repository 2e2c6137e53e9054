//! A socket that a task reads and writes, and the event loop watches.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use napi::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::loop_runtime::{forget, set_events};
use crate::uv::{READABLE, WRITABLE};

/// A socket, and the tasks that wait for it. It lives as long as the loop watches it.
pub struct Events {
    number: u64,
    stream: TcpStream,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// What the loop watches it for.
    events: c_int,
}

impl Events {
    /// A socket that the loop watches for what is to read.
    pub fn new(number: u64, stream: TcpStream) -> Self {
        Self { number, stream, waiting: Mutex::new(Waiting { reader: None, writer: None, events: READABLE }) }
    }

    /// The socket, as long as this lives.
    pub fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Tries until there is something, or notes who waits for it.
    fn attempt<T>(
        &self,
        event: c_int,
        context: &Context<'_>,
        mut work: impl FnMut(&TcpStream) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match work(&self.stream) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                done => return Poll::Ready(done),
            }
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let place = if event == READABLE { &mut waiting.reader } else { &mut waiting.writer };
        match place {
            Some(waker) => waker.clone_from(context.waker()),
            None => *place = Some(context.waker().clone()),
        }
        let events = waiting.events | event;
        self.set(&mut waiting, events);
        Poll::Pending
    }

    fn set(&self, waiting: &mut Waiting, events: c_int) {
        if events != waiting.events {
            waiting.events = events;
            set_events(self.number, events);
        }
    }
}

/// The loop's side of a socket.
pub struct SocketWatcher(pub Arc<Events>);

impl SocketWatcher {
    /// Wakes who waits for it.
    pub fn on_event(&self, status: c_int, events: c_int) {
        let happened = if status < 0 { READABLE | WRITABLE } else { events };
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = if happened & READABLE == 0 { None } else { waiting.reader.take() };
        let writer = if happened & WRITABLE == 0 { None } else { waiting.writer.take() };
        // What nobody waits for would be told again and again.
        let mut wanted = waiting.events;
        if happened & READABLE != 0 && reader.is_none() {
            wanted &= !READABLE;
        }
        if waiting.writer.is_none() {
            wanted &= !WRITABLE;
        }
        self.0.set(&mut waiting, wanted);
        drop(waiting);
        reader.into_iter().chain(writer).for_each(Waker::wake);
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
        forget(self.0.number);
    }
}

impl AsyncRead for LoopSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.attempt(READABLE, context, |mut stream| {
            let bytes = stream.read(into.initialize_unfilled())?;
            into.advance(bytes);
            Ok(())
        })
    }
}

impl AsyncWrite for LoopSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.0.attempt(WRITABLE, context, |mut stream| stream.write(from))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.attempt(WRITABLE, context, |mut stream| stream.write_vectored(from))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.stream.shutdown(Shutdown::Write))
    }
}
