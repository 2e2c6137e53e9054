//! Connections to a service, and calls over them.

use std::any::Any;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_flight::BasicAuth;
use arrow_flight::{HandshakeRequest, HandshakeResponse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boundary_bench_http::{Version, guarded, open_stream, tls_connector};
use boundary_bench_kernel::cancel::{CancelGuard, CancelToken};
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::error::chain;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result, lock};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, TE, USER_AGENT};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::sync::{Notify, OnceCell, watch};
use tonic::{Code, Status};

use crate::data::Data;
use crate::grpc::{GRPC, Intent, MessageBody, Messages, ONLY_READS, Parts, SERVICE, Sent, framed, status_of};
use crate::stall_guard::StallGuard;
use crate::status::to_error;
use crate::url::FlightUrl;
use crate::{CONNECTION_WINDOW, FRAME_SIZE, STREAM_WINDOW, engine_error, runtime};

/// Maximum number of connections to one server. One thread reads each connection, so concurrent calls get connections of
/// their own.
const MAX_CONNECTIONS: usize = 8;

/// How long a server may be silent while a call waits for it, before it is sent a ping. Servers of gRPC accept a ping every five
/// minutes, and close a connection that sends them more often.
const PING_INTERVAL: Duration = Duration::from_secs(330);

/// Maximum number of bytes of a stream that wait to be sent.
const SEND_BUFFER: usize = 4 << 20;

const NAME_AND_VERSION: HeaderValue = HeaderValue::from_static(concat!("boundary-bench/", env!("CARGO_PKG_VERSION")));

/// Maximum time that a failed call waits for the end of its connection, whose error is the reason.
const END_WAIT: Duration = Duration::from_secs(1);

/// A server and the connections to it.
pub(crate) struct Channel {
    url: FlightUrl,
    /// The value of the `authorization` header of calls, or `None` without a login.
    token: Mutex<Option<HeaderValue>>,
    connections: Mutex<Vec<Connection>>,
    /// The same service at other locations, by their URIs. Each is connected to when it is needed.
    others: Mutex<HashMap<String, Arc<OnceCell<Arc<Self>>>>>,
    /// A server of our own. It must outlive the connections.
    server: Option<Arc<dyn Any + Send + Sync>>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // Stopping a server waits for its end, but a drop may run on any thread.
            runtime().spawn_blocking(move || drop(server));
        }
    }
}

#[derive(Clone)]
struct Connection {
    sender: http2::SendRequest<MessageBody>,
    /// The error by which the connection ended.
    end: watch::Receiver<Option<String>>,
    /// Cloned by each call under way, so that its reference count tells their number.
    calls: Arc<()>,
}

impl Channel {
    /// Connects and logs in.
    pub(crate) async fn connect(url: FlightUrl, server: Option<Arc<dyn Any + Send + Sync>>) -> Result<Arc<Self>> {
        let channel =
            Self { url, token: Mutex::default(), connections: Mutex::default(), others: Mutex::default(), server };
        channel.lease().await?;
        if let Some((user, password)) = channel.url.login.clone() {
            let token = channel.log_in(user, password).await?;
            *lock(&channel.token) = Some(token);
        }
        Ok(Arc::new(channel))
    }

    /// The same service at another location, named by one of its endpoints. It is connected to at its first use.
    pub(crate) async fn elsewhere(&self, location: &str) -> Result<Arc<Self>> {
        let other = Arc::clone(lock(&self.others).entry(location.to_owned()).or_default());
        other.get_or_try_init(|| self.connect_elsewhere(location)).await.cloned()
    }

    async fn connect_elsewhere(&self, location: &str) -> Result<Arc<Self>> {
        let unusable = || Error::Unsupported(format!("a result at {location} can't be fetched from here"));
        let (scheme, rest) = location.split_once("://").unwrap_or((location, ""));
        let scheme = match scheme {
            "grpc" | "grpc+tcp" => "flight",
            "grpc+tls" => "flight+tls",
            _ => return Err(unusable()),
        };
        let place = format!("{scheme}://{rest}").parse::<FlightUrl>().map_err(|_| unusable())?.place;
        if self.url.place.tls && !place.tls && self.url.login.is_some() {
            return Err(Error::Insecure(format!("the password is not sent to {location}, which has no TLS")));
        }
        Self::connect(FlightUrl { place, ..self.url.clone() }, None).await
    }

    pub(crate) fn url(&self) -> &FlightUrl {
        &self.url
    }

