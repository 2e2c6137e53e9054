//! Prepared statements and parameters on hyperd.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{BatchStream, Engine, QueryOptions, Statement, Value};
use boundary_bench_hyper::{executable, open};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, needs};

const URIS: [&str; 2] = ["hyper:", "hyper:?transport=ipc"];

fn engine() -> Arc<dyn Engine> {
    open("hyper:").unwrap()
}

fn execute(engine: &Arc<dyn Engine>, sql: &str) -> u64 {
    engine.execute(sql, &CancelToken::default()).unwrap()
}

fn prepare(engine: &Arc<dyn Engine>, sql: &str) -> Result<Box<dyn Statement>> {
    engine.prepare(sql, &CancelToken::default())
}

fn rows(stream: &mut dyn BatchStream) -> Result<RecordBatch> {
    let batches = std::iter::from_fn(|| stream.next_batch().transpose()).collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&stream.schema(), &batches).unwrap())
}

/// The only number of a result.
fn number(engine: &Arc<dyn Engine>, sql: &str) -> i64 {
    let batch = rows(engine.query(sql, &QueryOptions::default()).unwrap().as_mut()).unwrap();
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

fn one(engine: &Arc<dyn Engine>, sql: &str, parameters: &[Value]) -> Result<RecordBatch> {
    rows(prepare(engine, sql)?.query(parameters, &QueryOptions::default())?.as_mut())
}

#[test]
fn rows_of_a_statement_are_those_of_a_query() {
    needs!("hyperd", executable());
    let columns = "x, x % 2 = 0, CAST(-x AS SMALLINT), x * 10000000000, CAST(x AS REAL) / 3, CAST(x AS DOUBLE PRECISION) / -7, \
         CAST(x AS NUMERIC(18, 3)), CAST(-x AS NUMERIC(19, 3)), CAST(x AS NUMERIC(38, 10)), 'ä' || x, \
         CAST('\\x00ff27' AS BYTEA), DATE '0001-01-01' + x, TIMESTAMP '1969-12-31 23:59:59.999999' + x * INTERVAL '1 day', \
         CASE WHEN x % 3 = 0 THEN x END AS x, CASE WHEN x % 5 = 0 THEN CAST(x AS TEXT) END, \
         CASE WHEN x % 7 = 0 THEN CAST(x AS NUMERIC(30, 1)) END, sum(x) OVER (), count(*) OVER (), NULL";
    for uri in URIS {
        let engine = open(uri).unwrap();
        let sql = |end| format!("SELECT {columns} FROM generate_series(1, {end}) g(x) ORDER BY 1");
        let expected = rows(engine.query(&sql("30000"), &QueryOptions::default()).unwrap().as_mut()).unwrap();
        let mut statement = prepare(&engine, &sql("CAST($1 AS INTEGER)")).unwrap();
        for batch_rows in [999, 1_000_000] {
            let options = QueryOptions { batch_rows, ..QueryOptions::default() };
            let mut stream = statement.query(&[Value::Int(30_000)], &options).unwrap();
            let first = stream.next_batch().unwrap().unwrap();
            assert_eq!(first.num_rows(), batch_rows.min(30_000));
            let rest = rows(stream.as_mut()).unwrap();
            assert_eq!(concat_batches(&expected.schema(), [&first, &rest]).unwrap(), expected);
        }
    }
}

#[test]
fn a_parameter_has_its_own_type_where_the_statement_leaves_it_open() {
    needs!("hyperd", executable());
    let engine = engine();
    let decimal = Value::Decimal { value: -12_345, precision: 7, scale: 3 };
    let text = Value::Text("a\0b".to_owned());
    let batch = one(
        &engine,
        "SELECT $1, $2, $3, $4, $5",
        &[Value::Int(7), Value::Double(f64::NAN), text, Value::Null, decimal],
    )
    .unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 7);
    assert!(batch.column(1).as_primitive::<Float64Type>().value(0).is_nan());
    assert_eq!(batch.column(2).as_string::<i32>().value(0), "a\0b");
    assert!(batch.column(3).is_null(0));
    assert_eq!(batch.column(4).as_primitive::<Decimal128Type>().value(0), -12_345);
    assert_eq!(batch.column(4).data_type(), &DataType::Decimal128(7, 3));
    let mut sum = prepare(&engine, "SELECT CAST(2 + $1 AS DOUBLE PRECISION) WHERE $1 < $2").unwrap();
    assert_eq!(sum.parameters(), [None, None]);
    // The type of a parameter's value may differ from run to run.
    let decimal = |value, scale| Value::Decimal { value, precision: 5, scale };
    for (value, expected) in
        [(Value::Double(0.5), 2.5), (Value::Int(2), 4.0), (decimal(125, 2), 3.25), (decimal(5, 1), 2.5)]
    {
        let batch = rows(sum.query(&[value, Value::Int(3)], &QueryOptions::default()).unwrap().as_mut()).unwrap();
        let found = batch.column(0).as_primitive::<Float64Type>().value(0);
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
    // The types of two parameters that are compared with each other are unknown until both have values.
    assert_eq!(one(&engine, "SELECT 1 WHERE $1 = $2", &[Value::Int(1), Value::Int(1)]).unwrap().num_rows(), 1);
}

#[test]
fn a_parameter_of_a_wrong_type_is_named() {
    needs!("hyperd", executable());
    let engine = engine();
    execute(&engine, "CREATE TABLE t (i INT, d DATE, n NUMERIC(5, 2))");
    let mut insert = prepare(&engine, "INSERT INTO t VALUES ($1, $2, $3)").unwrap();
    let mut run = |parameters: &[Value]| insert.execute(parameters, &CancelToken::default());
    let large = Value::Decimal { value: 123_456_789, precision: 9, scale: 0 };
    for (parameters, named) in [
        ([Value::Text("seven".to_owned()), Value::Null, Value::Null], "parameter 1: "),
        ([Value::Int(1), Value::Text("never".to_owned()), Value::Null], "parameter 2: "),
        ([Value::Int(i64::MAX), Value::Date(1), Value::Null], "parameter 1: "),
        ([Value::Bytes(vec![1]), Value::Null, Value::Null], "parameter 1: "),
        ([Value::Int(1), Value::Bool(true), Value::Null], "parameter 2: "),
        ([Value::Int(1), Value::Date(i32::MIN), Value::Null], "parameter 2: "),
        ([Value::Double(1e300), Value::Null, Value::Null], "parameter 1: "),
        ([Value::Null, Value::Null, Value::Int(1_234_567)], "parameter 3: "),
        ([Value::Null, Value::Null, large], "parameter 3: "),
    ] {
        let error = run(&parameters).expect_err(named);
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{parameters:?}: {error}");
        assert!(error.to_string().starts_with(named), "{parameters:?}: {error}");
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    }
    let texts = ["7", "2024-02-29", "1.5"].map(|text| Value::Text(text.to_owned()));
    assert_eq!(run(&texts).unwrap(), 1);
    assert_eq!(run(&[Value::Double(2.0), Value::Null, Value::Double(0.25)]).unwrap(), 1);
    // An error that no parameter causes stays an engine error.
    let error = one(&engine, "SELECT 1 / ($1 - 1)", &[Value::Int(1)]).unwrap_err();
    assert_eq!(error.code(), "BB_ENGINE");
    assert!(error.to_string().contains("zero"), "{error}");
}

#[test]
fn the_one_wrong_parameter_of_thousands_is_named() {
    needs!("hyperd", executable());
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x INT)");
    let rows = (1..=3000).map(|number| format!("(${number})")).collect::<Vec<_>>().join(", ");
    let mut insert = prepare(&engine, &format!("INSERT INTO t VALUES {rows}")).unwrap();
    for wrong in [1, 2, 1777, 2999, 3000] {
        let mut parameters = vec![Value::Int(7); 3000];
        parameters[wrong - 1] = Value::Text("seven".to_owned());
        let error = insert.execute(&parameters, &CancelToken::default()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("parameter {wrong}: ")), "{error}");
    }
}

