//! Queries over gRPC, in the three ways of handing a result over that the server has.
//!
//! A query is a task on the threads of all engines. It sends the pieces that arrive to the reading thread. So the engine can
//! be used from any thread, also from one that runs tasks itself.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use boundary_bench_engine::arrow_in::value_text;
use boundary_bench_engine::catalog::Row;
use boundary_bench_engine::sql_text::Statement;
use boundary_bench_engine::{BatchStream, QueryOptions};
use boundary_bench_kernel::cancel::CancelGuard;
use boundary_bench_kernel::error::chain;
use boundary_bench_kernel::grpc::foreign_text;
use boundary_bench_kernel::runtime::runtime;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::{Error, Result, lock};
use hyperdb_api_core::client::Error as ClientError;
use hyperdb_api_core::client::grpc::{GrpcClient, GrpcConfig, OutputFormat, TransferMode};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::arrow_stream::{ArrowStream, Pieces};
use crate::batches::Batches;
use crate::server::Server;
use crate::uri::Transport;
use crate::{HYPER, engine_error};

/// Time limit of one request, longer than any query: queries are ended by their users, not by a clock.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of pieces that are fetched ahead of the reader.
const PIECES_AHEAD: usize = 2;

/// The SQLSTATE of a request for a part that the result does not have.
const NO_SUCH_PART: &str = "22023";

/// Time limit of the cancel request for an abandoned query.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of idle connections that are kept.
const MAX_IDLE: usize = 16;

/// The gRPC endpoint of a server and a database of it.
pub(crate) struct Grpc {
    clients: Arc<Clients>,
    /// A server of our own. It must outlive the connections.
    _server: Option<Arc<Server>>,
}

/// The connections, shared by the tasks.
struct Clients {
    config: GrpcConfig,
    mode: TransferMode,
    /// Idle connections. A query takes one until it has started, so that several queries can start at the same time.
    idle: Mutex<Vec<GrpcClient>>,
}

impl Grpc {
    /// Connects once, to check the endpoint.
    pub(crate) fn connect(
        address: &str,
        database: &str,
        transport: Transport,
        most_bytes: usize,
        server: Option<Arc<Server>>,
    ) -> Result<Arc<Self>> {
        let mode = match transport {
            Transport::GrpcAdaptive => TransferMode::Adaptive,
            Transport::GrpcAsync => TransferMode::Async,
            _ => TransferMode::Sync,
        };
        let config = GrpcConfig::new(format!("http://{address}"))
            .database(database)
            .connect_timeout(CONNECT_TIMEOUT)
            .request_timeout(REQUEST_TIMEOUT)
            .max_message_size(most_bytes);
        let clients = Arc::new(Clients { config, mode, idle: Mutex::default() });
        let connecting = Arc::clone(&clients);
        let connected =
            runtime().spawn(async move { connecting.take().await.map(|client| connecting.give_back(client)) });
        let grpc = Arc::new(Self { clients, _server: server });
        wait(connected).map_err(|error| Error::Internal(error.to_string()))??;
        Ok(grpc)
    }

    /// Starts a query.
    pub(crate) fn query(
        self: &Arc<Self>,
        statement: &Statement<'_>,
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream>> {
        options.cancel.check()?;
        let mut call = self.start(statement.text);
        let stop = Arc::clone(&call.stop);
        call.guard = Some(options.cancel.on_cancel(move || stop.notify_one()));
        Batches::start(call, options)
    }

    /// Runs a query of the engine's own and returns its rows as text.
    pub(crate) fn rows(self: &Arc<Self>, sql: &str) -> Result<Vec<Row>> {
        let mut stream = ArrowStream::start(self.start(sql))?;
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch()? {
            for row in 0..batch.num_rows() {
                let text = |column: &ArrayRef| {
                    let text = value_text(column, row);
                    text.map(Some).ok_or_else(|| engine_error(format!("a value of {} has no text", column.data_type())))
                };
                rows.push(batch.columns().iter().map(text).collect::<Result<_>>()?);
            }
        }
        Ok(rows)
    }

    fn start(self: &Arc<Self>, sql: &str) -> Call {
        let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
        let stop = Arc::new(Notify::new());
        let task = run(Arc::clone(&self.clients), sql.to_owned(), sender, Arc::clone(&stop));
        let task = Some(runtime().spawn(task));
        Call { pieces, stop, guard: None, task, _grpc: Arc::clone(self) }
    }
}

impl Clients {
    async fn take(&self) -> Result<GrpcClient> {
        let idle = lock(&self.idle).pop();
        match idle {
            Some(client) => Ok(client),
            None => GrpcClient::connect(self.config.clone()).await.map_err(|error| refused(&error)),
        }
    }

    fn give_back(&self, client: GrpcClient) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE {
            idle.push(client);
        }
    }
}

