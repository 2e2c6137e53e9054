//! The packets of a connection, over TCP, a Unix socket or TLS.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, response_limit, socket, tls};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

use crate::engine_error;
use crate::url::Url;

/// The largest payload of a packet, in bytes; a payload of this size continues in the next packet.
const MAX_PACKET: usize = 0xff_ffff;

const HEADER: usize = 4;

/// The initial size of the input buffer, and the size up to which it grows for speed. A longer packet makes it grow
/// further, until it is read.
const FIRST_INPUT: usize = 16 << 10;
const FAST_INPUT: usize = 1 << 20;

/// The most bytes of a packet before the login, when the sender is not authenticated yet.
const LOGIN_PACKET: usize = 1 << 20;

/// The size above which the output buffer is freed once all of it was sent.
const KEPT_OUTPUT: usize = 4 << 20;

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A socket that an event loop watches.
    Driven(Driven),
    /// No stream: the connection is unusable.
    Closed,
}

/// A socket whose owner polls the future that uses it when the socket is ready, so that no waker is needed.
struct Driven {
    /// The socket, even if it is a Unix domain socket: it is only read from and written to.
    stream: std::net::TcpStream,
    wants_room: Arc<AtomicBool>,
    /// Whether bytes were sent since the last read: no input is there yet then, so a read is skipped.
    has_sent: bool,
    may_read: Arc<AtomicUsize>,
}

/// The handles that the owner of a driven socket needs.
pub(crate) struct Drive {
    pub(crate) socket: RawFd,
    /// Whether the connection waits to write.
    pub(crate) wants_room: Arc<AtomicBool>,
    /// The bytes that may still be read in this turn of the event loop.
    pub(crate) may_read: Arc<AtomicUsize>,
}

