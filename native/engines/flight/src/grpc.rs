//! The messages of gRPC in the bodies of HTTP/2, received and sent, for client and server.
//!
//! tonic would gather each message in memory of its own before it is decoded, and once more before it is sent: two copies of
//! every byte of a result. Here the bytes of a batch go from the received frames straight to their final memory, and are
//! sent from there.

use std::collections::VecDeque;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use boundary_bench_engine::arriving::{ArrivingBytes, BELIEVED};
use boundary_bench_kernel::error::chain;
use boundary_bench_kernel::grpc::foreign_answer;
use boundary_bench_kernel::response_limit::OPTION;
use boundary_bench_kernel::timeout::grpc_time;
use boundary_bench_kernel::{Error, lock};
use bytes::{BufMut, Bytes, BytesMut};
use hyper::Response;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use prost::Message;
use tokio::sync::mpsc;
use tonic::{Code, Status};

use crate::FRAME_SIZE;
use crate::status::of_error;

/// The number of bytes before each message: the compression flag and the message's length.
pub(crate) const PREFIX: usize = 5;

/// The path of Flight's service. It precedes the names of its methods.
pub(crate) const SERVICE: &str = "/arrow.flight.protocol.FlightService/";

/// The header of a client that only reads: our server then refuses commands that are sent as queries.
pub(crate) const ONLY_READS: &str = "boundary-bench-only-reads";

/// The intent of a statement that is sent as a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// To read: our own server then refuses a statement that changes something.
    Read,
    /// To change something, on a server that takes no updates.
    Change,
}

pub(crate) const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// A message in parts that are sent one after another.
pub(crate) type Parts = VecDeque<Bytes>;

/// An encoded message with its prefix.
pub(crate) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    put_prefix(&mut bytes, length);
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

