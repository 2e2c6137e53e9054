//! The rows of record batches.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use boundary_bench_engine::measurements::{Aggregate, Measurement};
use boundary_bench_kernel::{Error, Result};

/// The rows of a batch of measurements.
pub(crate) fn measurements(batch: &RecordBatch) -> Result<impl Iterator<Item = Measurement>> {
    let ids = values::<Int32Type>(batch, "id")?;
    let sensors = values::<Int32Type>(batch, "sensor_id")?;
    let values_ = values::<Float64Type>(batch, "value")?;
    let timestamps = values::<Int64Type>(batch, "timestamp")?;
    let rows = ids.iter().zip(sensors).zip(values_.iter().zip(timestamps));
    Ok(rows.map(|((id, sensor_id), (value, timestamp))| Measurement {
        id: *id,
        sensor_id: *sensor_id,
        value: *value,
        timestamp: *timestamp,
    }))
}

/// The rows of a batch of an aggregation.
pub(crate) fn aggregates(batch: &RecordBatch) -> Result<impl Iterator<Item = Aggregate>> {
    let sensors = values::<Int32Type>(batch, "sensor_id")?;
    let counts = values::<Int64Type>(batch, "count")?;
    let [avgs, mins, maxs] = [
        values::<Float64Type>(batch, "avg")?,
        values::<Float64Type>(batch, "min")?,
        values::<Float64Type>(batch, "max")?,
    ];
    Ok((0..batch.num_rows()).map(move |row| Aggregate {
        sensor_id: sensors[row],
        count: counts[row],
        avg: avgs[row],
        min: mins[row],
        max: maxs[row],
    }))
}

/// The values of a column without nulls. This family's columns have none.
fn values<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, column: &str) -> Result<&'a [T::Native]> {
    let array = batch.column_by_name(column).and_then(|array| array.as_primitive_opt::<T>());
    match array {
        Some(array) if array.null_count() == 0 => Ok(array.values()),
        Some(_) => Err(Error::SchemaMismatch(format!("column \"{column}\" holds nulls"))),
        None => Err(Error::SchemaMismatch(format!("there is no column \"{column}\" of type {}", T::DATA_TYPE))),
    }
}
