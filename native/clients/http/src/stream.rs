//! Connecting to a server over TCP, or over TLS.

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Result, socket, tls};
use tokio_rustls::TlsConnector;

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

/// Connects, over TLS where a connector for it is given.
///
/// # Errors
/// [`boundary_bench_kernel::Error::Engine`] where the server can't be reached,
/// [`boundary_bench_kernel::Error::InvalidArgument`] for a host that TLS can't check.
pub async fn open_stream(driver: &dyn Driver, url: &Url, tls: Option<&TlsConnector>) -> Result<Stream> {
    let failed = |error: std::io::Error| http_error(socket::unreachable_server(url, &error));
    let stream = Stream::connect(driver, &url.host, url.port).await.map_err(failed)?;
    let Some(connector) = tls else { return Ok(stream) };
    stream.encrypt(connector, tls::server_name(&url.host)?).await.map_err(failed)
}

/// The TLS connector for a URL; `None` where the URL is without TLS.
///
/// # Errors
/// [`boundary_bench_kernel::Error::InvalidArgument`] for an unusable file of certificates.
pub fn tls_connector(url: &Url, trust: &Trust, version: Version) -> Result<Option<TlsConnector>> {
    let protocol: &[u8] = if version == Version::Http2 { b"h2" } else { b"http/1.1" };
    url.tls.then(|| trust.connector(Some(protocol))).transpose()
}
