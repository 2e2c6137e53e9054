//! The bytes between us and a server: TCP, a Unix domain socket, TLS over TCP.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use boundary_bench_core::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::url::{Place, Url};

/// A stream to a server.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix domain socket.
    Unix(UnixStream),
    /// Over TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects to a server at a place, with the certificates of the URL.
    pub(crate) async fn open(place: &Place, url: &Url) -> Result<Self> {
        let failed = |error: io::Error| unreachable_server(place, &error);
        match place {
            Place::Unix(path) => UnixStream::connect(path).await.map(Self::Unix).map_err(failed),
            Place::Tcp { host, port, tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                if !tls {
                    return Ok(Self::Tcp(stream));
                }
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| Error::InvalidArgument(format!("\"{host}\" is no name that TLS can check")))?;
                let stream = tls_connector(url)?.connect(name, stream).await.map_err(failed)?;
                Ok(Self::Tls(Box::new(stream)))
            }
        }
    }
}

/// The settings of TLS. Read anew for each connection: certificates change while we run, and connections are few.
fn tls_connector(url: &Url) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match &url.cacert {
        Some(path) => {
            let unusable =
                |problem: String| Error::InvalidArgument(format!("the certificates in {}: {problem}", path.display()));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
        }
        None => {
            // Some of a system's certificates may be unreadable; without any the handshake says so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Internal(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The error for a server that can't be connected to.
pub(crate) fn unreachable_server(place: &Place, error: &io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; does the server run, and is this its address?",
        io::ErrorKind::InvalidData => "; does the server speak TLS there, and is its certificate trusted?",
        _ => "",
    };
    crate::engine_error(format!("can't connect to {place}: {error}{advice}"))
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
