//! Populates all shards, one stream to each.

use std::pin::pin;
use std::sync::Arc;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, Stream, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Shard, ShardClient};
use crate::ipc::{ArrowMessage, MessageReader};
use crate::made_rows::MadeRows;
use crate::memory::plan::check_rows;
use crate::proto::{PopulateBegin, PopulateRequest};
use crate::shard_batches::ShardBatches;
use crate::store::{Population, Store};

impl ShardClient {
    /// Populates all shards at the same time with the made rows of the keys from 0 to `total_rows`. Making them is part of the call.
    pub async fn populate(&self, total_rows: u64, replace: bool) -> Result<()> {
        let count = self.shards();
        let shards = (0..count).map(|shard| {
            let rows = MadeRows::new(shard, count, total_rows);
            // Hashing every key gives the exact count, in a hundredth of the time that making the rows takes.
            ShardBatches { rows: rows.count_rows(), messages: stream::iter(rows.into_messages()) }
        });
        self.populate_from(shards.collect(), replace).await
    }

    /// Populates all shards at the same time with the rows given for each, in the order of the shards. A shard keeps its old rows
    /// until all new ones have arrived.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for rows of another number of shards, for other rows than their number says, and if a shard has
    /// rows and `replace` is false. [`Error::InvalidIpc`] for unusable messages. [`Error::NotEnoughMemory`] before the first row.
    /// Else the error of a shard, with the shard's name. The other shards are populated then.
    pub async fn populate_from<S>(&self, shards: Vec<ShardBatches<S>>, replace: bool) -> Result<()>
    where
        S: Stream<Item = ArrowMessage> + Send + 'static,
    {
        if shards.len() != self.shards.len() {
            let (given, count) = (shards.len(), self.shards.len());
            return Err(Error::InvalidArgument(format!("the rows of {given} shards are given: there are {count}")));
        }
        let total_rows = shards.iter().map(|shard| shard.rows).sum();
        self.check_memory(shards.iter().map(|shard| shard.rows))?;
        let filling = shards.into_iter().enumerate().map(|(index, ShardBatches { rows, messages })| async move {
            let population = Population { rows, total_rows, replace };
            match &self.shards[index] {
                Shard::Remote(remote) => remote.populate(requests(population, messages), self.deadline).await.map(drop),
                Shard::Direct(store) => {
                    let (store, runtime) = (Arc::clone(store), Handle::current());
                    // If this future is dropped, the messages end for the thread, because it might wait for more.
                    let (_guard, dropped) = oneshot::channel::<()>();
                    let messages = messages.take_until(dropped);
                    let filled = move || catch_panic(|| fill(&*store, &population, messages, &runtime));
                    let filled = tokio::task::spawn_blocking(filled).await;
                    let filled = filled.map_err(|error| Error::Internal(error.to_string())).flatten();
                    filled.map_err(|error| self.failure(index, error).error)
                }
            }
        });
        join_all(filling).await.into_iter().collect()
    }

    /// Checks the memory of all shards in this process together, before one takes the memory that another needs.
    fn check_memory(&self, rows: impl Iterator<Item = u64>) -> Result<()> {
        let in_memory = |shard: &Shard| shard.store().is_some_and(|store| !store.is_persistent());
        let shards = self.shards.iter().zip(rows).filter(|(shard, _)| in_memory(shard));
        // The old rows stay in memory until the new ones are complete.
        check_rows(shards.map(|(_, rows)| rows).sum())
    }
}

/// Fills a store of this process on a thread that may block.
fn fill(
    store: &dyn Store,
    population: &Population,
    messages: impl Stream<Item = ArrowMessage>,
    runtime: &Handle,
) -> Result<()> {
    let mut messages = pin!(messages);
    let mut reader = MessageReader::default();
    store.populate(population, &mut || {
        while let Some(ArrowMessage { header, body }) = runtime.block_on(messages.next()) {
            if let Some(batch) = reader.read(header, body)? {
                return Ok(Some(batch));
            }
        }
        reader.finish()?;
        Ok(None)
    })
}

/// The requests of a population: the first announces the rows, each of the others has one message.
fn requests(
    Population { rows, total_rows, replace }: Population,
    messages: impl Stream<Item = ArrowMessage> + Send,
) -> impl Stream<Item = PopulateRequest> + Send {
    let begin = Some(PopulateBegin { rows, total_rows, replace });
    let first = PopulateRequest { begin, ipc_header: Bytes::new(), ipc_body: Bytes::new() };
    let others = messages.map(|ArrowMessage { header, body }| PopulateRequest {
        begin: None,
        ipc_header: header,
        ipc_body: body,
    });
    stream::iter([first]).chain(others)
}
