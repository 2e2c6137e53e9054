//! The behaviours that every engine must have: one function for each, run on each engine. [`engine_contract!`] makes
//! tests of them.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_select::concat::concat_batches;

use crate::table::{Column, SqlType, TableDefinition};
use crate::{CreateMode, Engine, QueryOptions, Statement, Value};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::cancel::CancelToken;

/// Makes a test module for an engine: one test per behaviour, each on an engine of its own.
#[macro_export]
macro_rules! engine_contract {
    ($engine:ident, $open:expr) => {
        $crate::engine_contract!($engine, $open,
            a_table_that_exists_is_kept_replaced_or_refused,
            an_unusable_definition_is_refused,
            tables_are_described_listed_and_dropped,
            names_may_be_any_text,
            a_table_in_a_schema_is_found_by_its_dotted_name,
            rows_are_published_at_once_by_commit,
            an_insert_aborted_or_dropped_leaves_nothing,
            an_insert_of_no_rows_is_one_of_zero,
            other_columns_than_the_tables_are_refused,
            a_null_in_a_not_null_column_is_named_by_row_and_column,
            nothing_is_left_of_an_insert_that_failed,
            a_missing_table_is_named,
            batches_have_at_most_the_rows_asked_for,
            slices_of_batches_are_inserted_as_they_are_seen,
            every_type_comes_back_with_its_nulls,
            a_number_that_the_engine_has_not_is_named_by_row_and_column,
            a_cancelled_query_says_so,
            a_text_without_a_statement_is_no_query,
            a_command_that_is_reported_as_cancelled_has_changed_nothing,
            a_query_left_in_the_middle_holds_nothing,
            tables_are_filled_in_parallel,
        );
    };
    ($engine:ident, $open:expr, $($behaviour:ident),+ $(,)?) => {
        mod $engine {
            $(#[test] fn $behaviour() { $crate::contract::$behaviour(&$open); })+
        }
    };
}

fn column(name: &str, sql_type: SqlType, nullable: bool) -> Column {
    Column { name: name.to_owned(), sql_type, nullable }
}

fn numbers(name: &str) -> TableDefinition {
    TableDefinition {
        name: name.to_owned(),
        columns: vec![column("id", SqlType::Int, false), column("value", SqlType::Double, true)],
    }
}

/// Rows `id = i, value = i / 2` for the ids of a range. Every seventh value is null.
fn number_rows(ids: std::ops::Range<i32>) -> RecordBatch {
    let values: Float64Array = ids.clone().map(|id| (id % 7 != 0).then(|| f64::from(id) / 2.0)).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from_iter_values(ids)), Arc::new(values)];
    RecordBatch::try_new(numbers("t").to_arrow(), columns).unwrap()
}

fn insert(engine: &Arc<dyn Engine>, table: &TableDefinition, batches: &[RecordBatch]) -> u64 {
    let mut ingest = engine.ingest(table).unwrap();
    for batch in batches {
        ingest.write(batch).unwrap();
    }
    ingest.commit().unwrap()
}

fn rows_by_batch(engine: &Arc<dyn Engine>, sql: &str, batch_rows: usize) -> Vec<RecordBatch> {
    let mut stream = engine.query(sql, &QueryOptions { batch_rows, ..QueryOptions::default() }).unwrap();
    std::iter::from_fn(|| stream.next_batch().unwrap()).collect()
}

fn rows(engine: &Arc<dyn Engine>, sql: &str) -> usize {
    rows_by_batch(engine, sql, 65_536).iter().map(RecordBatch::num_rows).sum()
}

/// The clause that a query needs to return rows in the order of their first column. The tests insert them in this order.
fn in_order(engine: &Arc<dyn Engine>) -> &'static str {
    if engine.capabilities().ordered { "" } else { " ORDER BY 1" }
}

