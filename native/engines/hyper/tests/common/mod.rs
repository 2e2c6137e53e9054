//! Helpers that the tests of the engine share.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_kernel::testing::Folder;

/// The URI of a database file in a folder.
pub fn file_uri(folder: &Folder, file: &str) -> String {
    format!("hyper:{}", folder.file(file).display())
}

/// The table `t` of one column of numbers.
pub fn table() -> TableDefinition {
    let columns = vec![Column { name: "x".to_owned(), sql_type: SqlType::Int, nullable: false }];
    TableDefinition { name: "t".to_owned(), columns }
}

pub fn batch(values: std::ops::Range<i32>) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(values));
    RecordBatch::try_new(table().to_arrow(), vec![array]).unwrap()
}

pub fn insert(engine: &Arc<dyn Engine>, values: std::ops::Range<i32>) {
    let mut ingest = engine.ingest(&table()).unwrap();
    ingest.write(&batch(values)).unwrap();
    ingest.commit().unwrap();
}

/// The only number of a result.
pub fn number(engine: &Arc<dyn Engine>, sql: &str) -> i64 {
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
    stream.next_batch().unwrap().unwrap().column(0).as_primitive::<Int64Type>().value(0)
}
