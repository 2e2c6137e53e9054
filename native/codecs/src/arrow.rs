//! Columns as an Arrow batch, the contents of a Parquet file.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use boundary_bench_kernel as kernel;

use crate::msgpack::ColumnarBatch;
use crate::rules::TIME;
use crate::{Precision, Result};

/// A batch of columns as an Arrow batch: `time` in nanoseconds, a text column for each tag as a dictionary of one value, and
/// the field. The numbers are not copied.
pub fn columns_to_arrow(batch: ColumnarBatch<'_>, precision: Precision, now: i64) -> Result<RecordBatch> {
    let ColumnarBatch { head, values, mut timestamps } = batch;
    if head.has_timestamps {
        precision.to_nanoseconds(&mut timestamps)?;
    } else {
        timestamps = vec![now; head.len];
    }
    let mut fields = Vec::with_capacity(head.tags.len() + 2);
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(head.tags.len() + 2);
    fields.push(Field::new(TIME, DataType::Timestamp(TimeUnit::Nanosecond, None), false));
    columns.push(Arc::new(TimestampNanosecondArray::from(timestamps)));
    // All tags share one array of keys: every row is the only value of its dictionary.
    let keys = Int32Array::from(vec![0; head.len]);
    for (name, value) in &head.tags {
        let data_type = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        fields.push(Field::new(*name, data_type, true));
        let value = Arc::new(StringArray::from(vec![*value]));
        let tag = DictionaryArray::<Int32Type>::try_new(keys.clone(), value);
        columns.push(Arc::new(tag.map_err(|error| kernel::Error::Internal(error.to_string()))?));
    }
    fields.push(Field::new(head.field, DataType::Float64, true));
    columns.push(Arc::new(Float64Array::from(values)));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    Ok(batch.map_err(|error| kernel::Error::Internal(error.to_string()))?)
}
