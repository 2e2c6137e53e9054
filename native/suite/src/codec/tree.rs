//! A tree of keys: `BTreeMap`, whose keys are texts of eight digits, `%08d` of a number. The number is the value.
//!
//! A key is held as its eight bytes, not as a `String`. A Rust program that knows the size of its keys does so: such keys lie in the
//! nodes of the tree, and one instruction compares two of them. Values are doubles, as in JavaScript.
//!
//! The keys of a tree are put in, and looked up, in a scrambled order. All sides take the keys out of a table that was made before. The
//! result of a look-up is the value. The result of a range is the sum of its values. The result of putting in a key is 1 if the tree did
//! not have it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::{Arc, LazyLock, Mutex};

use boundary_bench_kernel::{Error, Result, lock};

use crate::calls::{InProcessSpec, timed, timed_work};
use crate::sample::CellSample;

/// The bytes of a key.
pub const KEY_BYTES: usize = 8;

/// A key.
pub type Key = [u8; KEY_BYTES];

/// A tree of keys and values.
pub type Tree = BTreeMap<Key, f64>;

/// The keys of the tree of which ranges are read, and of a tree that keys are put into.
const KEYS: u32 = 100_000;

/// The most keys of a tree.
const MOST_KEYS: u32 = 1_000_000;

/// A prime number: its multiples reach each number below a power of ten once.
const STEP: u64 = 7_368_787;

/// The number at a place of the scrambled order of the numbers below `count`.
#[expect(clippy::cast_possible_truncation, reason = "the rest is below a number of 32 bits")]
fn scrambled(place: u32, count: u32) -> u32 {
    (u64::from(place) * STEP % u64::from(count)) as u32
}

/// The key of a number below 10^8.
fn key_of(number: u32) -> Key {
    let mut key = [b'0'; KEY_BYTES];
    let mut rest = number;
    for digit in key.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// Puts in a key and its value. Returns whether the key is new to the tree.
pub fn put(tree: &mut Tree, key: Key, value: f64) -> bool {
    match tree.entry(key) {
        Entry::Vacant(place) => {
            place.insert(value);
            true
        }
        Entry::Occupied(mut place) => {
            place.insert(value);
            false
        }
    }
}

/// Looks up keys, and writes their values, or NaN for a key that the tree does not have. Looks up as many as there are keys and room for
/// values, and returns the number of keys found.
pub fn get_all(tree: &Tree, keys: &[Key], values: &mut [f64]) -> usize {
    let mut found = 0;
    for (key, value) in keys.iter().zip(values) {
        let held = tree.get(key);
        found += usize::from(held.is_some());
        *value = held.copied().unwrap_or(f64::NAN);
    }
    found
}

/// Puts keys in, as [`put`] does. Returns the number of keys that the tree did not have, of as many as there are keys and values.
pub fn put_all(tree: &mut Tree, keys: &[Key], values: &[f64]) -> usize {
    keys.iter().zip(values).filter(|(key, value)| put(tree, **key, **value)).count()
}

/// Writes the values of consecutive keys, of which `first` is the first one or before it. Returns the number of values: fewer than there
/// is room for if the keys end before.
pub fn range_into(tree: &Tree, first: Key, values: &mut [f64]) -> usize {
    let mut written = 0;
    for (place, value) in values.iter_mut().zip(tree.range(first..).map(|(_, value)| *value)) {
        *place = value;
        written += 1;
    }
    written
}

/// A tree with its keys in the order in which they were put in.
struct Loaded {
    tree: Tree,
    keys: Vec<Key>,
}

/// The tree of `count` keys, made at its first use.
fn loaded(count: u32) -> Arc<Loaded> {
    static LOADED: LazyLock<Mutex<HashMap<u32, Arc<Loaded>>>> = LazyLock::new(Mutex::default);
    let make = || {
        let mut tree = Tree::new();
        let numbers = (0..count).map(|place| scrambled(place, count));
        let keys = numbers.map(|number| {
            let key = key_of(number);
            put(&mut tree, key, f64::from(number));
            key
        });
        let keys = keys.collect();
        Arc::new(Loaded { tree, keys })
    };
    Arc::clone(lock(&LOADED).entry(count).or_insert_with(make))
}

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let (operation, size) = spec.workload.split_once('.').ok_or_else(|| spec.unknown())?;
    let size = size.parse().map_err(|_| spec.unknown())?;
    if !(1..=MOST_KEYS).contains(&size) {
        return Err(spec.unknown());
    }
    match (operation, spec.lane.as_str()) {
        ("tree_get", "call") => Ok(get(spec, &loaded(size))),
        ("tree_range", "call") if size <= KEYS => Ok(range(spec, &loaded(KEYS).tree, size)),
        ("tree_insert", "call") => insert(spec, size),
        _ => Err(spec.unknown()),
    }
}

