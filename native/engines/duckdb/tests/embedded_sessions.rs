//! Sessions: what a call leaves behind for the next.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, TimestampMicrosecondArray};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::lanes::inserter::Inserter;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{BatchStream, CreateMode, Engine, QueryOptions, Value};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;

fn session() -> Arc<dyn Engine> {
    EmbeddedEngine::open("").unwrap().session().unwrap()
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

/// The only value of a query, as a text.
fn value(engine: &Arc<dyn Engine>, sql: &str) -> Option<String> {
    let batches = query(engine, &format!("SELECT ({sql})::VARCHAR")).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let column = batches[0].column(0).as_string::<i32>();
    column.is_valid(0).then(|| column.value(0).to_owned())
}

fn table(name: &str) -> TableDefinition {
    let columns = vec![Column { name: "x".to_owned(), sql_type: SqlType::Int, nullable: true }];
    TableDefinition { name: name.to_owned(), columns }
}

fn insert(engine: &Arc<dyn Engine>, name: &str, rows: std::ops::Range<i32>) -> u64 {
    let mut ingest = engine.ingest(&table(name)).unwrap();
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(rows));
    ingest.write(&RecordBatch::try_new(table(name).to_arrow(), vec![array]).unwrap()).unwrap();
    ingest.commit().unwrap()
}

#[test]
fn what_one_call_sets_is_there_for_the_next() {
    let engine = session();
    let mut prepared = engine.prepare("SELECT getvariable('v')::INTEGER", &CancelToken::default()).unwrap();
    execute(&engine, "SET VARIABLE v = 5");
    assert_eq!(value(&engine, "getvariable('v')").as_deref(), Some("5"));
    let batches = collect(prepared.query(&[], &QueryOptions::default()).unwrap().as_mut()).unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<Int32Type>().value(0), 5);
    execute(&engine, "CREATE SCHEMA s; CREATE TABLE s.t (x INTEGER); USE s");
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
    assert_eq!(insert(&engine, "t", 0..3), 3);
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("3"));
    execute(&engine, "ATTACH ':memory:' AS other; USE other");
    engine.create_table(&table("there"), CreateMode::Create).unwrap();
    assert_eq!(insert(&engine, "there", 0..4), 4);
    assert_eq!(value(&engine, "SELECT count(*) FROM other.main.there").as_deref(), Some("4"));
    execute(&engine, "USE memory; SET search_path = 's'");
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("3"));
    execute(&engine, "SET default_null_order = 'nulls_first'; SET SESSION enable_progress_bar = false");
    execute(&engine, "PREPARE p AS SELECT 42::INTEGER AS x");
    assert_eq!(query(&engine, "EXECUTE p").unwrap()[0].column(0).as_primitive::<Int32Type>().value(0), 42);
    let seeded = || {
        query(&engine, "SELECT setseed(0.5)").unwrap();
        value(&engine, "random()").unwrap()
    };
    assert_eq!(seeded(), seeded());
}

#[test]
fn every_setting_stays_and_times_do_not_depend_on_the_time_zone() {
    let engine = session();
    execute(&engine, "SET threads = 1");
    for (name, value_set) in
        [("TimeZone", "Asia/Tokyo"), ("Calendar", "japanese"), ("errors_as_json", "true"), ("integer_division", "true")]
    {
        execute(&engine, &format!("SET {name} = '{value_set}'"));
        assert_eq!(value(&engine, &format!("current_setting('{name}')")).as_deref(), Some(value_set));
    }
    execute(&engine, "RESET errors_as_json; CREATE TABLE t (x TIMESTAMPTZ)");
    let micros = 1_700_000_000_123_456;
    let mut prepared = engine.prepare("INSERT INTO t VALUES ($1)", &CancelToken::default()).unwrap();
    prepared.execute(&[Value::Timestamp(micros)], &CancelToken::default()).unwrap();
    let table = engine.describe_table("t").unwrap();
    let mut ingest = engine.ingest(&table).unwrap();
    let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![micros]));
    ingest.write(&RecordBatch::try_new(table.to_arrow(), vec![array]).unwrap()).unwrap();
    ingest.commit().unwrap();
    let batches = query(&engine, "FROM t").unwrap();
    let found: Vec<_> = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<TimestampMicrosecondType>().values().to_vec())
        .collect();
    assert_eq!(found, [micros, micros]);
    let mut select = engine.prepare("SELECT count(*) FROM t WHERE x = $1", &CancelToken::default()).unwrap();
    let batches =
        collect(select.query(&[Value::Timestamp(micros)], &QueryOptions::default()).unwrap().as_mut()).unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 2);
}

