use std::collections::BTreeMap;

use boundary_bench_kernel::testing::Folder;
use proptest::prelude::*;

use super::*;
use crate::aggregate::{Column, Sum};
use crate::made_rows::{MadeRows, made_checksum};
use crate::store::checksum;

fn row(key: i64, quantity: i32) -> Row {
    Row { quantity, ..Row::made(key) }
}

proptest! {
    // Few cases, since each waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn it_holds_what_a_map_would(
        calls in prop::collection::vec(prop::collection::vec((-300_i64..300, any::<i32>()), 0..200), 1..4),
    ) {
        let folder = Folder::new("model");
        let mut model = BTreeMap::new();
        for rows in &calls {
            // The store is opened again for each call.
            let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
            prop_assert_eq!(store.rows(), model.len() as u64);
            let mut block = Block::with_capacity(rows.len());
            rows.iter().for_each(|(key, quantity)| block.push(&row(*key, *quantity)));
            store.put(block.columns()).unwrap();
            model.extend(rows.iter().copied());
        }
        let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
        for key in -300..300 {
            prop_assert_eq!(store.get(key).unwrap(), model.get(&key).map(|quantity| row(key, *quantity)));
        }
        let mut scanned = Vec::new();
        for block in store.scan() {
            let block = block.unwrap();
            scanned.extend(block.columns().keys.iter().copied().zip(block.columns().quantities.iter().copied()));
        }
        prop_assert!(scanned.into_iter().eq(model.clone()), "in the order of the keys");
        let all = store.aggregate(&Aggregation { column: Column::Quantity, filter: None }, &CancelToken::default()).unwrap();
        prop_assert_eq!(all.sum, Sum::Integer(model.values().map(|quantity| i128::from(*quantity)).sum()));
    }
}

fn made(store: &PersistentStore, rows: u64, replace: bool) -> Result<()> {
    let mut blocks = MadeRows::new(0, 1, rows);
    let mut next = || blocks.next().map(|block| Arc::new(block).to_batch()).transpose();
    store.populate(&Population { rows, total_rows: rows, replace }, &mut next)
}