    /// Whether the server is one of our own. Such a server ends with the channel.
    pub(crate) fn is_private(&self) -> bool {
        self.server.is_some()
    }

    async fn log_in(&self, user: String, password: String) -> Result<HeaderValue> {
        let basic = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let mut basic = HeaderValue::try_from(basic).map_err(|error| Error::Internal(error.to_string()))?;
        basic.set_sensitive(true);
        *lock(&self.token) = Some(basic.clone());
        let payload = BasicAuth { username: user, password }.encode_to_vec().into();
        let request = HandshakeRequest { protocol_version: 0, payload };
        let body = MessageBody::request(Parts::from([framed(&request)]));
        let mut reply = match self.call("Handshake", body).await {
            Ok(reply) => reply,
            // The server has no handshake, and may take the password with each call.
            Err(Error::Unsupported(_)) => return Ok(basic),
            Err(error) => return Err(error),
        };
        if let Some(token) = reply.headers.get(AUTHORIZATION) {
            return Ok(token.clone());
        }
        let response: Option<HandshakeResponse> = reply.next().await?;
        let token = response.map(|response| response.payload).filter(|payload| !payload.is_empty());
        match token {
            Some(token) => [b"Bearer ", &token[..]].concat().try_into().map_err(|_| engine_error("its token is none")),
            None => Ok(basic),
        }
    }

    /// A connection without calls, opened if necessary. At [`MAX_CONNECTIONS`] connections, the connection with the fewest calls.
    async fn lease(&self) -> Result<Connection> {
        {
            let mut connections = lock(&self.connections);
            connections.retain(|connection| !connection.sender.is_closed());
            let free = connections.iter().min_by_key(|connection| Arc::strong_count(&connection.calls));
            if let Some(free) = free
                && (Arc::strong_count(&free.calls) == 1 || connections.len() >= MAX_CONNECTIONS)
            {
                return Ok(free.clone());
            }
        }
        let timeout = self.url.timeout.unwrap_or(CONNECT_TIMEOUT);
        let late = |_| Error::Timeout(format!("{} does not answer", self.url));
        let connection = within(Some(timeout), self.open(), late).await?;
        lock(&self.connections).push(connection.clone());
        Ok(connection)
    }

    async fn open(&self) -> Result<Connection> {
        let place = &self.url.place;
        let tls = tls_connector(place, &self.url.trust, Version::Http2)?;
        let stream = open_stream(&Tokio, place, tls.as_ref()).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE)
            .max_send_buf_size(SEND_BUFFER)
            // The others wait for the server's settings. These say how many calls it takes.
            .initial_max_send_streams(1)
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL);
        let shaken = builder.handshake(TokioIo::new(guarded(stream))).await;
        let (sender, connection) = shaken.map_err(|error| self.lost(&chain(&error)))?;
        let (ended, end) = watch::channel(None);
        // The connection's task ends with the last sender.
        tokio::spawn(async move {
            let error = connection.await.err().map(|error| chain(&error));
            ended.send_replace(error);
        });
        Ok(Connection { sender, end, calls: Arc::default() })
    }

    /// Makes a call that changes nothing, or that our own server knows as one that does. Its reply is read as it arrives.
    pub(crate) async fn call(&self, method: &str, body: MessageBody) -> Result<Reply> {
        self.call_with(method, body, Intent::Read).await
    }

    /// Makes a call with an intent. Its reply is read as it arrives.
    pub(crate) async fn call_with(&self, method: &str, body: MessageBody, intent: Intent) -> Result<Reply> {
        let Connection { mut sender, mut end, calls } = self.lease().await?;
        let uri = format!(
            "{}://{}{SERVICE}{method}",
            if self.url.place.tls { "https" } else { "http" },
            self.url.place.authority()
        );
        let mut request = Request::post(uri)
            .header(CONTENT_TYPE, GRPC)
            .header(TE, HeaderValue::from_static("trailers"))
            .header(USER_AGENT, NAME_AND_VERSION);
        if intent == Intent::Read {
            request = request.header(ONLY_READS, HeaderValue::from_static("1"));
        }
        if let Some(token) = &*lock(&self.token) {
            request = request.header(AUTHORIZATION, token);
        }
        let (body, progress) = body.counted();
        let request = request.body(body).map_err(|error| Error::Internal(error.to_string()))?;
        let sent = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        let answered = async {
            match sent.await {
                Ok(response) => Ok(response),
                // A call whose connection ended before its turn knows nothing of the reason.
                Err(error) if error.is_user() || error.is_canceled() || error.is_closed() => {
                    let ended = tokio::time::timeout(END_WAIT, end.wait_for(Option::is_some)).await;
                    let reason = ended.ok().and_then(|end| end.ok()?.clone());
                    Err(self.lost(&reason.unwrap_or_else(|| chain(&error))))
                }
                Err(error) => Err(self.lost(&chain(&error))),
            }
        };
        let response = self.answered(&progress, answered).await?;
        let (head, body) = response.into_parts();
        if let Some(status) = status_of(&head) {
            return Err(to_error(&status));
        }
        let ended = Status::from_header_map(&head.headers).is_some();
        let (body, is_late) = StallGuard::new(body, self.url.timeout, progress);
        let messages = Messages::new(body, self.url.most_bytes);
        Ok(Reply { headers: head.headers, messages, ended, is_late, late: self.late(), _calls: calls })
    }

    /// Waits for the head of a response while the request is sent. The time-out of the URL starts again with each part that the server
    /// takes, and does not run while it waits for the next part.
    async fn answered<T>(&self, sent: &Sent, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = pin!(work);
        let Some(limit) = self.url.timeout else { return work.await };
        let mut left = limit;
        while !left.is_zero() {
            match tokio::time::timeout(left, &mut work).await {
                Ok(answer) => return answer,
                Err(_) => left = sent.left(limit),
            }
        }
        Err(self.late())
    }

    fn late(&self) -> Error {
        let seconds = self.url.timeout.unwrap_or_default().as_secs_f64();
        Error::Timeout(format!("{} did not answer for {seconds} s", self.url))
    }

    fn lost(&self, reason: &str) -> Error {
        Error::Connection(format!("the connection to {} was lost: {reason}", self.url))
    }
}

