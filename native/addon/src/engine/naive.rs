//! The naive lanes, for comparison: every value crosses by itself, as in most addons.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder,
    Int16Builder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder, make_builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use boundary_bench_engine::decimal;
use boundary_bench_engine::table::{Column, SqlType};
use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::memory::typed_memory::view_of;
use boundary_bench_node::values::arrays::array_of_objects;
use boundary_bench_node::values::numbers::{integer, narrow, read};
use napi::bindgen_prelude::{BigInt, JsObjectValue, Null, Object, ToNapiValue, Uint8Array, Unknown};
use napi::{Env, JsValue, ValueType, sys};

/// Builds a batch from an array of rows, each an array of values.
pub fn batch_from_rows(
    env: Env,
    schema: &SchemaRef,
    columns: &[Column],
    rows: &Object<'_>,
    first_row: u64,
) -> napi::Result<RecordBatch> {
    if !rows.is_array()? {
        return Err(invalid("expected an array of rows"));
    }
    let length = rows.get_array_length()?;
    let mut builders = schema
        .fields()
        .iter()
        .map(|field| make_builder(field.data_type(), length.min(1 << 16) as usize))
        .collect::<Vec<_>>();
    for index in 0..length {
        let row = first_row + u64::from(index);
        let values: Object<'_> = rows.get_element(index)?;
        if !values.is_array()? || values.get_array_length()? as usize != columns.len() {
            return Err(invalid(format!("row {row}: expected an array of {} values", columns.len())));
        }
        for (position, (column, builder)) in columns.iter().zip(&mut builders).enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "a table's columns are far fewer")]
            let value: Unknown<'_> = values.get_element(position as u32)?;
            append(env, column, builder.as_mut(), value)
                .map_err(|problem| js(Error::InvalidValue { row, column: column.name.clone(), problem }))?;
        }
    }
    let arrays = builders.iter_mut().map(ArrayBuilder::finish).collect();
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(|error| invalid(error.to_string()))
}

/// Appends one value. The error says why it is refused.
fn append(env: Env, column: &Column, builder: &mut dyn ArrayBuilder, value: Unknown<'_>) -> Result<(), String> {
    let kind = value.get_type().map_err(|error| error.to_string())?;
    if matches!(kind, ValueType::Null | ValueType::Undefined) && !column.nullable {
        return Err("null in a NOT NULL column".to_owned());
    }
    macro_rules! push {
        ($builder:ty, $read:expr) => {{
            let builder = builder.as_any_mut().downcast_mut::<$builder>().ok_or("a builder of another type")?;
            match kind {
                ValueType::Null | ValueType::Undefined => builder.append_null(),
                _ => builder.append_value($read?),
            }
        }};
    }
    match column.sql_type {
        SqlType::Bool => push!(BooleanBuilder, read::<bool>(&value, kind, ValueType::Boolean)),
        SqlType::SmallInt => push!(Int16Builder, integer(&value, kind).and_then(narrow)),
        SqlType::Int => push!(Int32Builder, integer(&value, kind).and_then(narrow)),
        SqlType::BigInt => push!(Int64Builder, integer(&value, kind)),
        SqlType::Date => push!(Date32Builder, integer(&value, kind).and_then(narrow)),
        SqlType::Timestamp => push!(TimestampMicrosecondBuilder, integer(&value, kind)),
        #[expect(clippy::cast_possible_truncation, reason = "REAL rounds to binary32, as SQL does")]
        SqlType::Real => {
            push!(Float32Builder, read::<f64>(&value, kind, ValueType::Number).map(|number| number as f32));
        }
        SqlType::Double => push!(Float64Builder, read::<f64>(&value, kind, ValueType::Number)),
        SqlType::Text => push!(StringBuilder, read::<String>(&value, kind, ValueType::String)),
        // SAFETY: the bytes are copied before anything else runs.
        SqlType::Bytes => push!(BinaryBuilder, unsafe { view_of(env, value.raw()) }),
        SqlType::Decimal { precision, scale } => push!(Decimal128Builder, {
            read::<String>(&value, kind, ValueType::String).and_then(|text| {
                decimal::parse(&text, precision, scale)
                    .ok_or_else(|| format!("\"{text}\" is no {}", column.sql_type.to_sql()))
            })
        }),
    }
    Ok(())
}

/// A batch that becomes an array of objects on JavaScript's thread.
pub struct Objects {
    batch: RecordBatch,
    columns: Vec<Column>,
}

impl Objects {
    pub fn new(batch: RecordBatch, columns: &[Column]) -> Self {
        Self { batch, columns: columns.to_vec() }
    }
}

impl ToNapiValue for Objects {
    unsafe fn to_napi_value(env: sys::napi_env, Objects { batch, columns }: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller's promise.
        unsafe {
            array_of_objects(env, batch.num_rows(), |row, object| {
                let mut values = columns.iter().zip(batch.columns());
                values.try_for_each(|(column, values)| set(object, column, values.as_ref(), row))
            })
        }
    }
}

fn set(object: &mut Object<'_>, column: &Column, values: &dyn Array, row: usize) -> napi::Result<()> {
    let name = &column.name;
    if values.is_null(row) {
        return object.set(name, Null);
    }
    match column.sql_type {
        SqlType::Bool => object.set(name, values.as_boolean().value(row)),
        SqlType::SmallInt => object.set(name, values.as_primitive::<Int16Type>().value(row)),
        SqlType::Int => object.set(name, values.as_primitive::<Int32Type>().value(row)),
        SqlType::BigInt => object.set(name, BigInt::from(values.as_primitive::<Int64Type>().value(row))),
        SqlType::Real => object.set(name, f64::from(values.as_primitive::<Float32Type>().value(row))),
        SqlType::Double => object.set(name, values.as_primitive::<Float64Type>().value(row)),
        SqlType::Text => object.set(name, values.as_string::<i32>().value(row)),
        SqlType::Bytes => object.set(name, Uint8Array::new(values.as_binary::<i32>().value(row).to_vec())),
        SqlType::Date => object.set(name, values.as_primitive::<Date32Type>().value(row)),
        SqlType::Timestamp => {
            object.set(name, BigInt::from(values.as_primitive::<TimestampMicrosecondType>().value(row)))
        }
        SqlType::Decimal { scale, .. } => {
            object.set(name, decimal::format(values.as_primitive::<Decimal128Type>().value(row), scale))
        }
    }
}
