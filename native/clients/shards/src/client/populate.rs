//! Populates all shards with the benchmarks' rows, one stream to each.

use std::sync::Arc;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;

use super::{Shard, ShardClient, shard_number};
use crate::ipc::{block_header, end_message, schema_message};
use crate::made_rows::MadeRows;
use crate::memory::plan::check_rows;
use crate::proto::{PopulateBegin, PopulateRequest};
use crate::store::{Population, Store};

impl ShardClient {
    /// Populates all shards at the same time with the made rows of the keys from 0 to `total_rows`; making them is part of the
    /// call. A shard keeps its old rows until all new ones have arrived.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where a shard has rows and `replace` is false, [`Error::NotEnoughMemory`] before the first
    /// row; else the error of a shard, which names it. The other shards are populated then.
    pub async fn populate(&self, total_rows: u64, replace: bool) -> Result<()> {
        let count = self.shards();
        self.check_memory(total_rows)?;
        let filling = self.shards.iter().enumerate().map(|(index, shard)| async move {
            let rows = MadeRows::new(shard_number(index), count, total_rows);
            // Hashing every key gives the exact count, in a hundredth of the time that making the rows takes.
            let population = Population { rows: rows.count_rows(), total_rows, replace };
            match shard {
                Shard::Remote(remote) => {
                    remote.populate(stream::iter(messages(population, rows)), self.deadline).await.map(drop)
                }
                Shard::Direct(store) => {
                    let store = Arc::clone(store);
                    let filled = tokio::task::spawn_blocking(move || catch_panic(|| fill(&*store, &population, rows)));
                    let filled = filled.await.map_err(|error| Error::Internal(error.to_string())).flatten();
                    filled.map_err(|error| self.failure(index, error).error)
                }
            }
        });
        join_all(filling).await.into_iter().collect()
    }

    /// Checks the memory of all shards in this process together, before one takes the memory that another needs.
    fn check_memory(&self, total_rows: u64) -> Result<()> {
        let stores = self.shards.iter().filter_map(Shard::store);
        let in_memory = stores.filter(|store| !store.is_persistent());
        // The old rows stay in memory until the new ones are complete.
        check_rows(total_rows / u64::from(self.shards()) * in_memory.count() as u64)
    }
}

fn fill(store: &dyn Store, population: &Population, rows: MadeRows) -> Result<()> {
    let mut batches = rows.map(|block| Arc::new(block).to_batch());
    store.populate(population, &mut || batches.next().transpose())
}

/// The messages of a population, made as the stream takes them.
fn messages(population: Population, rows: MadeRows) -> impl Iterator<Item = PopulateRequest> + Send {
    let Population { rows: count, total_rows, replace } = population;
    let begin = PopulateRequest {
        begin: Some(PopulateBegin { rows: count, total_rows, replace }),
        ipc_header: schema_message(),
        ipc_body: Bytes::new(),
    };
    let batches = rows.map(|block| PopulateRequest {
        begin: None,
        ipc_header: block_header(&block),
        ipc_body: Arc::new(block).to_shared(),
    });
    let end = PopulateRequest { begin: None, ipc_header: end_message(), ipc_body: Bytes::new() };
    std::iter::once(begin).chain(batches).chain(std::iter::once(end))
}
