//! The store: which points it keeps and refuses, and what it holds after a crash.

mod common;

use std::path::Path;
use std::sync::Arc;

use boundary_bench_ingest::line::{LineOptions, parse_lines};
use boundary_bench_ingest::msgpack::{ColumnBuffers, ColumnarBatch, ColumnsHead, ColumnsWriter, decode_columns};
use boundary_bench_ingest::store::{Limits, Select, Value};
use boundary_bench_ingest::{Durability, Error, IngestStore, Precision, StoreOptions};
use common::{Folder, write};

fn columns(first: i64, count: i64) -> ColumnarBatch<'static> {
    let head = ColumnsHead {
        measurement: "bench",
        tags: vec![("host", "bench")],
        field: "v",
        len: usize::try_from(count).unwrap(),
        has_timestamps: true,
    };
    let values = (first..first + count).map(|index| index as f64 * 0.001).collect();
    ColumnarBatch { head, values, timestamps: (first..first + count).collect() }
}

fn select(store: &IngestStore, measurement: &str) -> Vec<Vec<Value>> {
    let select = Select { measurement: measurement.to_owned(), ..Select::default() };
    store.select("db", &select).unwrap().rows
}

const LINES: &str =
    "m,host=a v=1.5,n=2i 10\nm,host=b v=2.5,s=\"text\",ok=true 20\nm,host=a V=9,u=18446744073709551615u 15\n";

fn expected() -> Vec<Vec<Value>> {
    use Value::{Boolean, Float, Integer, Null, Text, UInteger};
    // Columns: time, host, V, n, ok, s, u, v.
    let text = |text: &str| Text(text.to_owned());
    vec![
        vec![Integer(10), text("a"), Null, Integer(2), Null, Null, Null, Float(1.5)],
        vec![Integer(15), text("a"), Float(9.0), Null, Null, Null, UInteger(u64::MAX), Null],
        vec![Integer(20), text("b"), Null, Null, Boolean(true), text("text"), Null, Float(2.5)],
    ]
}

#[test]
fn points_are_the_same_in_memory_in_files_and_in_the_log() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    assert_eq!(write(&store, LINES).unwrap(), 3);
    assert_eq!(select(&store, "m"), expected());
    drop(store);

    let store = folder.open();
    assert_eq!(select(&store, "m"), expected());
    store.flush().unwrap();
    assert_eq!(store.unflushed_bytes(), 0);
    assert_eq!(select(&store, "m"), expected());
    write(&store, "m,host=c,rack=1 v=3.5 12\nother x=1i 1\n").unwrap();
    assert_eq!(select(&store, "m").len(), 4);
    drop(store);

    let store = folder.open();
    assert_eq!(store.databases(), ["db"]);
    assert_eq!(store.count("db", "m", None).unwrap(), 4);
    assert_eq!(store.count("db", "m", Some("v")).unwrap(), 3);
    assert_eq!(store.count("db", "m", Some("V")).unwrap(), 1);
    assert_eq!(store.count("db", "m", Some("host")).unwrap(), 0);
    assert_eq!(store.count("db", "nothing", None).unwrap(), 0);
    let database = store.database("db").unwrap();
    assert_eq!(
        (database.measurements(), database.tags("m")),
        (vec!["m".to_owned(), "other".to_owned()], vec!["host".to_owned(), "rack".to_owned()])
    );
    let two = Select {
        measurement: "m".to_owned(),
        columns: vec!["v".to_owned(), "rack".to_owned()],
        from: Some(11),
        until: Some(20),
        limit: Some(1),
        offset: 1,
        descending: true,
    };
    let rows = store.select("db", &two).unwrap();
    assert_eq!(rows.columns, ["time", "rack", "v"]);
    assert_eq!(rows.rows, [[Value::Integer(12), Value::Text("1".to_owned()), Value::Float(3.5)]]);
    store.close().unwrap();
    drop((database, store));
    assert_eq!(folder.open().count("db", "m", None).unwrap(), 4);
}