#[test]
fn what_can_not_be_prepared_is_refused() {
    needs!("hyperd", executable());
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x INT)");
    for (sql, code) in [
        ("SELECT $name", "BB_INVALID_ARGUMENT"),
        ("SELECT $1, $3", "BB_INVALID_ARGUMENT"),
        ("SELECT 1; SELECT 2", "BB_INVALID_ARGUMENT"),
        ("", "BB_INVALID_ARGUMENT"),
        ("SELECT 1\0", "BB_INVALID_ARGUMENT"),
        ("SELEKT $1", "BB_UNSUPPORTED"),
        ("SELECT $1 FRUM t", "BB_ENGINE"),
        ("SELECT * FROM nowhere WHERE x = $1", "BB_ENGINE"),
        ("COPY t FROM STDIN WITH (FORMAT csv)", "BB_UNSUPPORTED"),
        ("BEGIN", "BB_UNSUPPORTED"),
        ("SET search_path TO public", "BB_UNSUPPORTED"),
    ] {
        let error = prepare(&engine, sql).err().unwrap_or_else(|| panic!("{sql} was taken"));
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
    let mut delete = prepare(&engine, "DELETE FROM t WHERE x = $1").unwrap();
    assert_eq!(delete.query(&[Value::Int(1)], &QueryOptions::default()).err().unwrap().code(), "BB_UNSUPPORTED");
    let error = prepare(&open("hyper:?transport=grpc-sync").unwrap(), "SELECT $1").err().unwrap();
    assert_eq!(error.code(), "BB_UNSUPPORTED");
    let error = engine.query("SELECT $1", &QueryOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "parameter 1: is missing; the statement takes 1, not 0");
    let error = engine.execute("DELETE FROM t WHERE x = $1", &CancelToken::default()).unwrap_err();
    assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
}

