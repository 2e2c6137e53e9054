//! The server of one shard, with its own threads.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use boundary_bench_kernel::api_key::ApiKey;
use boundary_bench_kernel::{Error, Result};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};

use crate::options::ShardOptions;
use crate::proto::FILE_DESCRIPTOR_SET;
use crate::proto::shard_service_server::ShardServiceServer;
use crate::scan_body::WithScan;
use crate::service::Service;
use crate::store::Store;

/// The HTTP/2 window of a stream, in bytes: what may be sent before the receiver reads it.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;

/// The HTTP/2 window of a connection, in bytes, for all its streams together.
pub(crate) const CONNECTION_WINDOW: u32 = 16 << 20;

/// Bytes of an HTTP/2 frame, at most; large enough for a message of a scan to fit into few.
pub(crate) const FRAME_BYTES: u32 = 1 << 20;

/// The time-out of a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How long the calls in flight may take to finish when the server is stopped.
const STOP_TIME: Duration = Duration::from_secs(10);

/// A running server of one shard. Dropping it stops it as [`ShardServer::stop`] does.
#[derive(Debug)]
pub struct ShardServer {
    address: SocketAddr,
    scheme: &'static str,
    stop: watch::Sender<bool>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl ShardServer {
    /// Starts a server; it accepts calls when this returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for unusable options, [`Error::Io`] where the address can't be bound, and the errors of
    /// [`ShardOptions::open`].
    pub fn start(options: &ShardOptions) -> Result<Self> {
        Self::serve(options, options.open()?)
    }

    /// Starts a server over a store that this process may use too.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for unusable options, [`Error::Io`] where the address can't be bound.
    pub fn serve(options: &ShardOptions, store: Arc<dyn Store>) -> Result<Self> {
        options.validate()?;
        let io_error = |source| Error::Io { path: options.listen.to_string(), source: Arc::new(source) };
        let listener = std::net::TcpListener::bind(options.listen).map_err(io_error)?;
        listener.set_nonblocking(true).map_err(io_error)?;
        let address = listener.local_addr().map_err(io_error)?;
        let runtime = runtime(options)?;
        let server = builder(options)?;
        let (stop, stopped) = watch::channel(false);
        let service = WithScan::new(Service::new(options, store), ApiKey(options.api_key.clone()));
        let serve = move || {
            runtime.block_on(serve(server, service, listener, stopped));
            runtime.shutdown_timeout(STOP_TIME);
        };
        let thread = std::thread::Builder::new().name("bb-shard".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| Error::Internal(format!("the shard's thread does not start: {error}")))?;
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        Ok(Self { address, scheme, stop, serving: Mutex::new(Some(thread)) })
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of the server's URLs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Stops accepting calls and returns once those in flight are answered; a second call does nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = serving {
            let _ = thread.join();
        }
    }
}

impl Drop for ShardServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Configures the HTTP/2 server.
fn builder(options: &ShardOptions) -> Result<Server> {
    let server = Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES)
        .max_concurrent_streams(options.limits.streams)
        // A client that vanished without closing its connection would hold its calls for ever.
        .http2_keepalive_interval(Some(options.limits.keep_alive))
        .http2_keepalive_timeout(Some(options.limits.keep_alive));
    let Some(files) = &options.tls else { return Ok(server) };
    let tls = ServerTlsConfig::new().identity(files.identity()?).timeout(HANDSHAKE_TIME);
    server.tls_config(tls).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let (certificate, key) = (files.certificate.display(), files.key.display());
        Error::InvalidArgument(format!("{certificate} and {key}: not usable for TLS: {cause}"))
    })
}

async fn serve(
    mut server: Server,
    service: WithScan,
    listener: std::net::TcpListener,
    mut stopped: watch::Receiver<bool>,
) {
    // The conversion fails only outside a runtime, and this task runs in one.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<ShardServiceServer<Service>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut until = stopped.clone();
    let until = async move {
        // The wait fails where the sender was dropped, which also means stop.
        let _ = until.wait_for(|stopped| *stopped).await;
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
        // Serving fails where the listener does.
        _ = server.serve_with_incoming_shutdown(incoming, until) => {}
        () = async {
            let _ = stopped.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_TIME).await;
        } => {}
    }
}

fn runtime(options: &ShardOptions) -> Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let threads = options.threads.unwrap_or_else(|| cores.div_ceil(2));
    let built = Builder::new_multi_thread().worker_threads(threads).thread_name("bb-shard").enable_all().build();
    built.map_err(|error| Error::Internal(format!("no async runtime: {error}")))
}
