//! A client for many small requests: one at a time, or many pipelined in one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use tokio::sync::Notify;

use crate::batch::{Batch, Results, run_batch};
use crate::cells::CellLists;
use crate::insert::insert_lists;
use crate::pool::{Lease, Pool};
use crate::url::Url;

/// The options of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// The most connections open at a time; they are opened when they are needed.
    pub connections: usize,
    /// The time-out of a call; without one, a call takes as long as it needs.
    pub timeout: Option<Duration>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { connections: 10, timeout: None }
    }
}

/// A client of one server. Calls may overlap: each takes a connection of its own.
pub struct SqlClient {
    pool: Arc<Pool>,
    timeout: Option<Duration>,
    version: String,
}

impl SqlClient {
    /// Connects to a server.
    ///
    /// # Errors
    /// [`Error::Engine`] where the server can't be reached or refuses the login, [`Error::Timeout`],
    /// [`Error::Cancelled`].
    pub async fn connect(url: &Url, options: ClientOptions, cancel: Option<&CancelToken>) -> Result<Self> {
        let pool = Pool::new(url.clone(), Vec::new(), options.connections.max(1));
        let mut client = Self { pool, timeout: options.timeout, version: String::new() };
        let version = client.guarded(cancel, |call| async move {
            let session = call.lease().await?;
            Ok(session.connection.version().to_owned())
        });
        client.version = version.await?;
        Ok(client)
    }

    /// The name and version of the server.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Checks that the server answers.
    ///
    /// # Errors
    /// [`Error::Engine`] where it does not, [`Error::Timeout`], [`Error::Cancelled`].
    pub async fn ping(&self, cancel: Option<&CancelToken>) -> Result<()> {
        self.guarded(cancel, |call| async move { Ok(call.lease().await?.connection.ping().await?) }).await
    }

    /// Prepares a statement, and returns the number of its parameters.
    ///
    /// # Errors
    /// The errors of [`SqlClient::ping`].
    pub async fn prepare(&self, sql: &str, cancel: Option<&CancelToken>) -> Result<u16> {
        self.guarded(cancel, |call| async move { Ok(call.lease().await?.prepared(sql).await?.parameters) }).await
    }

    /// Runs the requests of a batch. The error of a single request is in its [`Outcome`](crate::Outcome); where the
    /// connection is lost, every request without an answer has that error.
    ///
    /// # Errors
    /// [`Error::Engine`] where no connection can be opened, [`Error::Timeout`], [`Error::Cancelled`].
    pub async fn run(&self, batch: &Batch, cancel: Option<&CancelToken>) -> Result<Results> {
        self.guarded(cancel, |call| async move {
            let mut session = call.lease().await?;
            let max_packet = session.pool().max_packet();
            run_batch(&mut session, batch, max_packet).await
        })
        .await
    }

    /// Inserts rows into columns of a table (`table` or `database.table`), all or none of them, and returns their number.
    /// Within a transaction of the connection they become part of it.
    ///
    /// # Errors
    /// The errors of [`SqlClient::ping`], and [`Error::InvalidArgument`] for a value that the server can't hold.
    pub async fn insert_rows(
        &self,
        table: &str,
        columns: &[String],
        rows: &CellLists,
        cancel: Option<&CancelToken>,
    ) -> Result<u64> {
        self.guarded(cancel, |call| async move {
            let mut session = call.lease().await?;
            let max_packet = session.pool().max_packet();
            insert_lists(&mut session, table, columns, rows, max_packet).await
        })
        .await
    }

    /// Closes the connections that are idle, and the others once they are idle.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs a call until it ends, is cancelled or times out. In the latter two cases its connection is closed, and the
    /// server is asked to end what it still runs.
    async fn guarded<T, F>(&self, cancel: Option<&CancelToken>, work: impl FnOnce(Call) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let call = Call { pool: Arc::clone(&self.pool), connection: Arc::default() };
        if cancel.is_none() && self.timeout.is_none() {
            return work(call).await;
        }
        let connection = Arc::clone(&call.connection);
        let cancelled = Arc::new(Notify::new());
        let _guard = cancel.map(|cancel| {
            let cancelled = Arc::clone(&cancelled);
            cancel.on_cancel(move || cancelled.notify_one())
        });
        let too_long = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let error = tokio::select! {
            biased;
            () = cancelled.notified() => Error::Cancelled,
            result = work(call) => return result,
            () = too_long => Error::Timeout(format!(
                "the call took longer than {} ms; what was under way may or may not be done",
                self.timeout.unwrap_or_default().as_millis()
            )),
        };
        match connection.load(Ordering::Acquire) {
            0 => {}
            id => self.pool.end(id),
        }
        Err(error)
    }
}

/// A call and the number of the connection that it has taken, 0 before.
struct Call {
    pool: Arc<Pool>,
    connection: Arc<AtomicU32>,
}

impl Call {
    async fn lease(&self) -> Result<Lease> {
        let lease = self.pool.lease().await?;
        self.connection.store(lease.connection.id(), Ordering::Release);
        Ok(lease)
    }
}