/// All rows of a table in one batch, under the table's own schema.
fn all(engine: &Arc<dyn Engine>, table: &TableDefinition) -> RecordBatch {
    let batches = rows_by_batch(engine, &format!("SELECT * FROM \"{}\"{}", table.name, in_order(engine)), 1000);
    let arrays: Vec<RecordBatch> = batches
        .into_iter()
        .map(|batch| RecordBatch::try_new(table.to_arrow(), batch.columns().to_vec()).unwrap())
        .collect();
    concat_batches(&table.to_arrow(), &arrays).unwrap()
}

pub fn a_table_that_exists_is_kept_replaced_or_refused(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    insert(engine, &table, &[number_rows(0..3)]);
    let error = engine.create_table(&table, CreateMode::Create).unwrap_err();
    assert_eq!(error.code(), "BB_TABLE_EXISTS");
    engine.create_table(&table, CreateMode::IfNotExists).unwrap();
    assert_eq!(rows(engine, "SELECT * FROM t"), 3);
    engine.create_table(&table, CreateMode::Replace).unwrap();
    assert_eq!(rows(engine, "SELECT * FROM t"), 0);
}

pub fn an_unusable_definition_is_refused(engine: &Arc<dyn Engine>) {
    let mut table = numbers("t");
    "ID".clone_into(&mut table.columns[1].name);
    for mode in [CreateMode::Create, CreateMode::Replace, CreateMode::IfNotExists] {
        assert_eq!(engine.create_table(&table, mode).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }
    assert!(engine.list_tables().unwrap().is_empty());
}

pub fn tables_are_described_listed_and_dropped(engine: &Arc<dyn Engine>) {
    let types = every_type(true).into_iter().map(|(sql_type, _)| sql_type).enumerate();
    let wide = TableDefinition {
        name: "wide".to_owned(),
        columns: types.map(|(index, sql_type)| column(&format!("c{index}"), sql_type, index % 2 == 0)).collect(),
    };
    engine.create_table(&wide, CreateMode::Create).unwrap();
    engine.create_table(&numbers("a"), CreateMode::Create).unwrap();
    assert_eq!(engine.list_tables().unwrap(), ["a", "wide"]);
    assert_eq!(engine.describe_table("wide").unwrap(), wide);
    assert!(engine.drop_table("wide").unwrap());
    assert!(!engine.drop_table("wide").unwrap());
    assert_eq!(engine.list_tables().unwrap(), ["a"]);
}

pub fn names_may_be_any_text(engine: &Arc<dyn Engine>) {
    let table = TableDefinition {
        name: "it's a \"tåble\"; DROP".to_owned(),
        columns: vec![column("select \"x\"", SqlType::Int, true), column("数", SqlType::Int, true)],
    };
    engine.create_table(&table, CreateMode::Create).unwrap();
    assert_eq!(engine.describe_table(&table.name).unwrap(), table);
    assert_eq!(engine.list_tables().unwrap(), [table.name.as_str()]);
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![2]))];
    insert(engine, &table, &[RecordBatch::try_new(table.to_arrow(), columns).unwrap()]);
    assert_eq!(rows(engine, "SELECT \"数\" FROM \"it's a \"\"tåble\"\"; DROP\""), 1);
    assert!(engine.drop_table(&table.name).unwrap());
}

