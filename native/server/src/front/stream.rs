//! A connection's bytes, with TLS or without, watched.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::watch::Marks;

/// The bytes of a connection.
pub(crate) enum Bytes {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

/// The bytes of a connection, which tell the watch when they move.
pub(crate) struct Watched {
    pub(crate) bytes: Bytes,
    pub(crate) marks: Marks,
}

/// Calls a method of whichever stream it is.
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

impl Read for Watched {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
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
        if matches!(written, Poll::Ready(Ok(_))) {
            this.marks.written();
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
        if matches!(written, Poll::Ready(Ok(_))) {
            this.marks.written();
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