#[test]
fn columns_are_written() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    let mut bytes = Vec::new();
    let writer = ColumnsWriter::new("bench", &[("host", "bench")], "v").unwrap();
    writer.encode_vec(&[1.0, 2.0], Some(&[1, 2]), &mut bytes).unwrap();
    let batch = decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap();
    assert_eq!(store.write_columns("db", batch, Precision::Milliseconds, 0).unwrap(), 2);
    writer.encode_vec(&[3.0], None, &mut bytes).unwrap();
    let batch = decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap();
    store.write_columns("db", batch, Precision::Milliseconds, 7).unwrap();
    let row = |time, value| vec![Value::Integer(time), Value::Text("bench".to_owned()), Value::Float(value)];
    let rows = [row(7, 3.0), row(1_000_000, 1.0), row(2_000_000, 2.0)];
    assert_eq!(select(&store, "bench"), rows);
    drop(store);
    assert_eq!(select(&folder.open(), "bench"), rows);
    let mut late = columns(0, 1);
    late.timestamps[0] = i64::MAX;
    let error = folder.open().write_columns("db", late, Precision::Seconds, 0).unwrap_err();
    assert!(error.to_string().contains("timestamps[0]"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let folder = Folder::new();
    let store =
        IngestStore::open(&StoreOptions { limits: Limits { series: 3, ..Limits::default() }, ..folder.options() })
            .unwrap();
    assert!(matches!(write(&store, "m v=1"), Err(Error::DatabaseNotFound(name)) if name == "db"));
    store.create_database("db").unwrap();
    write(&store, "m v=1 1").unwrap();
    let error = write(&store, "m,a=1 x=1i 1\nm v=t 2").unwrap_err();
    assert!(error.to_string().contains("\"v\" of \"m\" is of the type float, not boolean"), "{error}");
    // A conflict within one write is refused, too.
    assert!(matches!(write(&store, "n v=1 1\nn,a=2 v=t 2"), Err(Error::TypeConflict { .. })));
    assert_eq!(store.database("db").unwrap().series_count(), 1);
    assert!(matches!(write(&store, "m,a=1 v=1\nm,a=2 v=1\nm,a=3 v=1"), Err(Error::Cardinality { .. })));
    write(&store, "m,a=1 v=1\nm,a=2 v=1").unwrap();
    assert_eq!(store.count("db", "m", None).unwrap(), 3);
    // A second process, or a second store of this one, would write to the same files.
    assert!(matches!(IngestStore::open(&folder.options()), Err(Error::InvalidArgument(_))));
    drop(store);
    // The registered types survive a restart.
    assert!(matches!(write(&folder.open(), "m v=t"), Err(Error::TypeConflict { .. })));
}

#[test]
fn numbers_widen_and_what_contradicts_is_read_as_null() {
    use Value::{Boolean, Float, Integer, Null, Text, UInteger};
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    let fitting = |lines: &str| {
        store.write_fitting_points("db", parse_lines(lines.as_bytes(), &LineOptions::default()).unwrap()).unwrap()
    };
    // Columns: time, f, n, t, u.
    let mut expected = Vec::new();
    assert_eq!(fitting("m n=1i,u=2i,f=1.5,t=\"a\" 1\nm n=2i,u=-3i 2\n"), 2);
    expected.push(vec![Integer(1), Float(1.5), Float(1.0), Text("a".to_owned()), UInteger(2)]);
    expected.push(vec![Integer(2), Null, Float(2.0), Null, Null]);
    assert_eq!(select(&store, "m")[0][2], Integer(1));
    // Both types are in one file, then each in a separate file.
    for flushes in [false, true] {
        let first = if flushes { 10 } else { 3 };
        assert_eq!(
            fitting(&format!("m n=0.5,u=7u {first}\nm n=t,u=t,t=1i,f=2i {}\nm t=1.5 {}\n", first + 1, first + 2)),
            3
        );
        expected.push(vec![Integer(first), Null, Float(0.5), Null, UInteger(7)]);
        expected.push(vec![Integer(first + 1), Float(2.0), Null, Null, Null]);
        expected.push(vec![Integer(first + 2), Null, Null, Null, Null]);
        assert_eq!(select(&store, "m"), expected);
        store.flush().unwrap();
        assert_eq!(select(&store, "m"), expected);
    }
    // A point without values, which exists only in the log.
    fitting("m t=1.5 20\n");
    expected.push(vec![Integer(20), Null, Null, Null, Null]);
    assert_eq!(store.count("db", "m", None).unwrap(), 9);
    assert_eq!(store.count("db", "m", Some("n")).unwrap(), 4);
    assert_eq!(store.count("db", "m", Some("t")).unwrap(), 1);
    // Within one write, the first type counts.
    assert_eq!(fitting("fresh v=t 1\nfresh,a=1 v=1,w=2 2\n"), 2);
    assert_eq!(
        select(&store, "fresh"),
        [[Integer(1), Null, Boolean(true), Null], [Integer(2), Text("1".to_owned()), Null, Float(2.0)]]
    );
    // Columns with another type are refused; a float widens a field of integers.
    let of_field = |field| ColumnarBatch { head: ColumnsHead { field, ..columns(0, 1).head }, ..columns(0, 1) };
    fitting("bench b=t,n=1i 5\n");
    assert!(matches!(
        store.write_columns("db", of_field("b"), Precision::Nanoseconds, 0),
        Err(Error::TypeConflict { .. })
    ));
    store.write_columns("db", of_field("n"), Precision::Nanoseconds, 0).unwrap();
    let host = || Text("bench".to_owned());
    let bench = [[Integer(0), host(), Null, Float(0.0)], [Integer(5), Null, Boolean(true), Float(1.0)]];
    assert_eq!(select(&store, "bench"), bench);
    drop(store);
    // The log restores the same, and so does the catalogue.
    let store = folder.open();
    assert_eq!((select(&store, "m"), select(&store, "bench")), (expected, bench.map(|row| row.to_vec()).to_vec()));
}

#[test]
fn too_much_in_memory_is_refused() {
    let folder = Folder::new();
    let store = IngestStore::open(&StoreOptions { memory_bytes: 1, ..folder.options() }).unwrap();
    store.create_database("db").unwrap();
    let mut written = 0;
    let mut refused = 0;
    for index in 0..200 {
        match write(&store, &format!("m v=1 {index}")) {
            Ok(points) => written += points as u64,
            Err(Error::Busy(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 0);
    // The store flushes by itself once the limit of memory is reached.
    while store.unflushed_bytes() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(store.count("db", "m", None).unwrap(), written);
}

#[test]
fn what_a_crash_cut_off_is_left_out_and_damage_is_told() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    write(&store, "m v=1 1").unwrap();
    write(&store, "m v=2 2").unwrap();
    drop(store);
    let log = folder.logs().pop().unwrap();
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 1]).unwrap();
    let store = folder.open();
    assert_eq!(store.count("db", "m", None).unwrap(), 1);
    write(&store, "m v=3 3").unwrap();
    drop(store);
    assert_eq!(folder.open().count("db", "m", None).unwrap(), 2);
    // A log file that others follow is not cut off: the damaged part is set aside, and the rest is read.
    let mut damaged = std::fs::read(&log).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    std::fs::write(&log, damaged).unwrap();
    let store = folder.open();
    assert_eq!(store.count("db", "m", None).unwrap(), 1);
    assert_eq!(store.status().set_aside.len(), 1);
}

#[test]
fn damage_in_the_last_file_of_the_log_takes_no_other_entry_with_it() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    for time in 1..=5 {
        write(&store, &format!("m v={time} {time}")).unwrap();
    }
    drop(store);
    let log = folder.logs().pop().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    // All entries are as long as the first; its length is stored behind the file's first sixteen bytes.
    let length = 12 + usize::from(bytes[16]);
    let times = |store: &IngestStore| select(store, "m").into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    let expected = [1, 4, 5].map(Value::Integer);
    // The length of the second entry is damaged, and the end of the third.
    bytes[16 + length] ^= 0x7f;
    bytes[16 + 3 * length - 1] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    for _ in 0..2 {
        let store = folder.open();
        assert_eq!(times(&store), expected);
        let status = store.status();
        assert_eq!((status.damaged_bytes, status.set_aside.len()), (2 * length as u64, 2), "{status:?}");
    }
    let store = folder.open();
    store.flush().unwrap();
    drop(store);
    let store = folder.open();
    assert_eq!(times(&store), expected);
    assert_eq!((store.status().damaged_bytes, store.status().set_aside.len()), (0, 2));
}

