//! The byte stream to a server, whoever drives its socket: TCP, a Unix domain socket, or TLS over one of them.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::driven_stream::{DrivenStream, has_news};
use crate::driver::{Driver, Socket};
use crate::socket;

/// A byte stream to a server.
#[derive(Debug)]
pub enum Stream {
    /// A stream of TCP or of a Unix domain socket.
    Plain(Box<dyn Socket>),
    /// A stream of TLS.
    Tls(Box<TlsStream<Box<dyn Socket>>>),
}

/// Calls a method of the stream, whichever it is.
macro_rules! on {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream {
            Stream::Plain(stream) => Pin::new(stream).$method($($argument),*),
            Stream::Tls(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl Stream {
    /// Connects to a port of a host, without a time-out of its own: the caller must set one.
    pub async fn connect(driver: &dyn Driver, host: &str, port: u16) -> io::Result<Self> {
        driver.drive(Box::new(socket::connect(host, port).await?)).map(Self::Plain)
    }

    /// Connects to a Unix domain socket.
    #[cfg(unix)]
    pub async fn connect_unix(driver: &dyn Driver, path: &Path) -> io::Result<Self> {
        driver.drive(Box::new(UnixStream::connect(path).await?)).map(Self::Plain)
    }

    #[cfg(not(unix))]
    #[expect(missing_docs, clippy::unused_async, reason = "it is the function above, which waits")]
    pub async fn connect_unix(_: &dyn Driver, _: &Path) -> io::Result<Self> {
        Err(socket::no_unix_sockets())
    }

    /// Begins TLS, with a server whose certificate must be valid for this name.
    pub async fn encrypt(self, connector: &TlsConnector, name: ServerName<'static>) -> io::Result<Self> {
        match self {
            Self::Plain(socket) => {
                let shaken = connector.connect(name, socket).await.map_err(crate::tls::explained);
                shaken.map(|stream| Self::Tls(Box::new(stream)))
            }
            Self::Tls(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "the stream is encrypted already")),
        }
    }

    /// The application's protocol that was negotiated in TLS.
    pub fn negotiated(&self) -> Option<&[u8]> {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            Self::Plain(_) => None,
        }
    }

    /// Takes the stream from its driver, for another one.
    pub fn into_driven(self) -> io::Result<DrivenStream> {
        match self {
            Self::Plain(socket) => Ok(DrivenStream::plain(socket.into_std()?)),
            Self::Tls(stream) => {
                let (socket, connection) = stream.into_inner();
                Ok(DrivenStream::secure(socket.into_std()?, connection))
            }
        }
    }

    /// Sends the bytes behind the first `sent`. `sent` counts the bytes that the stream takes. Ready once the stream has all of them,
    /// and none is left in buffers of its own.
    pub fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8], sent: &mut usize) -> Poll<io::Result<()>> {
        while *sent < bytes.len() {
            match ready!(Pin::new(&mut *self).poll_write(context, &bytes[*sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                taken => *sent += taken,
            }
        }
        Pin::new(self).poll_flush(context)
    }

    /// Receives bytes into a buffer. Returns their number, 0 at the end of the stream.
    pub fn poll_receive(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::new(room);
        ready!(Pin::new(self).poll_read(context, &mut room))?;
        Poll::Ready(Ok(room.filled().len()))
    }

    /// Whether an idle stream is still open, and has no data to read.
    pub async fn is_quiet(&mut self) -> bool {
        poll_fn(|context| {
            if !self.has_news() {
                return Poll::Ready(true);
            }
            let Self::Tls(stream) = &mut *self else { return Poll::Ready(false) };
            // The bytes may be a TLS record without application data.
            let read = Pin::new(stream).poll_read(context, &mut ReadBuf::new(&mut [0]));
            // If there are more bytes, the driver has not noticed them yet, and will wake this task.
            if read.is_pending() && !self.has_news() { Poll::Ready(true) } else { read.map(|_| false) }
        })
        .await
    }

    /// Whether the socket has something to read: bytes, its end, or an error.
    pub fn has_news(&self) -> bool {
        has_news(&self.socket().system_socket())
    }

    /// The socket, under TLS if there is one.
    pub fn socket(&self) -> &dyn Socket {
        match self {
            Self::Plain(socket) => &**socket,
            Self::Tls(stream) => &**stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        on!(self.get_mut(), poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_shutdown(context))
    }
}
