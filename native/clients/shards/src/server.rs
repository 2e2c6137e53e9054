//! The server of one shard, with its own threads.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::api_key::ApiKey;
use boundary_bench_kernel::serving::{self, Serving, Stopped};
use boundary_bench_kernel::{Error, Result};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};

use crate::options::{ShardOptions, identity};
use crate::proto::FILE_DESCRIPTOR_SET;
use crate::proto::shard_service_server::ShardServiceServer;
use crate::scan_body::WithScan;
use crate::service::Service;
use crate::store::Store;

/// The HTTP/2 window of a stream, in bytes: what may be sent before the receiver reads it.
pub const STREAM_WINDOW: u32 = 4 << 20;

/// The HTTP/2 window of a connection, in bytes, for all its streams together.
pub const CONNECTION_WINDOW: u32 = 16 << 20;

/// The most bytes of an HTTP/2 frame, enough for a message of a scan to fit into few frames.
pub(crate) const FRAME_BYTES: u32 = 1 << 20;

/// The interval of HTTP/2 pings, and the time-out of their replies.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The time-out of a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How long the calls in flight may take to finish when the server is stopped.
const STOP_TIME: Duration = Duration::from_secs(10);

/// A running server of one shard. Dropping it stops it as [`Serving::stop`] does.
#[derive(Debug)]
pub struct ShardServer(Serving);

impl ShardServer {
    /// Starts a server. It accepts calls when this returns.
    pub fn start(options: &ShardOptions) -> Result<Self> {
        Self::serve(options, options.open()?)
    }

    /// Starts a server over a store that this process may use too.
    pub fn serve(options: &ShardOptions, store: Arc<dyn Store>) -> Result<Self> {
        options.validate()?;
        let io_error = |source| Error::Io { path: options.listen.to_string(), source: Arc::new(source) };
        let listener = std::net::TcpListener::bind(options.listen).map_err(io_error)?;
        listener.set_nonblocking(true).map_err(io_error)?;
        let address = listener.local_addr().map_err(io_error)?;
        let runtime = serving::runtime("bb-shard")?;
        let server = builder(options)?;
        let service = WithScan::new(Service::new(options, store), ApiKey(options.api_key.clone()));
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let serving = Serving::start("bb-shard", scheme, address, move |stopped| {
            runtime.block_on(serve(server, service, listener, stopped));
            runtime.shutdown_timeout(STOP_TIME);
        });
        serving.map(Self)
    }
}

impl Deref for ShardServer {
    type Target = Serving;

    fn deref(&self) -> &Serving {
        &self.0
    }
}

/// Configures the HTTP/2 server.
fn builder(options: &ShardOptions) -> Result<Server> {
    let server = Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES)
        .max_concurrent_streams(options.streams)
        // A client that vanished without closing its connection would hold its calls for ever.
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE));
    let Some(files) = &options.tls else { return Ok(server) };
    let tls = ServerTlsConfig::new().identity(identity(files)?).timeout(HANDSHAKE_TIME);
    server.tls_config(tls).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let (certificate, key) = (files.certificate.display(), files.key.display());
        Error::InvalidArgument(format!("{certificate} and {key}: not usable for TLS: {cause}"))
    })
}

async fn serve(mut server: Server, service: WithScan, listener: std::net::TcpListener, stopped: Stopped) {
    // The conversion fails only outside a runtime, and this task runs in one.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<ShardServiceServer<Service>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let until = stopped.clone().wait();
    let until = async move {
        until.await;
        health.set_not_serving::<ShardServiceServer<Service>>().await;
    };
    let server = server
        .add_service(service)
        .add_service(health_service)
        // Some clients ask for the older version of reflection.
        .add_optional_service(reflection().build_v1().ok())
        .add_optional_service(reflection().build_v1alpha().ok());
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::select! {
        // Serving fails if the listener does.
        _ = server.serve_with_incoming_shutdown(incoming, until) => {}
        () = async {
            stopped.wait().await;
            tokio::time::sleep(STOP_TIME).await;
        } => {}
    }
}
