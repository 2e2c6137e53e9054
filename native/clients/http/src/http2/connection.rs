//! One connection of HTTP/2, by h2, and the requests on it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::socket::{KEEP_ALIVE_IDLE, lost};
use boundary_bench_kernel::{Error, Result, response_limit};
use bytes::{Bytes, BytesMut};
use h2::client::{self, ResponseFuture, SendRequest};
use h2::{Ping, PingPong, Reason, RecvStream};
use hyper::header::CONTENT_LENGTH;
use tokio::sync::Notify;

use super::OwnedResponse;
use super::watched::{Seen, Watched};
use crate::limits::MOST_HEAD;
use crate::origin::Origin;
use crate::stream::open_stream;

/// The bytes of one response, and of all together, that the server may send ahead of their reader.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 5 << 20;

/// The time in which a server must answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The looks at a connection within [`KEEP_ALIVE_IDLE`].
const LOOKS: u32 = 4;

/// The reason why a request has no response.
pub(super) enum Failure {
    /// The server has surely not executed it, for this reason: it may be sent again.
    Unprocessed(String),
    /// It may have been executed, or can't be.
    Failed(Error),
}

/// A connection. Its task ends when the connection is dropped and no request is under way.
pub(super) struct Connection {
    sender: SendRequest<Bytes>,
    seen: Arc<Seen>,
    dropped: Arc<Notify>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.dropped.notify_one();
    }
}

impl Connection {
    /// Connects, and begins the protocol.
    pub(super) async fn open(place: &Origin, driver: &'static dyn Driver) -> Result<Arc<Self>> {
        let stream = open_stream(driver, &place.url, place.tls.as_ref()).await?;
        if place.url.tls && stream.negotiated() != Some(b"h2") {
            return Err(no_http2(place, "does not offer it"));
        }
        let seen = Arc::<Seen>::default();
        let mut builder = client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(MOST_HEAD).unwrap_or(u32::MAX))
            // The others wait for the server's settings. These say how many requests it takes.
            .initial_max_send_streams(1);
        let shaken = builder.handshake(Watched::new(stream, Arc::clone(&seen))).await;
        let (sender, mut connection) = shaken.map_err(|error| failed(place, &seen, &error))?;
        let pings = connection.ping_pong();
        let dropped = Arc::<Notify>::default();
        let opened = Arc::new(Self { sender, seen: Arc::clone(&seen), dropped: Arc::clone(&dropped) });
        let weak = Arc::downgrade(&opened);
        driver.spawn(Box::pin(async move {
            tokio::select! {
                // Errors of the connection are reported to its requests.
                _ = &mut connection => {}
                () = fell_silent(pings, &seen, weak) => {}
                // Once it is polled again, it ends.
                () = dropped.notified() => drop(connection.await),
            }
            seen.end();
        }));
        Ok(opened)
    }

    /// Whether it takes a further request.
    pub(super) fn is_usable(&self) -> bool {
        !self.seen.is_over()
    }

    /// Waits for the server's first frame.
    pub(super) async fn greeted(&self, place: &Origin) -> Result<()> {
        self.seen.greeted().await;
        match self.seen.other_protocol() {
            Some(line) => Err(answered_otherwise(place, &line)),
            None if !self.seen.has_greeted() => Err(lost(&place.url, &ungreeted(&"without a word"))),
            None => Ok(()),
        }
    }

    /// Sends a request, and reads its response.
    pub(super) async fn exchange(
        &self,
        place: &Origin,
        message: hyper::Request<()>,
        body: Bytes,
    ) -> std::result::Result<OwnedResponse, Failure> {
        let (response, _sending) = self.send(place, message, body)?;
        let stream = response.stream_id().as_u32();
        let response = response.await.map_err(|error| self.failure(place, stream, &error))?;
        let (parts, body) = response.into_parts();
        let mut head = Vec::new();
        for (name, value) in &parts.headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let body = self.body(place, stream, body, length).await.map_err(Failure::Failed)?;
        Ok(OwnedResponse { status: parts.status.as_u16(), head, body })
    }

    fn send(
        &self,
        place: &Origin,
        message: hyper::Request<()>,
        body: Bytes,
    ) -> std::result::Result<(ResponseFuture, h2::SendStream<Bytes>), Failure> {
        let sent = self.sender.clone().send_request(message, body.is_empty());
        let (response, mut sending) = sent.map_err(|error| {
            if error.is_io() || error.is_go_away() || error.is_reset() {
                // Nothing of it was sent, and nothing will be over this connection.
                self.seen.end();
                Failure::Unprocessed(cause(&error))
            } else {
                Failure::Failed(Error::InvalidArgument(format!("the request to {} can't be sent: {error}", place.url)))
            }
        })?;
        if !body.is_empty() {
            // A stream that was reset already has its error in the response.
            let _ = sending.send_data(body, true);
        }
        Ok((response, sending))
    }

    /// Reads a body, whose length the head may have told.
    async fn body(&self, place: &Origin, stream: u32, mut body: RecvStream, length: Option<usize>) -> Result<Bytes> {
        let most_bytes = place.options.most_bytes;
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        while let Some(piece) = body.data().await {
            let piece = match piece {
                Ok(piece) => piece,
                // So a server ends a whole response to a request of which it wants no more
                // ([RFC 9113, 8.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.1)). h2 0.4 does not tell whether the response was
                // whole, and a server that gives up in the middle of one may state the same reason.
                Err(error)
                    if is_reset(&error, Reason::NO_ERROR)
                        && length
                            .map_or_else(|| self.seen.is_whole(stream), |length| length == first.len() + all.len()) =>
                {
                    break;
                }
                Err(error) => return Err(failed(place, &self.seen, &error)),
            };
            if first.len() + all.len() + piece.len() > most_bytes {
                return Err(response_limit::exceeded("the body of a response", most_bytes));
            }
            // Fails for a stream that has ended, whose window is of no use.
            let _ = body.flow_control().release_capacity(piece.len());
            if first.is_empty() && all.is_empty() {
                // A body in one piece stays where it is.
                first = piece;
            } else {
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&piece);
            }
        }
        Ok(if all.is_empty() { first } else { all.freeze() })
    }

    fn failure(&self, place: &Origin, stream: u32, error: &h2::Error) -> Failure {
        let is_refused = is_reset(error, Reason::REFUSED_STREAM);
        if self.seen.has_greeted() && (is_refused || self.seen.is_unprocessed(stream)) {
            return Failure::Unprocessed(cause(error));
        }
        Failure::Failed(failed(place, &self.seen, error))
    }
}