/// Looks keys up one by one. A batch is a loop.
fn get(spec: &InProcessSpec, Loaded { tree, keys }: &Loaded) -> CellSample {
    let keys = black_box(keys.as_slice());
    let value = |key: &Key| tree.get(key).copied().unwrap_or(f64::NAN);
    if spec.batch == 1 {
        return timed_work(spec.times(), || keys.iter().cycle().take(spec.calls as usize).map(value).sum());
    }
    let batch = (spec.batch as usize).clamp(1, keys.len());
    let whole = keys.len() / batch;
    timed_work(spec.times(), || {
        let batches = (0..spec.calls as usize / batch).map(|number| &keys[number % whole * batch..][..batch]);
        batches.map(|keys| keys.iter().map(value).sum::<f64>()).sum()
    })
}

/// Adds up the values of `size` consecutive keys, from varying ones on.
fn range(spec: &InProcessSpec, tree: &Tree, size: u32) -> CellSample {
    let keys: Vec<Key> = (0..KEYS).map(key_of).collect();
    let starts = KEYS - size + 1;
    timed(spec.times(), |call| {
        let first = black_box(keys[scrambled(call, starts) as usize]);
        tree.range(first..).take(size as usize).map(|(_, value)| *value).sum()
    })
}

/// Puts keys into a tree that is fresh at first, and again each time that it has `size` keys.
fn insert(spec: &InProcessSpec, size: u32) -> Result<CellSample> {
    let keys: Vec<Key> = (0..size).map(|place| key_of(scrambled(place, size))).collect();
    let values: Vec<f64> = (0..size).map(|place| f64::from(scrambled(place, size))).collect();
    // Full trees are kept, since what it takes to drop them is no part of the work.
    let mut trees: Vec<Tree> = Vec::with_capacity(spec.calls.div_ceil(size) as usize);
    let sample = timed_work(spec.times(), || {
        let mut put_in = 0;
        let mut left = spec.calls as usize;
        while left > 0 {
            let mut tree = Tree::new();
            let count = left.min(keys.len());
            put_in += put_all(&mut tree, black_box(&keys[..count]), &values[..count]);
            trees.push(tree);
            left -= count;
        }
        put_in as f64
    });
    let held: usize = trees.iter().map(BTreeMap::len).sum();
    let expected = u64::from(spec.calls) * u64::from(spec.times().repeats);
    if held as u64 == expected {
        return Ok(sample);
    }
    Err(Error::WrongRows(format!("the trees have {held} keys instead of {expected}")))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values come back as they were")]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers_of_eight_digits() {
        for number in [0, 7, 12_345, 999_999, 99_999_999] {
            assert_eq!(key_of(number), *format!("{number:08}").as_bytes());
        }
    }

    #[test]
    fn a_part_of_the_keys_may_be_missing() {
        let mut tree = Tree::new();
        let keys = [3, 1, 2].map(key_of);
        assert_eq!(put_all(&mut tree, &keys[..2], &[3.0, 1.0, 2.0]), 2);
        assert_eq!(put_all(&mut tree, &keys, &[3.5, 1.5]), 0);
        let mut values = [0.0; 4];
        assert_eq!(get_all(&tree, &keys, &mut values), 2);
        assert_eq!(values[..2], [3.5, 1.5]);
        assert!(values[2].is_nan());
        assert_eq!(values[3], 0.0);
        assert_eq!(range_into(&tree, key_of(2), &mut values), 1);
        assert_eq!(values[0], 3.5);
        assert_eq!(range_into(&tree, *b"9       ", &mut values), 0);
    }

    #[test]
    fn unknown_work_is_refused() {
        for workload in
            ["tree_get", "tree_get.x", "tree_get.0", "tree_get.1000001", "tree_range.100001", "tree_other.10"]
        {
            assert!(run(&InProcessSpec::of(["codec", workload, "call"], 1, 1)).is_err());
        }
    }
}