#[test]
fn temporary_tables_work_in_every_lane_and_stay_in_their_session() {
    let engine = session();
    execute(&engine, "CREATE TEMP TABLE t (x INTEGER)");
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
    assert_eq!(engine.describe_table("t").unwrap(), table("t"));
    assert_eq!(insert(&engine, "t", 0..1000), 1000);
    execute(&engine, "INSERT INTO t VALUES (1000)");
    assert_eq!(value(&engine, "SELECT sum(x) FROM t").as_deref(), Some("500500"));
    // An insert that is not ended holds nothing up.
    let mut ingest = engine.ingest(&table("t")).unwrap();
    let batch = RecordBatch::try_new(table("t").to_arrow(), vec![Arc::new(Int32Array::from(vec![7]))]).unwrap();
    ingest.write(&batch).unwrap();
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("1001"));
    ingest.abort().unwrap();
    let other = engine.session().unwrap();
    assert!(other.list_tables().unwrap().is_empty());
    assert_eq!(other.describe_table("t").unwrap_err().code(), "BB_TABLE_NOT_FOUND");
    execute(&other, "CREATE TABLE t (y VARCHAR)");
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("1001"));
    assert!(engine.drop_table("t").unwrap());
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("0"));
    execute(&engine, "CREATE TEMP TABLE gone (x INTEGER)");
    engine.end_session();
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
}

#[test]
fn calls_of_a_session_run_while_its_results_are_read() {
    let engine = session();
    execute(&engine, "SET VARIABLE v = 3; CREATE TABLE t AS SELECT range::INTEGER AS x FROM range(1000000)");
    let mut streams: Vec<_> =
        (0..3).map(|_| engine.query("SELECT x, getvariable('v') FROM t", &QueryOptions::default()).unwrap()).collect();
    for (index, stream) in streams.iter_mut().enumerate() {
        assert!(stream.next_batch().unwrap().is_some(), "{index}");
        assert_eq!(value(&engine, "getvariable('v')").as_deref(), Some("3"));
    }
    execute(&engine, "INSERT INTO t VALUES (-1)");
    for stream in &mut streams {
        let rest: i64 = collect(stream.as_mut())
            .unwrap()
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec())
            .map(i64::from)
            .sum();
        // The first batch has been read before.
        assert_eq!(rest, 999_999 * 500_000 - 65_535 * 32_768);
    }
    let unread = engine.query("SELECT x FROM t", &QueryOptions::default()).unwrap();
    drop(unread);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..10 {
                    let batches = query(&engine, "SELECT count(*) FROM t").unwrap();
                    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 1_000_001);
                }
            });
        }
    });
}

#[test]
fn a_call_that_waits_for_its_turn_can_be_cancelled() {
    let engine = session();
    execute(&engine, "SET VARIABLE v = 1");
    let endless = "SELECT count(*) FROM range(100000000000) a WHERE hash(range) = 42";
    let running = QueryOptions::default();
    std::thread::scope(|threads| {
        let first = threads.spawn(|| engine.query(endless, &running).and_then(|mut stream| collect(stream.as_mut())));
        std::thread::sleep(Duration::from_millis(100));
        let waiting = CancelToken::default();
        let second = threads.spawn({
            let waiting = waiting.clone();
            let engine = &engine;
            move || engine.execute("CREATE TABLE never (x INTEGER)", &waiting)
        });
        std::thread::sleep(Duration::from_millis(50));
        waiting.cancel();
        assert_eq!(second.join().unwrap().unwrap_err().code(), "BB_ABORTED");
        running.cancel.cancel();
        assert_eq!(first.join().unwrap().unwrap_err().code(), "BB_ABORTED");
    });
    assert!(engine.list_tables().unwrap().is_empty());
    assert_eq!(value(&engine, "getvariable('v')").as_deref(), Some("1"));
}

