//! Each operation on files fails once, or all from one on, and then the machine crashes: no acknowledged write is lost, and no
//! damaged data is taken for valid.

mod common;
#[path = "common/faulty.rs"]
mod faulty;

use std::collections::BTreeSet;
use std::io::ErrorKind;

use boundary_bench_ingest::store::{Select, Value, Wal, replay};
use boundary_bench_ingest::{Durability, IngestStore, StoreOptions};
use common::{Folder, write};
use faulty::{Fault, Faulty, Tail};

const FAULTS: [Fault; 4] = [
    Fault::Once(ErrorKind::StorageFull),
    Fault::Once(ErrorKind::Other),
    Fault::From(ErrorKind::StorageFull),
    Fault::From(ErrorKind::Other),
];

const TAILS: [Tail; 3] = [Tail::Nothing, Tail::Half, Tail::Zeros];

/// Entries of many lengths, so that a part of one is never another.
fn entry(number: usize) -> Vec<u8> {
    let text = format!("entry {number}: ");
    text.bytes().cycle().take(40 + number * 37).collect()
}

/// Appends to a log and removes some entries; returns the entries that must be there, and all that may be.
fn log(folder: &Folder, files: &Faulty) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut kept, mut tried) = (BTreeSet::new(), BTreeSet::new());
    let Ok(wal) = Wal::open_with(files.clone(), &folder.0, true, 0) else { return (kept, tried) };
    for number in 0..12 {
        tried.insert(number);
        if wal.append(|out| out.extend(entry(number))).is_ok() {
            kept.insert(number);
        }
        if number == 4 || number == 8 {
            let _ = wal.rotate();
        }
        if number == 6 {
            // As after a flush: the entries before the rotation are in data files.
            if let Ok(first) = wal.rotate() {
                let _ = wal.remove_before(first);
                kept.clear();
            }
        }
    }
    (kept, tried)
}

#[test]
fn a_log_keeps_what_was_acknowledged_whatever_operation_fails() {
    let mut runs = 0;
    for fault in FAULTS {
        for tail in TAILS {
            for fails_at in 0.. {
                let folder = Folder::new();
                let files = Faulty::new(fails_at, fault);
                let (kept, tried) = log(&folder, &files);
                files.crash(tail);
                // The folder itself may not have been created.
                let mut found = BTreeSet::new();
                replay(&folder.0, 0, |bytes| {
                    let number = tried.iter().copied().find(|number| entry(*number) == bytes);
                    found.insert(
                        number.unwrap_or_else(|| panic!("{fault:?} at {fails_at}, {tail:?}: no entry of ours")),
                    );
                    Ok(())
                })
                .unwrap();
                assert!(
                    found.is_superset(&kept),
                    "{fault:?} at {fails_at}, {tail:?}: {kept:?} were kept, {found:?} found"
                );
                runs += 1;
                if !files.has_failed() {
                    assert_eq!(kept, (7..12).collect());
                    break;
                }
            }
        }
    }
    // Each append is a write and a sync.
    assert!(runs > 4 * 3 * 24, "{runs}");
}

/// Writes and flushes; returns the times of the points that must be there, and of all that may be.
fn store(folder: &Folder, files: &Faulty) -> (BTreeSet<i64>, BTreeSet<i64>) {
    let (mut kept, mut tried) = (BTreeSet::new(), BTreeSet::new());
    let options = StoreOptions { durability: Durability::Durable, ..folder.options() };
    let Ok(store) = IngestStore::open_with(&options, files.clone()) else { return (kept, tried) };
    if store.create_database("db").is_err() {
        return (kept, tried);
    }
    for time in 0..5 {
        tried.insert(time);
        if write(&store, &format!("m,host=a v={time} {time}")).is_ok() {
            kept.insert(time);
        }
        if time == 1 || time == 3 {
            let _ = store.flush();
        }
    }
    // Points are set aside only because they can't be stored, never for a fault of the disk.
    assert_eq!(store.status().set_aside_points, 0);
    (kept, tried)
}

fn times(store: &IngestStore) -> BTreeSet<i64> {
    let rows = store.select("db", &Select { measurement: "m".to_owned(), ..Select::default() }).unwrap().rows;
    let times = rows.into_iter().map(|row| match row[..] {
        [Value::Integer(time), Value::Text(_), Value::Float(value)] if value.to_bits() == (time as f64).to_bits() => {
            time
        }
        _ => panic!("{row:?} was never written"),
    });
    times.collect()
}

#[test]
fn a_store_keeps_what_was_acknowledged_whatever_operation_fails() {
    for fault in [Fault::Once(ErrorKind::Other), Fault::From(ErrorKind::StorageFull)] {
        for fails_at in 0.. {
            let folder = Folder::new();
            let files = Faulty::new(fails_at, fault);
            let (kept, tried) = store(&folder, &files);
            files.crash(TAILS[fails_at % TAILS.len()]);
            let store = folder.open();
            store.create_database("db").unwrap();
            let found = times(&store);
            let place = format!("{fault:?} at {fails_at}");
            assert!(
                found.is_superset(&kept) && found.is_subset(&tried),
                "{place}: {kept:?} were kept, {found:?} found"
            );
            write(&store, "m,host=a v=100 100").unwrap();
            store.flush().unwrap();
            assert_eq!(folder.logs().len(), 1, "{place}: {:?}", folder.logs());
            let mut expected = found;
            expected.insert(100);
            assert_eq!(times(&store), expected, "{place}");
            if !files.has_failed() {
                assert_eq!(kept.len(), 5);
                break;
            }
        }
    }
}

#[test]
fn a_file_is_not_written_to_after_a_failed_sync() {
    let mut names = BTreeSet::new();
    for fails_at in 0..20 {
        let folder = Folder::new();
        let files = Faulty::new(fails_at, Fault::Once(ErrorKind::Other));
        let Ok(wal) = Wal::open_with(files.clone(), &folder.0, true, 0) else { continue };
        let Err(error) = wal.append(|out| out.extend(entry(1))) else { continue };
        assert!(error.to_string().contains(".wal"), "{error}");
        wal.append(|out| out.extend(entry(2))).unwrap();
        let logs: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(logs.len(), 1, "a file without entries does not stay");
        names.extend(logs);
        files.crash(Tail::Nothing);
        let mut found = Vec::new();
        replay(&folder.0, 0, |bytes| {
            found.push(bytes.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [entry(2)]);
    }
    // After a failed write the file is used further, after a failed sync the next file.
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["000000000001.wal", "000000000002.wal"]);
}
