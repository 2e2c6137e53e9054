//! The HTTP client: single requests, and batches of requests over its connections.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result};

use crate::answers::{BatchOutcomes, RequestOutcome};
use crate::connection::Connection;
use crate::http2::Http2;
use crate::no_answer;
use crate::origin::Origin;
use crate::request::Request;
use crate::response::Response;
use crate::session::Session;
use crate::stream::Version;

/// A client of one server. It makes one call at a time. The requests of a batch share its connections.
///
/// A lost connection is an error of the requests in flight on it, and nothing is sent twice that may have been executed. Requests behind a
/// response that ends its connection (`connection: close`) are sent again, unless their method is POST or PATCH. Over HTTP/2,
/// requests that the server refused, that it excluded when it ended the connection, or that had not left yet, are sent again. A
/// connection that the server closed while it was idle is reopened. A call that is dropped before its end closes the connections of
/// HTTP/1.1 that it used.
#[derive(Debug)]
pub struct HttpClient {
    place: Arc<Origin>,
    connections: Vec<Option<Connection>>,
    http2: Option<Arc<Http2>>,
}

impl HttpClient {
    /// A client that connects at its first request.
    pub fn new(place: Arc<Origin>) -> Self {
        match place.options.version {
            Version::Http1 => {
                let connections = (0..place.options.connections).map(|_| None).collect();
                Self { place, connections, http2: None }
            }
            Version::Http2 => Self::of_http2(Arc::new(Http2::new(place, &Tokio))),
        }
    }

    /// A client on an HTTP/2 connection that other clients use, too.
    pub(crate) fn of_http2(http2: Arc<Http2>) -> Self {
        Self { place: Arc::clone(&http2.place), connections: Vec::new(), http2: Some(http2) }
    }

    /// Opens all connections.
    pub async fn connect(&mut self) -> Result<()> {
        match &self.http2 {
            Some(http2) => http2.connect().await,
            None => self.open_connections(self.connections.len()).await.map(|_| ()),
        }
    }

    /// Sends one request and reads its response in place.
    pub async fn call<T>(&mut self, request: &Request<'_>, read: impl FnOnce(Response<'_>) -> Result<T>) -> Result<T> {
        let mut read = Some(read);
        let mut result = Err(Error::Internal("a request without an answer".to_owned()));
        self.batch(std::slice::from_ref(request), |_, answer| {
            if let Some(read) = read.take() {
                result = answer.map_err(Clone::clone).and_then(read);
            }
        })
        .await;
        result
    }

    /// Sends requests over all connections at once, and calls `each` once for every request, with its position and its
    /// response or its error. The order of these calls is any.
    pub async fn batch(&mut self, requests: &[Request<'_>], each: impl FnMut(usize, RequestOutcome<'_, '_>)) {
        let mut answers = BatchOutcomes::new(requests.len(), each);
        for (index, request) in requests.iter().enumerate() {
            if let Err(error) = request.check() {
                answers.give(index, Err(&error));
            }
        }
        let timeout = self.place.options.timeout;
        let result = match &self.http2 {
            Some(http2) => within(timeout, http2.batch(requests, &mut answers), no_answer).await,
            None => within(timeout, self.batch_http1(requests, &mut answers), no_answer).await,
        };
        if let Err(error) = result {
            // Responses are still outstanding on these connections, and no caller awaits them any more.
            for slot in &mut self.connections {
                slot.take_if(|connection| connection.session().in_flight() > 0);
            }
            answers.fail_rest(&error);
        }
    }

    /// Opens connections until `wanted` of them are usable. Open connections that are still usable count. Returns the number usable.
    async fn open_connections(&mut self, wanted: usize) -> Result<usize> {
        let mut usable = 0;
        for slot in &mut self.connections {
            if let Some(connection) = slot
                && !connection.is_usable().await
            {
                *slot = None;
            }
            usable += usize::from(slot.is_some());
        }
        for slot in &mut self.connections {
            if usable >= wanted {
                break;
            }
            if slot.is_none() {
                match Connection::open(&self.place).await {
                    Ok(connection) => *slot = Some(connection),
                    Err(_) if usable > 0 => break,
                    Err(error) => return Err(error),
                }
                usable += 1;
            }
        }
        Ok(usable)
    }

    async fn batch_http1(
        &mut self,
        requests: &[Request<'_>],
        answers: &mut BatchOutcomes<impl FnMut(usize, RequestOutcome<'_, '_>)>,
    ) -> Result<()> {
        let mut order = (0..requests.len()).collect::<VecDeque<_>>();
        while answers.left() > 0 {
            // Only requests that are to be sent are left here.
            self.open_connections(self.connections.len().min(answers.left())).await?;
            self.drive(requests, &mut order, answers).await;
        }
        Ok(())
    }

    /// Sends and receives until all requests are answered, or no connection is left.
    async fn drive(
        &mut self,
        requests: &[Request<'_>],
        order: &mut VecDeque<usize>,
        answers: &mut BatchOutcomes<impl FnMut(usize, RequestOutcome<'_, '_>)>,
    ) {
        let Self { place, connections, .. } = self;
        let open = connections.iter().flatten().count();
        // With pipelining, the requests are divided evenly over the connections.
        let share = answers.left().div_ceil(open.max(1)).min(place.options.pipelining);
        let feed = |connection: &mut Session<usize>, order: &mut VecDeque<usize>, answers: &BatchOutcomes<_>| {
            while connection.in_flight() < share
                && !connection.is_over()
                && let Some(next) = order.pop_front()
            {
                if !answers.is_answered(next) {
                    connection.submit(next, &place.head, &requests[next]);
                }
            }
        };
        poll_fn(|context| {
            let mut is_waiting = false;
            for slot in connections.iter_mut() {
                let Some(connection) = slot else { continue };
                feed(connection.session(), order, answers);
                loop {
                    match connection.poll(context, place, |index, response| answers.give(index, Ok(response))) {
                        Poll::Pending => is_waiting = true,
                        Poll::Ready(Ok(())) => {
                            for index in connection.session().cut_off() {
                                if requests[index].method.is_idempotent() {
                                    order.push_back(index);
                                } else {
                                    answers.give(index, Err(&place.cut_off()));
                                }
                            }
                            feed(connection.session(), order, answers);
                            if connection.session().in_flight() > 0 {
                                continue;
                            }
                            if connection.session().is_over() {
                                *slot = None;
                            }
                        }
                        Poll::Ready(Err(error)) => {
                            connection.session().abandon().for_each(|index| answers.give(index, Err(&error)));
                            *slot = None;
                        }
                    }
                    break;
                }
            }
            if is_waiting { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}
