//! Queries, commands and inserts on hyperd, over every transport.

mod common;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, Date32Array, RecordBatch};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_hyper::{executable, open};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::testing::Folder;
use boundary_bench_kernel::{Error, Result, needs};
use common::{batch, file_uri, insert, number, table};

const URIS: [&str; 5] = [
    "hyper:",
    "hyper:?transport=ipc",
    "hyper:?transport=grpc-sync",
    "hyper:?transport=grpc-adaptive",
    "hyper:?transport=grpc-async",
];

/// A query that would run for hours and returns one row.
const ENDLESS: &str = "SELECT sum(a.x % b.y) FROM generate_series(1, 10000000) a(x), generate_series(1, 10000000) b(y)";

/// A query of ten million rows.
const LONG: &str = "SELECT x FROM generate_series(1, 10000000) g(x)";

fn execute(engine: &Arc<dyn Engine>, sql: &str) -> Result<u64> {
    engine.execute(sql, &CancelToken::default())
}

fn refused(engine: &Arc<dyn Engine>, sql: &str) -> Error {
    engine.query(sql, &QueryOptions::default()).err().unwrap()
}

/// Cancels after a while, from another thread.
fn cancel_soon(cancel: &CancelToken) -> std::thread::JoinHandle<()> {
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
    })
}

#[test]
fn an_endless_query_is_cancelled_from_another_thread() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        let options = QueryOptions::default();
        let canceller = cancel_soon(&options.cancel);
        let error = engine.query(ENDLESS, &options).and_then(|mut stream| stream.next_batch().map(drop)).unwrap_err();
        assert_eq!(error.code(), "BB_ABORTED", "{uri}");
        canceller.join().unwrap();
        assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5, "{uri}");
    }
}

#[test]
fn an_endless_command_is_cancelled_and_rolled_back() {
    needs!("hyperd", executable());
    let engine = open("hyper:").unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let cancel = CancelToken::default();
    let canceller = cancel_soon(&cancel);
    let sql = format!("INSERT INTO t VALUES (1); INSERT INTO t {ENDLESS}");
    assert_eq!(engine.execute(&sql, &cancel).unwrap_err().code(), "BB_ABORTED");
    canceller.join().unwrap();
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    assert_eq!(engine.execute("INSERT INTO t VALUES (1)", &cancel).unwrap_err().code(), "BB_ABORTED");
}

#[test]
fn a_query_cancelled_before_it_starts_does_not_start() {
    needs!("hyperd", executable());
    for uri in URIS {
        let options = QueryOptions::default();
        options.cancel.cancel();
        assert_eq!(open(uri).unwrap().query(ENDLESS, &options).err().unwrap().code(), "BB_ABORTED");
    }
}

#[test]
fn a_stream_dropped_in_the_middle_ends_its_query_and_no_other() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        for _ in 0..30 {
            let mut stream = engine.query(LONG, &QueryOptions::default()).unwrap();
            assert_eq!(stream.next_batch().unwrap().unwrap().num_rows(), 65_536, "{uri}");
            drop(stream);
            // This query runs on the same session, where a late cancel request would hit it.
            assert_eq!(number(&engine, "SELECT count(*) FROM generate_series(1, 50000) g(x)"), 50_000, "{uri}");
        }
    }
}

#[test]
fn an_error_in_the_middle_ends_the_stream() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        let sql = "SELECT 1 / (x - 3000000) FROM generate_series(1, 4000000) g(x)";
        let result = engine.query(sql, &QueryOptions::default()).and_then(|mut stream| {
            while stream.next_batch().inspect_err(|_| assert!(stream.next_batch().unwrap().is_none()))?.is_some() {}
            Ok(())
        });
        let error = result.unwrap_err();
        assert_eq!(error.code(), "BB_ENGINE", "{uri}");
        assert!(error.to_string().contains("22012"), "{error}");
    }
}

#[test]
fn results_have_our_types_and_names_that_differ() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        let sql = "SELECT DATE '2024-02-29' AS x, CAST(1.5 AS NUMERIC(5, 2)) AS x, NULL AS y, \
                   CAST('2024-01-01 00:00:00+01' AS TIMESTAMPTZ) AS x_1, DATE '1969-12-31' AS z";
        let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
        let names: Vec<_> = stream.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["x", "x_2", "y", "x_1", "z"], "{uri}");
        let batch = stream.next_batch().unwrap().unwrap();
        assert_eq!(batch.column(0).as_primitive::<Date32Type>().value(0), 19_782);
        assert_eq!(batch.column(1).as_primitive::<Decimal128Type>().value(0), 150);
        assert!(batch.column(2).is_null(0));
        assert_eq!(batch.column(3).as_primitive::<TimestampMicrosecondType>().value(0), 1_704_063_600_000_000);
        assert_eq!(batch.column(4).as_primitive::<Date32Type>().value(0), -1);
        let error = refused(&engine, "SELECT 1 AS a, TIME '12:00:00' AS noon");
        assert_eq!(error.code(), "BB_UNSUPPORTED");
        assert!(error.to_string().contains("\"noon\"") && error.to_string().contains("TEXT"), "{error}");
        assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5, "{uri}");
    }
}

