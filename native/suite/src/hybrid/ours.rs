//! Our own client.

use boundary_bench_kernel::Result;
use boundary_bench_shards::{ClientOptions, Columns, Row, ShardBatches, ShardClient, ShardLocation, place_of};
use futures_util::stream;

use super::connection::{Batches, Connection};
use super::data::aggregation;
use super::reads::Reads;

/// Our own client.
pub(crate) type Ours = ShardClient;

impl Connection for Ours {
    async fn connect(url: &str) -> Result<Self> {
        let places = url.split(',').map(place_of).collect::<Result<Vec<ShardLocation>>>()?;
        Self::connect(places, &ClientOptions::default()).await
    }

    async fn get(&mut self, key: i64, reads: &mut Reads) -> Result<()> {
        reads.row(key, Self::get(self, key).await?.as_ref())
    }

    async fn multi_get(&mut self, keys: &[i64], reads: &mut Reads) -> Result<()> {
        reads.found(keys, Self::multi_get(self, keys).await?)
    }

    async fn put(&mut self, row: &Row) -> Result<()> {
        Self::put(self, row).await
    }

    async fn put_many(&mut self, packed: &[u8]) -> Result<()> {
        Self::put_many(self, packed).await
    }

    async fn populate(&mut self, batches: &Batches) -> Result<()> {
        let shards = batches.iter().map(|ShardBatches { rows, messages }| {
            // The clones share the memory of the rows.
            ShardBatches { rows: *rows, messages: stream::iter(messages.clone()) }
        });
        self.populate_from(shards.collect(), true).await
    }

    async fn scan(&mut self, reads: &mut Reads) -> Result<()> {
        let mut scan = Self::scan(self);
        while let Some(batch) = scan.next().await {
            let batch = batch.map_err(|failure| failure.error)?;
            reads.scanned(Columns::of_batch(&batch)?)?;
        }
        Ok(())
    }

    async fn push_down(&mut self, reads: &mut Reads) -> Result<()> {
        reads.aggregate(&self.aggregate(&aggregation()?).await?);
        Ok(())
    }

    async fn pull(&mut self, reads: &mut Reads) -> Result<()> {
        reads.aggregate(&self.aggregate_here(&aggregation()?).await?);
        Ok(())
    }
}
