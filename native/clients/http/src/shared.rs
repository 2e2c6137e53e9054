//! A client of HTTP/2, whose one connection many callers share.

use std::sync::Arc;

use boundary_bench_kernel::Result;
use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::frame::Frame;

use crate::client::HttpClient;
use crate::http2::Http2;
use crate::origin::Origin;
use crate::submission::{Responses, groups};

/// The HTTP/2 connection to one server.
#[derive(Debug)]
pub struct SharedClient(Arc<Http2>);

impl SharedClient {
    /// A client that connects at its first request, by a connection that `driver` drives.
    pub fn new(place: Arc<Origin>, driver: &'static dyn Driver) -> Self {
        Self(Arc::new(Http2::new(place, driver)))
    }

    /// Connects, to check that the server can be reached.
    pub async fn connect(&self) -> Result<()> {
        self.0.connect().await
    }

    /// Runs a submission and returns the frame of its results.
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::InvalidArgument`] for bytes that are no submission. Nothing was sent then. All other
    /// errors are in the frame.
    pub async fn run(&self, submission: &[u8]) -> Result<Vec<u8>> {
        let groups = groups(submission).collect::<Result<Vec<_>>>()?;
        let mut frame = Frame::default();
        for group in groups {
            let mut responses = Responses::new(group.count());
            let mut requests = Vec::with_capacity(group.count());
            let mut places = Vec::with_capacity(group.count());
            for (index, request) in group.requests().enumerate() {
                match request {
                    Ok(request) => {
                        requests.push(request);
                        places.push(index);
                    }
                    Err(error) => {
                        responses.add(index, Err(&error));
                    }
                }
            }
            let mut client = HttpClient::of_http2(Arc::clone(&self.0));
            client
                .batch(&requests, |index, answer| {
                    responses.add(places[index], answer);
                })
                .await;
            responses.finish(group.id, &mut frame);
        }
        Ok(frame.take())
    }
}
