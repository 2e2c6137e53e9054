//! The byte stream to a server: TCP, a Unix domain socket, or TLS over TCP.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use boundary_bench_kernel::{Error, Result, socket, tls};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

use crate::url::{Place, Url};

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

impl Stream {
    /// Connects to a server at `place`, with the trust that the URL states.
    pub(crate) async fn open(place: &Place, url: &Url) -> Result<Self> {
        let failed = |error: io::Error| unreachable_server(place, &error);
        match place {
            Place::Unix(path) => UnixStream::connect(path).await.map(Self::Unix).map_err(failed),
            Place::Tcp { host, port, tls: is_secure } => {
                let stream = socket::connect(host, *port).await.map_err(failed)?;
                if !is_secure {
                    return Ok(Self::Tcp(stream));
                }
                let (name, connector) = (tls::server_name(host)?, url.trust.connector(None)?);
                let stream = connector.connect(name, stream).await.map_err(failed)?;
                Ok(Self::Tls(Box::new(stream)))
            }
        }
    }
}

/// The error for a server that can't be reached.
pub(crate) fn unreachable_server(place: &Place, error: &io::Error) -> Error {
    crate::engine_error(socket::unreachable_server(place, error))
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