#[test]
fn log_files_that_were_moved_away_take_no_later_write_with_them() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    for time in 0..3 {
        write(&store, &format!("m v=1 {time}")).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    std::fs::remove_dir_all(folder.0.join("wal")).unwrap();
    let store = folder.open();
    write(&store, "m v=1 3").unwrap();
    drop(store);
    let store = folder.open();
    assert_eq!(store.count("db", "m", None).unwrap(), 4);
    store.flush().unwrap();
    drop(store);
    assert_eq!(folder.open().count("db", "m", None).unwrap(), 4);
}

#[test]
fn what_was_set_aside_is_stored_when_it_is_a_file_of_the_log_again() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    write(&store, "m v=1 1").unwrap();
    drop(store);
    // Without the metadata, the log still tells which databases there were.
    std::fs::remove_dir_all(folder.0.join("metadata")).unwrap();
    let store = folder.open();
    assert_eq!((store.databases(), store.count("db", "m", None).unwrap()), (vec!["db".to_owned()], 1));
    drop(store);
    let aside = folder.0.join("wal").join("000000000001.aside");
    let log = folder.logs().remove(0);
    std::fs::copy(&log, &aside).unwrap();
    assert_eq!(folder.open().status().set_aside, std::slice::from_ref(&aside));
    std::fs::rename(&aside, aside.with_file_name("000000000900.wal")).unwrap();
    let store = folder.open();
    assert_eq!(store.count("db", "m", None).unwrap(), 2);
    write(&store, "m v=1 2").unwrap();
    assert!(folder.logs().pop().unwrap().ends_with("000000000901.wal"));
}

