//! Random tables come back from the embedded engine as they went in.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_select::concat::concat_batches;
use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, QueryOptions};
use proptest::prelude::*;

fn sql_type() -> impl Strategy<Value = SqlType> {
    prop_oneof![
        Just(SqlType::Bool),
        Just(SqlType::SmallInt),
        Just(SqlType::Int),
        Just(SqlType::BigInt),
        Just(SqlType::Real),
        Just(SqlType::Double),
        Just(SqlType::Text),
        Just(SqlType::Bytes),
        Just(SqlType::Date),
        Just(SqlType::Timestamp),
        (1_u8..=38).prop_flat_map(|precision| {
            (0..=precision).prop_map(move |scale| SqlType::Decimal { precision, scale })
        }),
    ]
}

/// The seeds of a column's distinct values. Its rows repeat them in order.
#[derive(Debug, Clone)]
struct Values {
    numbers: Vec<Option<i128>>,
    texts: Vec<Option<String>>,
    blobs: Vec<Option<Vec<u8>>>,
}

fn values() -> impl Strategy<Value = Values> {
    let number = prop_oneof![Just(0), Just(i128::MIN), Just(i128::MAX), any::<i128>(), (-1000_i128..1000)];
    let text = prop_oneof![Just(String::new()), any::<String>(), "[a-zäß漢🚀]{11,14}", "x{300}"];
    (
        proptest::collection::vec(proptest::option::of(number), 1..12),
        proptest::collection::vec(proptest::option::of(text), 1..12),
        proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)), 1..12),
    )
        .prop_map(|(numbers, texts, blobs)| Values { numbers, texts, blobs })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the low bits of a random number are as random"
)]
fn array(sql_type: SqlType, values: &Values, nullable: bool, rows: usize) -> ArrayRef {
    let number = |row: usize| values.numbers[row % values.numbers.len()].or((!nullable).then_some(7));
    let text = |row: usize| values.texts[row % values.texts.len()].as_deref().or((!nullable).then_some("seven"));
    let blob = |row: usize| values.blobs[row % values.blobs.len()].as_deref().or((!nullable).then_some(b"\x007"));
    let numbers = (0..rows).map(number);
    match sql_type {
        SqlType::Bool => Arc::new(numbers.map(|value| value.map(|value| value & 1 == 1)).collect::<BooleanArray>()),
        SqlType::SmallInt => Arc::new(numbers.map(|value| value.map(|value| value as i16)).collect::<Int16Array>()),
        SqlType::Int => Arc::new(numbers.map(|value| value.map(|value| value as i32)).collect::<Int32Array>()),
        SqlType::BigInt => Arc::new(numbers.map(|value| value.map(|value| value as i64)).collect::<Int64Array>()),
        SqlType::Real => {
            Arc::new(numbers.map(|value| value.map(|value| f32::from_bits(value as u32))).collect::<Float32Array>())
        }
        SqlType::Double => {
            Arc::new(numbers.map(|value| value.map(|value| f64::from_bits(value as u64))).collect::<Float64Array>())
        }
        SqlType::Decimal { precision, .. } => {
            let end = 10_i128.pow(u32::from(precision));
            let decimals: Decimal128Array = numbers.map(|value| value.map(|value| value % end)).collect();
            Arc::new(decimals.with_data_type(sql_type.to_arrow()))
        }
        SqlType::Text => Arc::new((0..rows).map(text).collect::<StringArray>()),
        SqlType::Bytes => Arc::new((0..rows).map(blob).collect::<BinaryArray>()),
        SqlType::Date => Arc::new(numbers.map(|value| value.map(|value| value as i32)).collect::<Date32Array>()),
        SqlType::Timestamp => {
            Arc::new(numbers.map(|value| value.map(|value| value as i64)).collect::<TimestampMicrosecondArray>())
        }
    }
}

fn table_and_rows() -> impl Strategy<Value = (TableDefinition, RecordBatch)> {
    let columns = proptest::collection::vec((sql_type(), any::<bool>(), values()), 1..6);
    let rows = prop_oneof![1_usize..100, 2000_usize..2100, 4000_usize..9000];
    (columns, rows).prop_map(|(described, rows)| {
        let columns = described
            .iter()
            .enumerate()
            .map(|(index, (sql_type, nullable, _))| Column {
                name: format!("c{index}"),
                sql_type: *sql_type,
                nullable: *nullable,
            })
            .collect();
        let table = TableDefinition { name: "t".to_owned(), columns };
        let arrays =
            described.iter().map(|(sql_type, nullable, values)| array(*sql_type, values, *nullable, rows)).collect();
        let batch = RecordBatch::try_new(table.to_arrow(), arrays).unwrap();
        (table, batch)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(
        (table, rows) in table_and_rows(),
        slice_rows in prop_oneof![1_usize..64, 500_usize..5000],
        batch_rows in prop_oneof![1_usize..64, 500_usize..10_000],
    ) {
        let engine = EmbeddedEngine::open("").unwrap();
        engine.create_table(&table, CreateMode::Create).unwrap();
        prop_assert_eq!(engine.describe_table("t").unwrap(), table.clone());
        let mut ingest = engine.ingest(&table).unwrap();
        for start in (0..rows.num_rows()).step_by(slice_rows) {
            ingest.write(&rows.slice(start, slice_rows.min(rows.num_rows() - start))).unwrap();
        }
        prop_assert_eq!(ingest.commit().unwrap(), rows.num_rows() as u64);

        let options = QueryOptions { batch_rows, ..QueryOptions::default() };
        let mut stream = engine.query("SELECT * FROM t", &options).unwrap();
        let mut batches = Vec::new();
        while let Some(batch) = stream.next_batch().unwrap() {
            prop_assert!((1..=batch_rows).contains(&batch.num_rows()));
            batches.push(RecordBatch::try_new(table.to_arrow(), batch.columns().to_vec()).unwrap());
        }
        let found = concat_batches(&table.to_arrow(), &batches).unwrap();
        for (found, expected) in found.columns().iter().zip(rows.columns()) {
            // The arrays are compared bit by bit, so that each NaN must be the very same.
            prop_assert!(same_bits(found, expected), "{found:?}\n{expected:?}");
        }
    }
}

fn same_bits(left: &ArrayRef, right: &ArrayRef) -> bool {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type};
    if let (Some(left), Some(right)) = (left.as_primitive_opt::<Float32Type>(), right.as_primitive_opt::<Float32Type>())
    {
        return left.iter().map(|value| value.map(f32::to_bits)).eq(right.iter().map(|value| value.map(f32::to_bits)));
    }
    if let (Some(left), Some(right)) = (left.as_primitive_opt::<Float64Type>(), right.as_primitive_opt::<Float64Type>())
    {
        return left.iter().map(|value| value.map(f64::to_bits)).eq(right.iter().map(|value| value.map(f64::to_bits)));
    }
    left == right
}