#[test]
fn a_statement_follows_the_changes_of_its_table() {
    needs!("hyperd", executable());
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x INT)");
    execute(&engine, "INSERT INTO t VALUES (1), (2)");
    let mut select = prepare(&engine, "SELECT x FROM t WHERE x >= $1 ORDER BY x").unwrap();
    let mut found = || rows(select.query(&[Value::Int(2)], &QueryOptions::default())?.as_mut());
    assert_eq!(found().unwrap().column(0).data_type(), &DataType::Int32);
    // An idle statement holds no lock on its table.
    assert!(engine.drop_table("t").unwrap());
    execute(&engine, "CREATE TABLE t (x REAL)");
    execute(&engine, "INSERT INTO t VALUES (2.5)");
    let changed = found().unwrap();
    assert!((changed.column(0).as_primitive::<Float32Type>().value(0) - 2.5).abs() < 1e-6);
    assert!(engine.drop_table("t").unwrap());
    assert_eq!(found().unwrap_err().code(), "BB_ENGINE");
    execute(&engine, "CREATE TABLE t (x INT)");
    assert_eq!(found().unwrap().num_rows(), 0);
}

#[test]
fn a_result_left_in_the_middle_holds_nothing() {
    needs!("hyperd", executable());
    for uri in URIS {
        let engine = open(uri).unwrap();
        execute(&engine, "CREATE TABLE t AS SELECT x FROM generate_series(1, 3000000) g(x)");
        let mut select = prepare(&engine, "SELECT x FROM t WHERE x > $1").unwrap();
        for _ in 0..3 {
            let mut stream = select.query(&[Value::Int(0)], &QueryOptions::default()).unwrap();
            assert!(stream.next_batch().unwrap().is_some());
        }
        // The same for a result that is dropped before its first row is read.
        drop(select.query(&[Value::Int(0)], &QueryOptions::default()).unwrap());
        assert!(engine.drop_table("t").unwrap());
        drop(select);
        assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5);
    }
}

#[test]
fn a_statement_that_runs_is_cancelled_from_another_thread() {
    needs!("hyperd", executable());
    let cancel_soon = |cancel: &CancelToken| {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        })
    };
    let endless = "generate_series(1, 10000000) a(x), generate_series(1, 10000000) b(y) WHERE a.x % b.y > $1";
    for uri in URIS {
        let engine = open(uri).unwrap();
        execute(&engine, "CREATE TABLE t (x BIGINT)");
        let options = QueryOptions::default();
        let canceller = cancel_soon(&options.cancel);
        let mut select = prepare(&engine, &format!("SELECT sum(a.x) FROM {endless}")).unwrap();
        let result = select.query(&[Value::Int(1)], &options).and_then(|mut stream| stream.next_batch().map(drop));
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
        canceller.join().unwrap();
        let cancel = CancelToken::default();
        let canceller = cancel_soon(&cancel);
        let mut insert = prepare(&engine, &format!("INSERT INTO t SELECT sum(a.x) FROM {endless}")).unwrap();
        assert!(matches!(insert.execute(&[Value::Int(1)], &cancel), Err(Error::Cancelled)));
        canceller.join().unwrap();
        drop((select, insert));
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    }
}

