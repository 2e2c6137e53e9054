//! Inserts that take longer than the time-out of the URL.

mod common;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine};
use boundary_bench_flight::FlightEngine;
use boundary_bench_server::Options;
use common::serve;

#[test]
fn the_time_in_which_the_caller_makes_rows_does_not_count() {
    let server = serve(Options::default());
    let engine = FlightEngine::open(format!("{}?timeout=3", server.url()).parse().unwrap(), None).unwrap();
    let columns = vec![Column { name: "n".to_owned(), sql_type: SqlType::BigInt, nullable: true }];
    let table = TableDefinition { name: "t".to_owned(), columns };
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
    let batch = RecordBatch::try_new(table.to_arrow(), vec![numbers]).unwrap();
    engine.create_table(&table, CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table).unwrap();
    ingest.write(&batch).unwrap();
    std::thread::sleep(Duration::from_millis(3500));
    ingest.write(&batch).unwrap();
    assert_eq!(ingest.commit().unwrap(), 2000);
}