pub fn a_table_in_a_schema_is_found_by_its_dotted_name(engine: &Arc<dyn Engine>) {
    if !engine.capabilities().sql {
        return;
    }
    let schema = "\"a \"\"schema\"\".1\"";
    let run = |sql: &str| engine.execute(sql, &CancelToken::default()).unwrap();
    run(&format!("CREATE SCHEMA {schema}"));
    for table in ["\"a.\"\"table\"\"\"", "t"] {
        let table = numbers(&format!("{schema}.{table}"));
        assert_eq!(engine.describe_table(&table.name).unwrap_err().code(), "BB_TABLE_NOT_FOUND");
        engine.create_table(&table, CreateMode::Create).unwrap();
        assert_eq!(engine.create_table(&table, CreateMode::Create).unwrap_err().code(), "BB_TABLE_EXISTS");
        engine.create_table(&table, CreateMode::Replace).unwrap();
        assert_eq!(engine.describe_table(&table.name).unwrap(), table);
        assert_eq!(insert(engine, &table, &[number_rows(0..10)]), 10);
        assert_eq!(rows(engine, &format!("SELECT id FROM {}", table.name)), 10);
        assert!(engine.list_tables().unwrap().is_empty());
        assert!(engine.drop_table(&table.name).unwrap());
        assert!(!engine.drop_table(&table.name).unwrap());
    }
    run(&format!("DROP SCHEMA {schema}"));
    // A table whose own name has a dot goes before one in a schema, and a name without such a schema is one name.
    let table = numbers("no_schema.t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    assert_eq!(engine.list_tables().unwrap(), [table.name.as_str()]);
}

pub fn rows_are_published_at_once_by_commit(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table).unwrap();
    // More rows than an engine buffers, so that some have reached the table before the commit.
    for start in (0..500_000).step_by(100_000) {
        ingest.write(&number_rows(start..start + 100_000)).unwrap();
    }
    assert_eq!(rows(engine, "SELECT id FROM t"), 0);
    assert_eq!(ingest.commit().unwrap(), 500_000);
    assert_eq!(all(engine, &table), number_rows(0..500_000));
}

pub fn an_insert_aborted_or_dropped_leaves_nothing(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    for rows in [10, 300_000] {
        let mut ingest = engine.ingest(&table).unwrap();
        ingest.write(&number_rows(0..rows)).unwrap();
        ingest.abort().unwrap();
        let mut ingest = engine.ingest(&table).unwrap();
        ingest.write(&number_rows(0..rows)).unwrap();
        drop(ingest);
    }
    assert_eq!(rows(engine, "SELECT id FROM t"), 0);
}

pub fn an_insert_of_no_rows_is_one_of_zero(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    assert_eq!(insert(engine, &table, &[]), 0);
    assert_eq!(insert(engine, &table, &[number_rows(0..0)]), 0);
    assert!(rows_by_batch(engine, "SELECT id FROM t", 10).is_empty());
}

pub fn other_columns_than_the_tables_are_refused(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    let others: [fn(&mut TableDefinition); 5] = [
        |table| table.columns[1].sql_type = SqlType::Real,
        |table| "other".clone_into(&mut table.columns[1].name),
        |table| table.columns[1].nullable = false,
        // A column that must be given, and one that need not.
        |table| drop(table.columns.remove(0)),
        |table| drop(table.columns.pop()),
    ];
    let refused = others.len() - usize::from(engine.capabilities().some_columns);
    for change in &others[..refused] {
        let mut other = table.clone();
        change(&mut other);
        assert_eq!(engine.ingest(&other).err().unwrap().code(), "BB_SCHEMA_MISMATCH");
    }
    let mut ingest = engine.ingest(&table).unwrap();
    let projected = number_rows(0..3).project(&[0]).unwrap();
    assert_eq!(ingest.write(&projected).unwrap_err().code(), "BB_SCHEMA_MISMATCH");
    ingest.abort().unwrap();
}

pub fn a_null_in_a_not_null_column_is_named_by_row_and_column(engine: &Arc<dyn Engine>) {
    let mut strict = numbers("t");
    strict.columns[1].nullable = false;
    engine.create_table(&strict, CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&strict).unwrap();
    ingest.write(&number_rows(1..7)).unwrap();
    let error = ingest.write(&number_rows(12..20)).unwrap_err();
    assert_eq!(error.to_string(), "row 8, column \"value\": null in a NOT NULL column");
}

pub fn nothing_is_left_of_an_insert_that_failed(engine: &Arc<dyn Engine>) {
    let mut strict = numbers("t");
    strict.columns[1].nullable = false;
    engine.create_table(&strict, CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&strict).unwrap();
    ingest.write(&number_rows(1..7)).unwrap();
    ingest.write(&number_rows(7..8)).unwrap_err();
    ingest.abort().unwrap();
    assert_eq!(rows(engine, "SELECT id FROM t"), 0);
    // The table can still be used.
    assert_eq!(insert(engine, &strict, &[number_rows(1..7)]), 6);
    assert_eq!(rows(engine, "SELECT id FROM t"), 6);
}

