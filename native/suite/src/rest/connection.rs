//! The requirements on a client to be measured.

use std::sync::Arc;

use boundary_bench_http::Origin;
use boundary_bench_kernel::Result;

/// The answer to a request.
#[derive(Clone, Copy)]
pub(crate) struct RestResponse<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

/// A client of one server, with one caller.
pub(crate) trait Connection: Send + Sized + 'static {
    /// Connects, within the options of the place.
    fn open(place: &Arc<Origin>) -> impl Future<Output = Result<Self>> + Send;

    /// Posts a body, and takes the answer.
    fn call(
        &mut self,
        path: &str,
        body: &[u8],
        take: impl FnMut(RestResponse<'_>) -> Result<()> + Send,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Posts bodies over all connections at once, and takes the answers in any order, each with the index of its body. Returns an
    /// error if one is bad.
    fn batch(
        &mut self,
        path: &str,
        bodies: &[&[u8]],
        take: impl FnMut(usize, RestResponse<'_>) -> Result<()> + Send,
    ) -> impl Future<Output = Result<()>> + Send;
}