#[test]
fn a_query_is_one_statement_that_reads() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        assert_eq!(refused(&engine, "SELECT 1; SELECT 2").code(), "BB_INVALID_ARGUMENT");
        assert_eq!(refused(&engine, " -- nothing").code(), "BB_INVALID_ARGUMENT");
        assert_eq!(refused(&engine, "SELECT 1\0").code(), "BB_INVALID_ARGUMENT");
        assert_eq!(refused(&engine, "CREATE TABLE t (x INT)").code(), "BB_UNSUPPORTED");
        assert!(engine.list_tables().unwrap().is_empty());
        assert_eq!(refused(&engine, "SELECT * FROM nowhere").code(), "BB_ENGINE");
        let error = refused(&engine, "SELECT nothing");
        assert!(error.to_string().starts_with("hyper: ") && error.to_string().contains("nothing"), "{error}");
        let mut plan = engine.query("EXPLAIN SELECT 1", &QueryOptions::default()).unwrap();
        assert!(plan.next_batch().unwrap().is_some());
        for sql in ["WITH a AS (SELECT CAST(7 AS BIGINT)) SELECT * FROM a -- comment", "(SELECT CAST(7 AS BIGINT));"] {
            assert_eq!(number(&engine, sql), 7, "{uri}");
        }
    }
}

#[test]
fn statements_given_together_are_one_transaction() {
    needs!("hyperd", executable());
    let engine = open("hyper:").unwrap();
    assert_eq!(execute(&engine, "CREATE TABLE t (x INT)").unwrap(), 0);
    assert_eq!(execute(&engine, "INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE x = 1").unwrap(), 3);
    let failed = execute(&engine, "INSERT INTO t VALUES (3); INSERT INTO nowhere VALUES (1)");
    assert_eq!(failed.unwrap_err().code(), "BB_ENGINE");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 1);
    for sql in
        ["BEGIN", "COMMIT", "INSERT INTO t VALUES (3); COMMIT", "INSERT INTO t VALUES (3); CREATE TABLE u (x INT)"]
    {
        assert_eq!(execute(&engine, sql).unwrap_err().code(), "BB_UNSUPPORTED", "{sql}");
    }
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 1);
    assert_eq!(execute(&engine, "UPDATE t SET x = x + 1; SELECT * FROM t; INSERT INTO t SELECT 5").unwrap(), 2);
    assert_eq!(execute(&engine, "").unwrap(), 0);
    assert_eq!(execute(&engine, "CREATE TABLE\0").unwrap_err().code(), "BB_INVALID_ARGUMENT");
    // No data follows this statement. The server must not wait for any.
    assert_eq!(execute(&engine, "COPY t FROM STDIN").unwrap_err().code(), "BB_ENGINE");
    // A temporary table belongs to one session, and each call has a session of its own.
    for sql in ["CREATE TEMPORARY TABLE passing (x INT)", "SET lc_time = 'de'", "SET a = 1; SET b = 2"] {
        let error = execute(&engine, sql).unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}: {error}");
    }
    assert_eq!(refused(&engine, "SELECT * FROM passing").code(), "BB_ENGINE");
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
}

#[test]
fn no_row_is_lost_where_an_insert_takes_several_pieces() {
    needs!("hyperd", executable());
    for uri in ["hyper:?copy-bytes=16777216", "hyper:?copy-bytes=16777216&transport=ipc"] {
        let engine = open(uri).unwrap();
        engine.create_table(&table(), CreateMode::Create).unwrap();
        let mut ingest = engine.ingest(&table()).unwrap();
        // 4 bytes per row: three COPYs of 16 MiB and a rest.
        for start in (0..13_000_000).step_by(1_000_000) {
            ingest.write(&batch(start..start + 1_000_000)).unwrap();
        }
        assert_eq!(ingest.commit().unwrap(), 13_000_000);
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 13_000_000);
        assert_eq!(number(&engine, "SELECT CAST(sum(x) AS BIGINT) FROM t"), 13_000_000_i64 * 12_999_999 / 2);
    }
}

