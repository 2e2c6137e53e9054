//! The interface of a store of one shard's rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

use crate::aggregate::{Aggregate, Aggregation};
use crate::block::{Block, Columns};
use crate::row::Row;

/// The blocks of a scan, one after another.
pub type Blocks = Box<dyn Iterator<Item = Result<Arc<Block>>> + Send>;

/// Returns the next batch of a population's rows, or `None` at their end.
pub type NextBatch<'a> = dyn FnMut() -> Result<Option<RecordBatch>> + 'a;

/// Takes the index of a requested key and its row.
pub type EachRow<'a> = dyn FnMut(usize, Columns<'_>) + 'a;

/// The announced size of a population, and whether it replaces rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Population {
    /// The number of rows that this shard gets.
    pub rows: u64,
    /// The number of rows that all shards get together.
    pub total_rows: u64,
    /// Whether existing rows are replaced when the new ones are complete. If not, existing rows are an error.
    pub replace: bool,
}

/// A store of one shard's rows. All methods may be called from many threads at once.
pub trait Store: Send + Sync {
    /// The number of rows in the store.
    fn rows(&self) -> u64;

    /// The row of a key, or `None` if there is none.
    fn get(&self, key: i64) -> Result<Option<Row>>;

    /// Calls `each` with the index of each key that has a row, and with the row.
    fn multi_get(&self, keys: &[i64], each: &mut EachRow<'_>) -> Result<()> {
        for (index, key) in keys.iter().enumerate() {
            if let Some(row) = self.get(*key)? {
                each(index, Columns::of_row(&row));
            }
        }
        Ok(())
    }

    /// Writes rows, and overwrites rows with the same keys. Of several rows with one key the last one counts. A persistent store
    /// has them on the disk when this returns.
    fn put(&self, rows: Columns<'_>) -> Result<()>;

    /// All rows as blocks, in no particular order. Each block is consistent in itself.
    fn scan(&self) -> Blocks;

    /// Sums over a column of the rows that pass a filter.
    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate>;

    /// Replaces all rows by the batches that `next` returns until `None`. They must hold as many rows as announced, with
    /// ascending keys in a persistent store. The new rows take effect all at once, after the last. After an error nothing has
    /// changed. While `next` waits, other threads may call any method, also this one.
    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()>;

    /// The rows of all shards together in the last completed population, or `None` before one.
    fn populated(&self) -> Option<u64>;

    /// Whether rows survive the end of the process. Calls may wait for the disk then.
    fn is_persistent(&self) -> bool;
}

impl Population {
    /// Checks that the store is empty or may be replaced.
    pub(crate) fn check_empty(&self, rows: u64) -> Result<()> {
        if rows == 0 || self.replace {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("it has {rows} rows already; use them, or ask to replace them")))
    }

    /// Checks that no more rows were received than announced.
    pub(crate) fn check_not_more(&self, received: u64) -> Result<()> {
        if received <= self.rows { Ok(()) } else { self.check_received(received) }
    }

    /// Checks that as many rows were received as announced.
    pub(crate) fn check_received(&self, received: u64) -> Result<()> {
        if received == self.rows {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("{} rows were announced, and {received} came", self.rows)))
    }
}

/// The number of all rows and the wrapping sum of their hashes.
pub fn checksum(store: &dyn Store) -> Result<(u64, u32)> {
    store.scan().try_fold((0, 0), |(rows, sum): (u64, u32), block| {
        let block = block?;
        Ok((rows + block.len() as u64, sum.wrapping_add(block.columns().checksum())))
    })
}
