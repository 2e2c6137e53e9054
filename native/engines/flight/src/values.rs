//! Conversions between Arrow's types and ours: columns of any server, and the values of parameters.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, NullArray, RecordBatch, RecordBatchOptions, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use boundary_bench_engine::arrow_in::{convert, sql_type_of};
use boundary_bench_engine::table::{Column, SqlType, unique_names};
use boundary_bench_engine::{Value, unusable_parameter};
use boundary_bench_kernel::{Error, Result};

use crate::engine_error;

/// Options of casts in which a value that does not fit is an error, not a null.
const EXACT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// Our columns for the fields of a schema, with unique names.
pub(crate) fn columns_of(schema: &Schema) -> Result<Vec<Column>> {
    let names = unique_names(schema.fields().iter().map(|field| field.name().as_str()));
    let columns = names.into_iter().zip(schema.fields()).map(|(name, field)| match sql_type_of(field.data_type()) {
        Some(sql_type) => Ok(Column { name, sql_type, nullable: field.is_nullable() }),
        None => Err(Error::Unsupported(format!(
            "column \"{name}\" has the type {}, which has no counterpart here; CAST it in the query",
            field.data_type()
        ))),
    });
    columns.collect()
}

/// An array of this name, converted to the type `wanted`.
pub(crate) fn converted(array: &ArrayRef, name: &str, wanted: &DataType) -> Result<ArrayRef> {
    convert(array, &Field::new(name, wanted.clone(), true), 0)
}

/// The columns of a batch in the types of a schema, by their places. `first_row` is the number of rows before the batch.
pub(crate) fn adapted(batch: &RecordBatch, schema: &SchemaRef, first_row: u64) -> Result<RecordBatch> {
    let arrays = batch.columns().iter().zip(schema.fields());
    let arrays = arrays.map(|(array, field)| convert(array, field, first_row)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(engine_error)
}

/// The columns of a batch in the types of a table's schema, matched by name in any order. A nullable column that the batch
/// lacks is filled with nulls. `first_row` is the number of rows before the batch.
pub(crate) fn by_name(batch: &RecordBatch, schema: &SchemaRef, first_row: u64) -> Result<RecordBatch> {
    let given = batch.schema();
    if let Some(other) = given.fields().iter().find(|field| schema.field_with_name(field.name()).is_err()) {
        return Err(Error::SchemaMismatch(format!("the table has no column \"{}\"", other.name())));
    }
    let arrays = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(array) => convert(array, field, first_row),
        None if field.is_nullable() => Ok(new_null_array(field.data_type(), batch.num_rows())),
        None => Err(Error::SchemaMismatch(format!("the column \"{}\" is missing, which can't be null", field.name()))),
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    // All fields are nullable here: the engine reports nulls in columns that may have none.
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(engine_error)
}

/// The values of a batch, row by row.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Vec<Value>>> {
    let columns = batch.columns().iter().enumerate().map(|(index, array)| values(array, index + 1));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    Ok((0..batch.num_rows())
        .map(|_| columns.iter_mut().map(|column| column.next().unwrap_or(Value::Null)).collect())
        .collect())
}

/// Makes the value of an array at a row that is not null.
type MakeValue = fn(&dyn Array, usize) -> Value;

