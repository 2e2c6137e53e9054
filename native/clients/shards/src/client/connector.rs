//! A driver as tonic's connector to shards.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use boundary_bench_http::{Url, Watched, guarded};
use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::tls;
use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio_rustls::TlsConnector;
use tonic::codegen::Service;

/// Makes the connections of a channel, over TLS if there is a connector for it. The driver drives them.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) driver: &'static dyn Driver,
    pub(super) url: Url,
    pub(super) tls: Option<TlsConnector>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Connector({})", self.url)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Watched<Stream>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { driver, url, tls } = self.clone();
        Box::pin(async move {
            let stream = Stream::connect(driver, &url.host, url.port).await?;
            let Some(connector) = tls else { return Ok(TokioIo::new(guarded(stream))) };
            let name = tls::server_name(&url.host).map_err(io::Error::other)?;
            stream.encrypt(&connector, name).await.map(|stream| TokioIo::new(guarded(stream)))
        })
    }
}
