//! The rows with which benchmarks populate a shard, block by block, and their expected checksum.

use crate::block::{BLOCK_ROWS, Block};
use crate::ipc::{ArrowMessage, messages};
use crate::placing::{key_hash, shard_of_hash};
use crate::row::made_hash;
use crate::shard_batches::ShardBatches;

/// The made rows of one shard with the keys from 0 to `total_rows`, in the order of their keys.
#[derive(Debug, Clone)]
pub struct MadeRows {
    shard: u32,
    shards: u32,
    next: i64,
    end: i64,
    keys: Vec<(i64, u32)>,
}

impl MadeRows {
    /// The rows of shard `shard` of `shards`, out of `total_rows` rows over all shards.
    pub fn new(shard: u32, shards: u32, total_rows: u64) -> Self {
        Self { shard, shards, next: 0, end: total_rows.cast_signed().max(0), keys: Vec::new() }
    }

    /// The number of rows that are left.
    pub fn count_rows(&self) -> u64 {
        (self.next..self.end).filter(|key| shard_of_hash(key_hash(*key), self.shards) == self.shard).count() as u64
    }

    /// The messages of one Arrow stream with the rows that are left, each made when it is taken.
    pub fn into_messages(self) -> impl Iterator<Item = ArrowMessage> + Send {
        messages(self)
    }

    /// The rows that are left, with their messages made now.
    pub fn into_batches(self) -> ShardBatches<Vec<ArrowMessage>> {
        ShardBatches { rows: self.count_rows(), messages: self.into_messages().collect() }
    }
}

impl Iterator for MadeRows {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.keys.clear();
        self.keys.reserve(BLOCK_ROWS);
        while self.next < self.end && self.keys.len() < BLOCK_ROWS {
            let hash = key_hash(self.next);
            if shard_of_hash(hash, self.shards) == self.shard {
                self.keys.push((self.next, hash));
            }
            self.next += 1;
        }
        if self.keys.is_empty() {
            return None;
        }
        let mut block = Block::with_capacity(self.keys.len());
        block.push_made(&self.keys);
        Some(block)
    }
}

/// The checksum of all made rows with the keys from 0 to `total_rows`.
pub fn made_checksum(total_rows: u64) -> u32 {
    (0..total_rows).fold(0, |sum, key| sum.wrapping_add(made_hash(key.cast_signed())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn the_shards_have_all_rows_once() {
        let mut keys = Vec::new();
        let mut checksum = 0_u32;
        for shard in 0..3 {
            let rows = MadeRows::new(shard, 3, 20_000);
            let expected = rows.count_rows();
            let mut count = 0;
            for block in rows {
                let columns = block.columns();
                assert_eq!(columns.row(columns.len() - 1), Row::made(columns.keys[columns.len() - 1]));
                assert_eq!(columns.row(0), Row::made(columns.keys[0]));
                checksum = checksum.wrapping_add(columns.checksum());
                count += columns.len() as u64;
                keys.extend_from_slice(columns.keys);
            }
            assert_eq!(count, expected);
        }
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..20_000));
        assert_eq!(checksum, made_checksum(20_000));
    }
}
