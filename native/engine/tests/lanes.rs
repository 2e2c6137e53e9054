//! Tests of the inbound and outbound lanes, over batches of every type.

mod common;

use std::sync::Arc;

use arrow_array::{Array, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use boundary_bench_engine::frame;
use boundary_bench_engine::lanes::columns::{ColumnParts, batch_from_columns};
use boundary_bench_engine::lanes::inserter::Inserter;
use boundary_bench_engine::lanes::ipc::{self, IpcReader};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, DEFAULT_BATCH_ROWS, Descriptor, Engine, Ingest, MemoryEngine, QueryOptions,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use proptest::prelude::*;

use common::{table, table_and_batch};

/// Reads a frame's header as JavaScript does, and returns the number of rows and the columns' parts.
fn parts_of(frame: &[u8]) -> (usize, Vec<ColumnParts<'_>>) {
    let word = |index: usize| u32::from_le_bytes(frame[index * 4..][..4].try_into().unwrap()) as usize;
    let rows = word(0);
    let parts = (0..word(1))
        .map(|column| {
            let at = 2 + 5 * column;
            let section = |offset: usize, length: usize| (offset > 0).then(|| &frame[offset..offset + length]);
            assert!((word(at + 1) | word(at + 2) | word(at + 3)).is_multiple_of(64));
            ColumnParts {
                validity: section(word(at + 1), rows.div_ceil(8)),
                offsets: section(word(at + 2), (rows + 1) * 4),
                values: section(word(at + 3), word(at + 4)).unwrap_or_default(),
            }
        })
        .collect();
    (rows, parts)
}

fn rebuild(table: &TableDefinition, frame: &[u8]) -> Result<RecordBatch> {
    let (rows, parts) = parts_of(frame);
    batch_from_columns(&table.to_arrow(), &table.columns, rows, &parts, 0)
}

/// Asserts equal values, ignoring the bytes behind nulls.
fn assert_same(left: &RecordBatch, right: &RecordBatch) {
    assert_eq!(left.num_rows(), right.num_rows());
    for (left, right) in left.columns().iter().zip(right.columns()) {
        assert_eq!(left.to_data(), right.to_data());
    }
}

fn scan(engine: &dyn Engine, sql: &str) -> Vec<RecordBatch> {
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
    std::iter::from_fn(|| stream.next_batch().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_frame_holds_what_the_batch_held((table, batch) in table_and_batch(70)) {
        let frame = frame::encode(&batch).unwrap();
        assert_same(&rebuild(&table, frame.as_slice()).unwrap(), &batch);
    }

    #[test]
    fn a_frame_of_a_slice_holds_the_slice((table, batch) in table_and_batch(70), from in 0_usize..70) {
        let from = from % batch.num_rows();
        let slice = batch.slice(from, batch.num_rows() - from);
        let frame = frame::encode(&slice).unwrap();
        assert_same(&rebuild(&table, frame.as_slice()).unwrap(), &slice);
    }

    #[test]
    fn ipc_bytes_may_be_cut_anywhere((table, batch) in table_and_batch(20), cut in 1_usize..5000) {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        engine.create_table(&table, CreateMode::Create).unwrap();
        let mut ingest = engine.ingest(&table).unwrap();
        ingest.write(&batch).unwrap();
        ingest.write(&batch).unwrap();
        ingest.commit().unwrap();
        let query = format!("SELECT * FROM \"{}\"", table.name);
        let written = ipc::write_stream(engine.query(&query, &QueryOptions::default()).unwrap().as_mut()).unwrap();
        let mut bytes = written.as_slice().to_vec();
        // Two whole streams, one behind the other: a reader that stops at the first one's end loses half.
        bytes.extend_from_within(..);
        let mut reader = IpcReader::new(table.to_arrow());
        let batches = bytes.chunks(cut).flat_map(|slice| reader.push(slice).unwrap()).collect::<Vec<_>>();
        reader.finish().unwrap();
        prop_assert_eq!(batches.len(), 4);
        for read in &batches {
            assert_same(read, &batch);
        }
    }

    #[test]
    fn damaged_ipc_bytes_are_an_error_or_harmless((table, batch) in table_and_batch(20), damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        engine.create_table(&table, CreateMode::Create).unwrap();
        let mut ingest = engine.ingest(&table).unwrap();
        ingest.write(&batch).unwrap();
        ingest.commit().unwrap();
        let query = format!("SELECT * FROM \"{}\"", table.name);
        let written = ipc::write_stream(engine.query(&query, &QueryOptions::default()).unwrap().as_mut()).unwrap();
        let mut bytes = written.as_slice().to_vec();
        for (place, value) in damage {
            let place = usize::from(place) % bytes.len();
            bytes[place] = value;
        }
        let mut reader = IpcReader::new(table.to_arrow());
        for batch in reader.push(&bytes).unwrap_or_default() {
            for column in batch.columns() {
                column.to_data().validate_full().unwrap();
            }
        }
    }

    #[test]
    fn columns_of_any_bytes_are_checked(
        validity in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..3)),
        offsets in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..50)),
        values in proptest::collection::vec(any::<u8>(), 0..60),
        rows in 0_usize..12,
    ) {
        let parts = ColumnParts { validity: validity.as_deref(), offsets: offsets.as_deref(), values: &values };
        for column in table().columns {
            let schema = boundary_bench_engine::table::arrow_schema_of(std::slice::from_ref(&column));
            if let Ok(batch) = batch_from_columns(&schema, &[column], rows, &[parts], 0) {
                batch.column(0).to_data().validate_full().unwrap();
            }
        }
    }
}

