//! Batches of every type, with and without nulls, for property tests.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, StringArray,
};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One type of each kind, and decimals of two widths.
pub const TYPES: [SqlType; 12] = [
    SqlType::Bool,
    SqlType::SmallInt,
    SqlType::Int,
    SqlType::BigInt,
    SqlType::Real,
    SqlType::Double,
    SqlType::Decimal { precision: 4, scale: 2 },
    SqlType::Decimal { precision: 38, scale: 10 },
    SqlType::Text,
    SqlType::Bytes,
    SqlType::Date,
    SqlType::Timestamp,
];

/// A table with one nullable column of each type, and a batch of up to `most` rows for it.
pub fn table_and_batch(most: usize) -> impl Strategy<Value = (TableDefinition, RecordBatch)> {
    (1..=most).prop_flat_map(|rows| {
        let arrays = TYPES.map(|sql_type| array(sql_type, rows)).to_vec();
        arrays.prop_map(|arrays| {
            let table = table();
            let batch = RecordBatch::try_new(table.to_arrow(), arrays).unwrap();
            (table, batch)
        })
    })
}

/// The table of [`table_and_batch`].
pub fn table() -> TableDefinition {
    let column = |(index, sql_type): (usize, &SqlType)| Column {
        name: format!("c{index} \"é\""),
        sql_type: *sql_type,
        nullable: true,
    };
    TableDefinition { name: "every type".to_owned(), columns: TYPES.iter().enumerate().map(column).collect() }
}

fn array(sql_type: SqlType, rows: usize) -> BoxedStrategy<ArrayRef> {
    fn nullable<T: std::fmt::Debug + Clone + 'static>(
        rows: usize,
        values: impl Strategy<Value = T> + Clone + 'static,
        build: impl Fn(Vec<Option<T>>) -> ArrayRef + Clone + 'static,
    ) -> BoxedStrategy<ArrayRef> {
        // Columns without nulls take other code paths than those with some.
        let without_nulls = vec(values.clone().prop_map(Some), rows);
        let with_nulls = vec(option::of(values), rows);
        prop_oneof![without_nulls, with_nulls].prop_map(build).boxed()
    }
    match sql_type {
        SqlType::Bool => nullable(rows, any::<bool>(), |values| Arc::new(BooleanArray::from(values))),
        SqlType::SmallInt => nullable(rows, any::<i16>(), |values| Arc::new(Int16Array::from(values))),
        SqlType::Int => nullable(rows, any::<i32>(), |values| Arc::new(Int32Array::from(values))),
        SqlType::BigInt => nullable(rows, any::<i64>(), |values| Arc::new(Int64Array::from(values))),
        SqlType::Real => nullable(rows, any::<f32>(), |values| Arc::new(Float32Array::from(values))),
        SqlType::Double => nullable(rows, any::<f64>(), |values| Arc::new(Float64Array::from(values))),
        SqlType::Decimal { precision, .. } => {
            let limit = 10_i128.pow(u32::from(precision));
            let data_type = sql_type.to_arrow();
            nullable(rows, (1 - limit)..limit, move |values| {
                let array = PrimitiveArray::<Decimal128Type>::from(values);
                Arc::new(array.with_data_type(data_type.clone()))
            })
        }
        SqlType::Text => nullable(rows, ".{0,20}", |values| Arc::new(StringArray::from(values))),
        SqlType::Bytes => nullable(rows, vec(any::<u8>(), 0..20), |values| {
            Arc::new(BinaryArray::from(values.iter().map(Option::as_deref).collect::<Vec<_>>()))
        }),
        SqlType::Date => nullable(rows, any::<i32>(), |values| Arc::new(PrimitiveArray::<Date32Type>::from(values))),
        SqlType::Timestamp => {
            nullable(rows, any::<i64>(), |values| Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(values)))
        }
    }
}
