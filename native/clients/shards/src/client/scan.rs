//! A scan of all shards, whose batches are merged as they arrive.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::{Error, Result};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, SelectAll};
use tokio::time::Instant;

use super::frames::Frames;
use super::remote::Name;
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
    /// The next batch of any shard; `None` once all have been returned. A shard's failure is returned once, after the batches
    /// that arrived before it; the other shards go on.
    pub async fn next(&mut self) -> Option<Batch> {
        self.batches.next().await
    }
}

impl ShardClient {
    /// Reads all rows, of all shards at the same time.
    #[must_use]
    pub fn scan(&self) -> Scan {
        let shards = (0..self.shards.len()).map(|index| match &self.shards[index] {
            Shard::Direct(store) => self.direct_batches(index, store),
            Shard::Remote(_) => self.remote_batches(index),
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

    fn remote_batches(&self, index: usize) -> Batches {
        let shards = Arc::clone(&self.shards);
        let deadline = self.deadline;
        let started = async move {
            let Shard::Remote(remote) = &shards[index] else { return Reading::Ended };
            let ends = deadline.map(|time| Instant::now() + time);
            let name = remote.name().clone();
            match remote.scan(deadline).await {
                Ok(stream) => {
                    Reading::Messages(Box::new(Messages { name, stream, reader: MessageReader::default(), ends }))
                }
                Err(error) => Reading::Failed(ShardFailure { shard: name.index(), error }),
            }
        };
        stream::once(started).flat_map(|reading| stream::unfold(reading, Reading::next)).boxed()
    }
}

enum Reading {
    Messages(Box<Messages>),
    Failed(ShardFailure),
    Ended,
}

struct Messages {
    name: Name,
    stream: Frames,
    reader: MessageReader,
    ends: Option<Instant>,
}

impl Reading {
    async fn next(self) -> Option<(Batch, Self)> {
        match self {
            Self::Messages(mut messages) => match messages.next_batch().await {
                Ok(Some(batch)) => Some((Ok(batch), Self::Messages(messages))),
                Ok(None) => None,
                Err(error) => Some((Err(ShardFailure { shard: messages.name.index(), error }), Self::Ended)),
            },
            Self::Failed(failure) => Some((Err(failure), Self::Ended)),
            Self::Ended => None,
        }
    }
}

impl Messages {
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