pub fn a_missing_table_is_named(engine: &Arc<dyn Engine>) {
    for error in [engine.describe_table("gone").err().unwrap(), engine.ingest(&numbers("gone")).err().unwrap()] {
        assert_eq!(error.code(), "BB_TABLE_NOT_FOUND");
        assert!(error.to_string().contains("\"gone\""));
    }
}

pub fn batches_have_at_most_the_rows_asked_for(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    insert(engine, &table, &[number_rows(0..5000), number_rows(5000..5001), number_rows(5001..10_000)]);
    for batch_rows in [1, 7, 1000, 2048, 4096, 5000, 1 << 40] {
        let batches = rows_by_batch(engine, &format!("SELECT id, value FROM t{}", in_order(engine)), batch_rows);
        assert!(batches.iter().all(|batch| (1..=batch_rows).contains(&batch.num_rows())));
        let whole = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(whole.column(0).as_primitive::<Int32Type>(), number_rows(0..10_000).column(0).as_primitive());
        assert_eq!(whole.column(1).as_primitive::<Float64Type>(), number_rows(0..10_000).column(1).as_primitive());
    }
}

pub fn slices_of_batches_are_inserted_as_they_are_seen(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    let whole = number_rows(0..9000);
    insert(engine, &table, &[whole.slice(3, 70), whole.slice(73, 5000), whole.slice(5073, 1), whole.slice(5074, 3926)]);
    assert_eq!(all(engine, &table), number_rows(3..9000));
}

/// Each type with the extremes of its values, and nulls. The floats are limited to those that the engine can hold.
fn every_type(all_floats: bool) -> Vec<(SqlType, ArrayRef)> {
    let (infinity, minus_infinity, nan, zero) = if all_floats {
        (f32::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0)
    } else {
        (f32::MAX, f64::MAX, f64::MIN_POSITIVE, 0.0)
    };
    let nines = 10_i128.pow(38) - 1;
    let decimal = |precision: u8, scale: u8, values: [i128; 4]| {
        let [a, b, c, d] = values.map(Some);
        let sql_type = SqlType::Decimal { precision, scale };
        let values = Decimal128Array::from(vec![a, None, b, c, d, None]).with_data_type(sql_type.to_arrow());
        (sql_type, Arc::new(values) as ArrayRef)
    };
    let long = "a longer text, ä 漢字 🚀, beyond twelve bytes".repeat(9);
    let texts = vec![Some(""), None, Some("twelve bytes"), Some("thirteen byte"), Some(long.as_str()), Some("é")];
    let blob: Vec<u8> = (0..=255).collect();
    let blobs: Vec<Option<&[u8]>> = vec![Some(b""), Some(&blob), None, Some(b"\0"), Some(&blob[..12]), Some(&[0; 13])];
    vec![
        (
            SqlType::Bool,
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), None, Some(true)])),
        ),
        (
            SqlType::SmallInt,
            Arc::new(Int16Array::from(vec![Some(i16::MIN), Some(i16::MAX), None, Some(0), Some(-1), None])),
        ),
        (SqlType::Int, Arc::new(Int32Array::from(vec![Some(i32::MIN), Some(i32::MAX), None, Some(0), Some(-1), None]))),
        (
            SqlType::BigInt,
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None, Some(0), Some(-1), None])),
        ),
        (
            SqlType::Real,
            Arc::new(Float32Array::from(vec![
                Some(f32::MIN),
                Some(infinity),
                None,
                Some(if all_floats { -0.0 } else { 0.0 }),
                Some(1e-45),
                None,
            ])),
        ),
        (
            SqlType::Double,
            Arc::new(Float64Array::from(vec![
                Some(f64::MIN),
                Some(minus_infinity),
                None,
                Some(zero),
                Some(nan),
                Some(0.1),
            ])),
        ),
        decimal(4, 1, [9999, -9999, 0, 1]),
        decimal(9, 9, [999_999_999, -999_999_999, 0, 1]),
        decimal(18, 0, [999_999_999_999_999_999, -999_999_999_999_999_999, 0, 1]),
        decimal(38, 10, [nines, -nines, 0, -1]),
        (SqlType::Text, Arc::new(StringArray::from(texts))),
        (SqlType::Bytes, Arc::new(BinaryArray::from(blobs))),
        (
            SqlType::Date,
            Arc::new(Date32Array::from(vec![Some(0), Some(-719_528), None, Some(2_932_896), Some(-1), None])),
        ),
        (
            SqlType::Timestamp,
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(0),
                None,
                Some(-1),
                Some(253_402_300_799_999_999),
                Some(1_700_000_000_000_000),
                None,
            ])),
        ),
    ]
}

