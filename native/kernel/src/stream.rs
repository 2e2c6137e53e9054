//! The byte stream to a server on the async runtime: TCP, a Unix domain socket, or TLS over TCP.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::driven_stream::{DrivenStream, has_news};
use crate::socket;

/// A byte stream to a server.
#[derive(Debug)]
pub enum Stream {
    /// A stream of TCP.
    Tcp(TcpStream),
    /// A stream of a Unix domain socket.
    Unix(UnixStream),
    /// A stream of TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Calls a method of the stream, whichever it is.
macro_rules! on {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream {
            Stream::Tcp(stream) => Pin::new(stream).$method($($argument),*),
            Stream::Unix(stream) => Pin::new(stream).$method($($argument),*),
            Stream::Tls(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl Stream {
    /// Connects to a port of a host, without a time-out of its own: the caller must set one.
    ///
    /// # Errors
    /// The errors of [`socket::connect`].
    pub async fn connect(host: &str, port: u16) -> io::Result<Self> {
        socket::connect(host, port).await.map(Self::Tcp)
    }

    /// Connects to a Unix domain socket.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn connect_unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).await.map(Self::Unix)
    }

    /// Begins TLS over TCP, with a server whose certificate must be valid for this name.
    ///
    /// # Errors
    /// The errors of TLS and of the socket, and [`io::ErrorKind::Unsupported`] for a stream that is no TCP.
    pub async fn encrypt(self, connector: &TlsConnector, name: ServerName<'static>) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => connector.connect(name, stream).await.map(|stream| Self::Tls(Box::new(stream))),
            Self::Unix(_) | Self::Tls(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "only TCP can be encrypted"))
            }
        }
    }

    /// The application's protocol that was negotiated in TLS.
    #[must_use]
    pub fn negotiated(&self) -> Option<&[u8]> {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            Self::Tcp(_) | Self::Unix(_) => None,
        }
    }

    /// Takes the stream off the async runtime, for a driver of its own.
    ///
    /// # Errors
    /// The error of the system.
    pub fn into_driven(self) -> io::Result<DrivenStream> {
        match self {
            Self::Tcp(stream) => Ok(DrivenStream::plain(stream.into_std()?)),
            Self::Unix(stream) => Ok(DrivenStream::plain(OwnedFd::from(stream.into_std()?).into())),
            Self::Tls(stream) => {
                let (stream, connection) = stream.into_inner();
                Ok(DrivenStream::secure(stream.into_std()?, connection))
            }
        }
    }

    /// Whether an idle stream is still open, and has no data to read.
    pub async fn is_quiet(&mut self) -> bool {
        match self {
            Self::Tcp(stream) => !has_news(&SockRef::from(&*stream)),
            Self::Unix(stream) => !has_news(&SockRef::from(&*stream)),
            Self::Tls(stream) => {
                if !has_news(&SockRef::from(stream.get_ref().0)) {
                    return true;
                }
                // The bytes may be a TLS record without application data.
                if stream.get_ref().0.readable().await.is_err() {
                    return false;
                }
                let mut byte = [0];
                let read = Pin::new(&mut **stream)
                    .poll_read(&mut Context::from_waker(Waker::noop()), &mut ReadBuf::new(&mut byte));
                read.is_pending()
            }
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