/// Whether the server has reset the stream for this reason.
fn is_reset(error: &h2::Error, reason: Reason) -> bool {
    error.is_reset() && error.is_remote() && error.reason() == Some(reason)
}

/// The error of a server that was not found to speak HTTP/2.
fn no_http2(place: &Origin, problem: &str) -> Error {
    Error::Unsupported(format!("HTTP/2 was asked for, but the server at {} {problem}; use HTTP/1.1", place.url))
}

fn answered_otherwise(place: &Origin, line: &str) -> Error {
    no_http2(place, &format!("answered \"{line}\""))
}

/// The error of a connection that ended before the server spoke.
fn ungreeted(how: &dyn std::fmt::Display) -> std::io::Error {
    let text = format!("the server ended it before it spoke HTTP/2 ({how})");
    std::io::Error::new(std::io::ErrorKind::ConnectionAborted, text)
}

/// The error of a request that may have been executed.
fn failed(place: &Origin, seen: &Seen, error: &h2::Error) -> Error {
    if let Some(line) = seen.other_protocol() {
        return answered_otherwise(place, &line);
    }
    if seen.is_silent() {
        let silent = format!("the server did not answer a ping for {} s", PING_TIMEOUT.as_secs());
        return lost(&place.url, &std::io::Error::new(std::io::ErrorKind::TimedOut, silent));
    }
    match (error.get_io(), seen.goaway()) {
        (Some(error), None) if !seen.has_greeted() => lost(&place.url, &ungreeted(error)),
        (Some(_), Some(reason)) => {
            let how = format!("the server closed it after GOAWAY with {:?}", Reason::from(reason));
            lost(&place.url, &std::io::Error::new(std::io::ErrorKind::ConnectionAborted, how))
        }
        // So h2 calls the end of a connection.
        (Some(error), None) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            lost(&place.url, &std::io::ErrorKind::UnexpectedEof.into())
        }
        (Some(error), None) => lost(&place.url, error),
        (None, _) => Error::Connection(format!(
            "the request to {} failed: {}; it may have been executed or not, and is not sent again",
            place.url,
            cause(error)
        )),
    }
}

/// The text of an error, with the name that HTTP/2 has for it.
fn cause(error: &h2::Error) -> String {
    let what = if error.is_go_away() { "GOAWAY" } else { "RST_STREAM" };
    match error.reason() {
        Some(reason) if error.is_remote() => format!("the server sent {what} with {reason:?} ({error})"),
        Some(reason) => format!("the server broke the protocol: {reason:?} ({error})"),
        None => error.to_string(),
    }
}

/// Ready once a server that is silent while a request waits has not answered a ping either: its kernel may acknowledge for a process
/// that hangs.
async fn fell_silent(pings: Option<PingPong>, seen: &Seen, connection: Weak<Connection>) {
    let Some(mut pings) = pings else { return std::future::pending().await };
    let mut quiet = 0;
    loop {
        tokio::time::sleep(KEEP_ALIVE_IDLE / LOOKS).await;
        // Each request under way holds the connection, beside its owner.
        let is_waiting = connection.strong_count() > 1;
        quiet = if seen.has_heard() || !is_waiting { 0 } else { quiet + 1 };
        if quiet < LOOKS {
            continue;
        }
        quiet = 0;
        match tokio::time::timeout(PING_TIMEOUT, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection has ended, and its own future says so.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return seen.fall_silent(),
        }
    }
}
