//! A query that runs ahead of its reader, on a thread of its own, so that the outbound lanes read from it without a
//! thread. Alternatively, its reader makes the batches, so that they stay in the caches of one core.

use std::sync::Arc;

use arrow_array::RecordBatch;
use tokio::sync::{Mutex, mpsc};

use crate::lanes::statement::BoundStatement;
use crate::table::Column;
use crate::{BatchStream, Engine, QueryOptions};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result, lock};

/// The most results that are queued for the reader.
const AHEAD: usize = 2;

/// The outcome of [`QueryReader::try_next`].
#[derive(Debug, PartialEq, Eq)]
pub enum Ready<T> {
    /// The next result.
    Result(T),
    /// The end of the results.
    End,
    /// No result is ready yet.
    Pending,
}

/// The results of a query, each made from one batch by a function of the lane. Dropping the reader ends the query.
pub struct QueryReader<T> {
    options: QueryOptions,
    source: Source<T>,
    columns: Vec<Column>,
    is_published: bool,
}

/// The source of the next result.
enum Source<T> {
    /// The query's own thread.
    Ahead(Mutex<mpsc::Receiver<Result<T>>>),
    /// Results that are made by the thread that asks for them. `None` after the last one and after an error, so that the engine is let go.
    OnDemand(std::sync::Mutex<Option<OnDemand<T>>>),
}

struct OnDemand<T> {
    stream: Box<dyn BatchStream>,
    transform: Box<dyn FnMut(RecordBatch) -> Result<T> + Send>,
}

impl<T> OnDemand<T> {
    fn next(&mut self) -> Result<Option<T>> {
        self.stream.next_batch()?.map(&mut self.transform).transpose()
    }
}