fn values(array: &ArrayRef, position: usize) -> Result<Vec<Value>> {
    if array.data_type() == &DataType::Null {
        return Ok(vec![Value::Null; array.len()]);
    }
    let known = sql_type_of(array.data_type())
        .ok_or_else(|| unusable_parameter(position, format!("values of type {} are not taken", array.data_type())))?;
    // The constructor of the values of each type.
    let make: MakeValue = match known {
        SqlType::Bool => |array, row| Value::Bool(array.as_boolean().value(row)),
        SqlType::SmallInt => |array, row| Value::SmallInt(array.as_primitive::<Int16Type>().value(row)),
        SqlType::Int => |array, row| Value::Int32(array.as_primitive::<Int32Type>().value(row)),
        SqlType::BigInt => |array, row| Value::Int(array.as_primitive::<Int64Type>().value(row)),
        SqlType::Real => |array, row| Value::Real(array.as_primitive::<Float32Type>().value(row)),
        SqlType::Double => |array, row| Value::Double(array.as_primitive::<Float64Type>().value(row)),
        SqlType::Decimal { .. } => |array, row| {
            let array = array.as_primitive::<Decimal128Type>();
            let scale = u8::try_from(array.scale()).unwrap_or_default();
            Value::Decimal { value: array.value(row), precision: array.precision(), scale }
        },
        SqlType::Text => |array, row| Value::Text(array.as_string::<i32>().value(row).to_owned()),
        SqlType::Bytes => |array, row| Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        SqlType::Date => |array, row| Value::Date(array.as_primitive::<Date32Type>().value(row)),
        SqlType::Timestamp => {
            |array, row| Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
    };
    let array = converted(array, &position.to_string(), &known.to_arrow())
        .map_err(|error| unusable_parameter(position, error))?;
    let value = |row| if array.is_null(row) { Value::NullOf(known) } else { make(array.as_ref(), row) };
    Ok((0..array.len()).map(value).collect())
}

/// Parameters as a batch of one row. A value has the type that the statement wants if it fits that type, else its own.
pub(crate) fn parameter_batch(parameters: &[Value], wanted: &[Option<SqlType>]) -> Result<RecordBatch> {
    let mut fields = Vec::with_capacity(parameters.len());
    let mut arrays = Vec::with_capacity(parameters.len());
    for (index, value) in parameters.iter().enumerate() {
        let taken = wanted.get(index).copied().flatten();
        value.check_exact(index + 1, taken)?;
        let known = taken.map(SqlType::to_arrow);
        let own = array_of(value);
        let array = match known {
            Some(known) => cast_with_options(&own, &known, &EXACT).ok().filter(|_| keeps(value, &known)).unwrap_or(own),
            None => own,
        };
        fields.push(Field::new(format!("{}", index + 1), array.data_type().clone(), true));
        arrays.push(array);
    }
    // Without parameters the batch has no column that tells its number of rows.
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).map_err(engine_error)
}

/// Whether a cast to the type keeps the value. A cast to another kind of type is left to the server.
fn keeps(value: &Value, wanted: &DataType) -> bool {
    match value {
        Value::Null | Value::NullOf(_) => true,
        Value::SmallInt(_) | Value::Int32(_) | Value::Int(_) => {
            matches!(wanted, DataType::Int16 | DataType::Int32 | DataType::Int64)
        }
        _ => false,
    }
}

fn array_of(value: &Value) -> ArrayRef {
    match value {
        Value::Null => Arc::new(NullArray::new(1)),
        Value::NullOf(sql_type) => new_null_array(&sql_type.to_arrow(), 1),
        Value::SmallInt(value) => Arc::new(Int16Array::from(vec![*value])),
        Value::Int32(value) => Arc::new(Int32Array::from(vec![*value])),
        Value::Real(value) => Arc::new(Float32Array::from(vec![*value])),
        Value::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Value::Int(value) => Arc::new(Int64Array::from(vec![*value])),
        Value::Double(value) => Arc::new(Float64Array::from(vec![*value])),
        #[expect(clippy::cast_possible_wrap, reason = "a scale is at most 38")]
        Value::Decimal { value, precision, scale } => {
            let data_type = DataType::Decimal128(*precision, *scale as i8);
            Arc::new(Decimal128Array::from(vec![*value]).with_data_type(data_type))
        }
        Value::Text(text) => Arc::new(StringArray::from(vec![text.as_str()])),
        Value::Bytes(bytes) => Arc::new(BinaryArray::from(vec![bytes.as_slice()])),
        Value::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        Value::Timestamp(micros) => Arc::new(TimestampMicrosecondArray::from(vec![*micros])),
    }
}