pub fn every_type_comes_back_with_its_nulls(engine: &Arc<dyn Engine>) {
    let all_floats = engine.capabilities().all_floats;
    let (types, arrays): (Vec<SqlType>, Vec<ArrayRef>) = every_type(all_floats).into_iter().unzip();
    let table = TableDefinition {
        name: "types".to_owned(),
        columns: types
            .iter()
            .enumerate()
            .map(|(index, sql_type)| column(&format!("c{index}"), *sql_type, true))
            .collect(),
    };
    engine.create_table(&table, CreateMode::Create).unwrap();
    let batch = RecordBatch::try_new(table.to_arrow(), arrays).unwrap();
    insert(engine, &table, &[batch.clone(), batch.slice(1, 4)]);
    let expected = concat_batches(&table.to_arrow(), [&batch, &batch.slice(1, 4)]).unwrap();
    let found = all(engine, &table);
    // The rows are compared as text, because NaN is not equal to itself.
    let text = |batch: &RecordBatch| {
        let mut rows: Vec<_> = (0..batch.num_rows()).map(|row| format!("{:?}", batch.slice(row, 1))).collect();
        if !engine.capabilities().ordered {
            rows.sort();
        }
        rows
    };
    assert_eq!(text(&found), text(&expected));
    for (found, expected) in found.columns().iter().zip(expected.columns()) {
        assert_eq!(found.null_count(), expected.null_count());
    }
}

pub fn a_number_that_the_engine_has_not_is_named_by_row_and_column(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(Float64Array::from(vec![0.5, f64::NAN]))];
    let batch = RecordBatch::try_new(table.to_arrow(), columns).unwrap();
    let mut ingest = engine.ingest(&table).unwrap();
    ingest.write(&number_rows(1..7)).unwrap();
    let written = ingest.write(&batch);
    if engine.capabilities().all_floats {
        written.unwrap();
    } else {
        let error = written.unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_VALUE");
        assert!(error.to_string().starts_with("row 7, column \"value\": "), "{error}");
    }
}

pub fn a_text_without_a_statement_is_no_query(engine: &Arc<dyn Engine>) {
    for text in ["", " \n", ";", "-- SELECT 1"] {
        let refused = engine.query(text, &QueryOptions::default()).err().unwrap();
        assert_eq!(refused.code(), "BB_INVALID_ARGUMENT", "{text}: {refused}");
        let refused = engine.prepare(text, &CancelToken::default()).err().unwrap();
        let expected = if engine.capabilities().sql { "BB_INVALID_ARGUMENT" } else { "BB_UNSUPPORTED" };
        assert_eq!(refused.code(), expected, "{text}: {refused}");
    }
}

pub fn a_cancelled_query_says_so(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    insert(engine, &table, &[number_rows(0..10)]);
    let options = QueryOptions { batch_rows: 2, cancel: CancelToken::default() };
    let mut stream = engine.query("SELECT id FROM t", &options).unwrap();
    assert!(stream.next_batch().unwrap().is_some());
    options.cancel.cancel();
    assert_eq!(stream.next_batch().unwrap_err().code(), "BB_ABORTED");
}

