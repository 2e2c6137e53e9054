//! The server of a client, by its URL, and the options of the client.

use std::time::Duration;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result};
use tokio_rustls::TlsConnector;

use crate::limits::MOST_BYTES;
use crate::request::Head;
use crate::stream::{Version, open_stream, tls_connector};
use crate::url::Url;
use crate::{http_error, no_answer};

/// The options of a client beside the URL.
#[derive(Clone)]
pub struct HttpOptions {
    /// The most connections of HTTP/1.1. They are opened when they are needed.
    pub connections: usize,
    /// The most requests in flight on one connection of HTTP/1.1.
    pub pipelining: usize,
    /// The time-out of a call, connecting included. Without one, a call waits for as long as its connection lives.
    pub timeout: Option<Duration>,
    /// Headers of all requests, each as `name: value` and a line break.
    pub headers: String,
    /// The most bytes of a response's body.
    pub most_bytes: usize,
    /// The version of the protocol.
    pub version: Version,
    /// The certificates to trust over TLS.
    pub trust: Trust,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connections: 1,
            pipelining: 1,
            timeout: None,
            headers: String::new(),
            most_bytes: MOST_BYTES,
            version: Version::default(),
            trust: Trust::default(),
        }
    }
}

/// The server of a client, with the options and the request head that its requests share.
#[derive(Clone)]
pub struct Origin {
    pub(crate) url: Url,
    pub(crate) options: HttpOptions,
    pub(crate) head: Head,
    pub(crate) tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Origin {
    /// Shows the place without its headers, since they may hold a key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Origin").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Origin {
    /// A place of this URL and these options, both checked.
    pub fn new(url: Url, options: HttpOptions) -> Result<Self> {
        if options.connections == 0 || options.pipelining == 0 {
            return Err(Error::InvalidArgument("a client needs a connection, and a request on it".to_owned()));
        }
        let head = Head::new(&url, &options.headers)?;
        let tls = tls_connector(&url, &options.trust, options.version)?;
        Ok(Self { url, options, head, tls })
    }

    /// Whether an event loop can drive connections to it without tasks. It can for HTTP/1.1.
    pub fn is_drivable(&self) -> bool {
        self.options.version == Version::Http1
    }

    /// The URL of the server.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The options of the client.
    pub fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// A new stream to the server, for an event loop that drives it.
    pub async fn open_driven(&self) -> Result<DrivenStream> {
        self.open_stream().await?.into_driven().map_err(|error| http_error(error.to_string()))
    }

    /// The error of a request behind a response that ended its connection.
    pub(crate) fn cut_off(&self) -> Error {
        Error::Connection(format!(
            "{} ended the connection with its response to an earlier request; this request may have been executed, and is not sent \
             again, since its method says that twice is not as good as once",
            self.url
        ))
    }

    /// A new stream to the server, opened within the time-out of a call, or else within [`CONNECT_TIMEOUT`].
    pub(crate) async fn open_stream(&self) -> Result<Stream> {
        let timeout = self.options.timeout.unwrap_or(CONNECT_TIMEOUT);
        within(Some(timeout), open_stream(&Tokio, &self.url, self.tls.as_ref()), no_answer).await
    }
}
