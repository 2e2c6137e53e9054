//! Reads large gRPC messages directly from HTTP/2 frames. tonic would copy each message into another buffer. Here a message that
//! arrived in one frame is not moved. A message that arrived in several frames is assembled at an address aligned for Arrow.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hyper::body::Body as HttpBody;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use hyper::{Request, Response, Version};
use prost::Message;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::{Code, Status};

use super::checked::Checked;

/// Bytes of the prefix of each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Calls the method at `path` with one message, and adds `headers` to gRPC's headers.
pub(super) async fn call<M: Message>(
    mut channel: Checked,
    path: &'static str,
    mut headers: HeaderMap,
    message: &M,
    most_bytes: usize,
) -> Result<Frames, Status> {
    let failed = |error: tonic::transport::Error| Status::from_error(Box::new(error));
    poll_fn(|context| channel.poll_ready(context)).await.map_err(failed)?;
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    let mut request = Request::new(Body::new(http_body_util::Full::new(encoded(message)?)));
    *request.version_mut() = Version::HTTP_2;
    *request.method_mut() = hyper::Method::POST;
    *request.uri_mut() = hyper::Uri::from_static(path);
    *request.headers_mut() = headers;
    let response: Response<Body> = channel.call(request).await.map_err(failed)?;
    let (head, body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&head.headers)
        && status.code() != Code::Ok
    {
        return Err(status);
    }
    Ok(Frames { body, parts: Parts::default(), has_ended: false, most_bytes })
}

/// An uncompressed message with its prefix.
fn encoded<M: Message>(message: &M) -> Result<Bytes, Status> {
    let length = message.encoded_len();
    let sent = u32::try_from(length);
    let sent = sent.map_err(|_| Status::out_of_range(format!("a message of {length} bytes can't be sent")))?;
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(sent);
    message.encode_raw(&mut bytes);
    Ok(bytes.freeze())
}

/// The messages of a response, read from its frames.
pub(super) struct Frames {
    body: Body,
    parts: Parts,
    /// Whether the trailers with the status have arrived.
    has_ended: bool,
    most_bytes: usize,
}

impl Frames {
    /// The next message, or `None` at the end of the stream.
    pub(super) async fn message<M: Message + Default>(&mut self) -> Result<Option<M>, Status> {
        let broken = || Status::internal("the stream broke off within a message");
        if !self.fill(PREFIX).await? {
            return if self.parts.has_remaining() { Err(broken()) } else { Ok(None) };
        }
        let is_compressed = self.parts.get_u8() != 0;
        let length = self.parts.get_u32() as usize;
        if is_compressed || length > self.most_bytes {
            return Err(Status::out_of_range(format!(
                "a message of {length} bytes: at most {} are taken",
                self.most_bytes
            )));
        }
        if !self.fill(length).await? {
            return Err(broken());
        }
        let message = M::decode((&mut self.parts).take(length));
        message.map(Some).map_err(|error| Status::internal(format!("an unusable message: {error}")))
    }

    /// The message of a response that has exactly one.
    pub(super) async fn only_message<M: Message + Default>(&mut self) -> Result<M, Status> {
        let message = self.message().await?.ok_or_else(|| Status::internal("there is no message in the answer"))?;
        match self.message::<M>().await? {
            None => Ok(message),
            Some(_) => Err(Status::internal("there is more than one message in the answer")),
        }
    }

    /// Waits until this many bytes have arrived. Returns `false` if the stream ends before.
    async fn fill(&mut self, bytes: usize) -> Result<bool, Status> {
        while self.parts.remaining() < bytes {
            let Some(frame) = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await else {
                return if self.has_ended {
                    Ok(false)
                } else {
                    Err(Status::internal("the stream ended without a status"))
                };
            };
            match frame?.into_data() {
                Ok(data) => self.parts.push(data),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    self.has_ended = true;
                    let status = Status::from_header_map(&trailers);
                    let status = status.ok_or_else(|| Status::internal("the trailers have no status"))?;
                    if status.code() != Code::Ok {
                        return Err(status);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Bytes that have arrived and were not consumed yet, in frames of which none is empty.
#[derive(Debug, Default)]
struct Parts {
    parts: VecDeque<Bytes>,
    bytes: usize,
}

impl Parts {
    fn push(&mut self, part: Bytes) {
        if !part.is_empty() {
            self.bytes += part.len();
            self.parts.push_back(part);
        }
    }
}

impl Buf for Parts {
    fn remaining(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> &[u8] {
        self.parts.front().map_or(&[], |part| part)
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.bytes, "there are fewer bytes");
        self.bytes -= count;
        while count > 0
            && let Some(part) = self.parts.front_mut()
        {
            let taken = count.min(part.len());
            part.advance(taken);
            count -= taken;
            if part.is_empty() {
                self.parts.pop_front();
            }
        }
    }

    /// Returns bytes without a copy if they arrived in one frame.
    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        assert!(count <= self.bytes, "there are fewer bytes");
        if let Some(part) = self.parts.front()
            && part.len() >= count
        {
            let bytes = part.slice(..count);
            self.advance(count);
            return bytes;
        }
        let mut bytes = BytesMut::with_capacity(count);
        while bytes.len() < count {
            let part = self.chunk();
            let taken = part.len().min(count - bytes.len());
            bytes.extend_from_slice(&part[..taken]);
            self.advance(taken);
        }
        bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proto::ScanResponse;

    proptest! {
        #[test]
        fn messages_are_the_same_in_any_parts(
            header in prop::collection::vec(any::<u8>(), 0..40),
            body in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0_usize..400, 0..8),
            more in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let message = ScanResponse { ipc_header: header.into(), ipc_body: body.into() };
            let mut bytes = message.encode_to_vec();
            let length = bytes.len();
            bytes.extend_from_slice(&more);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut parts = Parts::default();
            cuts.windows(2).for_each(|cut| parts.push(Bytes::copy_from_slice(&bytes[cut[0]..cut[1]])));
            prop_assert_eq!(ScanResponse::decode((&mut parts).take(length)).unwrap(), message);
            prop_assert_eq!(parts.copy_to_bytes(more.len()), more);
            prop_assert!(!parts.has_remaining() && parts.parts.is_empty());
        }
    }
}
