//! The requirements on a client to be measured.

use boundary_bench_kernel::Result;
use boundary_bench_shards::{ArrowMessage, Row, ShardBatches};

use super::reads::Reads;

/// The rows of a population, for each shard.
pub(crate) type Batches = [ShardBatches<Vec<ArrowMessage>>];

/// A client of all shards, with one caller. Functions that read hand over all rows.
pub(crate) trait Connection: Send + Sized + 'static {
    /// Connects to the shards at these places, separated by commas.
    fn connect(url: &str) -> impl Future<Output = Result<Self>> + Send;

    fn get(&mut self, key: i64, reads: &mut Reads) -> impl Future<Output = Result<()>> + Send;

    fn multi_get(&mut self, keys: &[i64], reads: &mut Reads) -> impl Future<Output = Result<()>> + Send;

    fn put(&mut self, row: &Row) -> impl Future<Output = Result<()>> + Send;

    /// Writes packed rows.
    fn put_many(&mut self, packed: &[u8]) -> impl Future<Output = Result<()>> + Send;

    /// Replaces all rows.
    fn populate(&mut self, batches: &Batches) -> impl Future<Output = Result<()>> + Send;

    fn scan(&mut self, reads: &mut Reads) -> impl Future<Output = Result<()>> + Send;

    /// Aggregates in the shards.
    fn push_down(&mut self, reads: &mut Reads) -> impl Future<Output = Result<()>> + Send;

    /// Aggregates here, over a scan.
    fn pull(&mut self, reads: &mut Reads) -> impl Future<Output = Result<()>> + Send;
}