#[test]
fn writers_flushes_and_readers_at_once_lose_nothing() {
    for durability in [Durability::Fast, Durability::Durable] {
        let folder = Folder::new();
        let store = Arc::new(IngestStore::open(&StoreOptions { durability, ..folder.options() }).unwrap());
        store.create_database("db").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for batch in 0..20 {
                        store
                            .write_columns(
                                "db",
                                columns(writer * 10_000 + batch * 100, 100),
                                Precision::Milliseconds,
                                0,
                            )
                            .unwrap();
                    }
                });
            }
            for _ in 0..3 {
                store.flush().unwrap();
                let counted = store.count("db", "bench", Some("v")).unwrap();
                assert!(counted.is_multiple_of(100) && counted <= select(&store, "bench").len() as u64);
            }
        });
        assert_eq!(store.count("db", "bench", Some("v")).unwrap(), 8000);
        drop(store);
        let store = folder.open();
        assert_eq!(store.count("db", "bench", None).unwrap(), 8000);
        let rows = select(&store, "bench");
        let sum: f64 = rows.iter().map(|row| if let Value::Float(value) = row[2] { value } else { 0.0 }).sum();
        let expected: f64 =
            (0..4).flat_map(|writer| (0..2000).map(move |index| f64::from(writer * 10_000 + index) * 0.001)).sum();
        assert!((sum - expected).abs() < 1e-6 * expected, "{sum} {expected}");
    }
}

/// The environment variable of a process that this file's test starts: it writes until it is killed.
const VICTIM: &str = "BOUNDARY_BENCH_INGEST_VICTIM";

/// Writes to the store in a folder, and prints the number of acknowledged points after each write.
fn write_until_killed(folder: &Path) {
    use std::io::Write;
    let options =
        StoreOptions { flush_interval: Some(std::time::Duration::from_millis(40)), ..StoreOptions::new(folder) };
    let store = IngestStore::open(&options).unwrap();
    store.create_database("db").unwrap();
    let mut next = i64::try_from(store.count("db", "bench", None).unwrap()).unwrap();
    let mut out = std::io::stdout();
    loop {
        store.write_columns("db", columns(next, 10), Precision::Milliseconds, 0).unwrap();
        next += 10;
        // A closed pipe ends the process, too.
        if writeln!(out, "acknowledged {next}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn a_killed_process_loses_no_acknowledged_write() {
    use std::io::{BufRead, BufReader};
    if let Some(folder) = std::env::var_os(VICTIM) {
        write_until_killed(Path::new(&folder));
        return;
    }
    let folder = Folder::new();
    let mut acknowledged = 0;
    for round in 0..20 {
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_killed_process_loses_no_acknowledged_write", "--nocapture"])
            .env(VICTIM, &folder.0)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let mut told = lines.by_ref().filter_map(|line| line.ok()?.split("acknowledged ").nth(1)?.parse::<u64>().ok());
        // Each round is killed at another moment of its writes and flushes.
        for _ in 0..3 + round * 7 {
            acknowledged = told.next().unwrap();
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        acknowledged = told.last().unwrap_or(acknowledged);
        let store = folder.open();
        let kept = store.count("db", "bench", Some("v")).unwrap();
        // The write under way may be there, or not.
        assert!(
            (acknowledged..=acknowledged + 10).contains(&kept),
            "round {round}: {acknowledged} acknowledged, {kept} kept"
        );
        let times: Vec<_> = select(&store, "bench").into_iter().map(|row| row[0].clone()).collect();
        let expected: Vec<_> = (0..i64::try_from(kept).unwrap()).map(|time| Value::Integer(time * 1_000_000)).collect();
        assert_eq!(times, expected, "round {round}");
    }
}
