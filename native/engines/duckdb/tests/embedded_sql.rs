//! Queries and commands on the embedded engine.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int16Array, RecordBatch, StringArray};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// A query that would run for hours and returns one row.
const ENDLESS: &str = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b";

fn engine() -> Arc<dyn Engine> {
    EmbeddedEngine::open("").unwrap()
}

fn execute(engine: &Arc<dyn Engine>, sql: &str) -> Result<u64> {
    engine.execute(sql, &CancelToken::default())
}

fn query(engine: &Arc<dyn Engine>, sql: &str) -> Result<Vec<RecordBatch>> {
    let mut stream = engine.query(sql, &QueryOptions::default())?;
    let mut batches = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        batches.push(batch);
    }
    Ok(batches)
}

fn number(engine: &Arc<dyn Engine>, sql: &str) -> i64 {
    query(engine, sql).unwrap()[0].column(0).as_primitive::<Int64Type>().value(0)
}

fn refused(engine: &Arc<dyn Engine>, sql: &str) -> Error {
    engine.query(sql, &QueryOptions::default()).err().unwrap()
}

#[test]
fn a_value_that_does_not_fit_is_named_by_row_and_column() {
    let engine = engine();
    let sql = "SELECT CASE WHEN range = 70000 THEN 170141183460469231731687303715884105727::HUGEINT \
               ELSE range::HUGEINT END big FROM range(80000)";
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
    assert_eq!(stream.next_batch().unwrap().unwrap().num_rows(), 65_536);
    let error = stream.next_batch().unwrap_err();
    assert_eq!(error.to_string(), "row 70000, column \"big\": the HUGEINT has more than 38 digits");
    assert!(stream.next_batch().unwrap().is_none());
}

#[test]
fn a_type_without_counterpart_is_refused_with_advice() {
    let engine = engine();
    let error = refused(&engine, "SELECT 1 a, [1, 2] numbers");
    assert_eq!(error.code(), "BB_UNSUPPORTED");
    assert!(error.to_string().contains("\"numbers\"") && error.to_string().contains("LIST"), "{error}");
    let batch = query(&engine, "SELECT CAST([1, 2] AS VARCHAR)").unwrap().remove(0);
    assert_eq!(batch.column(0).as_string::<i32>().value(0), "[1, 2]");
}

#[test]
fn columns_that_share_a_name_get_a_suffix() {
    let batch = query(&engine(), "SELECT 1 AS x, 2 AS x, 3 AS y, 4 AS x, 5 AS x_1").unwrap().remove(0);
    let schema = batch.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["x", "x_2", "y", "x_3", "x_1"]);
}

#[test]
fn a_query_is_one_statement_that_reads() {
    let engine = engine();
    assert_eq!(refused(&engine, "SELECT 1; SELECT 2").code(), "BB_INVALID_ARGUMENT");
    assert_eq!(refused(&engine, " -- nothing").code(), "BB_INVALID_ARGUMENT");
    assert_eq!(refused(&engine, "SELECT 1\0").code(), "BB_INVALID_ARGUMENT");
    assert_eq!(refused(&engine, "CREATE TABLE t (x INT)").code(), "BB_UNSUPPORTED");
    assert!(engine.list_tables().unwrap().is_empty());
    let error = refused(&engine, "SELEKT 1");
    assert_eq!(error.code(), "BB_ENGINE");
    assert!(error.to_string().starts_with("embedded: ") && error.to_string().contains("SELEKT"), "{error}");
    assert!(!query(&engine, "EXPLAIN SELECT 1").unwrap().is_empty());
    execute(&engine, "CREATE TABLE shown (x INT)").unwrap();
    assert_eq!(query(&engine, "SHOW TABLES").unwrap()[0].column(0).as_string::<i32>().value(0), "shown");
    assert_eq!(query(&engine, "PRAGMA table_info('shown')").unwrap()[0].num_rows(), 1);
}