#[test]
fn an_error_leaves_no_transaction_in_the_session() {
    let engine = session();
    execute(&engine, "CREATE TEMP TABLE t (x INTEGER UNIQUE)");
    for sql in [
        "INSERT INTO t VALUES (1); SELEKT",
        "INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (1)",
        "INSERT INTO t VALUES (1), (1)",
        "CREATE TABLE u AS SELECT error('no'); SELECT 1",
    ] {
        assert_eq!(engine.execute(sql, &CancelToken::default()).unwrap_err().code(), "BB_ENGINE", "{sql}");
        assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("0"));
    }
    for sql in ["INSERT INTO t VALUES (1) RETURNING error('no')", "INSERT INTO t VALUES (1)", "PIVOT nowhere ON x"] {
        assert!(query(&engine, sql).is_err(), "{sql}");
        assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("0"));
    }
    assert_eq!(engine.describe_table("nowhere").unwrap_err().code(), "BB_TABLE_NOT_FOUND");
    assert_eq!(engine.ingest(&table("nowhere")).err().unwrap().code(), "BB_TABLE_NOT_FOUND");
    assert_eq!(engine.execute("BEGIN", &CancelToken::default()).unwrap_err().code(), "BB_UNSUPPORTED");
    assert_eq!(insert(&engine, "t", 0..2), 2);
    let mut failing = engine.ingest(&table("t")).unwrap();
    let batch = RecordBatch::try_new(table("t").to_arrow(), vec![Arc::new(Int32Array::from(vec![5, 1]))]).unwrap();
    failing.write(&batch).unwrap();
    assert_eq!(failing.commit().unwrap_err().code(), "BB_ENGINE");
    assert_eq!(execute(&engine, "INSERT INTO t VALUES (9); DELETE FROM t WHERE x < 9"), 3);
}

#[test]
fn an_engine_without_a_session_refuses_what_would_be_gone() {
    let engine = EmbeddedEngine::open("").unwrap();
    for sql in [
        "CREATE TEMP TABLE t (x INTEGER)",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1",
        "SET VARIABLE v = 1",
        "SET schema = 'main'",
        "USE memory",
        "PREPARE p AS SELECT 1",
        "SET VARIABLE v = 1; SET VARIABLE w = 2",
    ] {
        let error = engine.execute(sql, &CancelToken::default()).unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}: {error}");
        assert!(engine.prepare(sql, &CancelToken::default()).is_err(), "{sql}");
    }
    execute(&engine, "SET threads = 2");
    assert_eq!(value(&engine, "current_setting('threads')").as_deref(), Some("2"));
    execute(&engine, "CREATE TEMP TABLE t AS SELECT 1 AS x; CREATE TABLE kept AS SELECT * FROM t");
    assert_eq!(engine.list_tables().unwrap(), ["kept"]);
}

#[test]
fn calls_of_a_session_take_turns_in_the_order_in_which_they_were_made() {
    for _ in 0..20 {
        let engine = session();
        let calls: Vec<_> = (0..10).map(|_| engine.in_turn().unwrap()).collect();
        let last = engine.in_turn().unwrap();
        let dropped = engine.in_turn().unwrap();
        std::thread::scope(|scope| {
            let query = scope.spawn(move || value(&last, "getvariable('v')"));
            for (index, call) in calls.into_iter().enumerate().rev() {
                scope.spawn(move || execute(&call, &format!("SET VARIABLE v = {index}")));
            }
            assert_eq!(query.join().unwrap().as_deref(), Some("9"));
        });
        drop(dropped);
        execute(&engine, "SET VARIABLE v = 10");
        // A statement with parameters is prepared and run at one place.
        let first = engine.in_turn().unwrap();
        let second = engine.in_turn().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || execute(&second, "SET VARIABLE v = 11"));
            let mut statement =
                first.prepare("SELECT getvariable('v') + $1::INTEGER", &CancelToken::default()).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            let batches =
                collect(statement.query(&[Value::Int(0)], &QueryOptions::default()).unwrap().as_mut()).unwrap();
            assert_eq!(batches[0].column(0).as_primitive::<Int32Type>().value(0), 10);
        });
        assert_eq!(value(&engine, "getvariable('v')").as_deref(), Some("11"));
    }
}

