//! Statements that return the rows they change, and statements of which DuckDB makes several.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::{BatchStream, Engine, QueryOptions, Value};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;

fn engine() -> Arc<dyn Engine> {
    let engine = EmbeddedEngine::open("").unwrap();
    execute(&engine, "CREATE TABLE t (a INTEGER)");
    engine
}

fn execute(engine: &Arc<dyn Engine>, sql: &str) -> u64 {
    engine.execute(sql, &CancelToken::default()).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn collect(stream: &mut dyn BatchStream) -> Result<Vec<RecordBatch>> {
    std::iter::from_fn(|| stream.next_batch().transpose()).collect()
}

fn query(engine: &Arc<dyn Engine>, sql: &str) -> Result<Vec<RecordBatch>> {
    collect(engine.query(sql, &QueryOptions::default())?.as_mut())
}

fn integers(batches: &[RecordBatch]) -> Vec<i32> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect()
}

fn count(engine: &Arc<dyn Engine>) -> i64 {
    query(engine, "SELECT count(*) FROM t").unwrap()[0].column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn execute_counts_the_rows_that_a_statement_returns() {
    let engine = engine();
    assert_eq!(execute(&engine, "INSERT INTO t SELECT range FROM range(3) RETURNING a"), 3);
    assert_eq!(execute(&engine, "UPDATE t SET a = a + 1 WHERE a > 0 RETURNING a"), 2);
    assert_eq!(
        execute(&engine, "INSERT INTO t VALUES (7); INSERT INTO t VALUES (8), (9) RETURNING a; DELETE FROM t"),
        9
    );
    assert_eq!(execute(&engine, "INSERT INTO t VALUES (1), (2)"), 2);
    let merge = "MERGE INTO t USING (SELECT 1 AS a UNION ALL SELECT 99) s ON t.a = s.a \
                 WHEN MATCHED THEN UPDATE SET a = 5 WHEN NOT MATCHED THEN INSERT VALUES (s.a)";
    assert_eq!(execute(&engine, merge), 2);
    assert_eq!(execute(&engine, &format!("{merge} RETURNING a")), 2);
    assert_eq!(execute(&engine, "CREATE TABLE u AS SELECT * FROM range(10)"), 10);
    assert_eq!(execute(&engine, "SELECT 1; CREATE TABLE v (x INT)"), 0);
    let mut prepared = engine.prepare("DELETE FROM t WHERE a > $1 RETURNING a", &CancelToken::default()).unwrap();
    assert_eq!(prepared.columns().unwrap().len(), 1);
    assert_eq!(prepared.execute(&[Value::Int(4)], &CancelToken::default()).unwrap(), 2);
    let session = engine.session().unwrap();
    execute(&session, "PREPARE \"a b\" AS INSERT INTO t VALUES ($1), ($1) RETURNING a; PREPARE q AS SELECT $1");
    assert_eq!(execute(&session, "/* x */ EXECUTE \"A b\"(3); EXECUTE q(1); EXECUTE \"a b\"(4)"), 4);
    let mut prepared = session.prepare("EXECUTE \"a b\"(5)", &CancelToken::default()).unwrap();
    assert_eq!(prepared.execute(&[], &CancelToken::default()).unwrap(), 2);
}

#[test]
fn a_query_reads_the_rows_that_a_statement_changes() {
    let engine = engine();
    assert_eq!(integers(&query(&engine, "INSERT INTO t VALUES (1), (2) RETURNING a * 10").unwrap()), [10, 20]);
    assert_eq!(integers(&query(&engine, "UPDATE t SET a = a + 1 WHERE a = 1 RETURNING a").unwrap()), [2]);
    assert_eq!(
        integers(&query(&engine, "WITH x AS (SELECT 5 AS a) INSERT INTO t SELECT a FROM x RETURNING a").unwrap()),
        [5]
    );
    let mut prepared = engine.prepare("INSERT INTO t VALUES ($1) RETURNING a", &CancelToken::default()).unwrap();
    for value in [7, 8] {
        let mut stream = prepared.query(&[Value::Int(value.into())], &QueryOptions::default()).unwrap();
        assert_eq!(integers(&collect(stream.as_mut()).unwrap()), [value]);
    }
    drop(prepared);
    assert_eq!(integers(&query(&engine, "DELETE FROM t RETURNING a").unwrap()).len(), 5);
    // The rows are stored though nobody reads them.
    drop(engine.query("INSERT INTO t SELECT range FROM range(200000) RETURNING a", &QueryOptions::default()).unwrap());
    assert_eq!(count(&engine), 200_000);
}

#[test]
fn nothing_is_changed_by_a_statement_whose_rows_cannot_be_read() {
    let engine = engine();
    for (sql, code) in [
        ("INSERT INTO t VALUES (1) RETURNING [a]", "BB_UNSUPPORTED"),
        ("INSERT INTO t VALUES (1) RETURNING 170141183460469231731687303715884105727::HUGEINT", "BB_INVALID_VALUE"),
        ("INSERT INTO t VALUES (1), (2) RETURNING CASE WHEN a = 2 THEN error('no') END", "BB_ENGINE"),
        ("INSERT INTO t VALUES (1)", "BB_UNSUPPORTED"),
        ("UPDATE t SET a = 1", "BB_UNSUPPORTED"),
        ("CREATE TABLE u AS SELECT 'RETURNING' AS returning", "BB_UNSUPPORTED"),
        ("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", "BB_UNSUPPORTED"),
        ("EXPLAIN (ANALYZE, FORMAT json) DELETE FROM t", "BB_UNSUPPORTED"),
        ("EXPLAIN ANALYZE CREATE TABLE u (x INT)", "BB_UNSUPPORTED"),
        ("EXPLAIN ANALYZE COPY t TO '/tmp/bb-never.csv'", "BB_UNSUPPORTED"),
        ("EXPLAIN ANALYZE WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "BB_UNSUPPORTED"),
    ] {
        let error = query(&engine, sql).expect_err(sql);
        assert_eq!(error.code(), code, "{sql}: {error}");
        let prepared = engine.prepare(sql, &CancelToken::default());
        let ran = prepared.and_then(|mut statement| {
            statement.query(&[], &QueryOptions::default()).and_then(|mut stream| collect(stream.as_mut()))
        });
        assert_eq!(ran.expect_err(sql).code(), code, "{sql}");
        assert_eq!(count(&engine), 0, "{sql}");
    }
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
    for sql in ["EXPLAIN INSERT INTO t VALUES (1)", "EXPLAIN ANALYZE SELECT * FROM t", "EXPLAIN ANALYZE FROM t"] {
        assert!(!query(&engine, sql).unwrap_or_else(|error| panic!("{sql}: {error}")).is_empty());
    }
    assert_eq!(count(&engine), 0);
}

#[test]
fn a_pivot_runs_as_the_one_statement_it_is() {
    let engine = engine();
    execute(
        &engine,
        "CREATE TABLE sales AS SELECT * FROM (VALUES ('x', 2000, 5), ('x', 2001, 6), ('y', 2000, 7)) s(a, y, p)",
    );
    let pivot = "PIVOT sales ON y USING sum(p) ORDER BY a";
    let names = |batches: &[RecordBatch]| {
        batches[0].schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let found = query(&engine, pivot).unwrap();
    assert_eq!((names(&found), rows(&found)), (vec!["a".into(), "2000".into(), "2001".into()], 2));
    assert_eq!(
        rows(&query(&engine, &format!("SELECT * FROM ({}) WHERE a = 'y'", pivot.replace(" ORDER BY a", ""))).unwrap()),
        1
    );
    assert_eq!(execute(&engine, pivot), 0);
    assert_eq!(execute(&engine, "CREATE TABLE pivoted AS PIVOT sales ON y USING sum(p)"), 2);
    assert_eq!(rows(&query(&engine, "FROM pivoted").unwrap()), 2);
    let mut statement = engine.prepare(pivot, &CancelToken::default()).unwrap();
    // The columns follow the rows from run to run.
    for (year, columns) in [(2000, 3), (2002, 4), (2003, 5)] {
        execute(&engine, &format!("INSERT INTO sales VALUES ('z', {year}, 1)"));
        let mut stream = statement.query(&[], &QueryOptions::default()).unwrap();
        assert_eq!(names(&collect(stream.as_mut()).unwrap()).len(), columns);
    }
    let mut create = engine
        .prepare("CREATE OR REPLACE TABLE pivoted AS PIVOT sales ON y USING sum(p)", &CancelToken::default())
        .unwrap();
    for _ in 0..2 {
        assert_eq!(create.execute(&[], &CancelToken::default()).unwrap(), 3);
    }
    for sql in [format!("{pivot}; SELECT 1"), format!("SELECT 1; {pivot}")] {
        assert_eq!(query(&engine, &sql).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }
    assert_eq!(rows(&query(&engine, "UNPIVOT (SELECT 1 AS x, 2 AS y) ON x, y INTO NAME n VALUE v").unwrap()), 2);
    let session = engine.session().unwrap();
    execute(&session, "SET VARIABLE v = 1");
    assert_eq!(execute(&session, "CREATE TABLE again AS PIVOT sales ON y USING sum(p)"), 3);
    assert_eq!(rows(&query(&session, pivot).unwrap()), 3);
}

#[test]
fn a_prepared_statement_over_the_catalog_survives_the_end_of_its_table() {
    let engine = engine();
    for sql in [
        "SELECT name FROM pragma_table_info('t')",
        "PRAGMA table_info('t')",
        "DESCRIBE t",
        "SELECT * FROM pragma_storage_info('t')",
    ] {
        execute(&engine, "CREATE OR REPLACE TABLE t (a INTEGER)");
        let mut statement = engine.prepare(sql, &CancelToken::default()).unwrap();
        execute(&engine, "DROP TABLE t");
        // Tables in the memory that the dropped one had.
        for index in 0..200 {
            execute(&engine, &format!("CREATE OR REPLACE TABLE other_{index} (b VARCHAR, c DOUBLE)"));
        }
        let error =
            statement.query(&[], &QueryOptions::default()).and_then(|mut stream| collect(stream.as_mut())).unwrap_err();
        assert_eq!(error.code(), "BB_ENGINE", "{sql}: {error}");
    }
    execute(&engine, "CREATE TABLE t (a INTEGER)");
    let mut statement = engine.prepare("SELECT name FROM pragma_table_info('t')", &CancelToken::default()).unwrap();
    execute(&engine, "CREATE OR REPLACE TABLE t (b INTEGER, c INTEGER)");
    let mut stream = statement.query(&[], &QueryOptions::default()).unwrap();
    assert_eq!(
        collect(stream.as_mut()).unwrap()[0].column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["b", "c"]
    );
}

#[test]
fn views_and_macros_over_the_catalog_follow_it_too() {
    let engine = engine();
    for (create, sql) in [
        ("CREATE VIEW described AS SELECT name FROM pragma_table_info('t')", "SELECT name FROM described"),
        ("CREATE MACRO columns_of_t() AS TABLE SELECT name FROM pragma_table_info('t')", "FROM columns_of_t()"),
    ] {
        execute(&engine, "CREATE OR REPLACE TABLE t (a INTEGER)");
        let mut before = engine.prepare("SELECT a FROM t", &CancelToken::default()).unwrap();
        execute(&engine, create);
        let mut statement = engine.prepare(sql, &CancelToken::default()).unwrap();
        execute(&engine, "CREATE OR REPLACE TABLE t (b VARCHAR, a INTEGER)");
        for _ in 0..2 {
            let mut stream = statement.query(&[], &QueryOptions::default()).unwrap();
            assert_eq!(collect(stream.as_mut()).unwrap()[0].num_rows(), 2, "{sql}");
        }
        assert_eq!(collect(before.query(&[], &QueryOptions::default()).unwrap().as_mut()).unwrap().len(), 0);
        execute(&engine, "DROP TABLE t");
        for index in 0..200 {
            execute(&engine, &format!("CREATE OR REPLACE TABLE other_{index} (b VARCHAR, c DOUBLE)"));
        }
        let ran = statement.query(&[], &QueryOptions::default()).and_then(|mut stream| collect(stream.as_mut()));
        assert_eq!(ran.expect_err(sql).code(), "BB_ENGINE");
    }
}

#[test]
fn a_prepared_catalog_query_runs_while_others_replace_its_table() {
    let engine = engine();
    std::thread::scope(|threads| {
        let replacing = threads.spawn(|| {
            (0..300).for_each(|_| {
                execute(&engine, "CREATE OR REPLACE TABLE t (a INTEGER)");
            });
        });
        for _ in 0..2 {
            threads.spawn(|| {
                let mut statement =
                    engine.prepare("SELECT name FROM pragma_table_info('t')", &CancelToken::default()).unwrap();
                for _ in 0..300 {
                    let mut stream = statement.query(&[], &QueryOptions::default()).unwrap();
                    assert_eq!(collect(stream.as_mut()).unwrap()[0].num_rows(), 1);
                    drop(stream);
                    assert_eq!(query(&engine, "PRAGMA table_info('t')").unwrap()[0].num_rows(), 1);
                }
            });
        }
        replacing.join().unwrap();
    });
}