#[test]
fn a_table_can_be_described_while_others_replace_it() {
    let engine = engine();
    let table = TableDefinition {
        name: "t".to_owned(),
        columns: vec![Column { name: "id".to_owned(), sql_type: SqlType::Int, nullable: false }],
    };
    engine.create_table(&table, CreateMode::Create).unwrap();
    std::thread::scope(|threads| {
        let replacing = threads.spawn(|| (0..500).try_for_each(|_| engine.create_table(&table, CreateMode::Replace)));
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..500 {
                    assert_eq!(engine.describe_table("t").unwrap(), table);
                }
            });
        }
        replacing.join().unwrap().unwrap();
    });
}

#[test]
fn statements_given_together_are_one_transaction() {
    let engine = engine();
    assert_eq!(execute(&engine, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)").unwrap(), 2);
    let failed = execute(&engine, "INSERT INTO t VALUES (3); CREATE TABLE u (x INT); INSERT INTO nowhere VALUES (1)");
    assert_eq!(failed.unwrap_err().code(), "BB_ENGINE");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 2);
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
    for sql in ["BEGIN", "COMMIT", "INSERT INTO t VALUES (3); COMMIT", "BEGIN; INSERT INTO t VALUES (3); COMMIT"] {
        assert_eq!(execute(&engine, sql).unwrap_err().code(), "BB_UNSUPPORTED");
    }
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 2);
    assert_eq!(execute(&engine, "UPDATE t SET x = x + 1; DELETE FROM t WHERE x = 2; SELECT * FROM t").unwrap(), 3);
    assert_eq!(execute(&engine, "").unwrap(), 0);
    assert_eq!(execute(&engine, "CREATE TABLE\0").unwrap_err().code(), "BB_INVALID_ARGUMENT");
    execute(&engine, "CHECKPOINT").unwrap();
}

#[test]
fn an_endless_query_is_cancelled_from_another_thread() {
    let engine = engine();
    let options = QueryOptions::default();
    let cancel = options.cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    let error = engine.query(ENDLESS, &options).and_then(|mut stream| stream.next_batch()).unwrap_err();
    assert_eq!(error.code(), "BB_ABORTED");
    canceller.join().unwrap();
    assert_eq!(number(&engine, "SELECT count(*) FROM range(5)"), 5);
}

#[test]
fn an_endless_command_is_cancelled_and_rolled_back() {
    let engine = engine();
    let cancel = CancelToken::default();
    let canceller = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            std::thread::sleep(Duration::from_millis(100));
            cancel.cancel();
        }
    });
    let sql = format!("CREATE TABLE t (x INT); CREATE TABLE u AS {ENDLESS}");
    assert_eq!(engine.execute(&sql, &cancel).unwrap_err().code(), "BB_ABORTED");
    canceller.join().unwrap();
    assert!(engine.list_tables().unwrap().is_empty());
    assert_eq!(engine.execute("CREATE TABLE t (x INT)", &cancel).unwrap_err().code(), "BB_ABORTED");
}

#[test]
fn a_query_cancelled_before_it_starts_does_not_start() {
    let options = QueryOptions::default();
    options.cancel.cancel();
    assert_eq!(engine().query(ENDLESS, &options).err().unwrap().code(), "BB_ABORTED");
}

#[test]
fn a_stream_dropped_in_the_middle_frees_its_query() {
    let engine = engine();
    for _ in 0..20 {
        // This query is endless, too: only the rows asked for may be made.
        let sql = "SELECT a.range x, b.range y FROM range(10000000) a, range(10000000) b";
        let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
        assert_eq!(stream.next_batch().unwrap().unwrap().num_rows(), 65_536);
    }
    assert_eq!(number(&engine, "SELECT count(*) FROM range(5)"), 5);
}

