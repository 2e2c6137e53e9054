//! A scan of all shards, whose batches are merged as they arrive.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use boundary_bench_kernel::{Error, Result};
use futures_util::stream::{self, BoxStream, SelectAll};
use futures_util::{StreamExt, TryStreamExt};
use tokio::time::Instant;

use super::frames::Frames;
use super::remote::{Name, Remote};
use super::{Shard, ShardClient, ShardFailure};
use crate::ipc::MessageReader;
use crate::proto::ScanResponse;
use crate::status;
use crate::store::Store;

/// A batch, or the failure of its shard.
type Batch = std::result::Result<RecordBatch, ShardFailure>;

type Batches = BoxStream<'static, Batch>;

/// A scan of all shards. Dropping it ends the scan.
pub struct Scan {
    batches: SelectAll<Batches>,
}

impl Scan {
    /// The next batch of any shard, or `None` once all have been returned. A shard's failure is returned once, after the batches
    /// that arrived before it. The other shards go on.
    pub async fn next(&mut self) -> Option<Batch> {
        self.batches.next().await
    }
}

impl ShardClient {
    /// Reads all rows, of all shards at the same time.
    pub fn scan(&self) -> Scan {
        let shards = self.shards.iter().enumerate().map(|(index, shard)| match shard {
            Shard::Direct(store) => self.direct_batches(index, store),
            Shard::Remote(remote) => remote_batches(Arc::clone(remote), self.deadline),
        });
        Scan { batches: stream::select_all(shards) }
    }

    /// The batches of a shard in this process, made as they are requested.
    fn direct_batches(&self, index: usize, store: &Arc<dyn Store>) -> Batches {
        let client = self.clone();
        let batches = store.scan().map(move |block| {
            let batch = block.and_then(|block| block.to_batch());
            batch.map_err(|error| client.failure(index, error))
        });
        stream::iter(batches).boxed()
    }
}

/// The batches of a shard behind gRPC, from the start of its scan on.
fn remote_batches(remote: Arc<Remote>, deadline: Option<Duration>) -> Batches {
    let started = async move {
        let ends = deadline.map(|time| Instant::now() + time);
        let name = remote.name().clone();
        match remote.scan(deadline).await {
            Ok(stream) => Ok(Messages { name, stream, reader: MessageReader::default(), ends }),
            Err(error) => Err(ShardFailure { shard: name.index(), error }),
        }
    };
    let batches = stream::once(started).map_ok(|messages| stream::try_unfold(messages, Messages::next));
    batches.try_flatten().boxed()
}

struct Messages {
    name: Name,
    stream: Frames,
    reader: MessageReader,
    ends: Option<Instant>,
}

impl Messages {
    async fn next(mut self) -> std::result::Result<Option<(RecordBatch, Self)>, ShardFailure> {
        match self.next_batch().await {
            Ok(batch) => Ok(batch.map(|batch| (batch, self))),
            Err(error) => Err(ShardFailure { shard: self.name.index(), error }),
        }
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let message = self.stream.message::<ScanResponse>();
            let message = match self.ends {
                None => message.await,
                Some(ends) => {
                    let message = tokio::time::timeout_at(ends, message).await;
                    message.map_err(|_| Error::Timeout(status::timed_out(&self.name)))?
                }
            };
            let unusable = |error: Error| Error::InvalidIpc(format!("{}: {error}", self.name));
            let Some(message) = message.map_err(|status| self.name.error(&status))? else {
                self.reader.finish().map_err(unusable)?;
                return Ok(None);
            };
            if let Some(batch) = self.reader.read(message.ipc_header, message.ipc_body).map_err(unusable)? {
                return Ok(Some(batch));
            }
        }
    }
}