fn one_column(sql_type: SqlType, nullable: bool) -> TableDefinition {
    TableDefinition { name: "t".to_owned(), columns: vec![Column { name: "c".to_owned(), sql_type, nullable }] }
}

fn refused(sql_type: SqlType, rows: usize, parts: ColumnParts<'_>) -> String {
    let table = one_column(sql_type, false);
    batch_from_columns(&table.to_arrow(), &table.columns, rows, &[parts], 100).unwrap_err().to_string()
}

#[test]
fn a_bad_value_is_named_by_row_and_column() {
    let values = |values: &'static [u8]| ColumnParts { values, ..ColumnParts::default() };
    assert_eq!(refused(SqlType::Bool, 3, values(&[0, 1, 2])), "row 102, column \"c\": 2 is neither 0 nor 1");
    assert_eq!(
        refused(SqlType::Bool, 2, ColumnParts { validity: Some(&[0b01]), ..values(&[0, 1]) }),
        "row 101, column \"c\": null in a NOT NULL column"
    );
    let mut decimal = [0; 32];
    decimal[17] = 1;
    assert_eq!(
        refused(
            SqlType::Decimal { precision: 2, scale: 0 },
            2,
            ColumnParts { values: &decimal, ..ColumnParts::default() }
        ),
        "row 101, column \"c\": has more digits than DECIMAL(2, 0)"
    );
    let text =
        |offsets: &'static [u8]| ColumnParts { validity: None, offsets: Some(offsets), values: &[b'a', 0xC3, 0xA9] };
    assert_eq!(
        refused(SqlType::Text, 2, text(&[0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])),
        "row 100, column \"c\": is not UTF-8"
    );
    assert_eq!(
        refused(SqlType::Text, 1, text(&[0, 0, 0, 0, 4, 0, 0, 0])),
        "column \"c\": its offsets do not ascend within its 3 bytes of values"
    );
    assert_eq!(refused(SqlType::Int, 2, values(&[0; 7])), "column \"c\": 2 rows take 8 bytes of values, 7 were given");
    assert_eq!(refused(SqlType::Text, 1, values(&[])), "column \"c\": its type needs offsets");
}

#[test]
fn ipc_bytes_of_another_table_are_refused_and_the_reader_goes_on() {
    let stream = |name: &str, nullable: bool, values: Int32Array| {
        let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int32, nullable)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(values)]).unwrap();
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let mut reader = IpcReader::new(one_column(SqlType::Int, false).to_arrow());
    let good = stream("c", true, vec![1, 2].into());
    assert_eq!(reader.push(&good).unwrap()[0].num_rows(), 2);
    let error = reader.push(&stream("d", false, vec![1].into())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the table has column \"c\" where the stream has \"d\"; send the columns in the table's order"
    );
    let error = reader.push(&stream("c", true, vec![Some(1), None].into())).unwrap_err();
    assert_eq!(error.to_string(), "row 3, column \"c\": null in a NOT NULL column");
    assert!(matches!(reader.push(b"no stream at all, by any reading"), Err(Error::InvalidIpc(_))));
    assert_eq!(reader.push(&good).unwrap().len(), 1);
    // A stream cut in the middle of a message is an error at the end.
    assert!(reader.push(&good[..good.len() / 2]).unwrap().is_empty());
    assert!(matches!(reader.finish(), Err(Error::InvalidIpc(_))));
}