pub fn a_command_that_is_reported_as_cancelled_has_changed_nothing(engine: &Arc<dyn Engine>) {
    const ROWS: usize = 5000;
    const ATTEMPTS: u32 = 200;
    if !engine.capabilities().sql {
        return;
    }
    engine.create_table(&numbers("source"), CreateMode::Create).unwrap();
    insert(engine, &numbers("source"), &[number_rows(0..5000)]);
    let run = |table: &str, returns: bool, options: &QueryOptions| {
        engine.create_table(&numbers(table), CreateMode::Create).unwrap();
        let sql = format!("INSERT INTO {table} SELECT id, value FROM source");
        let begun = Instant::now();
        let ended = if returns {
            engine.query(&format!("{sql} RETURNING id"), options).and_then(|mut stream| {
                std::iter::from_fn(|| stream.next_batch().transpose()).map(|batch| Ok(batch?.num_rows())).sum()
            })
        } else {
            engine.execute(&sql, &options.cancel).map(|rows| usize::try_from(rows).unwrap())
        };
        (ended, begun.elapsed())
    };
    let (ended, usual) = run("usual", false, &QueryOptions::default());
    assert_eq!(ended.unwrap(), ROWS);
    let can_return = run("returning", true, &QueryOptions::default()).0.is_ok();
    let mut ends = [0, 0];
    // The delays go from the start of the command to beyond its end, as long as that takes now.
    let mut reach = usual * 2;
    for attempt in 0..ATTEMPTS {
        let options = QueryOptions { batch_rows: 1000, ..QueryOptions::default() };
        let token = options.cancel.clone();
        let delay = reach * (attempt % 25) / 25;
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(delay);
            token.cancel();
        });
        let table = format!("t{attempt}");
        let (ended, _) = run(&table, can_return && attempt % 2 == 1, &options);
        canceller.join().unwrap();
        match ended {
            Err(error) => {
                assert_eq!(error.code(), "BB_ABORTED", "{error}");
                if !matches!(error, Error::CancelledInDoubt) {
                    assert_eq!(rows(engine, &format!("SELECT id FROM {table}")), 0, "{attempt}: {error}");
                }
                ends[1] += 1;
                reach = reach * 11 / 10;
            }
            Ok(changed) => {
                assert_eq!((changed, rows(engine, &format!("SELECT id FROM {table}"))), (ROWS, ROWS), "{attempt}");
                ends[0] += 1;
                reach = reach * 19 / 20;
            }
        }
        assert!(engine.drop_table(&table).unwrap());
    }
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}

pub fn a_query_left_in_the_middle_holds_nothing(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    insert(engine, &table, &[number_rows(0..400_000)]);
    for batches in 0..3 {
        let mut stream = engine.query("SELECT id FROM t", &QueryOptions::default()).unwrap();
        for _ in 0..batches {
            assert!(stream.next_batch().unwrap().is_some());
        }
        drop(stream);
    }
    assert!(engine.drop_table("t").unwrap());
}

pub fn tables_are_filled_in_parallel(engine: &Arc<dyn Engine>) {
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                let table = numbers(&format!("t{worker}"));
                engine.create_table(&table, CreateMode::Create).unwrap();
                let start = worker * 1_000_000;
                let batches: Vec<_> =
                    (0..5).map(|batch| number_rows(start + batch * 60_000..start + (batch + 1) * 60_000)).collect();
                insert(engine, &table, &batches);
                assert_eq!(all(engine, &table), number_rows(start..start + 300_000));
            });
        }
    });
    assert_eq!(engine.list_tables().unwrap(), ["t0", "t1", "t2", "t3"]);
}

fn prepared(engine: &Arc<dyn Engine>, sql: &str) -> Box<dyn Statement> {
    engine.prepare(sql, &CancelToken::default()).unwrap()
}

