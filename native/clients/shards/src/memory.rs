//! Rows in memory: blocks stored by columns in Arrow's layout, and an index.
//!
//! A reader loads the current view without a lock, and then locks only the block of its row. Writers take turns. A block that a
//! scan still holds is copied before one of its rows is replaced.

mod index;
pub(crate) mod plan;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arc_swap::ArcSwap;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};

use crate::aggregate::{Aggregate, Aggregation};
use crate::block::{BLOCK_ROWS, Block, Columns};
use crate::row::{ROW_BYTES, Row};
use crate::store::{Blocks, EachRow, NextBatch, Population, Store};
use index::{Index, spread};

/// A position has 32 bits, of which one value is reserved for an empty slot.
const MOST_ROWS: u64 = u32::MAX as u64 - 1;

/// The number of keys ahead of the current one at which a row is prefetched. The rows prefetched at a time fit into the
/// first-level cache.
const KEYS_AHEAD: usize = 8;

type Shared = RwLock<Arc<Block>>;

/// The blocks and index that readers use. A row's position is its block's number times [`BLOCK_ROWS`], plus its place in the
/// block.
#[derive(Debug)]
struct View {
    index: Arc<Index>,
    blocks: Vec<Arc<Shared>>,
}

/// A store of rows in memory.
#[derive(Debug)]
pub struct MemoryStore {
    view: ArcSwap<View>,
    rows: AtomicU64,
    writing: Mutex<Writing>,
    /// Rows planned for the populations under way.
    coming: AtomicU64,
}

/// The state that only writers use, under a lock.
#[derive(Debug, Default)]
struct Writing {
    /// Rows for which memory was checked in advance. For further rows it is checked block by block.
    planned: u64,
    populated: Option<u64>,
}

/// A guard that counts the rows of a population as planned until it is dropped.
struct Planned<'store> {
    coming: &'store AtomicU64,
    rows: u64,
}

impl Drop for Planned<'_> {
    fn drop(&mut self) {
        self.coming.fetch_sub(self.rows, Ordering::AcqRel);
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::for_rows(0)
    }

    /// An empty store for this many rows, whose memory has been checked.
    fn for_rows(planned: u64) -> Self {
        Self {
            view: ArcSwap::from_pointee(View::for_rows(planned)),
            rows: AtomicU64::new(0),
            writing: Mutex::new(Writing { planned, populated: None }),
            coming: AtomicU64::new(0),
        }
    }

    /// Checks that there is memory for these rows and the rows of other populations under way, and counts them until the guard is dropped.
    fn plan(&self, rows: u64) -> Result<Planned<'_>> {
        plan::check_rows(rows)?;
        let others = self.coming.fetch_add(rows, Ordering::AcqRel);
        let planned = Planned { coming: &self.coming, rows };
        plan::check_rows(others.saturating_add(rows))?;
        Ok(planned)
    }

    fn write(&self, planned: u64, rows: Columns<'_>) -> Result<()> {
        let mut next = 0;
        while next < rows.len() {
            let count = self.rows.load(Ordering::Relaxed);
            let place = usize::try_from(count % BLOCK_ROWS as u64).unwrap_or(0);
            let most = rows.len().min(next + BLOCK_ROWS - place);
            let view = self.view_with_room(planned, count, (most - next) as u64)?;
            next = self.write_into_last(&view, count, rows.slice(next, most))? + next;
        }
        Ok(())
    }

    /// The current view, extended if necessary: its last block has room, and its index takes `more` rows after the first
    /// `count`.
    fn view_with_room(&self, planned: u64, count: u64, more: u64) -> Result<Arc<View>> {
        let view = self.view.load_full();
        let has_block = view.blocks.len() as u64 * BLOCK_ROWS as u64 > count;
        let needed = count + more;
        if has_block && needed <= view.index.most_rows() {
            return Ok(view);
        }
        if needed > MOST_ROWS {
            return Err(Error::NotEnoughMemory(format!(
                "a shard in memory holds at most {MOST_ROWS} rows; use more shards"
            )));
        }
        let mut blocks = view.blocks.clone();
        if !has_block {
            if needed > planned {
                plan::check_bytes((BLOCK_ROWS * ROW_BYTES) as u64)?;
            }
            blocks.push(Arc::new(RwLock::new(Arc::new(Block::with_capacity(BLOCK_ROWS)))));
        }
        let index = if needed <= view.index.most_rows() {
            Arc::clone(&view.index)
        } else {
            let rows = (needed * 2).min(MOST_ROWS);
            plan::check_bytes(rows * index::BYTES_PER_ROW)?;
            Arc::new(view.indexed(rows))
        };
        let view = Arc::new(View { index, blocks });
        self.view.store(Arc::clone(&view));
        Ok(view)
    }

    /// Appends rows to the last block, up to and including the first one that replaces another. Returns the number of rows
    /// written.
    fn write_into_last(&self, view: &View, count: u64, rows: Columns<'_>) -> Result<usize> {
        let first = u32::try_from(count).map_err(|_| Error::Internal(format!("{count} rows in memory")))?;
        let last = &view.blocks[view.blocks.len() - 1];
        // Readers that find a new row in the index wait for this lock, and thereby for the row.
        let mut block = write(last);
        let block_start = first - u32::try_from(block.len()).unwrap_or(0);
        let mut added = 0;
        let mut replaced = None;
        while added < rows.len() && replaced.is_none() {
            let key = rows.keys[added];
            // The number fits, since a block has fewer rows.
            let position = first + u32::try_from(added).unwrap_or(0);
            let is_key = |found: u32| {
                if found >= first {
                    rows.keys[(found - first) as usize] == key
                } else if found >= block_start {
                    block.columns().keys[(found - block_start) as usize] == key
                } else {
                    view.with_block(found, |block, place| block.columns().keys.get(place) == Some(&key)) == Some(true)
                }
            };
            replaced = view.index.find_or_insert(spread(key), position, is_key);
            added += usize::from(replaced.is_none());
        }
        if added > 0 {
            Arc::make_mut(&mut block).extend(rows.slice(0, added));
            self.rows.store(count + added as u64, Ordering::Release);
        }
        let Some(position) = replaced else { return Ok(added) };
        let row = rows.slice(added, added + 1);
        if position >= block_start {
            Arc::make_mut(&mut block).write((position - block_start) as usize, row);
        } else {
            drop(block);
            if let Some(block) = view.blocks.get(position as usize / BLOCK_ROWS) {
                Arc::make_mut(&mut write(block)).write(position as usize % BLOCK_ROWS, row);
            }
        }
        Ok(added + 1)
    }
}