/// Appends the prefix of a message of this length. The length is far below the 4 GiB that fit.
pub(crate) fn put_prefix(target: &mut BytesMut, length: usize) {
    target.put_u8(0);
    target.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

/// A body whose frames are read as they arrive.
pub(crate) trait Frames: Body<Data = Bytes, Error: Into<BoxError>> + Unpin {}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Frames for B {}

/// The error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The messages in a body.
#[derive(Debug)]
pub(crate) struct Messages<B> {
    body: B,
    /// Received bytes that are not read yet.
    current: Bytes,
    /// The number of unread bytes of the current message.
    left: usize,
    limit: usize,
    trailers: Option<HeaderMap>,
}

impl<B: Frames> Messages<B> {
    /// The messages of `body`, each of at most `limit` bytes.
    pub(crate) fn new(body: B, limit: usize) -> Self {
        Self { body, current: Bytes::new(), left: 0, limit, trailers: None }
    }

    /// The trailers of the body, received after the last message.
    pub(crate) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// Begins the next message and returns its length. Returns `None` at the end.
    pub(crate) async fn begin(&mut self) -> Result<Option<usize>, Status> {
        self.skip(self.left).await?;
        if !self.fill().await? {
            return Ok(None);
        }
        self.left = PREFIX;
        let mut prefix = [0; PREFIX];
        self.copy_to(&mut prefix).await?;
        let [compressed, length @ ..] = prefix;
        if compressed != 0 {
            return Err(Status::unimplemented("compressed messages are not understood here"));
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(too_large(length, self.limit));
        }
        self.left = length;
        Ok(Some(length))
    }

    /// The next message, or `None` at the end.
    pub(crate) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Status> {
        let Some(length) = self.begin().await? else { return Ok(None) };
        let bytes = self.bytes(length).await?;
        M::decode(bytes).map(Some).map_err(|error| malformed(&error))
    }

    /// The only message of a call.
    pub(crate) async fn only<M: Message + Default>(&mut self) -> Result<M, Status> {
        self.next().await?.ok_or_else(|| Status::invalid_argument("the call has no message"))
    }

    /// The number of unread bytes of the current message.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Reads a number in base 128.
    pub(crate) async fn varint(&mut self) -> Result<u64, Status> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.copy_to(&mut byte).await?;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(malformed(&"a number has more than ten bytes"))
    }

    /// Reads the next `length` bytes of the message.
    pub(crate) async fn bytes(&mut self, length: usize) -> Result<Bytes, Status> {
        if length <= self.left && length <= self.current.len() {
            self.left -= length;
            return Ok(self.current.split_to(length));
        }
        self.check(length)?;
        let mut bytes = Vec::with_capacity(length.min(BELIEVED));
        self.left -= length;
        while bytes.len() < length {
            let part = self.part(length - bytes.len()).await?;
            bytes.extend_from_slice(&part);
        }
        Ok(bytes.into())
    }

    /// Reads the next `length` bytes of the message into memory that is aligned for Arrow's arrays.
    pub(crate) async fn buffer(&mut self, length: usize) -> Result<Buffer, Status> {
        self.check(length)?;
        self.left -= length;
        let mut arriving = ArrivingBytes::new(length);
        while arriving.left() > 0 {
            let room = arriving.room();
            let part = self.part(room.len()).await?;
            room[..part.len()].copy_from_slice(&part);
            arriving.filled(part.len());
        }
        Ok(arriving.finish())
    }

    /// The next received bytes, at least one and at most `most`.
    async fn part(&mut self, most: usize) -> Result<Bytes, Status> {
        if !self.fill().await? {
            return Err(self.broken(&"it ends within a message"));
        }
        Ok(self.current.split_to(most.min(self.current.len())))
    }

    /// Copies the next bytes of the message to `target`.
    pub(crate) async fn copy_to(&mut self, mut target: &mut [u8]) -> Result<(), Status> {
        self.check(target.len())?;
        self.left -= target.len();
        while !target.is_empty() {
            let came = self.part(target.len()).await?;
            let (part, rest) = target.split_at_mut(came.len());
            part.copy_from_slice(&came);
            target = rest;
        }
        Ok(())
    }

    /// Skips the next `length` bytes of the message.
    pub(crate) async fn skip(&mut self, mut length: usize) -> Result<(), Status> {
        self.check(length)?;
        self.left -= length;
        while length > 0 {
            length -= self.part(length).await?.len();
        }
        Ok(())
    }

    fn check(&self, length: usize) -> Result<(), Status> {
        if length > self.left { Err(malformed(&"a field is longer than its message")) } else { Ok(()) }
    }

    /// Waits until `current` has bytes. Returns `false` at the end of the body.
    async fn fill(&mut self) -> Result<bool, Status> {
        while self.current.is_empty() {
            match poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await {
                None => return Ok(false),
                Some(Err(error)) => return Err(self.broken(&chain(&*error.into()))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.current = data,
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
            }
        }
        Ok(true)
    }

    /// The status of a body that ended too early: the one in its trailers, else that the stream broke.
    fn broken(&self, problem: &dyn Display) -> Status {
        let told = self.trailers.as_ref().and_then(Status::from_header_map).filter(|status| status.code() != Code::Ok);
        told.unwrap_or_else(|| Status::unavailable(format!("the stream broke: {problem}")))
    }
}

/// The status for a message beyond the limit. Both client and server may have one.
fn too_large(length: usize, limit: usize) -> Status {
    of_error(&Error::TooLarge(format!(
        "a message of {length} bytes is longer than the {limit} that are taken; send smaller batches, or raise the limit \
         ({OPTION} in a client's URL)"
    )))
}

/// The status for bytes that are no readable message.
pub(crate) fn malformed(problem: &dyn Display) -> Status {
    Status::invalid_argument(format!("not a readable message: {problem}"))
}

/// The body of a response or of a request: messages, and in a response the status after them.
#[derive(Debug)]
pub struct MessageBody {
    parts: Parts,
    /// The channel of the messages that are still being made. An error ends the body.
    more: Option<mpsc::Receiver<Result<Parts, Status>>>,
    /// The status of a response, until it is sent.
    status: Option<Status>,
    /// Whether the body is a request. A request that ends with an error is cut off, so that the server does not take it
    /// for a complete one.
    is_request: bool,
    /// The progress of the sending, or `None` if nobody asks for it.
    taken: Option<Arc<Sent>>,
}

/// The progress of a body that is being sent.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Whether the connection waits for a part that is still being made.
    awaits_part: AtomicBool,
    /// The time of the last progress.
    last: Mutex<Instant>,
}