/// Runs a query until its end, its cancellation, or the drop of its receiver.
async fn run(clients: Arc<Clients>, sql: String, sender: mpsc::Sender<Result<Buffer>>, stop: Arc<Notify>) {
    let mut query_id = None;
    let fetched = tokio::select! {
        fetched = fetch(&clients, &sql, &sender, &mut query_id) => fetched,
        () = stop.notified() => Err(Error::Cancelled),
        () = sender.closed() => Err(Error::Cancelled),
    };
    let Err(error) = fetched else { return };
    let cancelled = matches!(error, Error::Cancelled);
    if cancelled && let Some(query_id) = query_id {
        // The outcome of the cancel request does not matter.
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancel(&clients, &query_id)).await;
    }
    // Fails if the receiver is dropped.
    let _ = sender.send(Err(error)).await;
}

async fn fetch(
    clients: &Clients,
    sql: &str,
    sender: &mpsc::Sender<Result<Buffer>>,
    query_id: &mut Option<String>,
) -> Result<()> {
    let mut sent = false;
    let mut mode = clients.mode;
    loop {
        let mut client = clients.take().await?;
        let started = client.execute_query_stream_with_options(sql, OutputFormat::ArrowIpc, mode).await;
        clients.give_back(client);
        let mut stream = started.map_err(|error| refused(&error))?;
        let failure = loop {
            match stream.next_chunk().await {
                Ok(Some(piece)) => {
                    if query_id.is_none() {
                        *query_id = stream.query_id().map(ToOwned::to_owned);
                    }
                    sent = true;
                    if sender.send(Ok(piece.into())).await.is_err() {
                        return Err(Error::Cancelled);
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => break error,
            }
        };
        if failure.sqlstate() != Some(NO_SUCH_PART) || !failure.message().contains("result is empty") {
            return Err(refused(&failure));
        }
        // The client requests a part of the result although an empty result has none.
        if sent {
            return Ok(());
        }
        // The sync mode reports the columns of an empty result.
        mode = TransferMode::Sync;
    }
}

/// Cancels a query whose result is fetched by requests of its own. The server would otherwise run it to its end.
async fn cancel(clients: &Clients, query_id: &str) {
    if let Ok(mut client) = clients.take().await
        && client.cancel_query(query_id).await.is_ok()
    {
        clients.give_back(client);
    }
}

/// A query under way, as its reading thread sees it. Dropping it ends the query.
struct Call {
    pieces: mpsc::Receiver<Result<Buffer>>,
    stop: Arc<Notify>,
    guard: Option<CancelGuard>,
    /// The task that runs the query, or `None` once it has been joined.
    task: Option<JoinHandle<()>>,
    _grpc: Arc<Grpc>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.guard = None;
        // Closing the channel ends the task soon. The drop waits for that, so that nothing runs on after it.
        self.pieces.close();
        if let Some(task) = self.task.take() {
            // Fails only if the client panicked. The reader learns that at the end of the pieces.
            let _ = wait(task);
        }
    }
}

impl Pieces for Call {
    fn next_piece(&mut self) -> Result<Option<Buffer>> {
        let piece = wait(self.pieces.recv());
        if piece.is_none()
            && let Some(task) = self.task.take()
        {
            // The end of the pieces is the end of the result only if the task ended without a panic.
            wait(task).map_err(|error| Error::Internal(error.to_string()))?;
        }
        piece.transpose()
    }
}

fn refused(error: &ClientError) -> Error {
    let message = match error.sqlstate() {
        Some(code) => format!("{error} ({code})"),
        None => of_http(&chain(error)),
    };
    match (error, error.sqlstate()) {
        (ClientError::Timeout(_), _) => Error::Timeout(message),
        (_, Some(code)) => Error::refused(HYPER.name, code, message),
        // All that the server itself says of a statement has a code.
        (
            ClientError::Connection { .. }
            | ClientError::Closed { .. }
            | ClientError::Query { .. }
            | ClientError::Io(_),
            None,
        ) => Error::Connection(message),
        _ => engine_error(message),
    }
}

/// The text of an error of the client. The client takes a page of HTML for a message. It reports nothing but the status of HTTP that came
/// with the page.
fn of_http(text: &str) -> String {
    let status = text.split_once("invalid compression flag").and_then(|(_, rest)| rest.split_once("with status: "));
    match status.and_then(|(_, status)| status.split(' ').next()?.parse().ok()) {
        Some(status) => format!("{} ({text})", foreign_text(status, "no message")),
        None => text.to_owned(),
    }
}

/// Waits for a future on the calling thread. This may be any thread.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_of_grpc_is_named() {
        let tonics = "protocol error: received message with invalid compression flag: 60 (valid flags are 0 and 1) while \
                      receiving response with status: 503 Service Unavailable";
        let text = refused(&ClientError::query(tonics)).to_string();
        assert!(text.contains("answers with the status 503 of HTTP") && text.contains("not as gRPC does"), "{text}");
        assert_eq!(of_http("syntax error"), "syntax error");
    }
}
