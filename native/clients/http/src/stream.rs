//! Connecting to a server over TCP, or over TLS.

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, socket, tls};
use tokio_rustls::{TlsConnector, rustls};

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

/// Connects, over TLS if a connector for it is given.
pub async fn open_stream(driver: &dyn Driver, url: &Url, tls: Option<&TlsConnector>) -> Result<Stream> {
    let failed = |error: std::io::Error| socket::unreachable_server(url, &error);
    let stream = Stream::connect(driver, &url.host, url.port).await.map_err(failed)?;
    let Some(connector) = tls else { return Ok(stream) };
    stream.encrypt(connector, tls::server_name(&url.host)?).await.map_err(|error| {
        if is_no_protocol(&error) {
            Error::Unsupported(format!(
                "the server at {url} does not offer the version of HTTP that was asked for: {error}"
            ))
        } else {
            failed(error)
        }
    })
}

/// Whether the server has refused the protocols that were offered in TLS.
fn is_no_protocol(error: &std::io::Error) -> bool {
    let of_tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    matches!(
        of_tls,
        Some(
            rustls::Error::NoApplicationProtocol
                | rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)
        )
    )
}

/// The TLS connector for a URL, or `None` if the URL is without TLS.
pub fn tls_connector(url: &Url, trust: &Trust, version: Version) -> Result<Option<TlsConnector>> {
    let protocol: &[u8] = if version == Version::Http2 { b"h2" } else { b"http/1.1" };
    url.tls.then(|| trust.connector(Some(protocol))).transpose()
}
