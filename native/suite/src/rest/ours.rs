//! Our own client.

use std::sync::Arc;

use boundary_bench_http::{HttpClient, Origin, Request, Response};
use boundary_bench_kernel::Result;

use super::connection::{Connection, RestResponse};

/// [`HttpClient`]. It reads answers in place.
pub(crate) struct Ours(HttpClient);

impl<'a> From<&Response<'a>> for RestResponse<'a> {
    fn from(response: &Response<'a>) -> Self {
        Self { status: response.status, body: response.body }
    }
}

impl Connection for Ours {
    async fn open(place: &Arc<Origin>) -> Result<Self> {
        let mut client = HttpClient::new(Arc::clone(place));
        client.connect().await?;
        Ok(Self(client))
    }

    async fn call(
        &mut self,
        path: &str,
        body: &[u8],
        mut take: impl FnMut(RestResponse<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        self.0.call(&Request::post(path, body), |response| take((&response).into())).await
    }

    async fn batch(
        &mut self,
        path: &str,
        bodies: &[&[u8]],
        mut take: impl FnMut(usize, RestResponse<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let requests: Vec<_> = bodies.iter().map(|body| Request::post(path, body)).collect();
        let mut failure = None;
        let each = |index, answer: std::result::Result<Response<'_>, &boundary_bench_kernel::Error>| {
            let taken = answer.map_err(Clone::clone).and_then(|response| take(index, (&response).into()));
            if let Err(error) = taken {
                failure = Some(error);
            }
        };
        self.0.batch(&requests, each).await;
        failure.map_or(Ok(()), Err)
    }
}
