//! The rows of the `measurements` family, and the checksums of its workloads in closed form. A row is a pure function of
//! its index, so that every side and every run uses the same bytes.
//!
//! Row `i` is `id = i, sensor_id = i % 10, value = i * 0.1, timestamp = 1_700_000_000_000 + i * 1000`.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, NullArray, RecordBatch};

use crate::checksum::{Checksum, ChecksumSum, sum_f64, sum_i32, sum_i64};
use crate::table::{Column, SqlType, TableDefinition};
use boundary_bench_kernel::{Error, Result};

/// The number of sensors.
pub const SENSORS: u32 = 10;

/// The sensor that `query.filtered` selects.
pub const FILTERED_SENSOR: u32 = 5;

/// The difference between the values of one row and the next.
pub const VALUE_STEP: f64 = 0.1;

/// The timestamp of row 0, in milliseconds since 1970.
pub const TIMESTAMP_START: i64 = 1_700_000_000_000;

/// The difference between the timestamps of one row and the next, in milliseconds.
pub const TIMESTAMP_STEP: i64 = 1000;

/// The size of a row in bytes, by the widths of its columns.
pub const BYTES_PER_ROW: u64 = 24;

/// The limit of the number of rows, since `id` is an INT.
pub const MAX_ROWS: u64 = 1 << 31;

/// A row of the `measurements` family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// The index of the row.
    pub id: i32,
    /// The number of the sensor, below [`SENSORS`].
    pub sensor_id: i32,
    /// The measured value.
    pub value: f64,
    /// The time of the measurement, in milliseconds since 1970.
    pub timestamp: i64,
}

impl Measurement {
    /// The row with this index.
    pub fn at(index: i32) -> Self {
        Self {
            id: index,
            sensor_id: index % SENSORS.cast_signed(),
            value: f64::from(index) * VALUE_STEP,
            timestamp: TIMESTAMP_START + i64::from(index) * TIMESTAMP_STEP,
        }
    }
}

/// The definition of a table of measurements.
pub fn table(name: &str) -> TableDefinition {
    let column = |name: &str, sql_type, nullable| Column { name: name.to_owned(), sql_type, nullable };
    TableDefinition {
        name: name.to_owned(),
        columns: vec![
            column("id", SqlType::Int, false),
            column("sensor_id", SqlType::Int, true),
            column("value", SqlType::Double, true),
            column("timestamp", SqlType::BigInt, true),
        ],
    }
}

/// A range of consecutive rows, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRange {
    start: u32,
    end: u32,
}

impl RowRange {
    /// The rows `start..start + rows`.
    pub fn new(start: u64, rows: u64) -> Result<Self> {
        let end = start.checked_add(rows).filter(|end| *end <= MAX_ROWS);
        match (u32::try_from(start), end.map(u32::try_from)) {
            (Ok(start), Some(Ok(end))) => Ok(Self { start, end }),
            _ => Err(Error::InvalidArgument(format!(
                "rows {start} to {start} + {rows} are too many: \"id\" is an INT, so there are at most {MAX_ROWS} rows"
            ))),
        }
    }

    /// The indexes of the rows.
    pub fn indexes(self) -> Range<u64> {
        u64::from(self.start)..u64::from(self.end)
    }

    /// The number of rows.
    pub fn rows(self) -> u64 {
        u64::from(self.end - self.start)
    }

    /// The place of a row in the range, from 0, by its `id`, or `None` for a row of another range.
    pub fn place_of(self, id: i32) -> Option<usize> {
        let id = u32::try_from(id).ok().filter(|id| (self.start..self.end).contains(id))?;
        Some((id - self.start) as usize)
    }

    /// The rows of `query.aggregation` over the range, in closed form: one for each sensor that is present, in their order.
    pub fn aggregates(self) -> Vec<Aggregate> {
        let of_sensor = |sensor: u32| {
            let series = self.of_sensor(sensor)?;
            Some(Aggregate {
                sensor_id: sensor.cast_signed(),
                count: i64::try_from(series.count).unwrap_or(i64::MAX),
                avg: (series.first + series.last()) as f64 / 2.0 * VALUE_STEP,
                min: series.first as f64 * VALUE_STEP,
                max: series.last() as f64 * VALUE_STEP,
            })
        };
        (0..SENSORS).filter_map(of_sensor).collect()
    }

    /// Splits the range into ranges of at most `rows` rows, in order.
    pub fn chunks(self, rows: u32) -> impl Iterator<Item = Self> {
        let step = rows.max(1);
        (self.start..self.end)
            .step_by(step as usize)
            .map(move |start| Self { start, end: self.end.min(start.saturating_add(step)) })
    }