#[test]
fn prepared_statements_see_what_the_session_has_set_since() {
    let engine = session();
    execute(
        &engine,
        "CREATE TABLE t AS SELECT 1::INTEGER AS x; CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 2::INTEGER AS x",
    );
    let run = |statement: &mut dyn boundary_bench_engine::Statement| {
        let batches = collect(statement.query(&[], &QueryOptions::default()).unwrap().as_mut()).unwrap();
        batches[0].column(0).as_string::<i32>().value(0).to_owned()
    };
    let prepare = |sql: &str| engine.prepare(sql, &CancelToken::default()).unwrap();
    execute(&engine, "SET VARIABLE v = 1; SET TimeZone = 'UTC'");
    let mut variable = prepare("SELECT getvariable('v')::VARCHAR");
    let mut zone = prepare("SELECT (TIMESTAMPTZ '2024-01-01 00:00:00+00')::VARCHAR");
    let mut table = prepare("SELECT x::VARCHAR FROM t");
    assert_eq!([run(variable.as_mut()), run(table.as_mut())], ["1", "1"]);
    assert_eq!(run(zone.as_mut()), "2024-01-01 00:00:00+00");
    execute(&engine, "SET VARIABLE v = 2");
    assert_eq!(run(variable.as_mut()), "2");
    execute(&engine, "SET TimeZone = 'Asia/Tokyo'");
    assert_eq!(run(zone.as_mut()), "2024-01-01 09:00:00+09");
    execute(&engine, "USE s");
    assert_eq!(run(table.as_mut()), "2");
    execute(&engine, "CREATE TEMP TABLE t AS SELECT 3::INTEGER AS x");
    assert_eq!(run(table.as_mut()), "3");
}

#[test]
fn a_temporary_table_that_explain_analyze_makes_stays() {
    let engine = session();
    execute(&engine, "EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1 AS x");
    assert_eq!(engine.list_tables().unwrap(), ["t"]);
}

#[test]
fn temporary_tables_take_rows_by_their_full_names() {
    let engine = session();
    execute(&engine, "CREATE TEMP TABLE t (x INTEGER)");
    for name in ["t", "temp.t", "temp.main.t"] {
        assert_eq!(engine.describe_table(name).unwrap(), table(name), "{name}");
        assert_eq!(insert(&engine, name, 0..3), 3, "{name}");
    }
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("9"));
}

/// Begins an insert into `t`, then runs `later`, then inserts. The call for the insert is made first, on whichever thread it begins.
fn insert_before(engine: &Arc<dyn Engine>, later: &str, rows: i32) -> Result<u64> {
    let inserter = Inserter::begin(engine.in_turn().unwrap(), table("t")).unwrap();
    execute(engine, later);
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    inserter.write(RecordBatch::try_new(table("t").to_arrow(), vec![values]).unwrap())?;
    inserter.execute()
}

#[test]
fn rows_go_to_the_table_that_its_name_meant_when_the_insert_was_made() {
    // In a session that exists, and in one that `later` begins.
    for (before, later) in [
        ("SET VARIABLE x = 1", "USE s2"),
        ("SET VARIABLE x = 1", "SET schema = 's2'"),
        ("SET VARIABLE x = 1", "CREATE TEMP TABLE t (x INTEGER)"),
        ("SELECT 1", "USE s2"),
        ("SELECT 1", "SET search_path = 's2'"),
        ("SELECT 1", "CREATE TEMP TABLE t (x INTEGER)"),
    ] {
        for rows in [3, 70_000] {
            let engine = session();
            execute(&engine, "CREATE SCHEMA s2; CREATE TABLE main.t (x INTEGER); CREATE TABLE s2.t (x INTEGER)");
            execute(&engine, before);
            assert_eq!(insert_before(&engine, later, rows).unwrap(), u64::try_from(rows).unwrap(), "{later}");
            assert_eq!(
                value(&engine, "SELECT count(*) FROM memory.main.t"),
                Some(rows.to_string()),
                "{before}, {later}"
            );
        }
    }
}

