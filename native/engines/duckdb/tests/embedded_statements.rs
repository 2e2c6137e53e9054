//! Prepared statements and parameters on the embedded engine, alone and through the lanes.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::lanes::ipc;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_engine::table::SqlType;
use boundary_bench_engine::{BatchStream, Engine, QueryOptions, Statement, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

const ENDLESS: &str = "SELECT sum(a.range * b.range * $1) FROM range(10000000) a, range(10000000) b";

fn engine() -> Arc<dyn Engine> {
    EmbeddedEngine::open("").unwrap()
}

fn prepare(engine: &Arc<dyn Engine>, sql: &str) -> Result<Box<dyn Statement>> {
    engine.prepare(sql, &CancelToken::default())
}

fn collect(stream: &mut dyn BatchStream) -> Result<Vec<RecordBatch>> {
    std::iter::from_fn(|| stream.next_batch().transpose()).collect()
}

fn one(sql: &str, parameters: &[Value]) -> Result<RecordBatch> {
    let mut statement = prepare(&engine(), sql)?;
    let mut stream = statement.query(parameters, &QueryOptions::default())?;
    Ok(collect(stream.as_mut())?.remove(0))
}

fn refused(sql: &str, parameters: &[Value]) -> Error {
    one(sql, parameters).expect_err("the parameters are unusable")
}

#[test]
fn a_parameter_has_its_own_type_where_the_statement_leaves_it_open() {
    let batch = one(
        "SELECT $1, $2, $3, $4",
        &[Value::Int(7), Value::Double(f64::NAN), Value::Text("a\0b".to_owned()), Value::Null],
    )
    .unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 7);
    assert!(batch.column(1).as_primitive::<Float64Type>().value(0).is_nan());
    assert_eq!(batch.column(2).as_string::<i32>().value(0), "a\0b");
    assert!(batch.column(3).is_null(0));
    let mut sum = prepare(&engine(), "SELECT range + ? AS x FROM range(3) WHERE range < ?").unwrap();
    assert_eq!(sum.parameters().len(), 2);
    // A fraction is not rounded to the integer that the plan was first made for.
    for (value, expected) in [(Value::Double(0.5), 0.5), (Value::Int(2), 2.0), (Value::Double(1.25), 1.25)] {
        let mut stream = sum.query(&[value, Value::Int(1)], &QueryOptions::default()).unwrap();
        let batch = collect(stream.as_mut()).unwrap().remove(0);
        let column = batch.column(0);
        let found = match column.as_primitive_opt::<Float64Type>() {
            Some(doubles) => doubles.value(0),
            None => f64::from(i32::try_from(column.as_primitive::<Int64Type>().value(0)).unwrap()),
        };
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}

#[test]
fn a_parameter_of_a_wrong_type_is_named() {
    let engine = engine();
    engine.execute("CREATE TABLE t (i INT, d DATE)", &CancelToken::default()).unwrap();
    let mut insert = prepare(&engine, "INSERT INTO t VALUES ($1, $2)").unwrap();
    assert_eq!(insert.parameters(), [Some(SqlType::Int), Some(SqlType::Date)]);
    let mut execute = |parameters: &[Value]| insert.execute(parameters, &CancelToken::default());
    for (first, second, named) in [
        (Value::Text("seven".to_owned()), Value::Null, "parameter 1: "),
        (Value::Int(1), Value::Text("yesterday".to_owned()), "parameter 2: "),
        (Value::Int(i64::MAX), Value::Null, "parameter 1: "),
        (Value::Bytes(vec![1]), Value::Null, "parameter 1: "),
    ] {
        let error = execute(&[first, second]).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{error}");
        assert!(error.to_string().starts_with(named), "{error}");
    }
    assert_eq!(execute(&[Value::Text("7".to_owned()), Value::Text("2024-02-29".to_owned())]).unwrap(), 1);
    assert_eq!(execute(&[Value::Int(7), Value::Timestamp(19_782 * 86_400_000_000)]).unwrap(), 1);
    let mut same = prepare(&engine, "SELECT i FROM t WHERE i = 7 AND d = DATE '2024-02-29'").unwrap();
    let found = collect(same.query(&[], &QueryOptions::default()).unwrap().as_mut()).unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
    // An error that is due to no parameter stays the engine's.
    let error = refused("SELECT error('own words') WHERE $1", &[Value::Bool(true)]);
    assert_eq!(error.code(), "BB_ENGINE");
    assert!(error.to_string().contains("own words"), "{error}");
}

#[test]
fn a_number_that_is_no_safe_integer_goes_to_a_double_alone() {
    let two_to_53 = Value::Double(9_007_199_254_740_992.0);
    for (kind, is_taken) in [("DOUBLE", true), ("FLOAT", true), ("BIGINT", false), ("SMALLINT", false)] {
        let result = one(&format!("SELECT $1::{kind} AS x"), std::slice::from_ref(&two_to_53));
        assert_eq!(result.is_ok(), is_taken, "{kind}: {result:?}");
        let named = |error: Error| error.to_string().starts_with("parameter 1: 9007199254740992 is not a safe integer");
        assert!(result.err().is_none_or(named), "{kind}");
    }
}

#[test]
fn what_can_not_be_prepared_is_refused() {
    for (sql, code) in [
        ("SELECT $name", "BB_INVALID_ARGUMENT"),
        ("SELECT $1, $3", "BB_INVALID_ARGUMENT"),
        ("SELECT $2", "BB_INVALID_ARGUMENT"),
        ("SELECT 1; SELECT 2", "BB_INVALID_ARGUMENT"),
        ("", "BB_INVALID_ARGUMENT"),
        ("SELECT 1\0", "BB_INVALID_ARGUMENT"),
        ("SELEKT $1", "BB_ENGINE"),
        ("SELECT * FROM nowhere WHERE x = $1", "BB_ENGINE"),
    ] {
        let error = prepare(&engine(), sql).err().unwrap_or_else(|| panic!("{sql} was taken"));
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
    let error = prepare(
        &(Arc::new(boundary_bench_engine::MemoryEngine::new()) as Arc<dyn Engine>),
        "SELECT * FROM t WHERE x = $1",
    )
    .err()
    .unwrap();
    assert_eq!(error.code(), "BB_UNSUPPORTED");
    let mut begin = prepare(&engine(), "BEGIN").unwrap();
    assert_eq!(begin.execute(&[], &CancelToken::default()).unwrap_err().code(), "BB_UNSUPPORTED");
    let mut create = prepare(&engine(), "CREATE TABLE t (x INT)").unwrap();
    assert_eq!(create.query(&[], &QueryOptions::default()).err().unwrap().code(), "BB_UNSUPPORTED");
}

#[test]
fn a_text_with_parameters_that_are_not_given_is_refused() {
    let engine = engine();
    let error = engine.query("SELECT $1", &QueryOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "parameter 1: is missing; the statement takes 1, not 0");
    let error = engine.execute("CREATE TABLE t AS SELECT ?", &CancelToken::default()).unwrap_err();
    assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
    assert!(engine.list_tables().unwrap().is_empty());
}

#[test]
fn a_statement_follows_the_changes_of_its_table() {
    let engine = engine();
    let execute = |sql: &str| engine.execute(sql, &CancelToken::default()).unwrap();
    execute("CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)");
    let mut select = prepare(&engine, "SELECT * FROM t WHERE x = $1").unwrap();
    let columns = |select: &mut dyn Statement| {
        let mut stream = select.query(&[Value::Int(2)], &QueryOptions::default()).unwrap();
        let names: Vec<String> = stream.columns().iter().map(|column| column.name.clone()).collect();
        (names, collect(stream.as_mut()).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>())
    };
    assert_eq!(columns(select.as_mut()), (vec!["x".to_owned()], 1));
    execute("ALTER TABLE t ADD COLUMN y VARCHAR; INSERT INTO t VALUES (2, 'two')");
    assert_eq!(columns(select.as_mut()), (vec!["x".to_owned(), "y".to_owned()], 2));
    execute("DROP TABLE t");
    assert_eq!(select.query(&[Value::Int(2)], &QueryOptions::default()).err().unwrap().code(), "BB_ENGINE");
}

#[test]
fn a_statement_is_cancelled_from_another_thread_and_run_again() {
    let engine = engine();
    let mut statement = prepare(&engine, ENDLESS).unwrap();
    for _ in 0..3 {
        let options = QueryOptions::default();
        let cancel = options.cancel.clone();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let ended = statement.query(&[Value::Int(1)], &options).and_then(|mut stream| collect(stream.as_mut()));
        assert_eq!(ended.unwrap_err().code(), "BB_ABORTED");
        canceller.join().unwrap();
    }
}

#[test]
fn many_callers_run_one_prepared_statement_at_once() {
    let engine = engine();
    let sql = "SELECT range * $1 AS x FROM range($2)";
    let statement = Arc::new(PreparedStatement::prepare(Arc::clone(&engine), sql, &CancelToken::default()).unwrap());
    let threads: Vec<_> = (1..=8_i64)
        .map(|factor| {
            let statement = Arc::clone(&statement);
            std::thread::spawn(move || {
                for round in 0..10 {
                    let rows = 1000 * (round % 3);
                    let parameters = vec![Value::Int(factor), Value::Int(rows)];
                    let bound = BoundStatement::Prepared { statement: Arc::clone(&statement), parameters };
                    // Some callers drop the stream before its end.
                    if round % 4 == 3 {
                        bound.query(&QueryOptions::default(), |_| Ok(())).unwrap();
                        continue;
                    }
                    let batches = bound.query(&QueryOptions::default(), collect).unwrap();
                    let sum: i64 =
                        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values()).sum();
                    assert_eq!(sum, factor * rows * (rows - 1) / 2);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    statement.close();
    statement.close();
    let bound = BoundStatement::Prepared { statement, parameters: vec![Value::Int(1), Value::Int(1)] };
    assert_eq!(bound.query(&QueryOptions::default(), ipc::write_stream).unwrap_err().code(), "BB_CLOSED");
    assert_eq!(bound.execute(&CancelToken::default()).unwrap_err().code(), "BB_CLOSED");
}

#[test]
fn an_open_stream_does_not_hold_up_the_next_caller_of_its_statement() {
    let statement =
        Arc::new(PreparedStatement::prepare(engine(), "SELECT range FROM range($1)", &CancelToken::default()).unwrap());
    let bound =
        |rows| BoundStatement::Prepared { statement: Arc::clone(&statement), parameters: vec![Value::Int(rows)] };
    let rows = |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let outer = bound(200_000)
        .query(&QueryOptions::default(), |stream| {
            let first = stream.next_batch()?.map_or(0, |batch| batch.num_rows());
            let inner = rows(bound(10).query(&QueryOptions::default(), collect)?);
            Ok((first + rows(collect(stream)?), inner))
        })
        .unwrap();
    assert_eq!(outer, (200_000, 10));
}

#[test]
fn statements_over_sequences_survive_their_end() {
    let engine = EmbeddedEngine::open("").unwrap().session().unwrap();
    let cancel = CancelToken::default();
    for (make, sql, end) in [
        ("CREATE SEQUENCE s", "SELECT nextval('s')", "DROP SEQUENCE s"),
        ("CREATE SEQUENCE s; SELECT nextval('s')", "SELECT currval('s')", "DROP SEQUENCE s"),
        ("ATTACH ':memory:' AS other; CREATE SEQUENCE other.s", "SELECT nextval('other.s')", "DETACH other"),
    ] {
        engine.execute(make, &cancel).unwrap();
        let mut statement = engine.prepare(sql, &cancel).unwrap();
        engine.execute(end, &cancel).unwrap();
        let error = statement.query(&[], &QueryOptions::default()).err().unwrap();
        assert_eq!(error.code(), "BB_ENGINE", "{sql}");
    }
}

#[test]
fn a_statement_without_parameters_answers_from_the_rows_of_its_run() {
    let cancel = CancelToken::default();
    let in_session = engine().session().unwrap();
    in_session.execute("SET VARIABLE x = 1", &cancel).unwrap();
    for engine in [engine(), in_session] {
        let execute = |sql: &str| engine.execute(sql, &cancel).unwrap();
        execute("CREATE TABLE jobs (id INTEGER, done INTEGER); INSERT INTO jobs VALUES (1, 0), (2, 0), (3, 0)");
        let ids = |statement: &mut Box<dyn Statement>| -> Vec<i32> {
            let batches = collect(statement.query(&[], &QueryOptions::default()).unwrap().as_mut()).unwrap();
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect()
        };
        let prepare = |sql: &str| engine.prepare(sql, &cancel).unwrap();
        let mut open = prepare("SELECT count(*)::INTEGER FROM jobs WHERE done = 0");
        let mut failed = prepare("SELECT id FROM jobs WHERE done = 2");
        let mut grouped = prepare("SELECT max(id) FROM jobs GROUP BY done ORDER BY 1");
        let mut joined = prepare("SELECT a.id FROM jobs a JOIN jobs b ON a.id = b.id + 1 WHERE b.done = 1 ORDER BY 1");
        let mut stored = prepare("INSERT INTO jobs SELECT id + 10, done FROM jobs WHERE done = 2 RETURNING id");
        let mut mended = prepare("UPDATE jobs SET done = 3 WHERE done = 2");
        let mut purged = prepare("DELETE FROM jobs WHERE done = 1");
        let run = |statement: &mut Box<dyn Statement>| statement.execute(&[], &cancel).unwrap();
        assert_eq!((ids(&mut open), ids(&mut failed), ids(&mut joined)), (vec![3], vec![], vec![]));
        assert_eq!((ids(&mut grouped), ids(&mut stored), run(&mut mended), run(&mut purged)), (vec![3], vec![], 0, 0));
        execute("INSERT INTO jobs VALUES (4, 1), (5, 1), (6, 2)");
        assert_eq!((ids(&mut open), ids(&mut failed), ids(&mut joined)), (vec![3], vec![6], vec![5, 6]));
        assert_eq!((ids(&mut grouped), ids(&mut stored)), (vec![3, 5, 6], vec![16]));
        assert_eq!((run(&mut mended), run(&mut purged)), (2, 2));
    }
    // PREPARE in SQL keeps such a plan, and DuckDB runs it.
    let session = engine().session().unwrap();
    session.execute("CREATE TABLE t (a INTEGER)", &cancel).unwrap();
    let refused = |sql: &str| session.execute(sql, &cancel).is_err_and(|error| error.code() == "BB_UNSUPPORTED");
    assert!(
        refused("PREPARE p AS SELECT * FROM t WHERE a = 1") && refused("PREPARE p AS UPDATE t SET a = 1 WHERE a = 2")
    );
    assert!(!refused("PREPARE p AS SELECT * FROM t WHERE a = ?") && !refused("PREPARE q AS INSERT INTO t VALUES (1)"));
}

#[test]
fn sql_prepares_no_plan_that_points_into_the_catalog() {
    let engine = EmbeddedEngine::open("").unwrap().session().unwrap();
    let cancel = CancelToken::default();
    let refused = |sql: &str| {
        let error = engine.execute(sql, &cancel).unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}: {error}");
        let error = engine.query(sql, &QueryOptions::default()).err().unwrap();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}: {error}");
    };
    engine.execute("CREATE TABLE t (x INTEGER); CREATE SEQUENCE s; PREPARE safe AS SELECT 1 AS x", &cancel).unwrap();
    refused("PREPARE p AS SELECT * FROM pragma_table_info('t')");
    refused("PREPARE p AS SELECT currval('s')");
    assert!(engine.query("EXECUTE safe", &QueryOptions::default()).is_ok());
    engine.execute("CREATE VIEW v AS SELECT * FROM pragma_table_info('t')", &cancel).unwrap();
    refused("PREPARE p AS SELECT * FROM v");
    refused("EXECUTE safe");
    assert!(engine.prepare("EXECUTE safe", &cancel).is_err());
    engine.execute("DROP VIEW v", &cancel).unwrap();
}
