//! Measures the embedded engine alone: `cargo run --release --example embedded_speed -- [ROWS] [PATH]`.
//!
//! The making of the rows is not timed. Prints the seconds and million rows per second of each step, the best of five.
#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Float64Array, Int32Array, Int64Array, RecordBatch};
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, DEFAULT_BATCH_ROWS, Engine, QueryOptions};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;

const SAMPLES: usize = 5;

fn table(name: &str) -> TableDefinition {
    let column = |name: &str, sql_type, nullable| Column { name: name.to_owned(), sql_type, nullable };
    TableDefinition {
        name: name.to_owned(),
        columns: vec![
            column("id", SqlType::Int, false),
            column("sensor_id", SqlType::Int, true),
            column("value", SqlType::Double, true),
            column("timestamp", SqlType::BigInt, true),
        ],
    }
}

#[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "a row's number is its id")]
fn batches(rows: usize) -> Vec<RecordBatch> {
    let schema = table("m").to_arrow();
    (0..rows)
        .step_by(DEFAULT_BATCH_ROWS)
        .map(|start| {
            let ids = start as i32..rows.min(start + DEFAULT_BATCH_ROWS) as i32;
            let columns: Vec<arrow_array::ArrayRef> = vec![
                Arc::new(Int32Array::from_iter_values(ids.clone())),
                Arc::new(Int32Array::from_iter_values(ids.clone().map(|id| id % 10))),
                Arc::new(Float64Array::from_iter_values(ids.clone().map(|id| f64::from(id) * 0.1))),
                Arc::new(Int64Array::from_iter_values(ids.map(|id| 1_700_000_000_000 + i64::from(id) * 1000))),
            ];
            RecordBatch::try_new(Arc::clone(&schema), columns).expect("columns of the schema")
        })
        .collect()
}

fn best(name: &str, rows: usize, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let mut seconds = f64::INFINITY;
    for _ in 0..SAMPLES {
        let start = Instant::now();
        work()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    println!("{name:<28} {seconds:>11.6} s {:>8.1} M rows/s", rows as f64 / seconds / 1e6);
    Ok(())
}

fn insert(engine: &Arc<dyn Engine>, name: &str, batches: &[RecordBatch]) -> Result<()> {
    let table = table(name);
    engine.create_table(&table, CreateMode::Replace)?;
    let mut ingest = engine.ingest(&table)?;
    for batch in batches {
        ingest.write(batch)?;
    }
    ingest.commit().map(drop)
}

fn scan(engine: &Arc<dyn Engine>, sql: &str) -> Result<(i64, f64)> {
    let mut stream = engine.query(sql, &QueryOptions::default())?;
    let mut sums = (0, 0.0);
    while let Some(batch) = stream.next_batch()? {
        sums.0 += batch.column(3).as_primitive::<Int64Type>().values().iter().sum::<i64>();
        sums.1 += batch.column(2).as_primitive::<Float64Type>().values().iter().sum::<f64>();
    }
    Ok(sums)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let path = arguments.next().unwrap_or_default();
    let engine = EmbeddedEngine::open(&path)?;
    println!("{} {}, {rows} rows", engine.name(), engine.version());
    let batches = batches(rows);
    // Settings to try are statements such as "SET GLOBAL threads = 1".
    for setting in arguments {
        engine.execute(&setting, &CancelToken::default())?;
    }
    best("insert", rows, || insert(&engine, "m", &batches))?;
    best("copy within DuckDB", rows, || {
        engine.execute("CREATE OR REPLACE TABLE c AS SELECT * FROM m", &CancelToken::default()).map(drop)
    })?;
    best("scan", rows, || scan(&engine, "SELECT id, sensor_id, value, timestamp FROM m").map(drop))?;
    best("filtered", rows, || {
        scan(&engine, "SELECT id, sensor_id, value, timestamp FROM m WHERE sensor_id = 5").map(drop)
    })?;
    best("insert, 2 tables at once", 2 * rows, || {
        std::thread::scope(|scope| {
            let workers: Vec<_> = ["m1", "m2"]
                .map(|name| {
                    scope.spawn({
                        let (engine, batches) = (&engine, &batches);
                        move || insert(engine, name, batches)
                    })
                })
                .into();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
        })
    })?;
    best("begin and abort an insert", 1, || engine.ingest(&table("m"))?.abort())?;
    best("query of one row", 1, || engine.query("SELECT 42", &QueryOptions::default())?.next_batch().map(drop))?;
    best("empty command", 1, || engine.execute("", &CancelToken::default()).map(drop))
}
