//! The bytes of a connection: over TCP, a Unix socket or TLS, and in packets.

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

/// The payload of a packet of the greatest length; the next packet goes on with it.
const MAX_PACKET: usize = 0xff_ffff;

const HEADER: usize = 4;

/// The memory that input begins with, and that it may grow to for the sake of speed. A longer packet makes it grow too, for
/// its time.
const FIRST_INPUT: usize = 16 << 10;
const FAST_INPUT: usize = 1 << 20;

/// The most bytes of a packet before the login: nobody knows yet who sends them.
const LOGIN_PACKET: usize = 1 << 20;

/// Memory for output is given back when it has grown beyond this.
const KEPT_OUTPUT: usize = 4 << 20;

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A socket that someone else watches.
    Driven(Driven),
    /// Nothing comes any more.
    Closed,
}

/// A socket whose owner polls whoever uses it when it is ready, so that no waker is needed.
struct Driven {
    /// Also of a Unix domain socket: it is only read from and written to.
    stream: std::net::TcpStream,
    wants_room: Arc<AtomicBool>,
    /// Whether something was sent since the last look for input: then there is none yet.
    has_sent: bool,
    may_read: Arc<AtomicUsize>,
}

/// What the owner of a driven socket needs of it.
pub(crate) struct Drive {
    pub(crate) socket: RawFd,
    /// Whether it waits for room to send.
    pub(crate) wants_room: Arc<AtomicBool>,
    /// How many bytes may be read before it is said anew: others wait for their turn meanwhile.
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

/// Packets in and out. What is sent is gathered in memory, and goes out while an answer is awaited: so any number of
/// commands may be sent before the first answer is read, and neither side ever waits for the other to read.
pub(crate) struct Transport {
    stream: Stream,
    input: Vec<u8>,
    /// What of the input has come and was not taken yet.
    pending: Range<usize>,
    output: Vec<u8>,
    /// How much of the output has gone out.
    sent: usize,
    /// The number of the next packet of the exchange.
    sequence: u8,
    /// Whether the other side is known to be the server, and nobody else can read what is sent.
    is_private: bool,
    /// Of a packet.
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

    /// Over a socket that is connected already.
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

    /// Whether a secret can be sent as it is: over TLS only to a server whose certificate was verified.
    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// The most bytes of a packet.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Takes packets of so many bytes, now that the server has let us in.
    pub(crate) fn set_most_bytes(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Whether the other side has closed it, or says what nobody asked for, as servers do before they close. Not known of
    /// TLS, where the server may send what concerns TLS only.
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

    /// Lets someone else watch the socket; `None` of TLS, which reads and writes at its own times.
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

    /// Goes on in TLS.
    pub(crate) async fn encrypt(&mut self, url: &Url, trust: &Trust) -> Result<()> {
        let failed = |problem: &dyn std::fmt::Display| engine_error(format!("no TLS with {url}: {problem}"));
        self.flush().await.map_err(|error| failed(&error))?;
        // Anybody between here and the server could have sent it, and it would be taken for what came encrypted.
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

    /// Begins a new exchange of packets.
    pub(crate) fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Appends a packet to what is to be sent.
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
            // Also an empty one, where the last is full.
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

    /// Bytes that wait to go out.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// The next packet, if it has come as a whole: where it is in [`Transport::bytes`], until the next call.
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

    /// As [`Transport::try_packet`], for one that comes in parts, which are moved together.
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

    /// The next packet.
    pub(crate) async fn packet(&mut self) -> io::Result<Range<usize>> {
        loop {
            if let Some(packet) = self.try_packet() {
                return Ok(packet);
            }
            self.receive().await?;
        }
    }

    /// Waits until more input has come, and sends meanwhile. What has come so far is no whole packet.
    pub(crate) async fn receive(&mut self) -> io::Result<()> {
        if self.pending.len() > self.most_bytes {
            return Err(io::Error::other(response_limit::exceeded("a packet of the server", self.most_bytes)));
        }
        self.make_room();
        poll_fn(|context| self.poll_exchange(context)).await
    }

    /// Sends what waits to go out, as far as the system takes it at once.
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

    /// Sends all that waits to go out.
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
                // What fills all room at once is a long result: take more of it the next time.
                if read == room && self.input.len() < FAST_INPUT {
                    let grown = self.input.len() * 4;
                    self.input.resize(grown, 0);
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Makes sure that there is room behind what is pending.
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

/// The error of a packet beyond the limit, as it comes out of [`Transport::receive`].
pub(crate) fn too_large(error: &io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().cloned()
}
