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

/// Requests of one HTTP/2 connection at a time.
const MAX_STREAMS: u32 = 256;

/// The header of a request, at most.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// How long to wait when the system has no more files.
const OUT_OF_FILES: Duration = Duration::from_millis(50);

/// What answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// The front of a server: its connections.
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
    /// [`Error::InvalidArgument`] for unusable files of TLS.
    pub(crate) fn new(service: Arc<S>, options: &Options) -> Result<Self> {
        let limits = options.limits.clone();
        let mut http = auto::Builder::new(TokioExecutor::new());
        // The watch has the deadlines; hyper's own timer is one for each request.
        http.http1().header_read_timeout(None).max_buf_size(MAX_HEADER_BYTES).half_close(true).pipeline_flush(true);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .keep_alive_interval(limits.idle_time)
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

    /// The same front, for bodies that are long streams.
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

    /// The number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.watch.count()
    }

    /// Serves until `stop` resolves; then answers what is in flight, for as long as the limits allow.
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
            // Beyond the limit, connections wait in the system's queue.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let front = Arc::clone(&self);
                    tokio::spawn(async move {
                        let _place = place;
                        front.connection(stream).await;
                    });
                }
                // The client went away again.
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