#[test]
fn an_insert_that_pauses_keeps_no_reader_waiting_and_loses_no_row() {
    needs!("hyperd", executable());
    let engine = open("hyper:").unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table()).unwrap();
    for start in (0..3_000_000).step_by(1_000_000) {
        ingest.write(&batch(start..start + 1_000_000)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        // The query is answered only because the pause has ended the COPY, whose rows are not committed.
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    }
    assert_eq!(ingest.commit().unwrap(), 3_000_000);
    assert_eq!(number(&engine, "SELECT CAST(sum(x) AS BIGINT) FROM t"), 3_000_000_i64 * 2_999_999 / 2);
}

#[test]
fn a_value_beyond_the_limit_of_packets_is_split() {
    needs!("hyperd", executable());
    let engine = open("hyper:").unwrap();
    let column = Column { name: "b".to_owned(), sql_type: SqlType::Bytes, nullable: true };
    let blobs = TableDefinition { name: "blobs".to_owned(), columns: vec![column] };
    engine.create_table(&blobs, CreateMode::Create).unwrap();
    let blob = vec![7; 160_000_000];
    let array: ArrayRef = Arc::new(BinaryArray::from(vec![Some(blob.as_slice()), None, Some(b"")]));
    let mut ingest = engine.ingest(&blobs).unwrap();
    ingest.write(&RecordBatch::try_new(blobs.to_arrow(), vec![array]).unwrap()).unwrap();
    assert_eq!(ingest.commit().unwrap(), 3);
    let mut stream = engine.query("SELECT b FROM blobs WHERE length(b) > 0", &QueryOptions::default()).unwrap();
    let found = stream.next_batch().unwrap().unwrap();
    assert!(found.column(0).as_binary::<i32>().value(0) == blob);
}

#[test]
fn an_insert_that_the_server_refuses_leaves_table_and_engine_usable() {
    needs!("hyperd", executable());
    for uri in ["hyper:", "hyper:?transport=ipc"] {
        let engine = open(uri).unwrap();
        let column = Column { name: "d".to_owned(), sql_type: SqlType::Date, nullable: true };
        let days = TableDefinition { name: "days".to_owned(), columns: vec![column] };
        engine.create_table(&days, CreateMode::Create).unwrap();
        let of = |day: i32| {
            let array: ArrayRef = Arc::new(Date32Array::from_iter_values(std::iter::repeat_n(day, 100_000)));
            RecordBatch::try_new(days.to_arrow(), vec![array]).unwrap()
        };
        for _ in 0..5 {
            let mut ingest = engine.ingest(&days).unwrap();
            ingest.write(&of(0)).unwrap();
            ingest.write(&of(i32::MAX)).unwrap();
            assert_eq!(ingest.commit().unwrap_err().code(), "BB_ENGINE");
            let mut ingest = engine.ingest(&days).unwrap();
            ingest.write(&of(1)).unwrap();
            assert_eq!(ingest.commit().unwrap(), 100_000);
        }
        assert_eq!(number(&engine, "SELECT count(*) FROM days"), 500_000);
        assert!(engine.drop_table("days").unwrap());
    }
}

#[test]
fn many_queries_and_inserts_run_at_once() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        engine.create_table(&table(), CreateMode::Create).unwrap();
        insert(&engine, 0..100_000);
        // More open results than the server has threads.
        let mut streams: Vec<_> =
            (0..8).map(|_| engine.query("SELECT x FROM t", &QueryOptions::default()).unwrap()).collect();
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 100_000, "{uri}");
        for stream in &mut streams {
            let mut rows = 0;
            while let Some(batch) = stream.next_batch().unwrap() {
                rows += batch.column(0).as_primitive::<Int32Type>().len();
            }
            assert_eq!(rows, 100_000, "{uri}");
        }
        let mut inserts: Vec<_> = (0..6).map(|_| engine.ingest(&table()).unwrap()).collect();
        for insert in &mut inserts {
            insert.write(&batch(0..10)).unwrap();
        }
        for insert in inserts {
            assert_eq!(insert.commit().unwrap(), 10);
        }
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 100_060, "{uri}");
    }
}

#[test]
fn two_opens_of_a_file_are_one_database_and_new_ones_are_their_own() {
    needs!("hyperd", executable());
    let folder = Folder::new("hyper-shared");
    let first = open(&file_uri(&folder, "rows.hyper")).unwrap();
    first.create_table(&table(), CreateMode::Create).unwrap();
    let second = open(&(file_uri(&folder, "rows.hyper") + "?transport=ipc")).unwrap();
    insert(&second, 0..10);
    assert_eq!(number(&first, "SELECT count(*) FROM t"), 10);
    assert!(open("hyper:").unwrap().list_tables().unwrap().is_empty());
    drop((first, second));
    let again = open(&file_uri(&folder, "rows.hyper")).unwrap();
    assert_eq!(again.describe_table("t").unwrap(), table());
    assert_eq!(number(&again, "SELECT count(*) FROM t"), 10);
}
