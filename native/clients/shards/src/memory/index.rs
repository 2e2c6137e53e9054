//! The index from keys to the positions of their rows: open addressing, without removal. Readers need no lock. Writers take turns.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::prefetch::prefetch;

/// Slots for each expected row: two thirds of them are full then.
const SLOTS_PER_ROW: (u64, u64) = (3, 2);

/// The part of the slots that may be full: a few rows more than expected need no new index.
const MOST_FULL: (u64, u64) = (4, 5);

/// Bytes of the index for each row, in an index made for the right number of rows.
pub(super) const BYTES_PER_ROW: u64 = 8 * SLOTS_PER_ROW.0 / SLOTS_PER_ROW.1;

/// Spreads the bits of a key with the 64-bit finaliser of `MurmurHash3`. It is independent of the hash that places keys on shards.
pub(super) const fn spread(key: i64) -> u64 {
    let mut bits = key.cast_unsigned();
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

/// The index's slots. An empty slot is 0. A full slot holds the lower half of the key's hash, then the row's position plus one.
#[derive(Debug)]
pub(super) struct Index {
    slots: Box<[AtomicU64]>,
}

/// The bits of a slot that hold the position.
const POSITION: u64 = 0xffff_ffff;

impl Index {
    /// An empty index for this many rows.
    pub(super) fn for_rows(rows: u64) -> Self {
        let slots = (rows.max(1024) * SLOTS_PER_ROW.0).div_ceil(SLOTS_PER_ROW.1);
        Self { slots: (0..slots).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The number of rows that the index takes.
    pub(super) fn most_rows(&self) -> u64 {
        self.slots.len() as u64 * MOST_FULL.0 / MOST_FULL.1
    }

    fn first_slot(&self, hash: u64) -> usize {
        // The upper half of the product is less than the number of slots.
        usize::try_from((u128::from(hash) * self.slots.len() as u128) >> 64).unwrap_or(0)
    }

    /// Prefetches the first slot of a key.
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.first_slot(hash)]);
    }

    /// The positions that may be the key's, by half of its hash: nearly always exactly one if the key has a row, and none otherwise.
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let mut slot = self.first_slot(hash);
        std::iter::from_fn(move || {
            loop {
                let entry = self.slots[slot].load(Ordering::Acquire);
                if entry == 0 {
                    return None;
                }
                slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
                if let Some(position) = matching(entry, hash) {
                    return Some(position);
                }
            }
        })
    }

    /// Returns the position of a key, or inserts `position` for it and returns `None`. Only one thread may call this at a time,
    /// and the index must hold fewer rows than [`Index::most_rows`].
    pub(super) fn find_or_insert(&self, hash: u64, position: u32, is_key: impl Fn(u32) -> bool) -> Option<u32> {
        let mut slot = self.first_slot(hash);
        loop {
            let entry = self.slots[slot].load(Ordering::Relaxed);
            if entry == 0 {
                let entry = (hash << 32) | (u64::from(position) + 1);
                self.slots[slot].store(entry, Ordering::Release);
                return None;
            }
            if let Some(found) = matching(entry, hash)
                && is_key(found)
            {
                return Some(found);
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }
}

/// The position in an entry whose key has this hash.
#[expect(clippy::cast_possible_truncation, reason = "the position is the lower half")]
fn matching(entry: u64, hash: u64) -> Option<u32> {
    (entry >> 32 == hash & POSITION).then_some(((entry & POSITION) - 1) as u32)
}
