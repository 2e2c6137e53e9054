//! A client that many callers share, for connections that no event loop can drive by itself: those over TLS, and those of
//! HTTP/2.

use std::sync::{Arc, Mutex, PoisonError};

use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::{Error, Result};
use tokio::sync::Semaphore;

use crate::client::HttpClient;
use crate::connection::Connection;
use crate::http2::Http2;
use crate::place::Place;
use crate::request::Request;
use crate::stream::Version;
use crate::submission::{Responses, Submission};

/// The connections to one server. A caller gets as many as are free and it has requests for, and waits for one where
/// none is free.
#[derive(Debug)]
pub struct SharedClient {
    place: Arc<Place>,
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
    http2: Option<Arc<Http2>>,
}

impl SharedClient {
    /// A client that connects at its first request.
    #[must_use]
    pub fn new(place: Arc<Place>) -> Self {
        let http2 = (place.options().version == Version::Http2).then(|| Arc::new(Http2::new(Arc::clone(&place))));
        let free = Semaphore::new(place.options().connections.min(Semaphore::MAX_PERMITS));
        Self { place, idle: Mutex::default(), free, http2 }
    }

    /// Opens one connection, to check that the server can be reached.
    ///
    /// # Errors
    /// The errors of [`HttpClient::connect`].
    pub async fn connect(&self) -> Result<()> {
        if let Some(http2) = &self.http2 {
            return http2.connect().await;
        }
        let connection = Connection::open(&self.place).await?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(())
    }

    /// Runs a submission and returns the frame of its results.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are no submission; nothing was sent then. All other errors are in the frame.
    pub async fn run(&self, submission: &[u8]) -> Result<Vec<u8>> {
        let groups = Submission::new(submission).collect::<Result<Vec<_>>>()?;
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
            self.batch(&requests, &places, &mut responses).await?;
            responses.finish(group.id, &mut frame);
        }
        Ok(frame.take())
    }

    async fn batch(&self, requests: &[Request<'_>], places: &[usize], responses: &mut Responses) -> Result<()> {
        if requests.is_empty() {
            return Ok(());
        }
        let mut permits = Vec::new();
        let mut client = if let Some(http2) = &self.http2 {
            HttpClient::of_http2(Arc::clone(&self.place), Arc::clone(http2))
        } else {
            permits.push(self.free.acquire().await.map_err(|_| Error::Closed("the client"))?);
            while permits.len() < requests.len()
                && let Ok(permit) = self.free.try_acquire()
            {
                permits.push(permit);
            }
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let connections = permits.iter().map(|_| idle.pop()).collect();
            HttpClient::of_connections(Arc::clone(&self.place), connections)
        };
        client
            .batch(requests, |index, answer| {
                responses.add(places[index], answer);
            })
            .await;
        // The connections are put back before the permits are released.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(client.into_connections());
        drop(permits);
        Ok(())
    }
}