fn numbers(rows: std::ops::Range<i32>) -> RecordBatch {
    let table = one_column(SqlType::Int, true);
    RecordBatch::try_new(table.to_arrow(), vec![Arc::new(Int32Array::from_iter_values(rows))]).unwrap()
}

/// The engine `memory`, whose inserts have a thread of their own, like the inserts of other engines.
struct Threaded(MemoryEngine);

impl Engine for Threaded {
    fn descriptor(&self) -> &'static Descriptor {
        self.0.descriptor()
    }

    fn version(&self) -> String {
        self.0.version()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        self.0.create_table(table, mode)
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        self.0.describe_table(name)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        self.0.list_tables()
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        self.0.drop_table(name)
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        self.0.ingest(table)
    }

    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        self.0.query(sql, options)
    }

    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        self.0.execute(sql, cancel)
    }
}

/// An engine whose inserts are driven by their caller, and one whose inserts have a thread.
fn engines() -> [Arc<dyn Engine>; 2] {
    [Arc::new(MemoryEngine::new()), Arc::new(Threaded(MemoryEngine::new()))]
}

#[test]
fn an_insert_is_published_whole_or_not_at_all() {
    for engine in engines() {
        let table = one_column(SqlType::Int, true);
        engine.create_table(&table, CreateMode::Create).unwrap();
        let begin = || Inserter::begin(Arc::clone(&engine), table.clone()).unwrap();

        let aborted = begin();
        aborted.write(numbers(0..10)).unwrap();
        aborted.abort();
        assert_eq!(aborted.write(numbers(0..10)).unwrap_err().code(), "BB_CLOSED");
        assert_eq!(aborted.execute().unwrap_err().code(), "BB_CLOSED");
        drop({
            let dropped = begin();
            dropped.write(numbers(0..10)).unwrap();
            dropped
        });
        let executed = begin();
        for start in 0..100 {
            executed.write(numbers(start * 10..start * 10 + 10)).unwrap();
        }
        assert!(scan(&*engine, "SELECT c FROM t").is_empty());
        assert_eq!(executed.execute().unwrap(), 1000);
        assert_eq!(scan(&*engine, "SELECT c FROM t").iter().map(RecordBatch::num_rows).sum::<usize>(), 1000);
    }
}

#[test]
fn an_insert_into_no_table_says_so() {
    for engine in engines() {
        let inserter = Inserter::begin(engine, one_column(SqlType::Int, true)).unwrap();
        assert_eq!(inserter.execute().unwrap_err().code(), "BB_TABLE_NOT_FOUND");
    }
}

#[test]
fn an_error_of_the_engine_is_one_of_the_next_call_and_nothing_is_published() {
    for engine in engines() {
        let table = one_column(SqlType::Int, false);
        engine.create_table(&table, CreateMode::Create).unwrap();
        let inserter = Inserter::begin(Arc::clone(&engine), table).unwrap();
        inserter.write(numbers(0..10)).unwrap();
        let nulls = one_column(SqlType::Int, true).to_arrow();
        let null = RecordBatch::try_new(nulls, vec![Arc::new(Int32Array::from(vec![None]))]).unwrap();
        inserter.write(null).unwrap();
        assert_eq!(inserter.drain().unwrap_err().code(), "BB_INVALID_VALUE");
        assert_eq!(inserter.write(numbers(0..10)).unwrap_err().code(), "BB_INVALID_VALUE");
        assert_eq!(inserter.execute().unwrap_err().code(), "BB_INVALID_VALUE");
        assert!(scan(&*engine, "SELECT c FROM t").is_empty());
    }
}