fn rows_of(statement: &mut dyn Statement, parameters: &[Value]) -> Vec<RecordBatch> {
    let mut stream = statement.query(parameters, &QueryOptions::default()).unwrap();
    std::iter::from_fn(|| stream.next_batch().unwrap()).collect()
}

pub fn a_statement_is_run_with_one_set_of_parameters_after_the_other(engine: &Arc<dyn Engine>) {
    let table = numbers("t");
    engine.create_table(&table, CreateMode::Create).unwrap();
    let mut insert = prepared(engine, "INSERT INTO t VALUES ($1, $2)");
    for id in 0..50_i32 {
        let value = if id % 7 == 0 { Value::Null } else { Value::Double(f64::from(id) / 2.0) };
        assert_eq!(insert.execute(&[Value::Int(id.into()), value], &CancelToken::default()).unwrap(), 1);
    }
    drop(insert);
    assert_eq!(all(engine, &table), number_rows(0..50));
    let mut select = prepared(engine, "SELECT id FROM t WHERE id >= $1 AND id < $1 + $2 ORDER BY id");
    for first in [0, 7, 40] {
        let rows = rows_of(select.as_mut(), &[Value::Int(first), Value::Int(5)]);
        let ids: Vec<i64> = rows
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values())
            .map(|id| i64::from(*id))
            .collect();
        assert_eq!(ids, (first..first + 5).collect::<Vec<_>>());
    }
}

pub fn parameters_of_every_type_arrive(engine: &Arc<dyn Engine>) {
    let values = [
        (SqlType::Bool, Value::Bool(true)),
        (SqlType::SmallInt, Value::Int(-32_768)),
        (SqlType::Int, Value::Int(2_147_483_647)),
        (SqlType::BigInt, Value::Int(i64::MIN)),
        (SqlType::Double, Value::Double(-0.1)),
        (SqlType::Double, Value::Double(9_007_199_254_740_992.0)),
        (SqlType::SmallInt, Value::SmallInt(-32_768)),
        (SqlType::Int, Value::Int32(-1)),
        (SqlType::Real, Value::Real(0.1)),
        (
            SqlType::Decimal { precision: 10, scale: 2 },
            Value::Decimal { value: -1_234_567_890, precision: 10, scale: 2 },
        ),
        (
            SqlType::Decimal { precision: 38, scale: 10 },
            Value::Decimal { value: 10_i128.pow(38) - 1, precision: 38, scale: 10 },
        ),
        (SqlType::Text, Value::Text("'; DROP TABLE t; -- \u{1f600}".to_owned())),
        (SqlType::Bytes, Value::Bytes(vec![0, 255, 39, 92])),
        (SqlType::Date, Value::Date(-1)),
        (SqlType::Timestamp, Value::Timestamp(1_700_000_000_123_456)),
    ];
    let columns: Vec<Column> =
        values.iter().enumerate().map(|(index, (sql_type, _))| column(&format!("c{index}"), *sql_type, true)).collect();
    let table = TableDefinition { name: "t".to_owned(), columns };
    engine.create_table(&table, CreateMode::Create).unwrap();
    let placeholders: Vec<String> = (1..=values.len()).map(|position| format!("${position}")).collect();
    let mut insert = prepared(engine, &format!("INSERT INTO t VALUES ({})", placeholders.join(", ")));
    assert_eq!(insert.parameters().len(), values.len());
    for (known, (sql_type, _)) in insert.parameters().iter().zip(&values) {
        assert!(known.is_none_or(|known| known == *sql_type), "{known:?} for {sql_type:?}");
    }
    let parameters: Vec<Value> = values.iter().map(|(_, value)| value.clone()).collect();
    insert.execute(&parameters, &CancelToken::default()).unwrap();
    insert.execute(&vec![Value::Null; values.len()], &CancelToken::default()).unwrap();
    let typed: Vec<Value> = values.iter().map(|(sql_type, _)| Value::NullOf(*sql_type)).collect();
    insert.execute(&typed, &CancelToken::default()).unwrap();
    drop(insert);
    let nulls: Vec<String> = (0..values.len()).map(|index| format!("c{index} IS NULL")).collect();
    assert_eq!(rows(engine, &format!("SELECT c0 FROM t WHERE {}", nulls.join(" AND "))), 2);
    for (index, (sql_type, value)) in values.into_iter().enumerate() {
        let mut select = prepared(engine, &format!("SELECT c{index} FROM t WHERE c{index} = $1"));
        assert_eq!(rows_of(select.as_mut(), &[value]).len(), 1, "{sql_type:?}");
        assert_eq!(rows_of(select.as_mut(), &[Value::Null]).len(), 0, "{sql_type:?}");
    }
}