impl Sent {
    /// The rest of the time that the receiver has for progress: all of it while it waits for a part.
    pub(crate) fn left(&self, limit: Duration) -> Duration {
        let waits = self.awaits_part.load(Ordering::Relaxed);
        if waits { limit } else { limit.saturating_sub(lock(&self.last).elapsed()) }
    }

    fn progressed(&self, awaits_part: bool) {
        self.awaits_part.store(awaits_part, Ordering::Relaxed);
        *lock(&self.last) = Instant::now();
    }
}

impl MessageBody {
    /// A response of these parts.
    pub(crate) fn whole(parts: Parts) -> Self {
        Self { parts, more: None, status: Some(Status::new(Code::Ok, "")), is_request: false, taken: None }
    }

    /// A response that is made while it is sent.
    pub(crate) fn answer(parts: Parts, more: mpsc::Receiver<Result<Parts, Status>>) -> Self {
        Self { more: Some(more), ..Self::whole(parts) }
    }

    /// The same body, and the progress of its sending.
    pub(crate) fn counted(self) -> (Self, Arc<Sent>) {
        let sent = Arc::new(Sent { awaits_part: AtomicBool::new(false), last: Mutex::new(Instant::now()) });
        (Self { taken: Some(Arc::clone(&sent)), ..self }, sent)
    }

    /// A request of these parts.
    pub(crate) fn request(parts: Parts) -> Self {
        Self { parts, more: None, status: None, is_request: true, taken: None }
    }

    /// A request that is made while it is sent.
    pub(crate) fn requests(more: mpsc::Receiver<Result<Parts, Status>>) -> Self {
        Self { more: Some(more), ..Self::request(Parts::new()) }
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    /// The reason why a request was cut off.
    type Error = &'static str;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        let this = self.get_mut();
        loop {
            if let Some(mut part) = this.parts.pop_front() {
                if this.is_request && part.len() > FRAME_SIZE as usize {
                    // The frames of a large part are each a progress.
                    this.parts.push_front(part.split_off(FRAME_SIZE as usize));
                }
                if let Some(taken) = &this.taken {
                    taken.progressed(false);
                }
                return Poll::Ready(Some(Ok(Frame::data(part))));
            }
            let Some(more) = &mut this.more else { break };
            let next = more.poll_recv(context);
            if let Some(taken) = &this.taken {
                taken.progressed(next.is_pending());
            }
            match next {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(parts))) => this.parts = parts,
                Poll::Ready(Some(Err(_))) if this.is_request => {
                    return Poll::Ready(Some(Err("the request was given up")));
                }
                Poll::Ready(Some(Err(status))) => {
                    this.status = Some(status);
                    this.more = None;
                }
                Poll::Ready(None) => this.more = None,
            }
        }
        Poll::Ready(this.status.take().map(|status| Ok(Frame::trailers(trailers(&status)))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty() && self.more.is_none() && self.status.is_none()
    }
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        // The status has a message that can't be a header's value.
        trailers.insert(Status::GRPC_STATUS, HeaderValue::from(status.code() as i32));
    }
    trailers
}

/// A response with this body.
pub(crate) fn answer(body: MessageBody) -> Response<MessageBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// A response of nothing but a status.
pub(crate) fn refusal(status: &Status) -> Response<MessageBody> {
    let body = MessageBody { status: None, ..MessageBody::whole(Parts::new()) };
    let mut response = answer(body);
    response.headers_mut().extend(trailers(status));
    response
}

/// The error status in the head of a response, also of a response that is none of gRPC, as from a server of another
/// kind.
pub(crate) fn status_of(head: &hyper::http::response::Parts) -> Option<Status> {
    match Status::from_header_map(&head.headers) {
        Some(status) if status.code() != Code::Ok => Some(status),
        Some(_) => None,
        None => {
            let content_type = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            // With any status, such a server is no Flight server. It is not a Flight server that lacks a method.
            foreign_answer(head.status.as_u16(), content_type).map(|(_, text)| Status::unavailable(text))
        }
    }
}

/// The time-out of a call in its `grpc-timeout` header.
pub(crate) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    headers.get("grpc-timeout")?.to_str().ok().and_then(grpc_time)
}