/// The Arrow schema of parameters. An open type is Arrow's null type.
pub(crate) fn parameter_schema(parameters: &[Option<SqlType>]) -> Schema {
    let fields = parameters.iter().enumerate().map(|(index, known)| {
        Field::new(format!("{}", index + 1), known.map_or(DataType::Null, SqlType::to_arrow), true)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int8Array, LargeStringArray, TimestampNanosecondArray, UInt64Array};

    use super::*;

    #[test]
    fn parameters_survive_the_way_through_arrow() {
        let given = vec![
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Double(-0.5),
            Value::Decimal { value: -12_345, precision: 7, scale: 2 },
            Value::Text("ä".to_owned()),
            Value::Bytes(vec![0, 255]),
            Value::Date(-1),
            Value::Timestamp(1_700_000_000_123_456),
        ];
        let batch = parameter_batch(&given, &vec![None; given.len()]).unwrap();
        assert_eq!(rows(&batch).unwrap(), std::slice::from_ref(&given));
        let wanted = vec![Some(SqlType::Text); given.len()];
        let mut expected = given.clone();
        expected[0] = Value::NullOf(SqlType::Text);
        assert_eq!(rows(&parameter_batch(&given, &wanted).unwrap()).unwrap(), [expected]);
        let typed = vec![Value::SmallInt(1), Value::Int32(2), Value::Real(0.1), Value::NullOf(SqlType::Int)];
        assert_eq!(rows(&parameter_batch(&typed, &[None; 4]).unwrap()).unwrap(), [typed]);
        let fits = parameter_batch(&[Value::Int(7)], &[Some(SqlType::SmallInt)]).unwrap();
        assert_eq!(fits.column(0).data_type(), &DataType::Int16);
    }

    #[test]
    fn values_of_other_types_are_brought_to_ours() {
        let arrays: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(Int8Array::from(vec![Some(-1), None]))),
            ("b", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
            ("c", Arc::new(LargeStringArray::from(vec![Some("x"), None]))),
            ("d", Arc::new(TimestampNanosecondArray::from(vec![Some(1_000), None]).with_timezone("+01:00"))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(arrays.into_iter().map(|(n, a)| (n, a, true))).unwrap();
        let rows = rows(&batch).unwrap();
        let largest = Value::Decimal { value: u64::MAX.into(), precision: 20, scale: 0 };
        assert_eq!(rows[0], [Value::SmallInt(-1), largest, Value::Text("x".to_owned()), Value::Timestamp(1)]);
        assert!(rows[1].iter().all(|value| matches!(value, Value::NullOf(_))), "{:?}", rows[1]);
    }

    #[test]
    fn a_result_loses_no_nanoseconds() {
        let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_000, 1_001]));
        let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
        let ours = boundary_bench_engine::table::arrow_schema_of(&columns_of(&batch.schema()).unwrap());
        assert_eq!(adapted(&batch.slice(0, 1), &ours, 0).unwrap().num_rows(), 1);
        let error = adapted(&batch, &ours, 0).unwrap_err();
        assert!(error.to_string().starts_with("row 1, column \"t\": 1970-01-01T00:00:00.000001001 "), "{error}");
    }

    #[test]
    fn columns_are_found_by_name_and_filled_with_nulls() {
        let table =
            Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, false), Field::new("y", DataType::Utf8, true)]));
        let given = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
        let found = by_name(&given, &table, 0).unwrap();
        assert_eq!((found.num_columns(), found.column(1).null_count()), (2, 1));
        let wide = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1 << 40])) as ArrayRef)]).unwrap();
        assert!(by_name(&wide, &table, 0).is_err());
        let fractions =
            RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(vec![1.0, 2.5])) as ArrayRef)]).unwrap();
        let error = by_name(&fractions, &table, 10).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_VALUE");
        assert!(error.to_string().starts_with("row 11, column \"x\": 2.5 "), "{error}");
        let other = RecordBatch::try_from_iter([("z", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
        assert_eq!(by_name(&other, &table, 0).unwrap_err().code(), "BB_SCHEMA_MISMATCH");
    }
}
