//! A driver as tonic's connector to shards.

use std::io;
use std::task::{Context, Poll};

use boundary_bench_kernel::driver::{Driver, Socket};
use boundary_bench_kernel::socket;
use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use tonic::codegen::Service;

/// Makes the connections of a channel, which the driver drives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connector(pub(super) &'static dyn Driver);

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Socket>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let driver = self.0;
        Box::pin(async move {
            let host = address.host().unwrap_or_default().trim_matches(['[', ']']);
            let default = if address.scheme_str() == Some("https") { 443 } else { 80 };
            let socket = socket::connect(host, address.port_u16().unwrap_or(default)).await?;
            driver.drive(Box::new(socket)).map(TokioIo::new)
        })
    }
}