impl AsyncRead for Driven {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        use std::io::Read;
        let may_read = self.may_read.load(Ordering::Relaxed);
        if std::mem::take(&mut self.has_sent) || may_read == 0 {
            return Poll::Pending;
        }
        loop {
            match self.stream.read(buffer.initialize_unfilled()) {
                Ok(bytes) => {
                    buffer.advance(bytes);
                    self.may_read.store(may_read.saturating_sub(bytes), Ordering::Relaxed);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Driven {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        use std::io::Write;
        loop {
            match self.stream.write(bytes) {
                Ok(written) => {
                    self.has_sent = true;
                    self.wants_room.store(false, Ordering::Relaxed);
                    return Poll::Ready(Ok(written));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wants_room.store(true, Ordering::Relaxed);
                    return Poll::Pending;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(std::net::Shutdown::Write))
    }
}

macro_rules! on_stream {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
            Stream::Tls($inner) => $call,
            Stream::Driven($inner) => $call,
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    };
}

/// Sends and receives packets. Output is buffered, and sent while an answer is awaited: so any number of commands may
/// be sent before the first answer is read, and neither side ever waits for the other to read.
pub(crate) struct Transport {
    stream: Stream,
    input: Vec<u8>,
    /// The range of the input that was received and not taken yet.
    pending: Range<usize>,
    output: Vec<u8>,
    /// The number of bytes of the output that were sent.
    sent: usize,
    /// The sequence number of the next packet of the exchange.
    sequence: u8,
    /// Whether the server is authenticated and nobody else can read the connection, so that a secret can be sent in
    /// plain.
    is_private: bool,
    /// The most bytes of a packet.
    most_bytes: usize,
}

impl Transport {
    pub(crate) async fn connect(url: &Url) -> Result<Self> {
        let failed = |error: io::Error| engine_error(socket::unreachable_server(url, &error));
        let stream = if let Some(socket) = &url.socket {
            Stream::Unix(UnixStream::connect(socket).await.map_err(failed)?)
        } else {
            Stream::Tcp(socket::connect(&url.host, url.port).await.map_err(failed)?)
        };
        Ok(Self::over(stream))
    }

    /// A transport over a connected socket.
    pub(crate) fn over_unix(stream: UnixStream) -> Self {
        Self::over(Stream::Unix(stream))
    }

    fn over(stream: Stream) -> Self {
        Self {
            is_private: matches!(stream, Stream::Unix(_)),
            stream,
            input: vec![0; FIRST_INPUT],
            pending: 0..0,
            output: Vec::new(),
            sent: 0,
            sequence: 0,
            most_bytes: LOGIN_PACKET,
        }
    }

    /// Whether a secret can be sent in plain: over a Unix socket, or over TLS to a server whose certificate was
    /// verified.
    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// The most bytes of a packet.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Sets the most bytes of a packet, after the login.
    pub(crate) fn set_most_bytes(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Whether the server has closed the connection, or sent bytes that answer no command, as servers do before they
    /// close. False over TLS, where the bytes may concern TLS only.
    pub(crate) fn has_ended(&mut self) -> bool {
        let mut byte = [0];
        let read = match &self.stream {
            Stream::Tcp(stream) => stream.try_read(&mut byte),
            Stream::Unix(stream) => stream.try_read(&mut byte),
            Stream::Tls(_) => return false,
            Stream::Driven(driven) => driven.stream.peek(&mut byte),
            Stream::Closed => return true,
        };
        read.map_or_else(|error| error.kind() != io::ErrorKind::WouldBlock, |_| true)
    }

    /// Makes the transport one whose socket an event loop watches; `None` over TLS, which reads and writes at its own
    /// times.
    pub(crate) fn into_driven(mut self) -> io::Result<Option<(Self, Drive)>> {
        let stream = match self.stream {
            Stream::Tcp(stream) => stream.into_std()?,
            Stream::Unix(stream) => std::net::TcpStream::from(std::os::fd::OwnedFd::from(stream.into_std()?)),
            Stream::Tls(_) | Stream::Driven(_) | Stream::Closed => return Ok(None),
        };
        let drive = Drive { socket: stream.as_raw_fd(), wants_room: Arc::default(), may_read: Arc::default() };
        let (wants_room, may_read) = (Arc::clone(&drive.wants_room), Arc::clone(&drive.may_read));
        self.stream = Stream::Driven(Driven { stream, wants_room, has_sent: false, may_read });
        Ok(Some((self, drive)))
    }

    /// Switches to TLS.
    pub(crate) async fn encrypt(&mut self, url: &Url, trust: &Trust) -> Result<()> {
        let failed = |problem: &dyn std::fmt::Display| engine_error(format!("no TLS with {url}: {problem}"));
        self.flush().await.map_err(|error| failed(&error))?;
        // Plain bytes received before TLS could come from an attacker, and would be taken for encrypted ones.
        if !self.pending.is_empty() {
            return Err(failed(&"the server says more before the encryption than it may"));
        }
        let (name, connector) = (tls::server_name(&url.host)?, trust.connector(None)?);
        match std::mem::replace(&mut self.stream, Stream::Closed) {
            Stream::Tcp(stream) => {
                let refused = |error: io::Error| engine_error(socket::unreachable_server(url, &error));
                let stream = connector.connect(name, stream).await.map_err(refused)?;
                self.stream = Stream::Tls(Box::new(stream));
                self.is_private = trust.verifies();
                Ok(())
            }
            _ => Err(failed(&"only TCP can be encrypted")),
        }
    }

    /// Begins a new exchange, whose sequence numbers start at 0.
    pub(crate) fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Appends a packet to the output.
    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.sent == self.output.len() {
            self.sent = 0;
            self.output.clear();
            self.output.shrink_to(KEPT_OUTPUT);
        }
        let start = self.output.len();
        self.output.extend_from_slice(&[0; HEADER]);
        write(&mut self.output);
        let length = self.output.len() - start - HEADER;
        if length < MAX_PACKET {
            self.put_header(start, length);
        } else {
            let payload = self.output.split_off(start + HEADER);
            self.output.truncate(start);
            // A full last packet is followed by an empty one.
            for part in 0..=payload.len() / MAX_PACKET {
                let part = &payload[part * MAX_PACKET..payload.len().min((part + 1) * MAX_PACKET)];
                let start = self.output.len();
                self.output.extend_from_slice(&[0; HEADER]);
                self.output.extend_from_slice(part);
                self.put_header(start, part.len());
            }
        }
    }

    fn put_header(&mut self, at: usize, length: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "at most 0xff_ffff")]
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.output[at..at + HEADER].copy_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The number of bytes that are still to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// The range of the next packet in [`Transport::bytes`], valid until the next call; `None` if it is incomplete.
    pub(crate) fn try_packet(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.pending;
        let header = self.input.get(start..end)?.first_chunk::<HEADER>()?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let last = start + HEADER + length;
        if length == MAX_PACKET {
            return self.try_long_packet();
        }
        if last > end {
            return None;
        }
        self.sequence = header[3].wrapping_add(1);
        self.pending.start = last;
        Some(start + HEADER..last)
    }

    /// Takes a packet as [`Transport::try_packet`] does, from several packets whose payloads are moved together.
    fn try_long_packet(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.pending;
        let mut parts = Vec::new();
        let mut position = start;
        loop {
            let header = self.input.get(position..end)?.first_chunk::<HEADER>()?;
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let part = position + HEADER..position + HEADER + length;
            if part.end > end {
                return None;
            }
            self.sequence = header[3].wrapping_add(1);
            position = part.end;
            parts.push(part);
            if length < MAX_PACKET {
                break;
            }
        }
        let first = start + HEADER;
        let mut target = first;
        for part in parts {
            let length = part.len();
            self.input.copy_within(part, target);
            target += length;
        }
        self.pending.start = position;
        Some(first..target)
    }

    pub(crate) fn bytes(&self, packet: Range<usize>) -> &[u8] {
        &self.input[packet]
    }

    /// Waits for the next packet.
    pub(crate) async fn packet(&mut self) -> io::Result<Range<usize>> {
        loop {
            if let Some(packet) = self.try_packet() {
                return Ok(packet);
            }
            self.receive().await?;
        }
    }

    /// Waits until more input has arrived, and sends meanwhile. The input so far must be no whole packet.
    pub(crate) async fn receive(&mut self) -> io::Result<()> {
        if self.pending.len() > self.most_bytes {
            return Err(io::Error::other(response_limit::exceeded("a packet of the server", self.most_bytes)));
        }
        self.make_room();
        poll_fn(|context| self.poll_exchange(context)).await
    }

    /// Sends as much of the output as the socket takes without waiting.
    pub(crate) async fn push(&mut self) -> io::Result<()> {
        poll_fn(|context| {
            while self.unsent() > 0
                && let Poll::Ready(sent) = self.poll_send(context)
            {
                sent?;
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Sends all of the output.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|context| {
            while self.unsent() > 0 {
                ready!(self.poll_send(context))?;
            }
            on_stream!(&mut self.stream, stream => Pin::new(stream).poll_flush(context))
        })
        .await
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let rest = &self.output[self.sent..];
        match ready!(on_stream!(&mut self.stream, stream => Pin::new(stream).poll_write(context, rest)))? {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            written => {
                self.sent += written;
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unsent() > 0 {
            while self.unsent() > 0
                && let Poll::Ready(sent) = self.poll_send(context)
            {
                sent?;
            }
            if let Stream::Tls(stream) = &mut self.stream
                && let Poll::Ready(flushed) = Pin::new(stream).poll_flush(context)
            {
                flushed?;
            }
        }
        let free = &mut self.input[self.pending.end..];
        let room = free.len();
        let mut buffer = ReadBuf::new(free);
        ready!(on_stream!(&mut self.stream, stream => Pin::new(stream).poll_read(context, &mut buffer)))?;
        match buffer.filled().len() {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            read => {
                self.pending.end += read;
                // Input that fills the whole buffer is a long result: read more of it at a time.
                if read == room && self.input.len() < FAST_INPUT {
                    let grown = self.input.len() * 4;
                    self.input.resize(grown, 0);
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Makes room for input behind the pending range.
    fn make_room(&mut self) {
        if self.pending.is_empty() {
            self.pending = 0..0;
            if self.input.len() > FAST_INPUT {
                self.input.truncate(FAST_INPUT);
                self.input.shrink_to_fit();
            }
        } else if self.pending.start > 0 && self.pending.end > self.input.len() / 2 {
            self.input.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
        }
        if self.pending.end == self.input.len() {
            let grown = self.input.len() * 2;
            self.input.resize(grown, 0);
        }
    }
}

/// The error for a packet beyond the limit, if [`Transport::receive`] failed with that.
pub(crate) fn too_large(error: &io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().cloned()
}
