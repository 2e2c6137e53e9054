//! The gRPC service of one shard.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::RecordBatch;
use boundary_bench_kernel::cancel::{CancelOnDrop, CancelToken};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::runtime::blocking;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::time::Sleep;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::block::{self, Block, Columns};
use crate::ipc::{MessageReader, block_header, end_message, schema_message};
use crate::options::ShardOptions;
use crate::proto::{
    AggregateRequest, AggregateResponse, DescribeRequest, DescribeResponse, GetRequest, GetResponse, MultiGetRequest,
    MultiGetResponse, PopulateRequest, PopulateResponse, PutManyRequest, PutManyResponse, PutRequest, PutResponse,
    ScanRequest, ScanResponse,
};
use crate::row::ROW_BYTES;
use crate::status::{deadline, status_of};
use crate::store::{Blocks, Population, Store};
use crate::{convert, proto};

/// The result of a call.
type CallResult<T> = std::result::Result<T, Status>;

/// Batches queued between the disk's thread and the network's, of a scan or a population.
const AHEAD: usize = 2;

/// Keys of a multi-get that is answered on the network's thread, at most.
const FEW_KEYS: usize = 512;

/// Bytes of a multi-get's response besides the rows and their bits, at most.
const ANSWER_OVERHEAD: usize = 64;

/// The gRPC service of one shard.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) shard: u32,
    shards: u32,
    store: Arc<dyn Store>,
    pub(crate) max_message_bytes: usize,
}

impl Service {
    /// The service of a shard with these options, over its store.
    pub(crate) fn new(options: &ShardOptions, store: Arc<dyn Store>) -> Self {
        let ShardOptions { shard, shards, message_bytes, .. } = *options;
        Self { shard, shards, store, max_message_bytes: message_bytes }
    }

    fn status(&self, error: &Error) -> Status {
        status_of(error, self.shard)
    }

    /// Runs work on the network's thread: for work of microseconds.
    fn now<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T>) -> CallResult<T> {
        catch_panic(|| work(&*self.store)).map_err(|error| self.status(&error))
    }

    /// Runs work on a thread that may block.
    async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T> + Send + 'static,
    ) -> CallResult<T> {
        let store = Arc::clone(&self.store);
        blocking(move || work(&*store)).await.map_err(|error| self.status(&error))
    }

    /// Writes to the store, on another thread if that may wait for the disk.
    async fn write(&self, put: impl FnOnce(&dyn Store) -> Result<()> + Send + 'static) -> CallResult<()> {
        if self.store.is_persistent() { self.elsewhere(put).await } else { self.now(put) }
    }

    /// The messages of a scan, for a request with this metadata.
    pub(crate) fn scan_messages(&self, metadata: &MetadataMap) -> ScanMessages {
        let blocks = self.store.scan();
        let source = if self.store.is_persistent() { read_ahead(blocks) } else { Source::Now(blocks) };
        let ends = deadline(metadata).map(|time| Box::pin(tokio::time::sleep(time)));
        ScanMessages { shard: self.shard, source, stage: Stage::Schema, ends }
    }

    fn check_keys(&self, keys: &[i64]) -> Result<()> {
        let most = self.max_message_bytes.saturating_sub(ANSWER_OVERHEAD) / (ROW_BYTES + 1);
        if keys.len() <= most {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{} keys: the rows of at most {most} fit into an answer; ask for the others in further calls",
            keys.len()
        )))
    }
}

fn found_rows(store: &dyn Store, keys: &[i64]) -> Result<MultiGetResponse> {
    let mut found = vec![0_u8; keys.len().div_ceil(8)];
    let mut rows = Vec::with_capacity(keys.len() * ROW_BYTES);
    store.multi_get(keys, &mut |index, row| {
        found[index / 8] |= 1 << (index % 8);
        row.pack_first(&mut rows);
    })?;
    Ok(MultiGetResponse { found: found.into(), rows: rows.into() })
}

