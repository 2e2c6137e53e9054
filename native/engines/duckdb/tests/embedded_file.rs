//! Database files of the embedded engine.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::testing::Folder;

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn table() -> TableDefinition {
    let columns = vec![Column { name: "x".to_owned(), sql_type: SqlType::Int, nullable: false }];
    TableDefinition { name: "t".to_owned(), columns }
}

fn batch(values: std::ops::Range<i32>) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(values));
    RecordBatch::try_new(table().to_arrow(), vec![array]).unwrap()
}

fn count(engine: &Arc<dyn Engine>) -> i64 {
    let mut stream = engine.query("SELECT count(*) FROM t", &QueryOptions::default()).unwrap();
    stream.next_batch().unwrap().unwrap().column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn a_file_keeps_what_was_committed_and_nothing_else() {
    let folder = Folder::new("keeps");
    let path = path(&folder.file("rows.duckdb"));
    let engine = EmbeddedEngine::open(&path).unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut committed = engine.ingest(&table()).unwrap();
    committed.write(&batch(0..300_000)).unwrap();
    committed.commit().unwrap();
    let mut aborted = engine.ingest(&table()).unwrap();
    aborted.write(&batch(0..300_000)).unwrap();
    aborted.abort().unwrap();
    let mut dropped = engine.ingest(&table()).unwrap();
    dropped.write(&batch(0..300_000)).unwrap();
    drop(dropped);
    drop(engine);

    let engine = EmbeddedEngine::open(&path).unwrap();
    assert_eq!(engine.describe_table("t").unwrap(), table());
    assert_eq!(count(&engine), 300_000);
}

#[test]
fn two_opens_of_a_file_are_one_database() {
    let folder = Folder::new("shared");
    let first = EmbeddedEngine::open(&path(&folder.file("rows.duckdb"))).unwrap();
    first.create_table(&table(), CreateMode::Create).unwrap();
    let link = folder.0.join("link.duckdb");
    std::os::unix::fs::symlink(folder.0.join("rows.duckdb"), &link).unwrap();
    let ways = [path(&folder.file("rows.duckdb")), path(&folder.file("./rows.duckdb")), path(&link)];
    for way in &ways {
        let other = EmbeddedEngine::open(way).unwrap();
        other.execute("INSERT INTO t VALUES (1)", &CancelToken::default()).unwrap();
    }
    assert_eq!(count(&first), 3);
}

#[test]
fn two_opens_in_memory_are_two_databases() {
    let first = EmbeddedEngine::open("").unwrap();
    first.create_table(&table(), CreateMode::Create).unwrap();
    assert!(EmbeddedEngine::open("").unwrap().list_tables().unwrap().is_empty());
}

#[test]
fn names_in_memory_make_no_files_and_are_shared_in_this_process() {
    let first = EmbeddedEngine::open(":memory:").unwrap();
    first.create_table(&table(), CreateMode::Create).unwrap();
    assert!(EmbeddedEngine::open(":memory:").unwrap().list_tables().unwrap().is_empty());
    let named = EmbeddedEngine::open(":memory:shared").unwrap();
    named.create_table(&table(), CreateMode::Create).unwrap();
    assert_eq!(EmbeddedEngine::open(":memory:shared").unwrap().list_tables().unwrap(), ["t"]);
    assert!(EmbeddedEngine::open(":memory:other").unwrap().list_tables().unwrap().is_empty());
    for name in [":memory:", ":memory:shared", ":memory:other"] {
        assert!(!Path::new(name).exists(), "{name}");
    }
}

#[test]
fn a_uri_gives_settings() {
    let folder = Folder::new("settings");
    let file = path(&folder.file("rows.duckdb"));
    let open = |uri: &str| (boundary_bench_duckdb::EMBEDDED.open)(uri);
    open(&format!("embedded:{file}")).unwrap().create_table(&table(), CreateMode::Create).unwrap();
    let read_only = open(&format!("embedded:{file}?access_mode=read_only")).unwrap();
    assert_eq!(read_only.list_tables().unwrap(), ["t"]);
    let error = read_only.execute("INSERT INTO t VALUES (1)", &CancelToken::default()).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    for uri in ["embedded:?nonsense=1", "embedded:?threads=many"] {
        let error = open(uri).err().unwrap();
        assert!(["nonsense", "threads"].iter().any(|name| error.to_string().contains(name)), "{error}");
    }
}

#[test]
fn an_insert_and_a_query_keep_their_database_open() {
    let folder = Folder::new("open");
    let engine = EmbeddedEngine::open(&path(&folder.file("rows.duckdb"))).unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table()).unwrap();
    drop(engine);
    ingest.write(&batch(0..10)).unwrap();
    assert_eq!(ingest.commit().unwrap(), 10);

    let engine = EmbeddedEngine::open(&path(&folder.file("rows.duckdb"))).unwrap();
    let mut stream = engine.query("SELECT x FROM t", &QueryOptions::default()).unwrap();
    drop(engine);
    assert_eq!(stream.next_batch().unwrap().unwrap().num_rows(), 10);
}

#[test]
fn what_cannot_be_opened_is_said_clearly() {
    let folder = Folder::new("refused");
    let text = folder.0.join("text.duckdb");
    std::fs::write(&text, "this is no database, but it is long enough to be looked at. ".repeat(500)).unwrap();
    let refused = |path: &str| -> Error { EmbeddedEngine::open(path).err().unwrap() };
    for (path, told) in [
        (path(&text), "not a valid DuckDB database"),
        (path(&folder.0), "it is a directory"),
        (path(&folder.file("missing/rows.duckdb")), "No such file or directory"),
    ] {
        let error = refused(&path);
        assert_eq!(error.code(), "BB_ENGINE");
        assert!(error.to_string().contains(told), "{error}");
    }
    assert_eq!(refused("/tmp/a\0b").code(), "BB_INVALID_ARGUMENT");
}
