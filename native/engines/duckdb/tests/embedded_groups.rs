//! Inserts of whole row groups: more rows than a group of DuckDB has, 122,880.

use std::sync::Arc;
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_select::concat::concat_batches;
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;

const ROWS: i32 = 300_000;

fn engine() -> Arc<dyn Engine> {
    EmbeddedEngine::open("").unwrap()
}

fn execute(engine: &Arc<dyn Engine>, sql: &str) {
    engine.execute(sql, &CancelToken::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn number(engine: &Arc<dyn Engine>, sql: &str) -> i64 {
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    stream.next_batch().unwrap().unwrap().column(0).as_primitive::<Int64Type>().value(0)
}

fn attached(engine: &Arc<dyn Engine>) -> i64 {
    number(engine, "SELECT count(*) FROM duckdb_databases() WHERE NOT internal")
}

fn table(types: &[SqlType]) -> TableDefinition {
    let column = |(index, sql_type): (usize, &SqlType)| Column {
        name: format!("c{index}"),
        sql_type: *sql_type,
        nullable: true,
    };
    TableDefinition { name: "t".to_owned(), columns: types.iter().enumerate().map(column).collect() }
}

/// Values of each type for these rows. Every seventh is null, but for the first column.
fn batch(table: &TableDefinition, rows: std::ops::Range<i32>) -> RecordBatch {
    let numbers = || rows.clone().map(|row| (row % 7 != 3).then_some(row));
    let text =
        |row: i32| if row % 2 == 0 { row.to_string() } else { format!("a text of more than twelve bytes, {row}") };
    let array = |(index, column): (usize, &Column)| -> ArrayRef {
        match column.sql_type {
            SqlType::Int if index == 0 => Arc::new(Int32Array::from_iter_values(rows.clone())),
            SqlType::Int => Arc::new(numbers().collect::<Int32Array>()),
            SqlType::Bool => Arc::new(numbers().map(|row| row.map(|row| row % 3 == 0)).collect::<BooleanArray>()),
            #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
            SqlType::SmallInt => Arc::new(numbers().map(|row| row.map(|row| row as i16)).collect::<Int16Array>()),
            SqlType::BigInt => Arc::new(numbers().map(|row| row.map(|row| -i64::from(row))).collect::<Int64Array>()),
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            SqlType::Real => Arc::new(numbers().map(|row| row.map(|row| row as f32)).collect::<Float32Array>()),
            SqlType::Double => Arc::new(numbers().map(|row| row.map(f64::from)).collect::<Float64Array>()),
            SqlType::Date => Arc::new(numbers().collect::<Date32Array>()),
            SqlType::Timestamp => {
                Arc::new(numbers().map(|row| row.map(i64::from)).collect::<TimestampMicrosecondArray>())
            }
            SqlType::Bytes => Arc::new(numbers().map(|row| row.map(text)).collect::<BinaryArray>()),
            _ => Arc::new(numbers().map(|row| row.map(text)).collect::<StringArray>()),
        }
    };
    RecordBatch::try_new(table.to_arrow(), table.columns.iter().enumerate().map(array).collect()).unwrap()
}

/// Inserts rows in batches of this many.
fn insert(engine: &Arc<dyn Engine>, table: &TableDefinition, rows: std::ops::Range<i32>, each: usize) -> Result<u64> {
    let mut ingest = engine.ingest(table)?;
    for start in rows.clone().step_by(each) {
        let end = rows.end.min(start.saturating_add(i32::try_from(each).unwrap()));
        ingest.write(&batch(table, start..end))?;
    }
    ingest.commit()
}

#[test]
fn every_type_comes_back_in_its_order_from_batches_of_any_length() {
    let types = [
        SqlType::Int,
        SqlType::Bool,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Real,
        SqlType::Double,
        SqlType::Date,
        SqlType::Timestamp,
        SqlType::Text,
        SqlType::Bytes,
    ];
    let (engine, table) = (engine(), table(&types));
    for each in [10_007, 65_536, 122_880, ROWS as usize] {
        engine.create_table(&table, CreateMode::Replace).unwrap();
        assert_eq!(insert(&engine, &table, 0..ROWS, each).unwrap(), u64::from(ROWS.cast_unsigned()));
        let mut stream = engine.query("SELECT * FROM t", &QueryOptions::default()).unwrap();
        let mut batches = Vec::new();
        while let Some(batch) = stream.next_batch().unwrap() {
            batches.push(batch);
        }
        let all = concat_batches(&stream.schema(), &batches).unwrap();
        assert!(all.columns() == batch(&table, 0..ROWS).columns(), "batches of {each}");
    }
    assert_eq!(attached(&engine), 1);
}

#[test]
fn all_rows_are_stored_or_none() {
    let (engine, table) = (engine(), table(&[SqlType::Int, SqlType::Text]));
    execute(&engine, "CREATE TABLE t (c0 INT UNIQUE, c1 TEXT)");
    insert(&engine, &table, ROWS - 1..ROWS, 1).unwrap();
    assert_eq!(insert(&engine, &table, 0..ROWS, 50_000).unwrap_err().code(), "BB_ENGINE");
    assert_eq!((number(&engine, "SELECT count(*) FROM t"), attached(&engine)), (1, 1));

    let mut ingest = engine.ingest(&table).unwrap();
    ingest.write(&batch(&table, 0..ROWS - 1)).unwrap();
    assert_eq!((number(&engine, "SELECT count(*) FROM t"), attached(&engine)), (1, 2));
    ingest.abort().unwrap();
    assert_eq!((number(&engine, "SELECT count(*) FROM t"), attached(&engine)), (1, 1));
}

#[test]
fn inserts_at_once_do_not_mix_their_rows() {
    let (engine, table) = (engine(), table(&[SqlType::Int, SqlType::Text]));
    engine.create_table(&table, CreateMode::Replace).unwrap();
    thread::scope(|scope| {
        for part in 0..3 {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || insert(engine, table, part * ROWS..(part + 1) * ROWS, 65_536).unwrap());
        }
    });
    assert_eq!(number(&engine, "SELECT count(DISTINCT c0) FROM t"), 3 * i64::from(ROWS));
}

#[test]
fn a_reader_of_the_rows_under_way_harms_nobody() {
    let (engine, table) = (engine(), table(&[SqlType::Int, SqlType::Text]));
    engine.create_table(&table, CreateMode::Replace).unwrap();
    let mut ingest = engine.ingest(&table).unwrap();
    ingest.write(&batch(&table, 0..ROWS)).unwrap();
    let mut names = engine
        .query(
            "SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'boundary%'",
            &QueryOptions::default(),
        )
        .unwrap();
    let name = names.next_batch().unwrap().unwrap().column(0).as_string::<i32>().value(0).to_owned();
    let sql = format!("SELECT count(*) FROM {name}.main.rows");
    let mut statement = engine.prepare(&sql, &CancelToken::default()).unwrap();
    assert_eq!(number(&engine, &sql), 0);
    ingest.commit().unwrap();
    // The plan refers to rows that are gone.
    let read = statement.query(&[], &QueryOptions::default()).and_then(|mut stream| stream.next_batch());
    assert!(read.is_err() || read.unwrap().unwrap().column(0).as_primitive::<Int64Type>().value(0) == 0);
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), i64::from(ROWS));
}
