//! Answers: HTTP responses and their bodies.

use std::pin::Pin;
use std::task::{Context, Poll};

use boundary_bench_flight::MessageBody;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, SERVER};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::watch::InFlight;

/// The content type of JSON.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The content type of JSON that is ASCII only.
pub(crate) const JSON_ASCII: HeaderValue = HeaderValue::from_static("application/json; charset=US-ASCII");
/// The content type of tab-separated values below a line of column names.
pub(crate) const TABLE: HeaderValue =
    HeaderValue::from_static("text/tab-separated-values; charset=utf-8; header=present");
/// The content type of tab-separated values without the line of column names.
pub(crate) const BARE_TABLE: HeaderValue =
    HeaderValue::from_static("text/tab-separated-values; charset=utf-8; header=absent");
/// The content type of plain text.
pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
/// The content type of Prometheus' text format.
pub(crate) const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// The value of the `server` header.
const NAME_AND_VERSION: &str = concat!("boundary-bench/", env!("CARGO_PKG_VERSION"));

/// The response to a request.
pub(crate) type Answer = Response<AnswerBody>;

/// The body of a response.
pub(crate) enum AnswerBody {
    /// The whole body; `None` once it was taken.
    Whole(Option<Bytes>),
    /// Parts of a body that is made while it is sent. A part that is an error cuts the connection, so that the client does not
    /// take the parts before it for the whole.
    Parts(mpsc::Receiver<boundary_bench_core::Result<Bytes>>),
    /// gRPC messages; the request stays in flight until the last message was taken.
    Messages(MessageBody, Option<InFlight>),
}

impl AnswerBody {
    /// Keeps the request in flight while its body is still being made: such a connection is not idle, however long it takes.
    pub(crate) fn hold(&mut self, in_flight: InFlight) {
        if let Self::Messages(_, held) = self {
            *held = Some(in_flight);
        }
    }
}

/// The reason why a body was cut off.
#[derive(Debug)]
pub(crate) struct Cut(pub(crate) String);

impl std::fmt::Display for Cut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Cut {}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Parts(parts) => parts
                .poll_recv(context)
                .map(|part| part.map(|part| part.map(Frame::data).map_err(|error| Cut(error.to_string())))),
            Self::Messages(messages, _) => {
                Pin::new(messages).poll_frame(context).map_err(|error| Cut(error.to_string()))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Parts(_) => false,
            Self::Messages(messages, _) => messages.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Parts(_) | Self::Messages(..) => SizeHint::default(),
        }
    }
}

/// A response with a body.
pub(crate) fn with_body(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Answer {
    let body = body.into();
    let mut answer = Response::new(AnswerBody::Whole((!body.is_empty()).then_some(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// A response whose body is JSON.
pub(crate) fn json(body: impl Into<Bytes>) -> Answer {
    with_body(StatusCode::OK, JSON, body)
}

/// A response whose body is plain text.
pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    with_body(status, TEXT, body)
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(AnswerBody::Whole(None));
    *answer.status_mut() = status;
    answer
}

/// The same response with a `server` header. Responses of the other services do without its bytes.
pub(crate) fn named(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(SERVER, HeaderValue::from_static(NAME_AND_VERSION));
    answer
}

/// A response whose body is made while it is sent.
pub(crate) fn parts(content_type: HeaderValue, parts: mpsc::Receiver<boundary_bench_core::Result<Bytes>>) -> Answer {
    let mut answer = Response::new(AnswerBody::Parts(parts));
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}
