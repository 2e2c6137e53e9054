//! The bytes between us and a server: TCP, or TLS over it.

use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use boundary_bench_core::{Error, Result};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::http_error;
use crate::url::Url;

/// The version of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: agreed on in TLS, and known beforehand without it.
    Http2,
}

/// A stream to a server.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects, by TLS where there are settings for it.
    ///
    /// # Errors
    /// [`Error::Engine`] where the server can't be reached, [`Error::InvalidArgument`] for a host that TLS can't check.
    pub async fn open(url: &Url, tls: Option<&TlsConnector>) -> Result<Self> {
        let failed = |error: io::Error| unreachable_server(url, &error);
        let stream = TcpStream::connect((url.host.as_str(), url.port)).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let Some(tls) = tls else { return Ok(Self::Tcp(stream)) };
        let name = ServerName::try_from(url.host.clone())
            .map_err(|_| Error::InvalidArgument(format!("\"{}\" is no name that TLS can check", url.host)))?;
        Ok(Self::Tls(Box::new(tls.connect(name, stream).await.map_err(failed)?)))
    }

    /// Whether an idle stream is still open, and nothing was said on it.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        match self {
            Self::Tcp(stream) => !has_news(&SockRef::from(&*stream)),
            Self::Tls(stream) => {
                if !has_news(&SockRef::from(stream.get_ref().0)) {
                    return true;
                }
                // What came may concern TLS alone.
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

/// Whether something waits to be read from an idle socket: bytes, its end, or an error.
#[must_use]
pub fn has_news(socket: &SockRef<'_>) -> bool {
    let seen = socket.peek(&mut [MaybeUninit::uninit()]);
    !seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// The settings of TLS for a URL; `None` where it wants none. Trusts the certificates of a file, or the system's.
///
/// # Errors
/// [`Error::InvalidArgument`] for an unusable file.
pub fn tls_connector(url: &Url, cacert: Option<&PathBuf>, version: Version) -> Result<Option<TlsConnector>> {
    if !url.tls {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    match cacert {
        Some(path) => add_certificates(&mut roots, path)?,
        None => {
            // Some of a system's certificates may be unreadable; without any the handshake says so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Internal(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let protocol: &[u8] = if version == Version::Http2 { b"h2" } else { b"http/1.1" };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(Some(TlsConnector::from(Arc::new(config))))
}

fn add_certificates(roots: &mut RootCertStore, path: &Path) -> Result<()> {
    let unusable =
        |problem: String| Error::InvalidArgument(format!("the certificates in {}: {problem}", path.display()));
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    Ok(())
}

/// The error for a server that can't be connected to.
fn unreachable_server(url: &Url, error: &io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused => "; does the server run, and is this its address?",
        io::ErrorKind::InvalidData => "; does the server speak TLS there, and is its certificate trusted?",
        _ => "",
    };
    http_error(format!("can't connect to {url}: {error}{advice}"))
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