#[test]
fn a_query_reader_hands_over_every_batch_and_then_ends() {
    use boundary_bench_engine::lanes::reader::QueryReader;
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    let table = one_column(SqlType::Int, true);
    engine.create_table(&table, CreateMode::Create).unwrap();
    let inserter = Inserter::begin(Arc::clone(&engine), table).unwrap();
    for start in 0..20 {
        inserter.write(numbers(start..start + 1)).unwrap();
    }
    inserter.execute().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let start = |sql: &str| QueryReader::start(Arc::clone(&engine), sql.to_owned(), QueryOptions::default(), Ok);
        let reader = start("SELECT c FROM t").await.unwrap();
        let mut rows = 0;
        while let Some(batch) = reader.next().await.unwrap() {
            rows += batch.num_rows();
        }
        assert_eq!(rows, 20);
        assert!(reader.next().await.unwrap().is_none());

        let cancelled = start("SELECT c FROM t").await.unwrap();
        cancelled.cancel();
        assert_eq!(cancelled.next().await.unwrap_err().code(), "BB_ABORTED");

        // Of 20 batches, more than the queue holds are left: its thread waits for a reader that wants no more.
        let broken_off = start("SELECT c FROM t").await.unwrap();
        assert!(broken_off.next().await.unwrap().is_some());
        drop((reader, cancelled));
        broken_off.cancel();
        while Arc::strong_count(&engine) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(broken_off.next().await.unwrap_err().code(), "BB_ABORTED");
        assert_eq!(start("SELECT c FROM u").await.err().map(|error| error.code()), Some("BB_TABLE_NOT_FOUND"));
    });
}

#[test]
fn a_query_on_demand_makes_each_batch_when_it_is_asked_for_and_lets_the_engine_go_at_its_end() {
    use boundary_bench_engine::lanes::reader::{QueryReader, Ready};
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    let table = one_column(SqlType::Int, true);
    engine.create_table(&table, CreateMode::Create).unwrap();
    let inserter = Inserter::begin(Arc::clone(&engine), table).unwrap();
    for start in 0..20 {
        inserter.write(numbers(start..start + 1)).unwrap();
    }
    inserter.execute().unwrap();
    let start = |transform: fn(RecordBatch) -> Result<usize>| {
        let options = QueryOptions { batch_rows: 8, ..QueryOptions::default() };
        QueryReader::on_demand(engine.query("SELECT c FROM t", &options).unwrap(), options, transform)
    };

    let reader = start(|batch| Ok(batch.num_rows()));
    assert_eq!(reader.columns().len(), 1);
    let mut rows = 0;
    while let Ready::Result(read) = reader.try_next().unwrap() {
        rows += read;
    }
    assert_eq!(rows, 20);
    assert_eq!(reader.try_next().unwrap(), Ready::End);

    let failing = start(|_| Err(Error::InvalidArgument("as asked".to_owned())));
    assert_eq!(failing.try_next().unwrap_err().code(), "BB_INVALID_ARGUMENT");
    assert_eq!(failing.try_next().unwrap(), Ready::End);

    let held = Arc::new(());
    let options = QueryOptions::default();
    let stream = engine.query("SELECT c FROM t", &options).unwrap();
    let cancelled = QueryReader::on_demand(stream, options, {
        let held = Arc::clone(&held);
        move |batch| Ok((batch.num_rows(), Arc::strong_count(&held)))
    });
    assert_eq!(cancelled.try_next().unwrap(), Ready::Result((1, 2)));
    cancelled.cancel();
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(cancelled.try_next().unwrap_err().code(), "BB_ABORTED");
}

#[test]
fn a_batch_of_very_many_columns_or_of_texts_has_fewer_rows() {
    let column = |index: usize| Column { name: format!("c{index}"), sql_type: SqlType::Double, nullable: true };
    let wide: Vec<Column> = (0..10_000).map(column).collect();
    let narrow = &wide[..3];
    let rows = |batch_rows: usize, columns: &[Column]| {
        QueryOptions { batch_rows, ..QueryOptions::default() }.rows_per_batch(columns)
    };
    assert_eq!(rows(DEFAULT_BATCH_ROWS, narrow), DEFAULT_BATCH_ROWS);
    assert_eq!(rows(1 << 24, narrow), 1 << 24);
    assert_eq!(rows(DEFAULT_BATCH_ROWS, &wide), (64 << 20) / 80_000);
    assert_eq!(rows(0, &wide), 1);
    let texts: Vec<Column> =
        wide[..100].iter().map(|column| Column { sql_type: SqlType::Text, ..column.clone() }).collect();
    let mixed = [&wide[..3], &texts[..2]].concat();
    assert_eq!(rows(DEFAULT_BATCH_ROWS, &texts[..1]), 16_384);
    assert_eq!(rows(DEFAULT_BATCH_ROWS, &mixed), 8_192);
    assert_eq!(rows(DEFAULT_BATCH_ROWS, &texts), 2_048);
    assert_eq!(rows(30_000, &mixed), 30_000);
    // Half of what a frame holds, however many rows are asked for.
    assert_eq!(rows(1 << 24, &wide), (1 << 30) / 80_000);
}