#[test]
fn no_row_goes_to_a_table_that_took_the_name_of_another() {
    for (before, later) in [
        ("CREATE TABLE t (x INTEGER)", "DROP TABLE t; CREATE TABLE t (x INTEGER)"),
        ("CREATE TABLE t (x INTEGER)", "ALTER TABLE t RENAME TO u; CREATE TABLE t (x INTEGER)"),
        ("CREATE TEMP TABLE t (x INTEGER)", "DROP TABLE t; CREATE TEMP TABLE t (x INTEGER)"),
        ("CREATE TEMP TABLE t (x INTEGER)", "CREATE TABLE memory.main.t (x INTEGER); DROP TABLE temp.t"),
        ("CREATE TEMP TABLE t (x INTEGER)", "ALTER TABLE t RENAME TO u; CREATE TABLE memory.main.t (x INTEGER)"),
    ] {
        let engine = session();
        execute(&engine, before);
        let inserted = insert_before(&engine, later, 3);
        assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("0"), "{later}: {inserted:?}");
        let is_kept =
            value(&engine, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'u'").as_deref() == Some("1");
        // The table itself may still take the rows, under its new name.
        assert!(
            inserted.is_err() || (is_kept && value(&engine, "SELECT count(*) FROM u").as_deref() == Some("3")),
            "{later}"
        );
    }
    let engine = session();
    execute(&engine, "CREATE TEMP TABLE t (x INTEGER)");
    let mut ingest = engine.ingest(&table("t")).unwrap();
    let values: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    ingest.write(&RecordBatch::try_new(table("t").to_arrow(), vec![values]).unwrap()).unwrap();
    engine.end_session();
    execute(&engine, "CREATE TABLE t (x INTEGER)");
    assert!(ingest.commit().is_err());
    assert_eq!(value(&engine, "SELECT count(*) FROM t").as_deref(), Some("0"));
}

#[test]
fn rows_of_an_insert_get_the_defaults_and_the_checks_of_their_session() {
    for kind in ["", "TEMP "] {
        let engine = session();
        execute(&engine, "SET VARIABLE tenant = 'acme'; SET VARIABLE most = 10; SET TimeZone = 'Asia/Tokyo'");
        execute(
            &engine,
            &format!(
                "CREATE {kind}TABLE t (x INTEGER, tenant VARCHAR DEFAULT getvariable('tenant'), zone VARCHAR DEFAULT \
                 current_setting('TimeZone'), day DATE DEFAULT CAST('2024-01-01 20:00:00+00'::TIMESTAMPTZ AS DATE), \
                 twice INTEGER AS (x * 2)); CREATE {kind}TABLE checked (x INTEGER CHECK (x < getvariable('most')))"
            ),
        );
        assert_eq!(insert(&engine, "t", 0..3000), 3000);
        let found = "SELECT concat_ws(' ', count(*), min(tenant), min(zone), max(day), max(twice)) FROM t";
        assert_eq!(value(&engine, found).as_deref(), Some("3000 acme Asia/Tokyo 2024-01-02 5998"), "{kind}");
        let insert_sixty = || {
            let mut ingest = engine.ingest(&table("checked"))?;
            let array: ArrayRef = Arc::new(Int32Array::from(vec![5, 60]));
            ingest.write(&RecordBatch::try_new(table("checked").to_arrow(), vec![array]).unwrap())?;
            ingest.commit()
        };
        assert_eq!(insert_sixty().unwrap_err().code(), "BB_ENGINE", "{kind}");
        assert_eq!(insert(&engine, "checked", 0..10), 10);
        assert_eq!(value(&engine, "SELECT count(*) FROM checked").as_deref(), Some("10"), "{kind}");
    }
}

#[test]
fn runs_of_a_prepared_statement_take_turns_in_the_order_in_which_they_were_made() {
    for round in 0..20 {
        let engine = session();
        let sql = "SELECT getvariable('v')::INTEGER + $1::INTEGER";
        let statement = PreparedStatement::prepare(Arc::clone(&engine), sql, &CancelToken::default()).unwrap();
        execute(&engine, "SET VARIABLE v = 1");
        // The second run finds a session of the statement that is not in use, or none.
        let runs = [statement.in_turn(), statement.in_turn()];
        let later = engine.in_turn().unwrap();
        std::thread::scope(|scope| {
            let changed = scope.spawn(move || execute(&later, "SET VARIABLE v = 2"));
            std::thread::sleep(Duration::from_millis(round % 3));
            for run in runs {
                let run = BoundStatement::Prepared { statement: run, parameters: vec![Value::Int(10)] };
                let rows = run.query(&QueryOptions::default(), collect).unwrap();
                assert_eq!(rows[0].column(0).as_primitive::<Int32Type>().value(0), 11);
            }
            changed.join().unwrap();
        });
    }
}
