//! The byte stream to a server: TCP, or TLS over it.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Result, socket, tls};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::http_error;
use crate::url::Url;

/// The version of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: negotiated within TLS, assumed without it.
    Http2,
}

/// A byte stream to a server.
#[derive(Debug)]
pub enum Stream {
    /// A stream of TCP.
    Tcp(TcpStream),
    /// A stream of TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects, over TLS where a connector for it is given.
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::Engine`] where the server can't be reached,
    /// [`boundary_bench_kernel::Error::InvalidArgument`] for a host that TLS can't check.
    pub async fn open(url: &Url, tls: Option<&TlsConnector>) -> Result<Self> {
        let failed = |error: io::Error| http_error(socket::unreachable_server(url, &error));
        let stream = socket::connect(&url.host, url.port).await.map_err(failed)?;
        let Some(connector) = tls else { return Ok(Self::Tcp(stream)) };
        let name = tls::server_name(&url.host)?;
        Ok(Self::Tls(Box::new(connector.connect(name, stream).await.map_err(failed)?)))
    }

    /// Whether an idle stream is still open, and has no data to read.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        match self {
            Self::Tcp(stream) => !has_news(&SockRef::from(&*stream)),
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

/// Whether an idle socket has something to read: bytes, its end, or an error.
#[must_use]
pub fn has_news(socket: &SockRef<'_>) -> bool {
    let seen = socket.peek(&mut [MaybeUninit::uninit()]);
    !seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// The TLS connector for a URL; `None` where the URL is without TLS.
///
/// # Errors
/// [`boundary_bench_kernel::Error::InvalidArgument`] for an unusable file of certificates.
pub fn tls_connector(url: &Url, trust: &Trust, version: Version) -> Result<Option<TlsConnector>> {
    let protocol: &[u8] = if version == Version::Http2 { b"h2" } else { b"http/1.1" };
    url.tls.then(|| trust.connector(Some(protocol))).transpose()
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
