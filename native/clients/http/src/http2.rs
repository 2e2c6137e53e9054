//! A connection of HTTP/2, by hyper, that all requests share.

use std::sync::Arc;

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::socket::{CONNECT_TIMEOUT, KEEP_ALIVE_IDLE};
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result, response_limit};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http2;
use hyper::header::{HeaderName, HeaderValue};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Mutex;

use crate::answers::{Answer, Answers};
use crate::place::Place;
use crate::request::{Request, header_lines};
use crate::response::Response;
use crate::stream::open_stream;
use crate::{http_error, no_answer};

type Sender = http2::SendRequest<Full<Bytes>>;

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
#[derive(Debug)]
pub(crate) struct Http2 {
    pub(crate) place: Arc<Place>,
    driver: &'static dyn Driver,
    sender: Mutex<Option<Sender>>,
}

impl Http2 {
    pub(crate) fn new(place: Arc<Place>, driver: &'static dyn Driver) -> Self {
        Self { place, driver, sender: Mutex::default() }
    }

    pub(crate) async fn connect(&self) -> Result<()> {
        self.sender().await.map(|_| ())
    }

    async fn sender(&self) -> Result<Sender> {
        let mut slot = self.sender.lock().await;
        if let Some(sender) = &*slot
            && !sender.is_closed()
        {
            return Ok(sender.clone());
        }
        let place = &self.place;
        let connect = async {
            let stream = open_stream(self.driver, &place.url, place.tls.as_ref()).await?;
            if place.url.tls && stream.negotiated() != Some(b"h2") {
                return Err(Error::Unsupported(format!("the server at {} does not offer HTTP/2", place.url)));
            }
            // Pings a server that is silent while a request waits: its kernel may acknowledge for a process that hangs.
            let mut builder = http2::Builder::new(DriverExecutor(self.driver));
            builder.timer(TokioTimer::new()).keep_alive_interval(KEEP_ALIVE_IDLE);
            let handshake = builder.handshake(TokioIo::new(stream)).await;
            handshake.map_err(|error| http_error(format!("{} does not speak HTTP/2: {error}", place.url)))
        };
        let timeout = place.options.timeout.unwrap_or(CONNECT_TIMEOUT);
        let (sender, connection) = within(Some(timeout), connect, no_answer).await?;
        // The task ends with the last sender; errors of the connection are reported to its requests.
        self.driver.spawn(Box::pin(async move { drop(connection.await) }));
        *slot = Some(sender.clone());
        Ok(sender)
    }

    pub(crate) async fn batch(
        &self,
        requests: &[Request<'_>],
        answers: &mut Answers<impl FnMut(usize, Answer<'_, '_>)>,
    ) -> Result<()> {
        let mut under_way = FuturesUnordered::new();
        for (index, request) in requests.iter().enumerate() {
            if !answers.is_answered(index) {
                let message = match self.message(request) {
                    Ok(message) => message,
                    Err(error) => {
                        answers.give(index, Err(&error));
                        continue;
                    }
                };
                let sender = self.sender().await?;
                under_way.push(async move { (index, send(sender, message, &self.place).await) });
            }
        }
        while let Some((index, result)) = under_way.next().await {
            match &result {
                Ok(response) => answers.give(index, Ok(response.response())),
                Err(error) => answers.give(index, Err(error)),
            }
        }
        Ok(())
    }

    fn message(&self, request: &Request<'_>) -> Result<hyper::Request<Full<Bytes>>> {
        let place = &self.place;
        let scheme = if place.url.tls { "https" } else { "http" };
        let uri = format!("{scheme}://{}{}{}", place.url.authority(), place.head.prefix(), request.path);
        let mut builder = hyper::Request::builder().method(request.method.name()).uri(uri);
        for (name, value) in header_lines(place.head.headers()).chain(header_lines(request.headers)) {
            builder = builder.header(
                HeaderName::from_bytes(name.as_bytes()).map_err(|error| invalid(&error))?,
                HeaderValue::from_str(value).map_err(|error| invalid(&error))?,
            );
        }
        let body = Bytes::copy_from_slice(request.body.unwrap_or_default());
        builder.body(Full::new(body)).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> Error {
    Error::InvalidArgument(format!("the request can't be sent: {error}"))
}

async fn send(mut sender: Sender, message: hyper::Request<Full<Bytes>>, place: &Place) -> Result<OwnedResponse> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::Connection(format!(
            "the request to {} failed: {error}; it may have been executed or not, and is not sent again",
            place.url
        ))
    };
    let response = sender.send_request(message).await.map_err(|error| failed(&error))?;
    let (parts, body) = response.into_parts();
    let mut head = Vec::new();
    for (name, value) in &parts.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    let most_bytes = place.options.most_bytes;
    let collected = Limited::new(body, most_bytes).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            response_limit::exceeded("the body of a response", most_bytes)
        } else {
            failed(&error)
        }
    })?;
    Ok(OwnedResponse { status: parts.status.as_u16(), head, body: collected.to_bytes() })
}
