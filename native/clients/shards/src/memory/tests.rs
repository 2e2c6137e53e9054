use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::aggregate::{Column, Sum};
use crate::made_rows::{MadeRows, made_checksum};
use crate::store::checksum;

fn row(key: i64, quantity: i32) -> Row {
    Row { quantity, ..Row::made(key) }
}

fn block(rows: &[(i64, i32)]) -> Block {
    let mut block = Block::with_capacity(rows.len());
    rows.iter().for_each(|(key, quantity)| block.push(&row(*key, *quantity)));
    block
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Few keys, so that rows are replaced: in the same call, in the last block, and in earlier blocks.
    #[test]
    fn it_holds_what_a_map_would(
        calls in prop::collection::vec(prop::collection::vec((-6000_i64..6000, any::<i32>()), 0..5000), 1..8),
        scanned in 0_usize..8,
    ) {
        let store = MemoryStore::new();
        let mut model = BTreeMap::new();
        let mut held = Vec::new();
        for (number, rows) in calls.iter().enumerate() {
            store.put(block(rows).columns()).unwrap();
            model.extend(rows.iter().copied());
            if number == scanned {
                // The blocks that a scan has returned never change.
                let blocks: Vec<Arc<Block>> = store.scan().map(Result::unwrap).collect();
                held.push((blocks.clone(), blocks.iter().map(|block| block.columns().checksum()).collect::<Vec<_>>()));
            }
        }
        prop_assert_eq!(store.rows(), model.len() as u64);
        for key in -6000..6000 {
            let expected = model.get(&key).map(|quantity| row(key, *quantity));
            prop_assert_eq!(store.get(key).unwrap(), expected);
        }
        let mut scanned: Vec<(i64, i32)> = Vec::new();
        for block in store.scan() {
            let block = block.unwrap();
            let rows = block.columns();
            scanned.extend(rows.keys.iter().copied().zip(rows.quantities.iter().copied()));
        }
        scanned.sort_unstable();
        prop_assert!(scanned.into_iter().eq(model.clone()));
        let all = store.aggregate(&Aggregation { column: Column::Quantity, filter: None }, &CancelToken::default()).unwrap();
        prop_assert_eq!(all.count, model.len() as u64);
        prop_assert_eq!(all.sum, Sum::Integer(model.values().map(|quantity| i128::from(*quantity)).sum()));
        for (blocks, sums) in held {
            prop_assert_eq!(blocks.iter().map(|block| block.columns().checksum()).collect::<Vec<_>>(), sums);
        }
    }
}

fn made(store: &MemoryStore, rows: u64, replace: bool) -> Result<()> {
    let mut blocks = MadeRows::new(0, 1, rows);
    let mut next = || blocks.next().map(|block| Arc::new(block).to_batch()).transpose();
    store.populate(&Population { rows, total_rows: rows, replace }, &mut next)
}

#[test]
fn a_population_is_what_was_made() {
    let store = MemoryStore::new();
    made(&store, 30_000, false).unwrap();
    assert_eq!(store.populated(), Some(30_000));
    assert_eq!(checksum(&store).unwrap(), (30_000, made_checksum(30_000)));
    assert_eq!(made(&store, 10, false).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    made(&store, 10_000, true).unwrap();
    assert_eq!(checksum(&store).unwrap(), (10_000, made_checksum(10_000)));
    assert_eq!(store.get(20_000).unwrap(), None);
    let wrong = Population { rows: 7, total_rows: 7, replace: true };
    assert_eq!(store.populate(&wrong, &mut || Ok(None)).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    let huge = Population { rows: u64::MAX, total_rows: u64::MAX, replace: true };
    assert_eq!(store.populate(&huge, &mut || Ok(None)).unwrap_err().code(), "BB_NOT_ENOUGH_MEMORY");
    // A population that sends more rows than announced is refused before memory runs out.
    let mut taken = 0;
    let mut endless = || {
        taken += 1;
        Arc::new(block(&[(taken, 0)])).to_batch().map(Some)
    };
    assert_eq!(store.populate(&wrong, &mut endless).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    assert_eq!(taken, 8);
    // The rows from before are still there.
    assert_eq!((store.populated(), store.rows()), (Some(10_000), 10_000));
    assert_eq!(checksum(&store).unwrap(), (10_000, made_checksum(10_000)));
}

#[test]
fn populations_at_the_same_time_do_not_mix() {
    let store = MemoryStore::new();
    let mut outer = MadeRows::new(0, 1, 10_000);
    let mut is_first = true;
    let mut next = || {
        if std::mem::take(&mut is_first) {
            // Another population begins and ends meanwhile.
            made(&store, 500, true)?;
            assert_eq!(checksum(&store)?, (500, made_checksum(500)));
        }
        outer.next().map(|block| Arc::new(block).to_batch()).transpose()
    };
    let population = |replace| Population { rows: 10_000, total_rows: 10_000, replace };
    store.populate(&population(true), &mut next).unwrap();
    assert_eq!(checksum(&store).unwrap(), (10_000, made_checksum(10_000)));
    // Rows written meanwhile are not removed by a population without `replace`.
    let store = MemoryStore::new();
    let mut ours = MadeRows::new(0, 1, 10_000);
    let mut next = || {
        store.put(block(&[(7, 7)]).columns())?;
        ours.next().map(|block| Arc::new(block).to_batch()).transpose()
    };
    assert_eq!(store.populate(&population(false), &mut next).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    assert_eq!((store.rows(), store.get(7).unwrap()), (1, Some(row(7, 7))));
}

#[test]
fn readers_see_whole_rows_while_others_write() {
    const KEYS: i64 = 9_000;
    let store = MemoryStore::new();
    std::thread::scope(|scope| {
        let store = &store;
        let writers = [0, 1].map(|writer| {
            scope.spawn(move || {
                for round in 0..20 {
                    let rows: Vec<_> = (0..KEYS).filter(|key| key % 2 == writer).map(|key| (key, round)).collect();
                    rows.chunks(700).for_each(|rows| store.put(block(rows).columns()).unwrap());
                }
            })
        });
        scope.spawn(move || {
            let mut seen = vec![-1; usize::try_from(KEYS).unwrap()];
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                for (key, last) in (0..KEYS).zip(&mut seen) {
                    let Some(found) = store.get(key).unwrap() else {
                        assert_eq!(*last, -1, "the row {key} is gone");
                        continue;
                    };
                    assert!(found.quantity >= *last, "the row {key} went back");
                    assert_eq!(found, row(key, found.quantity));
                    *last = found.quantity;
                }
                for block in store.scan() {
                    let block = block.unwrap();
                    (0..block.len()).for_each(|place| {
                        let found = block.row(place);
                        assert_eq!(found, row(found.key, found.quantity));
                    });
                }
            }
        });
    });
    assert_eq!(store.rows(), KEYS.unsigned_abs());
}