#[test]
fn a_population_is_found_again() {
    let folder = Folder::new("again");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!(store.populated(), None);
    made(&store, 10_000, false).unwrap();
    assert_eq!(made(&store, 10, false).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!((store.populated(), store.rows()), (Some(10_000), 10_000));
    assert_eq!(checksum(&store).unwrap(), (10_000, made_checksum(10_000)));
    store.put(Columns::of_row(&row(-5, 1))).unwrap();
    made(&store, 100, true).unwrap();
    assert_eq!(checksum(&store).unwrap(), (100, made_checksum(100)));
    store.put(Columns::of_row(&Row::made(100))).unwrap();
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!((store.populated(), store.rows()), (Some(100), 101));
    assert_eq!(checksum(&store).unwrap(), (101, made_checksum(101)));
}

#[test]
fn a_population_that_breaks_off_leaves_nothing() {
    let folder = Folder::new("broken");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    let mut blocks = MadeRows::new(0, 1, 10_000);
    let mut next = || match blocks.next() {
        Some(block) if block.columns().keys[0] == 0 => Arc::new(block).to_batch().map(Some),
        _ => Err(Error::Cancelled),
    };
    let population = Population { rows: 10_000, total_rows: 10_000, replace: false };
    assert_eq!(store.populate(&population, &mut next).unwrap_err().code(), "BB_ABORTED");
    assert_eq!((store.populated(), store.rows(), store.get(1).unwrap()), (None, 0, None));
    // The same batch twice, so its keys do not ascend.
    let mut again = 0..2;
    let mut next = || {
        again.next().and_then(|_| MadeRows::new(0, 1, 10).next()).map(|block| Arc::new(block).to_batch()).transpose()
    };
    let error = store.populate(&population, &mut next).unwrap_err();
    assert!(error.to_string().contains("the key 0 comes after 9"), "{error}");
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!((store.populated(), store.rows()), (None, 0));
    made(&store, 1000, false).unwrap();
    assert_eq!(checksum(&store).unwrap(), (1000, made_checksum(1000)));
}

#[test]
fn a_population_that_breaks_off_leaves_what_was_there() {
    let folder = Folder::new("kept");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    made(&store, 1000, false).unwrap();
    store.put(Columns::of_row(&row(-5, 1))).unwrap();
    let population = Population { rows: 10_000, total_rows: 10_000, replace: true };
    let mut blocks = MadeRows::new(0, 1, 10_000).take(1);
    let mut next = || {
        if let Some(block) = blocks.next() {
            return Arc::new(block).to_batch().map(Some);
        }
        // The old rows stay visible and writable while the population is under way.
        assert_eq!((store.rows(), store.get(-5)?), (1001, Some(row(-5, 1))));
        store.put(Columns::of_row(&row(-6, 2)))?;
        Err(Error::Cancelled)
    };
    assert_eq!(store.populate(&population, &mut next).unwrap_err().code(), "BB_ABORTED");
    // More rows than announced.
    let mut next = || MadeRows::new(0, 1, 10).next().map(|block| Arc::new(block).to_batch()).transpose();
    let few = Population { rows: 5, total_rows: 5, replace: true };
    assert_eq!(store.populate(&few, &mut next).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    let check = |store: &PersistentStore| {
        assert_eq!((store.populated(), store.rows()), (Some(1000), 1002));
        assert_eq!((store.get(-6).unwrap(), store.get(999).unwrap()), (Some(row(-6, 2)), Some(Row::made(999))));
    };
    check(&store);
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    check(&store);
    // After a restart, the number of the abandoned keyspace is not given to a new one.
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    made(&store, 10, true).unwrap();
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!(checksum(&store).unwrap(), (10, made_checksum(10)));
    assert_eq!(store.database.keyspace_count(), 1, "what was replaced or broke off is still there");
}

#[test]
fn a_directory_of_something_else_is_refused() {
    let folder = Folder::new("other");
    drop(PersistentStore::open(&folder.0, 1, 3).unwrap());
    for (shard, shards) in [(0, 3), (1, 4)] {
        let error = PersistentStore::open(&folder.0, shard, shards).err().unwrap();
        assert!(error.to_string().contains("holds shard 1 of 3"), "{error}");
    }
    std::fs::write(folder.0.join("manifest.json"), "{}").unwrap();
    assert!(PersistentStore::open(&folder.0, 1, 3).err().unwrap().to_string().contains("no manifest"));
    std::fs::remove_file(folder.0.join("manifest.json")).unwrap();
    assert!(PersistentStore::open(&folder.0, 1, 3).err().unwrap().to_string().contains("not empty"));
}

#[test]
fn a_population_of_other_keys_is_found_again() {
    let folder = Folder::new("own-keys");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    let mut block = Block::with_capacity(1000);
    (0..1000).for_each(|key| block.push(&row(7 * key - 3500, 1)));
    let mut batches = [Arc::new(block).to_batch()].into_iter();
    let population = Population { rows: 1000, total_rows: 1000, replace: false };
    store.populate(&population, &mut || batches.next().transpose()).unwrap();
    let mut manifest = lock(&store.manifest).clone();
    assert_eq!((manifest.keys.len(), manifest.keys.last()), (68, Some(&3493)));
    drop(store);
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    assert_eq!((store.populated(), store.rows(), store.get(-3500).unwrap()), (Some(1000), 1000, Some(row(-3500, 1))));
    drop(store);
    // An older manifest has no keys.
    manifest.keys.clear();
    manifest.write(&folder.0).unwrap();
    let text = std::fs::read_to_string(folder.0.join("manifest.json")).unwrap();
    let text = text.replace(",\n  \"keys\": []", "");
    assert!(!text.contains("\"keys\""), "{text}");
    std::fs::write(folder.0.join("manifest.json"), text).unwrap();
    assert_eq!(PersistentStore::open(&folder.0, 0, 1).unwrap().rows(), 1000);
}

#[test]
fn rows_that_are_gone_are_noticed() {
    let folder = Folder::new("gone");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    made(&store, 1000, false).unwrap();
    let manifest = lock(&store.manifest).clone();
    drop(store);
    let keyspace = manifest.keyspace;
    for (rows, keys, problem) in [
        (2000, Vec::new(), "2000 rows were populated, and 1000 are there"),
        // As many rows as were populated, since others were written instead.
        (1000, vec![0, 1000], "the row 1000, which was populated, is gone"),
    ] {
        manifest.clone().filled(keyspace, (rows, rows), keys).write(&folder.0).unwrap();
        let error = PersistentStore::open(&folder.0, 0, 1).err().unwrap();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_torn_file_is_noticed() {
    let folder = Folder::new("torn");
    let store = PersistentStore::open(&folder.0, 0, 1).unwrap();
    made(&store, 100_000, false).unwrap();
    drop(store);
    let mut largest = (0, std::path::PathBuf::new());
    let mut folders = vec![folder.0.clone()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_none_or(|extension| extension != "jnl") {
                largest = largest.max((entry.metadata().unwrap().len(), entry.path()));
            }
        }
    }
    let mut bytes = std::fs::read(&largest.1).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0);
    std::fs::write(&largest.1, bytes).unwrap();
    let error = PersistentStore::open(&folder.0, 0, 1).err().unwrap();
    assert!(error.to_string().to_lowercase().contains("checksum"), "{error}");
}
