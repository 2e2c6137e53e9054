//! The interface of a transport that makes and drives connections to shards in place of tokio's network.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::codegen::Service;

/// A connection to a shard.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Makes connections, and runs the tasks that drive them.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Connects to a port of a host.
    fn connect(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Connection>>>;

    /// Runs a task to its end, concurrently with its caller.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Waits until all written bytes have been sent: on a single thread, the caller's next work would delay them.
    fn sent(&self) -> BoxFuture<'static, ()>;
}

/// Adapts a transport to tonic's connector and executor.
#[derive(Debug, Clone)]
pub(super) struct Through(pub(super) Arc<dyn Transport>);

impl Service<Uri> for Through {
    type Response = TokioIo<Box<dyn Connection>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let host = address.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let default = if address.scheme_str() == Some("https") { 443 } else { 80 };
        let connecting = self.0.connect(host, address.port_u16().unwrap_or(default));
        Box::pin(async move { connecting.await.map(TokioIo::new) })
    }
}

impl Executor<BoxFuture<'static, ()>> for Through {
    fn execute(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }
}
