//! The exact check of the rows that a cell read or stored, beside its samples and untimed.
//!
//! A sample returns sums by column. They stay right if two rows exchange a value, or if one row comes twice instead of another with
//! the same sums. This check sees both: each value must belong to its row, and each row must come once.

use arrow_array::RecordBatch;
use boundary_bench_engine::BatchStream;
use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_engine::measurements::{Aggregate, FILTERED_SENSOR, Measurement, RowRange};
use boundary_bench_kernel::{Error, Result};

use crate::batch_rows::{aggregates, measurements};
use crate::dimensions::Workload;

/// The check of the rows of one table, in any order.
pub(crate) enum RowCheck {
    /// The rows of a range, or the rows of one sensor.
    Rows { range: RowRange, sensor: Option<i32>, seen: Vec<bool> },
    /// One row a sensor: those that are still to come.
    Aggregates(Vec<Aggregate>),
}

impl RowCheck {
    /// The check of a workload's rows over the table of a range.
    pub(crate) fn new(workload: Workload, range: RowRange) -> Self {
        let rows = |sensor: Option<i32>| {
            let is_other = |row: Measurement| sensor.is_some_and(|sensor| row.sensor_id != sensor);
            Self::Rows { range, sensor, seen: range.iter().map(is_other).collect() }
        };
        match workload {
            Workload::InsertBulk | Workload::QueryFullScan => rows(None),
            Workload::QueryFiltered => rows(Some(FILTERED_SENSOR.cast_signed())),
            Workload::QueryAggregation => Self::Aggregates(range.aggregates()),
        }
    }

    /// Checks the rows of a stream.
    pub(crate) fn add_stream(&mut self, stream: &mut dyn BatchStream) -> Result<()> {
        while let Some(batch) = stream.next_batch()? {
            self.add_batch(&batch)?;
        }
        Ok(())
    }

    /// Checks the rows of a batch.
    pub(crate) fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Rows { .. } => measurements(batch)?.try_for_each(|row| self.add(&row)),
            Self::Aggregates(_) => aggregates(batch)?.try_for_each(|row| self.add_aggregate(&row)),
        }
    }

    /// Checks one row of measurements.
    pub(crate) fn add(&mut self, row: &Measurement) -> Result<()> {
        let Self::Rows { range, sensor, seen } = self else { return Err(wrong(format!("{row:?} is no aggregate"))) };
        let expected = Measurement::at(row.id);
        let place = range.place_of(row.id).filter(|_| sensor.is_none_or(|sensor| sensor == expected.sensor_id));
        let Some(place) = place else { return Err(wrong(format!("{row:?} should not be among the rows"))) };
        if *row != expected {
            return Err(wrong(format!("{row:?} should be {expected:?}")));
        }
        if std::mem::replace(&mut seen[place], true) {
            return Err(wrong(format!("{row:?} came twice")));
        }
        Ok(())
    }

    /// Checks one row of an aggregation.
    pub(crate) fn add_aggregate(&mut self, row: &Aggregate) -> Result<()> {
        let Self::Aggregates(left) = self else { return Err(wrong(format!("{row:?} is an aggregate"))) };
        let place = left.iter().position(|expected| expected.sensor_id == row.sensor_id);
        let Some(place) = place else { return Err(wrong(format!("{row:?} came twice, or should not come"))) };
        let expected = left.swap_remove(place);
        match row.checksum().difference(&expected.checksum(), FLOAT_TOLERANCE) {
            None => Ok(()),
            Some(_) => Err(wrong(format!("{row:?} should be {expected:?}"))),
        }
    }

    /// Ends the check.
    pub(crate) fn finish(self) -> Result<()> {
        let missing = match self {
            Self::Rows { range, seen, .. } => {
                range.iter().zip(seen).find(|(_, seen)| !seen).map(|(row, _)| format!("{row:?}"))
            }
            Self::Aggregates(left) => left.first().map(|row| format!("{row:?}")),
        };
        missing.map_or(Ok(()), |row| Err(wrong(format!("{row} is missing"))))
    }
}

fn wrong(problem: String) -> Error {
    Error::WrongRows(problem)
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::measurements::MeasurementColumns;

    use super::*;

    const RANGE: (u64, u64) = (7, 100);

    fn range() -> RowRange {
        RowRange::new(RANGE.0, RANGE.1).unwrap()
    }

    /// The outcome of the check of all rows after `spoil` has changed them.
    fn checked(workload: Workload, spoil: impl FnOnce(&mut MeasurementColumns)) -> Result<()> {
        let mut columns = range().columns();
        spoil(&mut columns);
        let mut check = RowCheck::new(workload, range());
        check.add_batch(&columns.into_batch().unwrap())?;
        check.finish()
    }

    #[test]
    fn what_sums_do_not_show_is_found() {
        let scan = Workload::QueryFullScan;
        assert!(checked(scan, |_| {}).is_ok());
        assert!(
            checked(scan, |rows| {
                // Another order of whole rows is right.
                rows.id.reverse();
                rows.sensor_id.reverse();
                rows.value.reverse();
                rows.timestamp.reverse();
            })
            .is_ok()
        );
        let two_exchange_a_value = checked(scan, |rows| rows.value.swap(3, 4)).unwrap_err();
        assert_eq!(two_exchange_a_value.code(), "BB_CHECKSUM_MISMATCH");
        assert!(two_exchange_a_value.to_string().contains("should be Measurement"), "{two_exchange_a_value}");
        assert!(checked(scan, |rows| rows.timestamp.swap(0, 99)).is_err());
        let twice = checked(scan, |rows| {
            // The rows 10 and 30 become the row 20, twice: all sums stay.
            for at in [3, 23] {
                let row = Measurement::at(20);
                (rows.id[at], rows.sensor_id[at], rows.value[at], rows.timestamp[at]) =
                    (row.id, row.sensor_id, row.value, row.timestamp);
            }
        });
        assert!(twice.unwrap_err().to_string().contains("came twice"));
        let missing = checked(scan, |rows| {
            rows.id.pop();
            rows.sensor_id.pop();
            rows.value.pop();
            rows.timestamp.pop();
        });
        assert!(missing.unwrap_err().to_string().contains("id: 106, "));
        let other_sensors = checked(Workload::QueryFiltered, |_| {}).unwrap_err().to_string();
        assert!(other_sensors.contains("should not be among the rows"), "{other_sensors}");
    }

    #[test]
    fn aggregates_are_compared_sensor_by_sensor() {
        let checked = |rows: &[Aggregate]| {
            let mut check = RowCheck::new(Workload::QueryAggregation, range());
            rows.iter().try_for_each(|row| check.add_aggregate(row)).and_then(|()| check.finish())
        };
        let rows = range().aggregates();
        assert!(checked(&rows).is_ok());
        let mut exchanged = rows.clone();
        (exchanged[0].min, exchanged[1].min) = (rows[1].min, rows[0].min);
        assert!(checked(&exchanged).is_err());
        assert!(checked(&rows[1..]).is_err());
        let twice = [&rows[..], &rows[..1]].concat();
        assert!(checked(&twice).is_err());
    }
}