#[test]
fn an_error_in_the_middle_ends_the_stream() {
    let engine = engine();
    execute(&engine, "CREATE TABLE t AS SELECT range FROM range(1000000)").unwrap();
    let failing = |rows: &str| {
        format!("SELECT CASE WHEN range = 900000 THEN error('too far')::BIGINT ELSE range END FROM {rows}")
    };
    let ends_with = |rows: &str, is_right: fn(&str) -> bool| {
        let mut stream = engine.query(&failing(rows), &QueryOptions::default()).unwrap();
        let error = loop {
            match stream.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the error was lost"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(is_right(&error), "{error}");
        assert!(stream.next_batch().unwrap().is_none());
    };
    // A thread of DuckDB may meet the error while no rows are fetched. The table's rows have an order, the function's rows have none.
    for _ in 0..20 {
        ends_with("t", |error| error == "embedded: Invalid Input Error: too far");
        ends_with("range(1000000)", |error| error.contains("too far") || error.contains("lost the reason"));
    }
    execute(&engine, "SET GLOBAL threads = 1").unwrap();
    ends_with("range(1000000)", |error| error.contains("too far"));
}

#[test]
fn batches_of_long_texts_are_closed_early() {
    let engine = engine();
    let sql = "SELECT range::VARCHAR || repeat('x', 1 << 20) FROM range(200)";
    let batches = query(&engine, sql).unwrap();
    assert!(batches.len() >= 3);
    let texts = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter());
    let numbers: Vec<String> = texts
        .map(|text| {
            let text = text.unwrap();
            text[..text.len() - (1 << 20)].to_owned()
        })
        .collect();
    assert_eq!(numbers, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!(batches.iter().all(|batch| batch.get_array_memory_size() < 160 << 20));
    // A value beyond the limit gets a batch of its own.
    let sizes: Vec<_> = query(&engine, "SELECT repeat('x', (80 << 20) * (range % 2)) FROM range(4)")
        .unwrap()
        .iter()
        .map(RecordBatch::num_rows)
        .collect();
    assert_eq!(sizes, [1, 1, 1, 1]);
}

fn one_column(sql_type: SqlType, nullable: bool) -> TableDefinition {
    let columns = vec![Column { name: "x".to_owned(), sql_type, nullable }];
    TableDefinition { name: "t".to_owned(), columns }
}

#[test]
fn an_insert_that_breaks_a_constraint_publishes_nothing() {
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x SMALLINT PRIMARY KEY)").unwrap();
    let table = one_column(SqlType::SmallInt, false);
    let insert = |values: Vec<i16>| {
        let array: ArrayRef = Arc::new(Int16Array::from(values));
        let mut ingest = engine.ingest(&table).unwrap();
        ingest.write(&RecordBatch::try_new(table.to_arrow(), vec![array]).unwrap()).unwrap();
        ingest.commit()
    };
    assert_eq!(insert(vec![1, 2]).unwrap(), 2);
    let error = insert(vec![3, 4, 2]).unwrap_err();
    assert_eq!(error.code(), "BB_ENGINE");
    assert!(error.to_string().contains("uplicate key"), "{error}");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 2);
    assert_eq!(insert(vec![3]).unwrap(), 1);
}

#[test]
fn texts_of_a_mebibyte_go_in_and_come_out() {
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x VARCHAR)").unwrap();
    let table = one_column(SqlType::Text, true);
    let text = |index: usize| index.to_string() + &"x".repeat(1 << 20);
    let mut ingest = engine.ingest(&table).unwrap();
    // The two writes are more than the appender may buffer.
    for start in [0, 40] {
        let array: ArrayRef = Arc::new((start..start + 40).map(|index| Some(text(index))).collect::<StringArray>());
        ingest.write(&RecordBatch::try_new(table.to_arrow(), vec![array]).unwrap()).unwrap();
    }
    assert_eq!(ingest.commit().unwrap(), 80);
    let batches = query(&engine, "SELECT x FROM t").unwrap();
    let found = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter());
    assert!(found.eq((0..80).map(text).collect::<Vec<_>>().iter().map(|text| Some(text.as_str()))));
}