impl<T: Send + 'static> QueryReader<T> {
    /// Starts a query without parameters. See [`QueryReader::start_bound`].
    pub async fn start(
        engine: Arc<dyn Engine>,
        sql: String,
        options: QueryOptions,
        transform: impl FnMut(RecordBatch) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let query = BoundStatement::Text { engine, sql, parameters: Vec::new() };
        Self::start_bound(query, options, transform).await
    }

    /// Starts a query and waits until its columns are known. `transform` runs on the query's thread.
    pub async fn start_bound(
        query: BoundStatement,
        options: QueryOptions,
        mut transform: impl FnMut(RecordBatch) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        // The reader is made before the wait, so that a caller who drops this future ends the query.
        let source = Source::Ahead(Mutex::new(receiver));
        let mut reader = Self { options, source, columns: Vec::new(), is_published: false };
        let (columns_sender, columns_receiver) = tokio::sync::oneshot::channel();
        let theirs = reader.options.clone();
        std::thread::Builder::new()
            .name("bb-query".to_owned())
            .spawn(move || {
                let mut columns_sender = Some(columns_sender);
                let mut cancel = theirs.cancel.clone();
                let ended = catch_panic(|| {
                    query.query(&theirs, |stream| {
                        if stream.is_published() {
                            cancel = CancelToken::default();
                        }
                        if let Some(sender) = columns_sender.take() {
                            let _ = sender.send(Ok((stream.columns().to_vec(), stream.is_published(), cancel.clone())));
                        }
                        while let Some(batch) = stream.next_batch()? {
                            if cancel.is_cancelled() || sender.blocking_send(Ok(transform(batch)?)).is_err() {
                                break;
                            }
                        }
                        Ok(())
                    })
                });
                if let Err(error) = ended {
                    // A caller who waits for the columns gets the error there, any other with the next result.
                    match columns_sender.take() {
                        Some(sender) => drop(sender.send(Err(error))),
                        // The reader of a cancelled query knows of it, and may leave the queue full for ever.
                        None if cancel.is_cancelled() => {}
                        None => drop(sender.blocking_send(Err(error))),
                    }
                }
            })
            .map_err(|error| Error::Internal(format!("no thread for the query: {error}")))?;
        (reader.columns, reader.is_published, reader.options.cancel) =
            columns_receiver.await.map_err(|_| Error::Internal("the query's thread ended early".to_owned()))??;
        Ok(reader)
    }

    /// Reads a running query without a thread: each result is made by the thread that asks for it. That thread waits for the engine.
    /// `options` are the options that the query was started with.
    pub fn on_demand(
        stream: Box<dyn BatchStream>,
        mut options: QueryOptions,
        transform: impl FnMut(RecordBatch) -> Result<T> + Send + 'static,
    ) -> Self {
        let (columns, is_published) = (stream.columns().to_vec(), stream.is_published());
        if is_published {
            options.cancel = CancelToken::default();
        }
        let pull = OnDemand { stream, transform: Box::new(transform) };
        Self { options, source: Source::OnDemand(std::sync::Mutex::new(Some(pull))), columns, is_published }
    }

    /// Whether the results come from a change that is published. From then on the token of the query's options ends nothing.
    pub fn is_published(&self) -> bool {
        self.is_published
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next result, in the query's order, or `None` at the end. Concurrent calls take turns. Blocks if the results are made on demand.
    pub async fn next(&self) -> Result<Option<T>> {
        self.assert_wanted()?;
        match &self.source {
            Source::Ahead(receiver) => match receiver.lock().await.recv().await {
                // A query that was cancelled meanwhile ends without a word.
                None => self.options.cancel.check().map(|()| None),
                result => result.transpose(),
            },
            Source::OnDemand(pull) => made_now(pull),
        }
    }

    /// The next result if it is already there, without waiting. [`Ready::Pending`] when it is not, or when another call
    /// waits for it. Results that are made on demand are made now, and never pending.
    pub fn try_next(&self) -> Result<Ready<T>> {
        self.assert_wanted()?;
        let receiver = match &self.source {
            Source::Ahead(receiver) => receiver,
            Source::OnDemand(pull) => return Ok(made_now(pull)?.map_or(Ready::End, Ready::Result)),
        };
        let Ok(mut receiver) = receiver.try_lock() else { return Ok(Ready::Pending) };
        match receiver.try_recv() {
            Ok(result) => result.map(Ready::Result),
            Err(mpsc::error::TryRecvError::Empty) => Ok(Ready::Pending),
            Err(mpsc::error::TryRecvError::Disconnected) => self.options.cancel.check().map(|()| Ready::End),
        }
    }

    /// Ends the query from any thread, and lets its engine go. It does so at once if results are made on demand, else when the
    /// query's thread has ended. Calls that wait for a result get [`Error::Cancelled`]. To cancel the token alone leaves the engine
    /// to the next call, or to the drop of the reader.
    pub fn cancel(&self) {
        self.options.cancel.cancel();
        match &self.source {
            // Wakes the query's thread if the queue is full. While another call waits for a result, it is not.
            Source::Ahead(receiver) => {
                if let Ok(mut receiver) = receiver.try_lock() {
                    receiver.close();
                    while receiver.try_recv().is_ok() {}
                }
            }
            // Not by a hook of the token: the stream has one. Its drop takes that hook away under the lock that is held then.
            Source::OnDemand(pull) => {
                let stream = lock(pull).take();
                drop(stream);
            }
        }
    }

    fn assert_wanted(&self) -> Result<()> {
        self.options.cancel.check().inspect_err(|_| self.cancel())
    }
}

/// Makes the next result. The engine is let go after the last one, and after an error.
fn made_now<T>(pull: &std::sync::Mutex<Option<OnDemand<T>>>) -> Result<Option<T>> {
    let mut pull = lock(pull);
    let Some(running) = pull.as_mut() else { return Ok(None) };
    let made = running.next();
    if !matches!(made, Ok(Some(_))) {
        *pull = None;
    }
    made
}

impl<T> Drop for QueryReader<T> {
    fn drop(&mut self) {
        self.options.cancel.cancel();
    }
}
