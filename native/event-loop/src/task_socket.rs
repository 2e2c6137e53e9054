//! A socket that a task reads and writes and that the event loop watches.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::driver::Socket;
use boundary_bench_kernel::lock;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::handle::Handle;
use crate::socket_number::{SocketNumber, number_of};
use crate::watcher::{READABLE, WRITABLE};

/// The number of written or unsent bytes from which output is sent at once. Less output is sent together with the
/// tasks' next writes.
const MUCH: usize = 16 << 10;

/// The number of unsent bytes from which writing tasks wait (backpressure).
const MOST_UNSENT: usize = 256 << 10;

/// The number of bytes that a task may read from its socket between two reports of the loop. JavaScript, timers and other sockets
/// then get their turn: a server that sends faster than the task reads would otherwise keep the loop for ever.
const MOST_READ: usize = 256 << 10;

thread_local! {
    /// The sockets of this thread's loop.
    static SOCKETS: RefCell<Sockets> = RefCell::default();
}

#[derive(Default)]
struct Sockets {
    /// The handles of the watched sockets, by the sockets' numbers.
    handles: HashMap<u64, Handle>,
    /// Sockets with bytes that tasks have written and that are not sent yet.
    written: Vec<Arc<Events>>,
    /// The number of the newest socket.
    last: u64,
}

/// Sends what the tasks of this thread have written.
pub fn send_written() {
    let written = SOCKETS.with_borrow_mut(|sockets| std::mem::take(&mut sockets.written));
    written.iter().for_each(|socket| socket.send());
}

/// Closes the handles of all sockets of this thread's loop, and forgets their output.
pub fn close_all() {
    let sockets = SOCKETS.take();
    sockets.handles.into_values().for_each(Handle::close);
}

/// Sets the events that a socket of this thread's loop is watched for.
fn set_events(number: u64, events: c_int) {
    // While a thread ends, its thread-local storage may be gone. `close_all` has then closed the handles.
    let _ = SOCKETS.try_with(|sockets| {
        if let Some(handle) = sockets.borrow().handles.get(&number) {
            handle.watch(events);
        }
    });
}

/// Stops watching a socket of this thread's loop and closes its handle.
fn forget(number: u64) {
    // While a thread ends, its thread-local storage may be gone. `close_all` has then closed the handles.
    let handle = SOCKETS
        .try_with(|sockets| sockets.try_borrow_mut().ok().and_then(|mut sockets| sockets.handles.remove(&number)));
    handle.ok().flatten().into_iter().for_each(Handle::close);
}

/// A socket and the tasks that wait for it. It lives as long as the loop watches the socket.
pub struct Events {
    number: u64,
    stream: TcpStream,
    state: Mutex<State>,
}

struct State {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// The events that the loop watches the socket for.
    events: c_int,
    /// Whether there may be bytes to read: set by the loop, cleared by a read that does not fill its buffer, or that is the last of
    /// [`MOST_READ`].
    is_readable: bool,
    /// The number of bytes that may be read before the loop reports the socket again.
    left: usize,
    /// The unsent bytes. A ring buffer, since it is never empty while the socket's own buffer stays full.
    output: VecDeque<u8>,
    /// The error of a failed send, returned by the next write.
    failure: Option<io::Error>,
}

impl Events {
    /// A socket that the loop watches for being readable.
    pub fn new(stream: TcpStream) -> Arc<Self> {
        let number = SOCKETS.with_borrow_mut(|sockets| {
            sockets.last += 1;
            sockets.last
        });
        let state = State {
            reader: None,
            writer: None,
            events: READABLE,
            is_readable: false,
            left: 0,
            output: VecDeque::new(),
            failure: None,
        };
        Arc::new(Self { number, stream, state: Mutex::new(state) })
    }

    /// The number of the socket, valid as long as `self` lives.
    pub fn socket_number(&self) -> SocketNumber {
        number_of(&SockRef::from(&self.stream))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sends the tasks' output until the socket's buffer is full. The loop then reports when it has room again.
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
                    // The reader then finds the server's last bytes, or the end.
                    (state.is_readable, state.left) = (true, MOST_READ);
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

/// The watcher of a socket, called by the loop.
pub struct SocketWatcher(pub Arc<Events>);

impl SocketWatcher {
    /// Wakes the tasks that wait for these events, and sends unsent bytes.
    pub fn on_event(&self, status: c_int, events: c_int) {
        let mut state = self.0.state();
        let happened = if status < 0 { READABLE | WRITABLE } else { events };
        if status < 0 {
            // libuv stops watching a socket that has failed.
            state.events = 0;
        }
        let mut wanted = state.events;
        if happened & READABLE != 0 {
            (state.is_readable, state.left) = (true, MOST_READ);
            match state.reader.take() {
                Some(reader) => reader.wake(),
                // libuv would report the event in every iteration while no task reads.
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

/// The end of a socket that a task reads and writes. Dropping it closes the connection.
pub struct TaskSocket(Arc<Events>);

impl TaskSocket {
    /// Makes the task's end of a socket that the loop watches by `handle`.
    pub fn new(events: Arc<Events>, handle: Handle) -> Self {
        SOCKETS.with_borrow_mut(|sockets| sockets.handles.insert(events.number, handle));
        Self(events)
    }
}

impl Drop for TaskSocket {
    fn drop(&mut self) {
        // The last bytes may tell the peer why the connection ends.
        self.0.send();
        forget(self.0.number);
    }
}

impl fmt::Debug for TaskSocket {
    /// Shows the socket without its output, since the output may hold a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.stream, formatter)
    }
}

impl Socket for TaskSocket {
    fn system_socket(&self) -> SockRef<'_> {
        SockRef::from(&self.0.stream)
    }

    fn into_std(self: Box<Self>) -> io::Result<TcpStream> {
        // The loop has the other descriptor until its handle is closed.
        self.0.stream.try_clone()
    }
}

/// Stores the waker of a waiting task.
fn note(place: &mut Option<Waker>, context: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(context.waker()),
        None => *place = Some(context.waker().clone()),
    }
}

impl AsyncRead for TaskSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        while state.is_readable {
            let wanted = into.remaining().min(state.left);
            // SAFETY: nothing is written there but the bytes that come.
            let room = unsafe { into.unfilled_mut() };
            match SockRef::from(&self.0.stream).recv(&mut room[..wanted]) {
                Ok(bytes) => {
                    state.left = state.left.saturating_sub(bytes);
                    // After the end of the stream, the next read finds it again.
                    state.is_readable = bytes == 0 || (bytes == wanted && state.left > 0);
                    // SAFETY: this number of bytes came.
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

impl AsyncWrite for TaskSocket {
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
            SOCKETS.with_borrow_mut(|sockets| sockets.written.push(Arc::clone(&self.0)));
        }
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // The loop sends the output, as the kernel sends the bytes that a socket has taken.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    // Output that the socket has no room for is not waited for: the peer of a closed client may never read it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.send();
        Poll::Ready(self.0.stream.shutdown(Shutdown::Write))
    }
}
