//! A client of HTTP/2: requests share one connection, and those that the server surely did not execute are sent again.

mod connection;
mod watched;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::rt::Executor;
use tokio::sync::Mutex;

use self::connection::{Connection, Failure};
pub use self::watched::{Watched, guarded};
use crate::answers::{BatchOutcomes, RequestOutcome};
use crate::no_answer;
use crate::origin::Origin;
use crate::request::{Request, header_lines};
use crate::response::Response;
use crate::url::sent_path;

/// The most times that a request is sent which the server did not execute.
const MOST_SENDINGS: u32 = 12;

/// The pause before a request is sent for the third time. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// A driver as hyper's executor of tasks.
#[derive(Debug, Clone, Copy)]
pub struct DriverExecutor(pub &'static dyn Driver);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for DriverExecutor {
    fn execute(&self, task: F) {
        self.0.spawn(Box::pin(task));
    }
}

/// A response that owns its memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnedResponse {
    status: u16,
    head: Vec<u8>,
    body: Bytes,
}

impl OwnedResponse {
    pub(crate) fn response(&self) -> Response<'_> {
        Response { status: self.status, head: &self.head, body: &self.body }
    }
}

/// The connection, opened at its first use.
pub(crate) struct Http2 {
    pub(crate) place: Arc<Origin>,
    driver: &'static dyn Driver,
    slot: Mutex<Slot>,
    /// The number of attempts to connect that have failed.
    failures: AtomicU64,
}

/// The connection, if there is one, and the error of the last attempt to connect that failed.
#[derive(Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    failure: Option<Error>,
}

impl std::fmt::Debug for Http2 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Http2").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Http2 {
    pub(crate) fn new(place: Arc<Origin>, driver: &'static dyn Driver) -> Self {
        Self { place, driver, slot: Mutex::default(), failures: AtomicU64::new(0) }
    }

    /// Connects, and waits until the server speaks HTTP/2.
    pub(crate) async fn connect(&self) -> Result<()> {
        let greeted = async { self.connection().await?.greeted(&self.place).await };
        within(Some(self.place.options.timeout.unwrap_or(CONNECT_TIMEOUT)), greeted, no_answer).await
    }

    /// The connection, opened if there is none. Calls that wait while another one connects have its outcome, also its error.
    async fn connection(&self) -> Result<Arc<Connection>> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut slot = self.slot.lock().await;
        if let Some(connection) = slot.connection.as_ref().filter(|connection| connection.is_usable()) {
            return Ok(Arc::clone(connection));
        }
        if let Some(error) = &slot.failure
            && self.failures.load(Ordering::Acquire) != failures
        {
            return Err(error.clone());
        }
        let timeout = self.place.options.timeout.unwrap_or(CONNECT_TIMEOUT);
        match within(Some(timeout), Connection::open(&self.place, self.driver), no_answer).await {
            Ok(connection) => {
                *slot = Slot { connection: Some(Arc::clone(&connection)), failure: None };
                Ok(connection)
            }
            Err(error) => {
                self.failures.fetch_add(1, Ordering::AcqRel);
                slot.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    pub(crate) async fn batch(
        &self,
        requests: &[Request<'_>],
        answers: &mut BatchOutcomes<impl FnMut(usize, RequestOutcome<'_, '_>)>,
    ) -> Result<()> {
        let unanswered = (0..requests.len()).filter(|index| !answers.is_answered(*index));
        let mut under_way: FuturesUnordered<_> =
            unanswered.map(|index| async move { (index, self.call(&requests[index]).await) }).collect();
        while let Some((index, result)) = under_way.next().await {
            match &result {
                Ok(response) => answers.give(index, Ok(response.response())),
                Err(error) => answers.give(index, Err(error)),
            }
        }
        Ok(())
    }

    /// Sends a request until the server has executed it, or may have.
    async fn call(&self, request: &Request<'_>) -> Result<OwnedResponse> {
        let mut sendings = 1;
        loop {
            let message = self.message(request)?;
            let body = Bytes::copy_from_slice(request.body.unwrap_or_default());
            let connection = self.connection().await?;
            let reason = match connection.exchange(&self.place, message, body).await {
                Ok(response) => return Ok(response),
                Err(Failure::Failed(error)) => return Err(error),
                Err(Failure::Unprocessed(reason)) => reason,
            };
            drop(connection);
            if sendings == MOST_SENDINGS {
                return Err(Error::Connection(format!(
                    "{} did not execute the request, which was sent {sendings} times: {reason}",
                    self.place.url
                )));
            }
            if sendings > 1 {
                tokio::time::sleep(FIRST_PAUSE * (1 << (sendings - 2))).await;
            }
            sendings += 1;
        }
    }

    fn message(&self, request: &Request<'_>) -> Result<hyper::Request<()>> {
        let place = &self.place;
        let scheme = if place.url.tls { "https" } else { "http" };
        let uri = format!("{scheme}://{}{}{}", place.url.authority(), place.head.prefix(), sent_path(request.path));
        let mut builder = hyper::Request::builder().method(request.method.name()).uri(uri);
        let lines = place.head.lines_beside(request).chain([request.headers]);
        for (name, value) in lines.flat_map(header_lines) {
            builder = builder.header(
                HeaderName::from_bytes(name.as_bytes()).map_err(|error| invalid(&error))?,
                HeaderValue::from_str(value).map_err(|error| invalid(&error))?,
            );
        }
        if request.states_length() {
            builder = builder.header(CONTENT_LENGTH, request.body.map_or(0, <[u8]>::len));
        }
        builder.body(()).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> Error {
    Error::InvalidArgument(format!("the request can't be sent: {error}"))
}
