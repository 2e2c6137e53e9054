//! What holds the rows of one shard.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

use crate::aggregate::{Aggregate, Aggregation};
use crate::block::{Block, Columns};
use crate::row::Row;

/// The blocks of a scan, one after the other.
pub type Blocks = Box<dyn Iterator<Item = Result<Arc<Block>>> + Send>;

/// Returns the next rows of a population.
pub type NextBatch<'a> = dyn FnMut() -> Result<Option<RecordBatch>> + 'a;

/// Takes one row of those found.
pub type EachRow<'a> = dyn FnMut(usize, Columns<'_>) + 'a;

/// How a shard is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Population {
    /// The rows that this shard gets.
    pub rows: u64,
    /// The rows that all shards get together.
    pub total_rows: u64,
    /// Whether the rows that there are may be removed when the new ones are whole; else they are an error.
    pub replace: bool,
}

/// What holds the rows of one shard. All of it may be called from many threads at once.
pub trait Store: Send + Sync {
    /// The rows that it holds.
    fn rows(&self) -> u64;

    /// The row of a key.
    ///
    /// # Errors
    /// What the store of the disk says.
    fn get(&self, key: i64) -> Result<Option<Row>>;

    /// Gives `each` the rows found for keys, one at a time, with the number of the key.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn multi_get(&self, keys: &[i64], each: &mut EachRow<'_>) -> Result<()> {
        for (index, key) in keys.iter().enumerate() {
            if let Some(row) = self.get(*key)? {
                each(index, Columns::of_row(&row));
            }
        }
        Ok(())
    }

    /// Writes rows, in place of those with their keys; of several with one key the last one counts. They are on the disk
    /// when this returns, where they are kept there.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`], and what the store of the disk says.
    fn put(&self, rows: Columns<'_>) -> Result<()>;

    /// All rows, in no order. Each block is consistent in itself.
    fn scan(&self) -> Blocks;

    /// Sums over a column.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::Cancelled`], and what the store of the disk says.
    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate>;

    /// Fills the store with the batches that `next` returns until there is none. They hold as many rows as were announced, of
    /// ascending keys where rows are kept on disk. They can be seen when all of them came, in place of all that were there until
    /// then; after an error nothing has changed. While `next` waits, others may do anything, also fill the store.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where there are rows that may not be removed, and for other rows than announced;
    /// [`Error::NotEnoughMemory`] before the first row; the errors of `next`, and what the store of the disk says.
    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()>;

    /// The rows that all shards together got from the last population, where it came to its end.
    fn populated(&self) -> Option<u64>;

    /// Whether rows survive the end of the process. Then calls may wait for the disk.
    fn is_persistent(&self) -> bool;
}

impl Population {
    /// Checks that the rows that there are may be removed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub(crate) fn check_empty(&self, rows: u64) -> Result<()> {
        if rows == 0 || self.replace {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("it has {rows} rows already; use them, or ask to replace them")))
    }

    /// Checks that no more rows came than were announced.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub(crate) fn check_not_more(&self, received: u64) -> Result<()> {
        if received <= self.rows { Ok(()) } else { self.check_received(received) }
    }

    /// Checks that as many rows came as were announced.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub(crate) fn check_received(&self, received: u64) -> Result<()> {
        if received == self.rows {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!("{} rows were announced, and {received} came", self.rows)))
    }
}

/// The number of all rows and the sum of their hashes.
///
/// # Errors
/// As [`Store::scan`].
pub fn checksum(store: &dyn Store) -> Result<(u64, u32)> {
    store.scan().try_fold((0, 0), |(rows, sum): (u64, u32), block| {
        let block = block?;
        Ok((rows + block.len() as u64, sum.wrapping_add(block.columns().checksum())))
    })
}