    /// The rows, one by one.
    pub fn iter(self) -> impl Iterator<Item = Measurement> + Clone {
        // All indices are below 2^31, as `new` checks.
        (self.start..self.end).map(|index| Measurement::at(index.cast_signed()))
    }

    /// The rows as columns.
    pub fn columns(self) -> MeasurementColumns {
        let mut columns = MeasurementColumns::default();
        columns.fill(self);
        columns
    }

    /// The series of a sensor's rows in the range, or `None` if it has none.
    fn of_sensor(self, sensor: u32) -> Option<Series> {
        let first = self.start + (sensor + SENSORS - self.start % SENSORS) % SENSORS;
        (first < self.end).then(|| {
            let count = (self.end - first).div_ceil(SENSORS);
            Series { first: first.into(), count: count.into(), step: SENSORS.into() }
        })
    }

    fn series(self) -> Series {
        Series { first: self.start.into(), count: self.rows().into(), step: 1 }
    }
}

/// A row of `query.aggregation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregate {
    /// The number of the sensor.
    pub sensor_id: i32,
    /// The number of its rows.
    pub count: i64,
    /// The average of its values.
    pub avg: f64,
    /// The least of its values.
    pub min: f64,
    /// The greatest of its values.
    pub max: f64,
}

impl Aggregate {
    /// The checksum of this row.
    pub fn checksum(&self) -> Checksum {
        Checksum::from_sums(
            1,
            [
                ("sensor_id", ChecksumSum::Int(self.sensor_id.into())),
                ("count", ChecksumSum::Int(self.count.into())),
                ("avg", ChecksumSum::Float(self.avg)),
                ("min", ChecksumSum::Float(self.min)),
                ("max", ChecksumSum::Float(self.max)),
            ],
        )
    }
}

/// The columns of a range of rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasurementColumns {
    /// See [`Measurement::id`].
    pub id: Vec<i32>,
    /// See [`Measurement::sensor_id`].
    pub sensor_id: Vec<i32>,
    /// See [`Measurement::value`].
    pub value: Vec<f64>,
    /// See [`Measurement::timestamp`].
    pub timestamp: Vec<i64>,
}

impl MeasurementColumns {
    /// Replaces the rows with the rows of a range, in the same memory if it suffices.
    pub fn fill(&mut self, range: RowRange) {
        fn put<T>(column: &mut Vec<T>, range: RowRange, value: fn(Measurement) -> T) {
            column.clear();
            column.extend(range.iter().map(value));
        }
        put(&mut self.id, range, |row| row.id);
        put(&mut self.sensor_id, range, |row| row.sensor_id);
        put(&mut self.value, range, |row| row.value);
        put(&mut self.timestamp, range, |row| row.timestamp);
    }

    /// The memory of a batch that [`MeasurementColumns::into_batch`] made, for the next rows. A column that another owner still reads
    /// leaves its memory to that owner.
    pub fn reclaim(batch: RecordBatch) -> Self {
        fn memory_of<T: ArrowPrimitiveType>(array: &mut ArrayRef) -> Vec<T::Native> {
            let Some(values) = array.as_primitive_opt::<T>().cloned() else { return Vec::new() };
            // The clone is the last owner then.
            *array = Arc::new(NullArray::new(0));
            values.into_parts().1.into_inner().into_vec().unwrap_or_default()
        }
        let (_, mut columns, _) = batch.into_parts();
        let [id, sensor_id, value, timestamp] = columns.as_mut_slice() else { return Self::default() };
        Self {
            id: memory_of::<Int32Type>(id),
            sensor_id: memory_of::<Int32Type>(sensor_id),
            value: memory_of::<Float64Type>(value),
            timestamp: memory_of::<Int64Type>(timestamp),
        }
    }

    /// The rows as an Arrow batch, without copying.
    pub fn into_batch(self) -> Result<RecordBatch> {
        RecordBatch::try_new(
            table("").to_arrow(),
            vec![
                Arc::new(Int32Array::from(self.id)),
                Arc::new(Int32Array::from(self.sensor_id)),
                Arc::new(Float64Array::from(self.value)),
                Arc::new(Int64Array::from(self.timestamp)),
            ],
        )
        .map_err(|error| Error::InvalidArgument(error.to_string()))
    }
}

/// The sums of the measurements' columns, typed: the fast path of the lanes that hand over rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MeasurementSums {
    rows: u64,
    id: i64,
    sensor_id: i64,
    value: f64,
    timestamp: i128,
}