/// The reply to a call.
pub(crate) struct Reply {
    headers: HeaderMap,
    messages: Messages<StallGuard<Incoming>>,
    /// Whether the status has arrived with the headers.
    ended: bool,
    /// Whether the server sent nothing for the time-out, and the error for that.
    is_late: Arc<AtomicBool>,
    late: Error,
    _calls: Arc<()>,
}

impl Reply {
    /// The next message, or `None` at the end of a successful call.
    pub(crate) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>> {
        let next = self.messages.next().await;
        let next = next.map_err(|status| self.failure(&status))?;
        if next.is_none() {
            self.finish()?;
        }
        Ok(next)
    }

    /// The next `FlightData` message, or `None` at the end of a successful call.
    pub(crate) async fn next_data(&mut self) -> Result<Option<Data>> {
        let next = Data::next(&mut self.messages).await;
        let next = next.map_err(|status| self.failure(&status))?;
        if next.is_none() {
            self.finish()?;
        }
        Ok(next)
    }

    fn failure(&self, status: &Status) -> Error {
        if self.is_late.load(Ordering::Acquire) { self.late.clone() } else { to_error(status) }
    }

    /// Checks the status after the last message.
    fn finish(&self) -> Result<()> {
        let status = self.messages.trailers().and_then(Status::from_header_map);
        match status {
            Some(status) if status.code() == Code::Ok => Ok(()),
            Some(status) => Err(to_error(&status)),
            None if self.ended => Ok(()),
            None => Err(Error::Connection("the answer broke off: no status came at its end".to_owned())),
        }
    }
}

/// Waits for futures, until its token is cancelled.
pub(crate) struct Waiter {
    cancel: CancelToken,
    cancelled: Arc<Notify>,
    _guard: CancelGuard,
}

impl Waiter {
    pub(crate) fn new(cancel: &CancelToken) -> Self {
        let cancelled = Arc::new(Notify::new());
        let theirs = Arc::clone(&cancelled);
        let guard = cancel.on_cancel(move || theirs.notify_one());
        Self { cancel: cancel.clone(), cancelled, _guard: guard }
    }

    /// Checks that the token is not cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Waits for `work` on the calling thread. A cancellation drops the work. That ends the call at the server, too, which does not say
    /// how the work ended.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.cancel.check()?;
        runtime().block_on(async {
            tokio::select! {
                biased;
                () = self.cancelled.notified() => Err(Error::CancelledInDoubt),
                result = work => result,
            }
        })
    }
}

#[cfg(test)]
mod tests;
