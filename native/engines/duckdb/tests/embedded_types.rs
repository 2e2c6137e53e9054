//! Tables whose columns have types of DuckDB's own, and inserts to some of the columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

fn engine() -> Arc<dyn Engine> {
    EmbeddedEngine::open("").unwrap()
}

fn execute(engine: &Arc<dyn Engine>, sql: &str) {
    engine.execute(sql, &CancelToken::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn query(engine: &Arc<dyn Engine>, sql: &str) -> Result<RecordBatch> {
    let mut stream = engine.query(sql, &QueryOptions::default())?;
    let batch = stream.next_batch()?.unwrap_or_else(|| RecordBatch::new_empty(stream.schema()));
    assert!(stream.next_batch()?.is_none());
    Ok(batch)
}

fn text(engine: &Arc<dyn Engine>, sql: &str) -> String {
    let batch = query(engine, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let cells = batch.columns().iter().map(|column| {
        let column = column.as_string::<i32>();
        if column.is_valid(0) { column.value(0) } else { "NULL" }
    });
    cells.collect::<Vec<_>>().join("|")
}

fn column(name: &str, sql_type: SqlType) -> Column {
    Column { name: name.to_owned(), sql_type, nullable: true }
}

fn definition(name: &str, columns: Vec<Column>) -> TableDefinition {
    TableDefinition { name: name.to_owned(), columns }
}

fn insert(engine: &Arc<dyn Engine>, table: &TableDefinition, arrays: Vec<ArrayRef>) -> Result<u64> {
    let mut ingest = engine.ingest(table)?;
    ingest.write(&RecordBatch::try_new(table.to_arrow(), arrays).unwrap())?;
    ingest.commit()
}

/// Each type of a column of its own, with values that fit, the text of the first, and perhaps one that does not fit.
fn types() -> Vec<(&'static str, SqlType, ArrayRef, &'static str, Option<ArrayRef>)> {
    let small = |values: [i16; 2]| Arc::new(Int16Array::from(vec![Some(values[0]), None, Some(values[1])])) as ArrayRef;
    let whole = |precision: u8, values: [i128; 2]| {
        let array = Decimal128Array::from(vec![Some(values[0]), None, Some(values[1])]);
        Arc::new(array.with_data_type(SqlType::Decimal { precision, scale: 0 }.to_arrow())) as ArrayRef
    };
    let times = |values: [i64; 2]| {
        Arc::new(TimestampMicrosecondArray::from(vec![Some(values[0]), None, Some(values[1])])) as ArrayRef
    };
    let texts =
        |values: [&str; 2]| Arc::new(StringArray::from(vec![Some(values[0]), None, Some(values[1])])) as ArrayRef;
    let decimal = |precision| SqlType::Decimal { precision, scale: 0 };
    let huge = 10_i128.pow(38) - 1;
    vec![
        ("TINYINT", SqlType::SmallInt, small([-128, 127]), "-128", Some(small([0, 128]))),
        ("UTINYINT", SqlType::SmallInt, small([255, 0]), "255", Some(small([0, -1]))),
        (
            "USMALLINT",
            SqlType::Int,
            Arc::new(Int32Array::from(vec![Some(65_535), None, Some(0)])),
            "65535",
            Some(Arc::new(Int32Array::from(vec![Some(0), None, Some(65_536)]))),
        ),
        (
            "UINTEGER",
            SqlType::BigInt,
            Arc::new(Int64Array::from(vec![Some(4_294_967_295), None, Some(0)])),
            "4294967295",
            Some(Arc::new(Int64Array::from(vec![Some(0), None, Some(-1)]))),
        ),
        (
            "UBIGINT",
            decimal(20),
            whole(20, [i128::from(u64::MAX), 0]),
            "18446744073709551615",
            Some(whole(20, [0, -1])),
        ),
        ("HUGEINT", decimal(38), whole(38, [-huge, huge]), "-99999999999999999999999999999999999999", None),
        (
            "UHUGEINT",
            decimal(38),
            whole(38, [huge, 0]),
            "99999999999999999999999999999999999999",
            Some(whole(38, [0, -1])),
        ),
        ("TIMESTAMPTZ", SqlType::Timestamp, times([1_700_000_000_123_456, -1]), "2023-11-14 22:13:20.123456+00", None),
        (
            "TIMESTAMP_S",
            SqlType::Timestamp,
            times([1_700_000_000_000_000, i64::MAX]),
            "2023-11-14 22:13:20",
            Some(times([0, 1])),
        ),
        (
            "TIMESTAMP_MS",
            SqlType::Timestamp,
            times([1_700_000_000_123_000, -1000]),
            "2023-11-14 22:13:20.123",
            Some(times([0, 999])),
        ),
        (
            "TIMESTAMP_NS",
            SqlType::Timestamp,
            times([1_700_000_000_123_456, -1]),
            "2023-11-14 22:13:20.123456",
            Some(times([0, i64::MAX - 1])),
        ),
        (
            "UUID",
            SqlType::Text,
            texts(["123e4567-e89b-12d3-a456-426614174000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
            "123e4567-e89b-12d3-a456-426614174000",
            Some(texts(["00000000-0000-0000-0000-000000000000", "no uuid"])),
        ),
        ("ENUM('sad', 'ok')", SqlType::Text, texts(["ok", "sad"]), "ok", Some(texts(["ok", "glad"]))),
        ("TIME", SqlType::Text, texts(["12:34:56.5", "24:00:00"]), "12:34:56.5", Some(texts(["00:00:00", "noon"]))),
        ("TIMETZ", SqlType::Text, texts(["12:34:56+05:30", "00:00:00.000001-05:30:15"]), "12:34:56+05:30", None),
        ("TIME_NS", SqlType::Text, texts(["12:34:56.000000001", "00:00:00"]), "12:34:56.000000001", None),
        (
            "INTERVAL",
            SqlType::Text,
            texts(["-1 year -2 months 3 days -04:05:06.789", "00:00:00"]),
            "-1 year -2 months 3 days -04:05:06.789",
            Some(texts(["1 day", "long"])),
        ),
    ]
}

#[test]
fn every_type_with_a_counterpart_goes_in_and_comes_out_unchanged() {
    for (name, sql_type, array, first, wrong) in types() {
        let engine = engine();
        execute(&engine, &format!("CREATE TABLE t (x {name})"));
        let table = definition("t", vec![column("x", sql_type)]);
        assert_eq!(engine.describe_table("t").unwrap(), table, "{name}");
        let stored = insert(&engine, &table, vec![Arc::clone(&array)]);
        assert_eq!(stored.unwrap_or_else(|error| panic!("{name}: {error}")), 3);
        let batch = query(&engine, "SELECT * FROM t").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(batch.column(0), &array, "{name}");
        let columns = engine.query("SELECT * FROM t", &QueryOptions::default()).unwrap().columns().to_vec();
        assert_eq!(columns[0].sql_type, sql_type, "{name}");
        assert_eq!(text(&engine, "SELECT x::VARCHAR FROM t LIMIT 1"), first, "{name}");
        // Values that DuckDB itself writes are read back unchanged.
        assert_eq!(
            text(&engine, &format!("SELECT (x::VARCHAR::{name} IS NOT DISTINCT FROM x)::VARCHAR FROM t LIMIT 1")),
            "true"
        );
        if let Some(wrong) = wrong {
            let error = insert(&engine, &table, vec![wrong]).unwrap_err();
            assert!(matches!(&error, Error::InvalidValue { row: 2, column, .. } if column == "x"), "{name}: {error}");
        }
        assert_eq!(text(&engine, "SELECT count(*)::VARCHAR FROM t"), "3", "{name}");
    }
}

#[test]
fn texts_of_values_are_those_that_duckdb_writes() {
    let engine = engine();
    let sql = "SELECT v, v::VARCHAR FROM (SELECT unnest([INTERVAL '0 days', INTERVAL '1 year 1 month 1 day', \
               INTERVAL '-1 microseconds', INTERVAL '100 hours', INTERVAL '2 months 10 days 00:00:01.5', \
               to_microseconds(-9223372036854775807)]) v) UNION ALL BY NAME SELECT NULL::INTERVAL AS v";
    let batch = query(&engine, sql).unwrap();
    assert_eq!(batch.num_rows(), 7);
    assert_eq!(batch.column(0), batch.column(1));
    let sql = "SELECT x, x::VARCHAR, y, y::VARCHAR FROM (SELECT uuid() x, ('w' || (range % 300))::ENUM_300 y FROM range(4000))";
    let words: Vec<_> = (0..300).map(|index| format!("'w{index}'")).collect();
    execute(&engine, &format!("CREATE TYPE ENUM_300 AS ENUM ({})", words.join(", ")));
    let batch = query(&engine, sql).unwrap();
    assert_eq!((batch.column(0), batch.column(2)), (batch.column(1), batch.column(3)));
}

#[test]
fn nanoseconds_that_microseconds_cannot_hold_are_refused_with_advice() {
    let engine = engine();
    let error = query(&engine, "SELECT '2024-01-01 00:00:00.123456789'::TIMESTAMP_NS x").unwrap_err();
    assert_eq!(error.code(), "BB_INVALID_VALUE");
    assert!(error.to_string().contains("epoch_ns"), "{error}");
    let sql = "SELECT '1970-01-01 00:00:00.000001'::TIMESTAMP_NS x, 'infinity'::TIMESTAMP_NS, 'infinity'::TIMESTAMP";
    let batch = query(&engine, sql).unwrap();
    let value = |index: usize| batch.column(index).as_primitive::<TimestampMicrosecondType>().value(0);
    assert_eq!([value(0), value(1), value(2)], [1, i64::MAX, i64::MAX]);
}

#[test]
fn a_parameter_that_does_not_fit_a_type_of_duckdbs_own_is_named() {
    let engine = engine();
    execute(&engine, "CREATE TABLE t (u UUID, n TINYINT, e ENUM('a', 'it''s'))");
    let mut insert = engine.prepare("INSERT INTO t VALUES ($1, $2, $3)", &CancelToken::default()).unwrap();
    assert_eq!(insert.parameters(), [Some(SqlType::Text), Some(SqlType::SmallInt), Some(SqlType::Text)]);
    let word = |text: &str| Value::Text(text.to_owned());
    for (values, named) in [
        ([word("no uuid"), Value::Null, Value::Null], "parameter 1: "),
        ([Value::Null, Value::Int(128), Value::Null], "parameter 2: "),
        ([Value::Null, Value::Null, word("b")], "parameter 3: "),
    ] {
        let error = insert.execute(&values, &CancelToken::default()).unwrap_err();
        assert!(error.code() == "BB_INVALID_ARGUMENT" && error.to_string().starts_with(named), "{error}");
    }
    let fits = [word("123e4567-e89b-12d3-a456-426614174000"), Value::Int(-128), word("it's")];
    assert_eq!(insert.execute(&fits, &CancelToken::default()).unwrap(), 1);
}

#[test]
fn an_insert_goes_to_the_columns_that_it_names() {
    let engine = engine();
    execute(
        &engine,
        "CREATE TABLE t (a INTEGER, l INTEGER[], g INTEGER GENERATED ALWAYS AS (a * 2), d INTEGER DEFAULT 7, \
         s STRUCT(x INTEGER), b VARCHAR)",
    );
    let described = engine.describe_table("t").unwrap();
    assert_eq!(
        described.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
        ["a", "l", "g", "d", "s", "b"]
    );
    let named = |columns| definition("t", columns);
    let one = |value| Arc::new(Int32Array::from(vec![value])) as ArrayRef;
    let word = |value| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    assert_eq!(insert(&engine, &named(vec![column("a", SqlType::Int)]), vec![one(1)]).unwrap(), 1);
    let swapped = named(vec![column("b", SqlType::Text), column("d", SqlType::Int), column("a", SqlType::Int)]);
    assert_eq!(insert(&engine, &swapped, vec![word("w"), one(5), one(2)]).unwrap(), 1);
    let list = named(vec![column("l", SqlType::Text), column("s", SqlType::Text)]);
    assert_eq!(insert(&engine, &list, vec![word("[1, 2]"), word("{'x': 3}")]).unwrap(), 1);
    let rows = "SELECT string_agg(concat_ws('/', a, l, g, d, s, b), ' ' ORDER BY rowid) FROM t";
    assert_eq!(text(&engine, rows), "1/2/7 2/4/5/w [1, 2]/7/{'x': 3}");
    let error = insert(&engine, &list, vec![word("[1, 2"), word("{'x': 3}")]).unwrap_err();
    assert!(matches!(error, Error::InvalidValue { row: 0, .. }), "{error}");
    let generated = named(vec![column("a", SqlType::Int), column("g", SqlType::Int)]);
    let error = insert(&engine, &generated, vec![one(1), one(2)]).unwrap_err();
    assert_eq!(error.code(), "BB_SCHEMA_MISMATCH");
    assert!(error.to_string().contains("generated"), "{error}");
    let error = insert(&engine, &named(vec![column("nowhere", SqlType::Int)]), vec![one(1)]).unwrap_err();
    assert!(error.to_string().contains("has no column \"nowhere\""), "{error}");
    execute(&engine, "CREATE TABLE strict (a INTEGER, n INTEGER NOT NULL, d INTEGER NOT NULL DEFAULT 1)");
    let error = insert(&engine, &definition("strict", vec![column("a", SqlType::Int)]), vec![one(1)]).unwrap_err();
    assert!(error.to_string().contains("leaves out the column \"n\" INTEGER NOT NULL"), "{error}");
}

#[test]
fn names_with_a_schema_or_a_database_work_for_every_call() {
    let engine = engine();
    execute(&engine, "CREATE SCHEMA s; CREATE SCHEMA \"odd.name\"; ATTACH ':memory:' AS other");
    execute(&engine, "CREATE SCHEMA other.s2");
    let one = || vec![Arc::new(Int32Array::from(vec![1])) as ArrayRef];
    for (name, sql) in [
        ("s.t", "s.t"),
        ("memory.s.u", "memory.s.u"),
        ("other.t", "other.main.t"),
        ("other.s2.t", "other.s2.t"),
        ("\"odd.name\".t", "\"odd.name\".t"),
        ("s.\"a.b\"\"c\"", "s.\"a.b\"\"c\""),
    ] {
        let table = definition(name, vec![column("x", SqlType::Int)]);
        engine.create_table(&table, CreateMode::Create).unwrap();
        assert_eq!(engine.create_table(&table, CreateMode::Create).unwrap_err().code(), "BB_TABLE_EXISTS", "{name}");
        assert_eq!(engine.describe_table(name).unwrap(), table, "{name}");
        assert_eq!(insert(&engine, &table, one()).unwrap(), 1, "{name}");
        assert_eq!(text(&engine, &format!("SELECT count(*)::VARCHAR FROM {sql}")), "1", "{name}");
        assert!(engine.drop_table(name).unwrap(), "{name}");
        assert!(!engine.drop_table(name).unwrap(), "{name}");
        assert_eq!(engine.describe_table(name).unwrap_err().code(), "BB_TABLE_NOT_FOUND");
    }
    // If there is no such schema, and if there is such a table, a name with a dot is a name like others.
    let dotted = definition("no.schema", vec![column("x", SqlType::Int)]);
    engine.create_table(&dotted, CreateMode::Create).unwrap();
    execute(&engine, "CREATE SCHEMA no; CREATE TABLE no.schema (y VARCHAR)");
    assert_eq!(engine.describe_table("no.schema").unwrap(), dotted);
    assert_eq!(insert(&engine, &dotted, one()).unwrap(), 1);
    assert_eq!(engine.list_tables().unwrap(), ["no.schema"]);
}

#[test]
fn a_text_that_is_no_json_is_refused_with_its_row() {
    let engine = EmbeddedEngine::open("").unwrap();
    engine.execute("CREATE TABLE t (x JSON)", &CancelToken::default()).unwrap();
    let table = engine.describe_table("t").unwrap();
    let insert = |texts: &[Option<&str>]| {
        let mut ingest = engine.ingest(&table)?;
        let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        ingest.write(&RecordBatch::try_new(table.to_arrow(), vec![array]).unwrap())?;
        ingest.commit()
    };
    let good = [Some("{\"a\": [1, null]}"), None, Some("1e999"), Some("\"\\ud83d\\ude00\""), Some("NaN")];
    assert_eq!(insert(&good).unwrap(), 5);
    for bad in ["{", "", "a", "{\"a\": 1} x", "'x'"] {
        match insert(&[Some("1"), None, Some(bad)]) {
            Err(Error::InvalidValue { row: 2, column, problem }) => {
                assert_eq!((column.as_str(), problem), ("x", format!("\"{bad}\" can't be converted to JSON")));
            }
            other => panic!("{bad}: {other:?}"),
        }
    }
}

#[test]
fn texts_are_converted_as_sql_converts_them() {
    let engine = EmbeddedEngine::open("").unwrap().session().unwrap();
    execute(&engine, "SET TimeZone = 'America/New_York'");
    let insert_text = |table: &TableDefinition, given: &str| {
        let texts: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec![Some(given), None]))];
        insert(&engine, table, texts)
    };
    for (kind, given) in [
        ("TIMETZ", "12:00:00"),
        ("TIMESTAMPTZ[]", "[2024-01-01 12:00:00]"),
        ("STRUCT(t TIMESTAMPTZ)", "{t: 2024-01-01 12:00:00}"),
        ("MAP(VARCHAR, TIMESTAMPTZ[2])", "{k=[2024-01-01, 2024-07-01]}"),
        ("JSON[]", "[\"1\", \"2\"]"),
        ("JSON[]", "[\"a\", null, {\"b\": \"c\"}]"),
        ("STRUCT(j JSON, n INTEGER)", "{j: 5, n: 6}"),
        ("STRUCT(j JSON)", "{\"j\": \"x\"}"),
        ("MAP(VARCHAR, JSON)", "{k=\"x\"}"),
        ("INTEGER[]", "[1, 2"),
    ] {
        for place in ["", "TEMP "] {
            execute(&engine, &format!("CREATE OR REPLACE {place}TABLE t (v {kind})"));
            let table = engine.describe_table("t").unwrap();
            let cast = format!("SELECT CAST(CAST($1 AS {kind}) AS VARCHAR)");
            let cast = engine.prepare(&cast, &CancelToken::default()).and_then(|mut statement| {
                let options = QueryOptions::default();
                let mut rows = statement.query(&[Value::Text(given.to_owned())], &options)?;
                Ok(rows.next_batch()?.unwrap().column(0).as_string::<i32>().value(0).to_owned())
            });
            match (insert_text(&table, given), cast) {
                (Ok(2), Ok(expected)) => {
                    assert_eq!(text(&engine, "SELECT v::VARCHAR FROM t WHERE v IS NOT NULL"), expected);
                }
                (Err(Error::InvalidValue { row: 0, column, .. }), Err(_)) => assert_eq!(column, "v"),
                (stored, cast) => panic!("{given} as {kind}: {stored:?} by the insert, {cast:?} by SQL"),
            }
            execute(&engine, "DROP TABLE t");
        }
    }
}