#[tonic::async_trait]
impl proto::shard_service_server::ShardService for Service {
    async fn describe(&self, _: Request<DescribeRequest>) -> CallResult<Response<DescribeResponse>> {
        let populated = self.store.populated();
        Ok(Response::new(DescribeResponse {
            shard: self.shard,
            shards: self.shards,
            rows: self.store.rows(),
            populated: populated.is_some(),
            persistent: self.store.is_persistent(),
            total_rows: populated.unwrap_or(0),
            max_message_bytes: u32::try_from(self.max_message_bytes).unwrap_or(u32::MAX),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> CallResult<Response<GetResponse>> {
        // Reads from disk run on the network's thread too: repeated keys are in the cache there.
        let row = self.now(|store| store.get(request.get_ref().key))?;
        Ok(Response::new(GetResponse { row: row.as_ref().map(Into::into) }))
    }

    async fn multi_get(&self, request: Request<MultiGetRequest>) -> CallResult<Response<MultiGetResponse>> {
        let keys = request.into_inner().keys;
        self.check_keys(&keys).map_err(|error| self.status(&error))?;
        let found = if keys.len() <= FEW_KEYS {
            self.now(|store| found_rows(store, &keys))?
        } else {
            self.elsewhere(move |store| found_rows(store, &keys)).await?
        };
        Ok(Response::new(found))
    }

    async fn put(&self, request: Request<PutRequest>) -> CallResult<Response<PutResponse>> {
        let row = convert::row(request.get_ref().row.as_ref()).map_err(|error| self.status(&error))?;
        self.write(move |store| store.put(Columns::of_row(&row))).await?;
        Ok(Response::new(PutResponse {}))
    }

    async fn put_many(&self, request: Request<PutManyRequest>) -> CallResult<Response<PutManyResponse>> {
        let rows = block::unpack(&request.get_ref().rows).map_err(|error| self.status(&error))?;
        self.write(move |store| store.put(rows.columns())).await?;
        Ok(Response::new(PutManyResponse {}))
    }

    type ScanStream = ScanMessages;

    async fn scan(&self, request: Request<ScanRequest>) -> CallResult<Response<ScanMessages>> {
        Ok(Response::new(self.scan_messages(request.metadata())))
    }

    async fn aggregate(&self, request: Request<AggregateRequest>) -> CallResult<Response<AggregateResponse>> {
        let aggregation = convert::aggregation(request.get_ref()).map_err(|error| self.status(&error))?;
        let cancel = CancelToken::default();
        // This future is dropped when the caller cancels. That cancels the work.
        let _guard = CancelOnDrop(cancel.clone());
        let aggregate = self.elsewhere(move |store| store.aggregate(&aggregation, &cancel)).await?;
        Ok(Response::new((&aggregate).into()))
    }

    async fn populate(&self, request: Request<Streaming<PopulateRequest>>) -> CallResult<Response<PopulateResponse>> {
        let mut messages = request.into_inner();
        let first = messages.message().await?.unwrap_or_default();
        let begin = first.begin.ok_or_else(|| {
            self.status(&Error::InvalidArgument("the first message of a population must say how to begin".to_owned()))
        })?;
        let population = Population { rows: begin.rows, total_rows: begin.total_rows, replace: begin.replace };
        let (sender, receiver) = mpsc::channel(AHEAD);
        let mut filled = pin!(self.elsewhere(move |store| fill(store, &population, receiver)));
        tokio::select! {
            // The store may refuse at once a population that the client would send for long.
            filled = &mut filled => filled?,
            sent = send_batches(first, messages, sender) => {
                match (filled.await, sent) {
                    // The store was cancelled because the client's rows broke off.
                    (Err(status), Err(error)) if status.code() == Code::Cancelled => return Err(self.status(&error)),
                    (filled, sent) => {
                        filled?;
                        sent.map_err(|error| self.status(&error))?;
                    }
                }
            }
        }
        Ok(Response::new(PopulateResponse { rows: begin.rows }))
    }
}

/// An item from the network's thread to the population's thread. A closed channel does not end the rows: the client may have
/// disconnected.
enum Piece {
    Batch(RecordBatch),
    End,
}

fn fill(store: &dyn Store, population: &Population, mut pieces: mpsc::Receiver<Piece>) -> Result<()> {
    store.populate(population, &mut || match pieces.blocking_recv() {
        Some(Piece::Batch(batch)) => Ok(Some(batch)),
        Some(Piece::End) => Ok(None),
        None => Err(Error::Cancelled),
    })
}

async fn send_batches(
    first: PopulateRequest,
    mut messages: Streaming<PopulateRequest>,
    sender: mpsc::Sender<Piece>,
) -> Result<()> {
    let mut reader = MessageReader::default();
    let broken = |status: Status| Error::Connection(format!("the stream of rows broke: {}", status.message()));
    let mut next = Some(first);
    while let Some(message) = next {
        if let Some(batch) = reader.read(message.ipc_header, message.ipc_body)?
            && sender.send(Piece::Batch(batch)).await.is_err()
        {
            // The store has failed, and its error is reported.
            return Ok(());
        }
        next = messages.message().await.map_err(broken)?;
    }
    reader.finish()?;
    let _ = sender.send(Piece::End).await;
    Ok(())
}

/// The source of a scan's blocks. Dropping it ends the scan.
enum Source {
    /// Blocks taken as they are requested. That takes no time in memory.
    Now(Blocks),
    /// Blocks read ahead by another thread, which may block.
    Elsewhere(mpsc::Receiver<Result<Arc<Block>>>),
}

impl Source {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Arc<Block>>>> {
        match self {
            Self::Now(blocks) => Poll::Ready(catch_panic(|| blocks.next().transpose()).transpose()),
            Self::Elsewhere(blocks) => blocks.poll_recv(context),
        }
    }
}

/// Reads the blocks of a scan on another thread, until its reader is gone.
fn read_ahead(mut blocks: Blocks) -> Source {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        while let Some(block) = catch_panic(|| blocks.next().transpose()).transpose()
            && sender.blocking_send(block).is_ok()
        {}
    });
    Source::Elsewhere(receiver)
}

#[derive(Clone, Copy)]
enum Stage {
    Schema,
    Blocks,
    Ended,
}

/// The messages of a scan, made as the client takes them.
pub(crate) struct ScanMessages {
    shard: u32,
    source: Source,
    stage: Stage,
    /// The timer of the client's time-out.
    ends: Option<Pin<Box<Sleep>>>,
}

impl Stream for ScanMessages {
    type Item = CallResult<ScanResponse>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let shard = this.shard;
        let failed = |error: &Error| Poll::Ready(Some(Err(status_of(error, shard))));
        if let (Stage::Schema | Stage::Blocks, Some(ends)) = (this.stage, &mut this.ends)
            && ends.as_mut().poll(context).is_ready()
        {
            this.stage = Stage::Ended;
            return failed(&Error::Timeout("the scan took longer than it was given".to_owned()));
        }
        let message = match this.stage {
            Stage::Schema => {
                this.stage = Stage::Blocks;
                ScanResponse { ipc_header: schema_message(), ipc_body: Bytes::new() }
            }
            Stage::Blocks => match ready!(this.source.poll_next(context)) {
                Some(Ok(block)) => {
                    let block = block.fitting();
                    ScanResponse { ipc_header: block_header(&block), ipc_body: block.to_shared() }
                }
                Some(Err(error)) => {
                    this.stage = Stage::Ended;
                    return failed(&error);
                }
                None => {
                    this.stage = Stage::Ended;
                    ScanResponse { ipc_header: end_message(), ipc_body: Bytes::new() }
                }
            },
            Stage::Ended => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(message)))
    }
}
