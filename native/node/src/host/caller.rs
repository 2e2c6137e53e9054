//! A client that many promises share, one request after the other.

use std::sync::Arc;

use boundary_bench_kernel::{Error, Result};
use napi::tokio::{
    self,
    sync::{Mutex, watch},
};

/// A request that a client sends.
pub trait Request: Send + 'static {
    /// The client that sends it.
    type Client: Send + 'static;
    /// The answer, without references into the client's memory.
    type Output: Send + 'static;

    /// Sends the request and reads its answer.
    fn send(self, client: &mut Self::Client) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A client of which each request owns a share, so that the request outlives the object that JavaScript has.
pub struct Caller<C> {
    /// The client, or `None` once it is closed.
    client: Arc<Mutex<Option<C>>>,
    /// Whether the client is closed. It stays true, so that later requests see it too.
    closed: watch::Sender<bool>,
}

impl<C: Send + 'static> Caller<C> {
    /// Makes a caller of a client, or of one that is closed.
    pub fn new(client: Option<C>) -> Self {
        Self { client: Arc::new(Mutex::new(client)), closed: watch::Sender::new(false) }
    }

    /// The answer of a request. The request is sent once the requests before it are answered. Ends with [`Error::Closed`] as soon as the
    /// client is closed. A request already sent may have been executed or not.
    pub fn run<R: Request<Client = C>>(
        &self,
        request: R,
    ) -> impl Future<Output = Result<R::Output>> + Send + use<C, R> {
        let (client, mut closed) = (Arc::clone(&self.client), self.closed.subscribe());
        async move {
            let work = async {
                let mut client = client.lock().await;
                request.send(client.as_mut().ok_or(Error::Closed("the connection"))?).await
            };
            // Also completes when the sender is dropped: then nobody is left to read the answer.
            let closed = async { drop(closed.wait_for(|closed| *closed).await) };
            tokio::select! {
                biased;
                () = closed => {
                    client.lock().await.take();
                    Err(Error::Closed("the connection"))
                }
                answer = work => answer,
            }
        }
    }

    /// Closes the client. Does nothing the second time.
    pub fn close(&self) {
        self.closed.send_replace(true);
        // A request under way holds the lock, and closes the client itself.
        if let Ok(mut client) = self.client.try_lock() {
            client.take();
        }
    }
}
