//! The byte stream of a connection, with TLS or without, which reports its reads and writes to the watch.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::watch::Marks;

/// The byte stream of a connection, with TLS or without.
pub(crate) enum Bytes {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

/// Calls a method of the plain or the TLS stream.
macro_rules! stream {
    ($self:ident, $stream:ident => $call:expr) => {
        match &mut $self.bytes {
            Bytes::Plain(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
            Bytes::Tls(stream) => {
                let $stream = Pin::new(&mut **stream);
                $call
            }
        }
    };
}

/// The first bytes of an HTTP/2 connection, with which no HTTP/1.1 request begins.
const HTTP2: &[u8; 4] = b"PRI ";

/// The byte stream of a connection, which reports its reads and writes to the watch.
pub(crate) struct Watched {
    bytes: Bytes,
    marks: Marks,
    /// The first bytes read, which tell HTTP/2 from HTTP/1.1.
    first: [u8; HTTP2.len()],
    /// How many bytes of `first` have been read.
    known: usize,
}

impl Watched {
    pub(crate) fn new(bytes: Bytes, marks: Marks) -> Self {
        Self { bytes, marks, first: [0; HTTP2.len()], known: 0 }
    }

    /// Reads no further than the bytes that tell the protocol.
    fn poll_first(&mut self, context: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(HTTP2.len() - self.known);
        let mut room = ReadBuf::new(&mut self.first[self.known..][..most]);
        let read = stream!(self, stream => stream.poll_read(context, room.unfilled()));
        let bytes = room.filled().len();
        if matches!(read, Poll::Ready(Ok(()))) {
            buffer.put_slice(&self.first[self.known..][..bytes]);
            self.known += bytes;
            if self.first == *HTTP2 {
                self.marks.http2();
            }
            self.marks.read();
        }
        read
    }
}

impl Read for Watched {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.known < HTTP2.len() {
            return this.poll_first(context, buffer);
        }
        let read = stream!(this, stream => stream.poll_read(context, buffer));
        if matches!(read, Poll::Ready(Ok(()))) {
            this.marks.read();
        }
        read
    }
}

impl Write for Watched {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = stream!(this, stream => stream.poll_write(context, bytes));
        if let Poll::Ready(Ok(bytes)) = written {
            this.marks.written(bytes);
        }
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = stream!(this, stream => stream.poll_write_vectored(context, parts));
        if let Poll::Ready(Ok(bytes)) = written {
            this.marks.written(bytes);
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        match &self.bytes {
            Bytes::Plain(stream) => stream.is_write_vectored(),
            Bytes::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        stream!(this, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        stream!(this, stream => stream.poll_shutdown(context))
    }
}