#[test]
fn statements_run_side_by_side() {
    needs!("hyperd", executable());
    let engine = engine();
    execute(&engine, "CREATE TABLE t (x INT, y TEXT)");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let mut insert = prepare(engine, "INSERT INTO t VALUES ($1, $2)").unwrap();
                for row in 0..25 {
                    let text = Value::Text(format!("{worker} {row}"));
                    insert.execute(&[Value::Int(row), text], &CancelToken::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(number(&engine, "SELECT count(DISTINCT y) FROM t"), 100);
    engine.check().unwrap();
    open("hyper:?transport=grpc-sync").unwrap().check().unwrap();
}

type OtherType = (&'static str, &'static str, SqlType, Option<(&'static str, &'static str)>);

/// The types of the server that are not ours, with a value, our type, and values to insert: one that fits, and one that does not.
const OTHER_TYPES: [OtherType; 10] = [
    ("VARCHAR(3)", "'ab'", SqlType::Text, Some(("äöü", "äöüß"))),
    ("CHAR(3)", "'ab'", SqlType::Text, Some(("ä", "äöüß"))),
    ("CHAR(1)", "'a'", SqlType::Text, Some(("ß", "ab"))),
    ("JSON", "CAST('{\"a\":1}' AS JSON)", SqlType::Text, Some(("[2]", "[2"))),
    ("OID", "CAST(5 AS OID)", SqlType::BigInt, Some(("7", "-1"))),
    ("TIMESTAMPTZ", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", SqlType::Timestamp, Some(("5", ""))),
    ("GEOGRAPHY", "geography 'point(1 2)'", SqlType::Bytes, None),
    ("TIME", "TIME '12:00:00'", SqlType::Text, None),
    ("INTERVAL", "INTERVAL '1 day'", SqlType::Text, None),
    ("UUID", "CAST('00000000-0000-0000-0000-000000000001' AS UUID)", SqlType::Text, None),
];

#[test]
fn columns_of_other_types_are_described_filled_and_read_alike() {
    needs!("hyperd", executable());
    let engine = engine();
    for (number, (name, literal, sql_type, values)) in OTHER_TYPES.into_iter().enumerate() {
        let columns = vec![Column { name: "x".to_owned(), sql_type, nullable: true }];
        let table = TableDefinition { name: format!("t{number}"), columns };
        execute(&engine, &format!("CREATE TABLE t{number} (x {name})"));
        execute(&engine, &format!("INSERT INTO t{number} VALUES ({literal})"));
        execute(&engine, &format!("INSERT INTO t{number} VALUES (NULL)"));
        assert_eq!(engine.describe_table(&table.name).unwrap(), table, "{name}");
        let insert = |text: &str| {
            let array: ArrayRef = match sql_type {
                SqlType::BigInt => Arc::new(Int64Array::from(vec![text.parse().ok(), None])),
                SqlType::Timestamp => Arc::new(TimestampMicrosecondArray::from(vec![text.parse().ok(), None])),
                _ => Arc::new(StringArray::from(vec![Some(text), None])),
            };
            let mut ingest = engine.ingest(&table)?;
            ingest.write(&RecordBatch::try_new(table.to_arrow(), vec![array]).unwrap())?;
            ingest.commit()
        };
        let Some((fits, misfit)) = values else {
            assert_eq!(insert("").unwrap_err().code(), "BB_UNSUPPORTED", "{name}");
            if sql_type == SqlType::Text {
                continue;
            }
            let sql = format!("SELECT x FROM t{number} ORDER BY x IS NULL");
            let queried = rows(engine.query(&sql, &QueryOptions::default()).unwrap().as_mut()).unwrap();
            assert_eq!(one(&engine, &sql, &[]).unwrap().columns(), queried.columns(), "{name}");
            continue;
        };
        assert_eq!(insert(fits).unwrap(), 2, "{name}");
        if !misfit.is_empty() {
            let code = if name == "JSON" { "BB_ENGINE" } else { "BB_INVALID_VALUE" };
            assert_eq!(insert(misfit).unwrap_err().code(), code, "{name}");
        }
        let sql = format!("SELECT x FROM t{number} ORDER BY x IS NULL, CAST(x AS TEXT)");
        let queried = rows(engine.query(&sql, &QueryOptions::default()).unwrap().as_mut()).unwrap();
        assert_eq!((queried.num_rows(), queried.column(0).null_count()), (4, 2), "{name}");
        assert_eq!(queried.column(0).data_type(), &sql_type.to_arrow(), "{name}");
        assert_eq!(one(&engine, &sql, &[]).unwrap().columns(), queried.columns(), "{name}");
        // A value that was inserted is the one that SQL stores.
        let value = if name == "TIMESTAMPTZ" { "1970-01-01 00:00:00.000005+00" } else { fits };
        let same =
            format!("SELECT count(*) FROM t{number} WHERE CAST(x AS TEXT) = CAST(CAST('{value}' AS {name}) AS TEXT)");
        assert_eq!(self::number(&engine, &same), 1, "{name}");
    }
}

#[test]
fn the_table_of_a_query_that_fails_is_not_left() {
    needs!("hyperd", executable());
    let engine = engine();
    let cancel = CancelToken::default();
    let sql = "CREATE TABLE \"a.b\" AS SELECT 1 / x AS y FROM generate_series(-1, 1) g(x)";
    assert_eq!(engine.execute(sql, &cancel).unwrap_err().code(), "BB_ENGINE");
    assert!(engine.list_tables().unwrap().is_empty());
    assert!(prepare(&engine, sql).unwrap().execute(&[], &cancel).is_err());
    assert!(engine.list_tables().unwrap().is_empty());
    // A table that was there stays.
    execute(&engine, "CREATE TABLE \"a.b\" AS SELECT 1 AS y");
    assert!(engine.execute(sql, &cancel).is_err());
    assert_eq!(number(&engine, "SELECT count(*) FROM \"a.b\""), 1);
}
