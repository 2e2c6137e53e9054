//! A channel whose responses are all of gRPC: one that is none becomes a status that says what it is. tonic would take a page of HTML
//! for a message.

use std::task::{Context, Poll};

use boundary_bench_kernel::grpc::foreign_answer;
use futures_util::TryFutureExt;
use futures_util::future::MapOk;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::transport::{Channel, Error};
use tonic::{Code, Status};

/// The future of a response.
type ResponseFuture = MapOk<<Channel as Service<Request<Body>>>::Future, fn(Response<Body>) -> Response<Body>>;

/// The channel.
#[derive(Debug, Clone)]
pub(super) struct Checked(pub(super) Channel);

impl Service<Request<Body>> for Checked {
    type Response = Response<Body>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        self.0.call(request).map_ok(of_grpc)
    }
}

/// The response, or the response of gRPC that stands for it.
fn of_grpc(response: Response<Body>) -> Response<Body> {
    let content_type = response.headers().get(CONTENT_TYPE).map(hyper::header::HeaderValue::as_bytes);
    match foreign_answer(response.status().as_u16(), content_type) {
        Some((code, text)) if !response.headers().contains_key(Status::GRPC_STATUS) => {
            Status::new(Code::from_i32(code), text).into_http()
        }
        _ => response,
    }
}