impl MeasurementSums {
    /// Adds one row.
    #[inline]
    pub fn add(&mut self, row: &Measurement) {
        self.rows += 1;
        self.id += i64::from(row.id);
        self.sensor_id += i64::from(row.sensor_id);
        self.value += row.value;
        self.timestamp += i128::from(row.timestamp);
    }

    /// Adds rows. They are summed separately first: many small sums lose less of the floats' precision than one long sum.
    #[inline]
    pub fn add_rows(&mut self, rows: impl IntoIterator<Item = Measurement>) {
        let mut sums = Self::default();
        rows.into_iter().for_each(|row| sums.add(&row));
        self.merge(&sums);
    }

    /// Adds rows given as columns of equal length.
    pub fn add_columns(&mut self, id: &[i32], sensor_id: &[i32], value: &[f64], timestamp: &[i64]) {
        self.rows += id.len() as u64;
        self.id += sum_i32(id);
        self.sensor_id += sum_i32(sensor_id);
        self.value += sum_f64(value);
        self.timestamp += sum_i64(timestamp);
    }

    /// Adds the sums of other rows.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.id += other.id;
        self.sensor_id += other.sensor_id;
        self.value += other.value;
        self.timestamp += other.timestamp;
    }
}

impl From<MeasurementSums> for Checksum {
    fn from(sums: MeasurementSums) -> Self {
        Self::from_sums(
            sums.rows,
            [
                ("id", ChecksumSum::Int(sums.id.into())),
                ("sensor_id", ChecksumSum::Int(sums.sensor_id.into())),
                ("value", ChecksumSum::Float(sums.value)),
                ("timestamp", ChecksumSum::Int(sums.timestamp)),
            ],
        )
    }
}

/// The checksum of all rows of the range, in closed form, for `insert.bulk` and `query.full_scan`.
pub fn expected_all(range: RowRange) -> Checksum {
    // Sensors repeat, so their sum is the only one that is no arithmetic series.
    let sensors = (0..SENSORS).filter_map(|sensor| Some(range.of_sensor(sensor)?.count * i128::from(sensor))).sum();
    expected_rows(range.series(), sensors)
}

/// The checksum of the rows of [`FILTERED_SENSOR`], in closed form, for `query.filtered`.
pub fn expected_filtered(range: RowRange) -> Checksum {
    let series = range.of_sensor(FILTERED_SENSOR).unwrap_or(Series { first: 0, count: 0, step: 1 });
    expected_rows(series, series.count * i128::from(FILTERED_SENSOR))
}

/// The checksum of `query.aggregation` over the range, in closed form: one row for each sensor that is present, with
/// `sensor_id, count, avg, min, max`, the last three of `value`.
pub fn expected_aggregation(range: RowRange) -> Checksum {
    let rows = range.aggregates();
    let float = |of: fn(&Aggregate) -> f64| ChecksumSum::Float(rows.iter().map(of).sum());
    Checksum::from_sums(
        rows.len() as u64,
        [
            ("sensor_id", ChecksumSum::Int(rows.iter().map(|row| i128::from(row.sensor_id)).sum())),
            ("count", ChecksumSum::Int(rows.iter().map(|row| i128::from(row.count)).sum())),
            ("avg", float(|row| row.avg)),
            ("min", float(|row| row.min)),
            ("max", float(|row| row.max)),
        ],
    )
}

/// An arithmetic series of row indices.
#[derive(Debug, Clone, Copy)]
struct Series {
    first: i128,
    count: i128,
    step: i128,
}

impl Series {
    fn last(self) -> i128 {
        self.first + (self.count - 1) * self.step
    }

    fn sum(self) -> i128 {
        self.count * (self.first + self.last()) / 2
    }
}

