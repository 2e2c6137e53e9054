//! The response to a scan, as gRPC bytes. tonic would copy each message into another buffer. Here the memory of a block is
//! passed to the socket without a copy.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use boundary_bench_kernel::Error;
use boundary_bench_kernel::api_key::ApiKey;
use boundary_bench_kernel::timeout::grpc_time;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use hyper::body::{Body as HttpBody, Frame};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::server::NamedService;
use tonic::{Code, Status};

use crate::proto::ScanResponse;
use crate::proto::shard_service_server::ShardServiceServer;
use crate::service::{ScanMessages, Service};
use crate::status::{TIMEOUT, status_of};

/// The path of the Scan method.
pub(crate) const PATH: &str = "/boundary_bench.shards.v1.ShardService/Scan";

/// The precision of timers: a timer that must fire before another is set this much earlier.
const TICK: Duration = Duration::from_millis(1);

/// The numbers of the fields of `ScanResponse`.
const HEADER_FIELD: u32 = 1;
const BODY_FIELD: u32 = 2;

/// Bytes of a message besides its header and its body, at most.
const MOST_OVERHEAD: usize = 5 + 2 * 11;

/// The service of a shard: checks the API key, answers scans itself and passes other calls on to tonic.
#[derive(Clone)]
pub(crate) struct WithScan {
    service: Service,
    others: ShardServiceServer<Service>,
    api_key: Arc<ApiKey>,
}

impl WithScan {
    pub(crate) fn new(service: Service, api_key: ApiKey) -> Self {
        let most = service.max_message_bytes;
        let others = ShardServiceServer::new(service.clone());
        let others = others.max_decoding_message_size(most).max_encoding_message_size(most);
        Self { service, others, api_key: Arc::new(api_key) }
    }
}

impl NamedService for WithScan {
    const NAME: &'static str = <ShardServiceServer<Service> as NamedService>::NAME;
}

impl tonic::codegen::Service<Request<Body>> for WithScan {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let header = |name: &'static str| request.headers().get(name).map(HeaderValue::as_bytes);
        if let Err(problem) = self.api_key.check(header) {
            let refused = Status::unauthenticated(problem).into_http();
            return Box::pin(std::future::ready(Ok(refused)));
        }
        if request.uri().path() != PATH {
            let time = request.headers().get(TIMEOUT).and_then(|time| time.to_str().ok().and_then(grpc_time));
            let answer = self.others.call(request);
            return match time {
                None => answer,
                Some(time) => Box::pin(in_time(answer, time, self.service.shard)),
            };
        }
        let (head, request) = request.into_parts();
        let messages = self.service.scan_messages(&MetadataMap::from_headers(head.headers));
        let mut response =
            Response::new(Body::new(ScanBody { messages, rest: Bytes::new(), ended: false, _request: request }));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// Awaits a response within the caller's time-out. tonic has a timer too, but reports it as if the caller had cancelled.
async fn in_time(
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
    time: Duration,
    shard: u32,
) -> Result<Response<Body>, Infallible> {
    let answer = tokio::time::timeout(time.saturating_sub(TICK), answer).await;
    answer.unwrap_or_else(|_| {
        let error = Error::Timeout("the call took longer than it was given".to_owned());
        Ok(status_of(&error, shard).into_http())
    })
}

struct ScanBody {
    messages: ScanMessages,
    /// The body of the message whose prefix and header were sent.
    rest: Bytes,
    ended: bool,
    /// The empty request body. If it were dropped before the response ends, the client would be told to stop.
    _request: Body,
}

impl HttpBody for ScanBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if !this.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.rest)))));
        }
        if this.ended {
            return Poll::Ready(None);
        }
        let frame = match ready!(Pin::new(&mut this.messages).poll_next(context)) {
            Some(Ok(message)) => {
                let start = message_start(&message);
                this.rest = message.ipc_body;
                Frame::data(start)
            }
            end => {
                this.ended = true;
                let status = end.and_then(Result::err).unwrap_or_else(|| Status::new(Code::Ok, ""));
                Frame::trailers(trailers(&status))
            }
        };
        Poll::Ready(Some(Ok(frame)))
    }
}

/// The bytes of a message before its body: the gRPC prefix, the header's field, and the key of the body's field.
fn message_start(message: &ScanResponse) -> Bytes {
    let (header, body) = (&message.ipc_header, &message.ipc_body);
    let mut fields = BytesMut::with_capacity(MOST_OVERHEAD + header.len());
    // The prefix: 0 for uncompressed, then the length, filled in below.
    fields.put_slice(&[0; 5]);
    for (field, bytes) in
        [(HEADER_FIELD, header), (BODY_FIELD, body)].into_iter().filter(|(_, bytes)| !bytes.is_empty())
    {
        encode_key(field, WireType::LengthDelimited, &mut fields);
        encode_varint(bytes.len() as u64, &mut fields);
        if field == HEADER_FIELD {
            fields.put_slice(bytes);
        }
    }
    // The length fits, since a block has at most 800 KiB.
    let length = u32::try_from(fields.len() - 5 + body.len()).unwrap_or(u32::MAX);
    fields[1..5].copy_from_slice(&length.to_be_bytes());
    fields.freeze()
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        trailers.insert(Status::GRPC_STATUS, HeaderValue::from(Code::Internal as i32));
    }
    trailers
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn a_message_is_as_prost_makes_it() {
        for (header, body) in [(0, 0), (8, 0), (300, 5), (300, 100_000)] {
            let message = ScanResponse { ipc_header: vec![7; header].into(), ipc_body: vec![9; body].into() };
            let mut ours = message_start(&message).to_vec();
            ours.extend_from_slice(&message.ipc_body);
            let expected = message.encode_to_vec();
            assert_eq!(&ours[5..], &expected[..]);
            assert_eq!(ours[1..5], u32::try_from(expected.len()).unwrap().to_be_bytes());
        }
    }
}
