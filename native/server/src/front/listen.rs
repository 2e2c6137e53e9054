//! Accepts connections and serves each until it ends, is told to end, or the server stops.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_core::{Error, Result};
use boundary_bench_flight::{CONNECTION_WINDOW, FRAME_SIZE, STREAM_WINDOW};
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::answer::{Answer, Cut};
use super::stream::{Bytes, Watched};
use super::tls;
use super::watch::{ROUND, Signal, Watch};
use crate::options::{Limits, Options};

/// Concurrent requests (streams) of one HTTP/2 connection, at most.
const MAX_STREAMS: u32 = 256;

/// Bytes of a request's header, at most.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// How long to wait before the next accept when no file descriptor is left.
const OUT_OF_FILES: Duration = Duration::from_millis(50);

/// A service that answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers a request.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// The HTTP front of a server: accepts connections and hands their requests to the service.
pub(crate) struct Front<S> {
    service: Arc<S>,
    watch: Arc<Watch>,
    tls: Option<TlsAcceptor>,
    places: Arc<Semaphore>,
    http: auto::Builder<TokioExecutor>,
    limits: Limits,
}

impl<S: Service> Front<S> {
    /// # Errors
    /// [`Error::InvalidArgument`] for an unusable certificate or key file.
    pub(crate) fn new(service: Arc<S>, options: &Options) -> Result<Self> {
        let limits = options.limits.clone();
        let mut http = auto::Builder::new(TokioExecutor::new());
        // The watch keeps the deadlines: hyper's own time-out starts a timer for each request. `pipeline_flush` stays off: it
        // gathers the responses to pipelined requests without a bound, and all of a long response where the client does not
        // read.
        http.http1().header_read_timeout(None).max_buf_size(MAX_HEADER_BYTES).half_close(true);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            // A client that vanished without closing its connection would hold its streams for ever.
            .keep_alive_interval(limits.keep_alive)
            .keep_alive_timeout(limits.keep_alive)
            .max_header_list_size(u32::try_from(MAX_HEADER_BYTES).unwrap_or(u32::MAX));
        Ok(Self {
            service,
            watch: Arc::new(Watch::new(limits.header_time, limits.idle_time)),
            tls: options.tls.as_ref().map(tls::acceptor).transpose()?,
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            http,
            limits,
        })
    }

    /// The same front with HTTP/2 windows and frames sized for bodies that are long streams.
    #[must_use]
    pub(crate) fn for_streams(mut self) -> Self {
        let mut http2 = self.http.http2();
        http2
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE)
            .max_send_buf_size(STREAM_WINDOW as usize);
        self
    }

    /// The number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.watch.count()
    }

    /// Serves until `stop` resolves; then finishes the requests in flight, for at most `limits.stop_time`.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, stop: impl Future<Output = ()>) {
        let rounds = {
            let watch = Arc::clone(&self.watch);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(ROUND).await;
                    watch.round();
                }
            })
        };
        tokio::select! {
            () = Arc::clone(&self).accept(&listener) => {}
            () = stop => {}
        }
        drop(listener);
        self.watch.stop();
        if tokio::time::timeout(self.limits.stop_time, self.watch.all_ended()).await.is_err() {
            self.watch.end();
            self.watch.all_ended().await;
        }
        rounds.abort();
    }

    async fn accept(self: Arc<Self>, listener: &TcpListener) {
        loop {
            // Beyond the limit, connections wait in the kernel's queue.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let front = Arc::clone(&self);
                    tokio::spawn(async move {
                        let _place = place;
                        front.connection(stream).await;
                    });
                }
                // The client closed the connection before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => tokio::time::sleep(OUT_OF_FILES).await,
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let entry = self.watch.enter();
        let bytes = match &self.tls {
            None => Bytes::Plain(TokioIo::new(stream)),
            Some(acceptor) => {
                let shaken = tokio::time::timeout(self.limits.header_time, acceptor.accept(stream));
                tokio::select! {
                    shaken = shaken => match shaken {
                        Ok(Ok(stream)) => Bytes::Tls(Box::new(TokioIo::new(stream))),
                        _ => return,
                    },
                    _ = entry.signal() => return,
                }
            }
        };
        let marks = entry.marks();
        let service = service_fn(|request| {
            let (in_flight, service) = (marks.request(), Arc::clone(&self.service));
            async move {
                let mut answer = service.answer(request).await;
                answer.body_mut().hold(in_flight);
                std::result::Result::<Answer, Cut>::Ok(answer)
            }
        });
        let mut connection = pin!(self.http.serve_connection(Watched::new(bytes, entry.marks()), service));
        loop {
            tokio::select! {
                _ = connection.as_mut() => return,
                signal = entry.signal() => match signal {
                    Signal::End => return,
                    Signal::Stop => connection.as_mut().graceful_shutdown(),
                },
            }
        }
    }
}

/// Binds the address that the options name.
///
/// # Errors
/// [`Error::Io`] naming the address.
pub(crate) async fn bind(options: &Options) -> Result<TcpListener> {
    let bound = TcpListener::bind(options.listen).await;
    bound.map_err(|source| Error::Io { path: options.listen.to_string(), source: Arc::new(source) })
}