pub fn a_parameter_keeps_the_type_that_it_is_given(engine: &Arc<dyn Engine>) {
    for given in [
        Value::SmallInt(5),
        Value::Int32(5),
        Value::Real(0.1),
        Value::Double(9_007_199_254_740_992.0),
        Value::NullOf(SqlType::SmallInt),
        Value::NullOf(SqlType::Real),
        Value::NullOf(SqlType::Text),
        Value::NullOf(SqlType::Decimal { precision: 5, scale: 2 }),
    ] {
        let mut select = prepared(engine, "SELECT $1 AS x");
        let mut stream = select.query(std::slice::from_ref(&given), &QueryOptions::default()).unwrap();
        let batch = stream.next_batch().unwrap().unwrap();
        assert_eq!(Some(stream.columns()[0].sql_type), given.sql_type(), "{given:?}");
        assert_eq!(batch.column(0).is_null(0), matches!(given, Value::NullOf(_)), "{given:?}");
        if let Value::Real(number) = given {
            assert_eq!(batch.column(0).as_primitive::<Float32Type>().value(0).to_bits(), number.to_bits());
        }
    }
}

pub fn parameters_missing_or_too_many_are_named(engine: &Arc<dyn Engine>) {
    engine.create_table(&numbers("t"), CreateMode::Create).unwrap();
    let mut select = prepared(engine, "SELECT id FROM t WHERE id = $1 AND value = $2");
    for (given, named) in [(0, "parameter 1"), (1, "parameter 2"), (3, "parameter 3")] {
        let error = select.query(&vec![Value::Int(1); given], &QueryOptions::default()).err().unwrap();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        assert!(error.to_string().starts_with(named), "{error}");
    }
    assert_eq!(rows_of(select.as_mut(), &[Value::Int(1), Value::Double(1.0)]).len(), 0);
    let error = prepared(engine, "DELETE FROM t").execute(&[Value::Null], &CancelToken::default()).unwrap_err();
    assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
}

pub fn a_statement_without_parameters_is_run_again(engine: &Arc<dyn Engine>) {
    engine.create_table(&numbers("t"), CreateMode::Create).unwrap();
    let mut insert = prepared(engine, "INSERT INTO t VALUES (1, 0.5)");
    let mut select = prepared(engine, "SELECT id FROM t");
    for run in 1..3 {
        assert_eq!(insert.execute(&[], &CancelToken::default()).unwrap(), 1);
        let found = rows_of(select.as_mut(), &[]);
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), run);
    }
}

pub fn a_statement_that_is_cancelled_says_so(engine: &Arc<dyn Engine>) {
    engine.create_table(&numbers("t"), CreateMode::Create).unwrap();
    let mut select = prepared(engine, "SELECT id FROM t WHERE id = $1");
    let options = QueryOptions::default();
    options.cancel.cancel();
    assert_eq!(select.query(&[Value::Int(1)], &options).err().unwrap().code(), "BB_ABORTED");
    let mut delete = prepared(engine, "DELETE FROM t WHERE id = $1");
    assert_eq!(delete.execute(&[Value::Int(1)], &options.cancel).unwrap_err().code(), "BB_ABORTED");
}