impl View {
    fn for_rows(rows: u64) -> Self {
        Self { index: Arc::new(Index::for_rows(rows)), blocks: Vec::new() }
    }

    /// A larger index of the same rows.
    fn indexed(&self, most_rows: u64) -> Index {
        let index = Index::for_rows(most_rows);
        let mut position = 0;
        for block in &self.blocks {
            for key in read(block).columns().keys {
                // No key occurs twice.
                index.find_or_insert(spread(*key), position, |_| false);
                position += 1;
            }
        }
        index
    }

    /// Calls `work` with the block of a position and the place in it.
    fn with_block<T>(&self, position: u32, work: impl FnOnce(&Block, usize) -> T) -> Option<T> {
        let block = self.blocks.get(position as usize / BLOCK_ROWS)?;
        Some(work(&read(block), position as usize % BLOCK_ROWS))
    }

    /// Calls `work` with the row of a key. Returns `None` if there is none.
    fn with_row<T>(&self, key: i64, mut work: impl FnMut(Columns<'_>) -> T) -> Option<T> {
        self.index.candidates(spread(key)).find_map(|position| {
            self.with_block(position, |block, place| {
                let rows = block.columns();
                (rows.keys.get(place) == Some(&key)).then(|| work(rows.slice(place, place + 1)))
            })?
        })
    }

    /// Prefetches the row that is likely the key's.
    fn prefetch(&self, key: i64) {
        if let Some(position) = self.index.candidates(spread(key)).next() {
            self.with_block(position, Block::prefetch);
        }
    }
}

fn read(block: &Shared) -> RwLockReadGuard<'_, Arc<Block>> {
    block.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(block: &Shared) -> RwLockWriteGuard<'_, Arc<Block>> {
    block.write().unwrap_or_else(PoisonError::into_inner)
}

impl Store for MemoryStore {
    fn rows(&self) -> u64 {
        self.rows.load(Ordering::Acquire)
    }

    fn get(&self, key: i64) -> Result<Option<Row>> {
        Ok(self.view.load().with_row(key, |rows| rows.row(0)))
    }

    fn multi_get(&self, keys: &[i64], each: &mut EachRow<'_>) -> Result<()> {
        let view = self.view.load();
        // Random memory accesses take most of the time, so they are prefetched several keys ahead: first the index, then the
        // row.
        let (in_index, in_rows) = (2 * KEYS_AHEAD, KEYS_AHEAD);
        keys.iter().take(in_index).for_each(|key| view.index.prefetch(spread(*key)));
        keys.iter().take(in_rows).for_each(|key| view.prefetch(*key));
        for (index, key) in keys.iter().enumerate() {
            if let Some(next) = keys.get(index + in_index) {
                view.index.prefetch(spread(*next));
            }
            if let Some(next) = keys.get(index + in_rows) {
                view.prefetch(*next);
            }
            view.with_row(*key, |row| each(index, row));
        }
        Ok(())
    }

    fn put(&self, rows: Columns<'_>) -> Result<()> {
        let writing = lock(&self.writing);
        self.write(writing.planned, rows)
    }

    fn scan(&self) -> Blocks {
        let blocks = self.view.load().blocks.clone();
        // The last block may have been made for rows that are not written yet.
        let blocks = blocks.into_iter().map(|block| Arc::clone(&read(&block))).filter(|block| !block.is_empty());
        Box::new(blocks.map(Ok))
    }

    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        aggregation.validate()?;
        let mut all = Aggregate::none(aggregation.column);
        for block in &self.view.load().blocks {
            cancel.check()?;
            let block = Arc::clone(&read(block));
            all.add(aggregation, block.columns());
        }
        Ok(all)
    }

    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()> {
        population.check_empty(self.rows())?;
        // The old rows stay until the new ones are complete, so there must be memory for both.
        let _planned = self.plan(population.rows)?;
        let coming = Self::for_rows(population.rows);
        let mut received = 0;
        while let Some(batch) = next()? {
            received += batch.num_rows() as u64;
            population.check_not_more(received)?;
            coming.put(Columns::of_batch(&batch)?)?;
        }
        population.check_received(received)?;
        let mut writing = lock(&self.writing);
        // Another caller may have written meanwhile.
        population.check_empty(self.rows())?;
        let rows = coming.rows();
        *writing = Writing { planned: population.rows, populated: Some(population.total_rows) };
        self.view.store(coming.view.into_inner());
        self.rows.store(rows, Ordering::Release);
        Ok(())
    }

    fn populated(&self) -> Option<u64> {
        lock(&self.writing).populated
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