fn expected_rows(indexes: Series, sensors: i128) -> Checksum {
    let timestamps = indexes.count * i128::from(TIMESTAMP_START) + indexes.sum() * i128::from(TIMESTAMP_STEP);
    Checksum::from_sums(
        u64::try_from(indexes.count).unwrap_or_default(),
        [
            ("id", ChecksumSum::Int(indexes.sum())),
            ("sensor_id", ChecksumSum::Int(sensors)),
            ("value", ChecksumSum::Float(indexes.sum() as f64 * VALUE_STEP)),
            ("timestamp", ChecksumSum::Int(timestamps)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum::FLOAT_TOLERANCE;

    #[test]
    fn the_rows_are_those_of_the_documents() {
        let rows: Vec<_> = RowRange::new(9, 2).unwrap().iter().collect();
        assert_eq!(rows[0], Measurement { id: 9, sensor_id: 9, value: 0.9, timestamp: 1_700_000_009_000 });
        assert_eq!(rows[1], Measurement { id: 10, sensor_id: 0, value: 1.0, timestamp: 1_700_000_010_000 });
    }

    #[test]
    fn columns_are_filled_in_the_memory_of_those_before() {
        let range = |start, rows| RowRange::new(start, rows).unwrap();
        let mut columns = range(5, 1000).columns();
        let addresses = |columns: &MeasurementColumns| {
            let MeasurementColumns { id, sensor_id, value, timestamp } = columns;
            [id.as_ptr() as usize, sensor_id.as_ptr() as usize, value.as_ptr() as usize, timestamp.as_ptr() as usize]
        };
        let first = addresses(&columns);
        columns.fill(range(1005, 700));
        assert_eq!(columns, range(1005, 700).columns());
        assert_eq!(addresses(&columns), first);
        columns = MeasurementColumns::reclaim(columns.into_batch().unwrap());
        columns.fill(range(0, 1000));
        assert_eq!((columns.clone(), addresses(&columns)), (range(0, 1000).columns(), first));
        // A batch that is read elsewhere keeps its memory.
        let batch = columns.into_batch().unwrap();
        let mut other = MeasurementColumns::reclaim(batch.clone());
        other.fill(range(3, 10));
        assert_eq!(batch, range(0, 1000).columns().into_batch().unwrap());
    }

    #[test]
    fn ids_beyond_int_are_refused() {
        assert_eq!(RowRange::new(MAX_ROWS - 1, 1).unwrap().iter().last().unwrap().id, i32::MAX);
        for (start, rows) in [(MAX_ROWS, 1), (0, MAX_ROWS + 1), (u64::MAX, u64::MAX)] {
            assert_eq!(RowRange::new(start, rows).unwrap_err().code(), "BB_INVALID_ARGUMENT");
        }
    }

    /// The checksum of the rows of a range, added one by one.
    fn brute_force(range: RowRange, keep: impl Fn(&Measurement) -> bool) -> Checksum {
        let mut sums = MeasurementSums::default();
        sums.add_rows(range.iter().filter(keep));
        sums.into()
    }

    fn brute_force_aggregation(range: RowRange) -> Checksum {
        let mut checksum = expected_aggregation(RowRange::new(0, 0).unwrap());
        for sensor in 0..10 {
            let values: Vec<_> = range.iter().filter(|row| row.sensor_id == sensor).map(|row| row.value).collect();
            if values.is_empty() {
                continue;
            }
            let sums = [
                ("sensor_id", ChecksumSum::Int(sensor.into())),
                ("count", ChecksumSum::Int(values.len() as i128)),
                ("avg", ChecksumSum::Float(values.iter().sum::<f64>() / values.len() as f64)),
                ("min", ChecksumSum::Float(values.iter().copied().fold(f64::INFINITY, f64::min))),
                ("max", ChecksumSum::Float(values.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
            ];
            checksum.merge(&Checksum::from_sums(1, sums)).unwrap();
        }
        checksum
    }

    proptest! {
        #[test]
        fn closed_forms_equal_the_sums(start in prop_oneof![0_u64..40, Just(MAX_ROWS - 400)], rows in 0_u64..400) {
            let range = RowRange::new(start, rows).unwrap();
            for (found, expected) in [
                (brute_force(range, |_| true), expected_all(range)),
                (brute_force(range, |row| row.sensor_id == 5), expected_filtered(range)),
                (brute_force_aggregation(range), expected_aggregation(range)),
            ] {
                prop_assert_eq!(found.difference(&expected, FLOAT_TOLERANCE), None);
            }
        }

        #[test]
        fn rows_columns_and_batches_agree(start in 0_u64..1000, rows in 0_u64..300, chunk in 1_u32..100) {
            let range = RowRange::new(start, rows).unwrap();
            let (mut by_row, mut by_column) = (MeasurementSums::default(), MeasurementSums::default());
            let mut by_batch = Checksum::new(&table("t").to_arrow()).unwrap();
            for part in range.chunks(chunk) {
                prop_assert!(part.rows() <= u64::from(chunk));
                by_row.add_rows(part.iter());
                let columns = part.columns();
                by_column.add_columns(&columns.id, &columns.sensor_id, &columns.value, &columns.timestamp);
                by_batch.add_batch(&columns.into_batch().unwrap()).unwrap();
            }
            for found in [by_row.into(), by_column.into(), by_batch] {
                prop_assert_eq!(Checksum::difference(&found, &expected_all(range), FLOAT_TOLERANCE), None);
            }
        }
    }
}
