//! The readers of the points that a stage has made: their sums, and the check of each of them.

use boundary_bench_codecs::Points;
use boundary_bench_codecs::points::SeriesKey;
use boundary_bench_engine::checksum::{Checksum, ChecksumSum, sum_f64, sum_i64};
use boundary_bench_kernel::{Error, Result};

use super::{MILLISECOND, StageSpec, tags};
use crate::ingest::family;

/// A receiver of the points of each batch.
pub(super) trait Reader {
    /// Takes the values and times of a batch. The unit of the times is in nanoseconds.
    fn add(&mut self, values: &[f64], times: &[i64], unit: i128) -> Result<()>;

    /// Takes the names of a batch, if the stage's result has them.
    fn add_names(&mut self, series: &SeriesKey<'_>, field: &str) -> Result<()>;

    /// Takes the points of a batch, with their names if they have any.
    fn add_points(&mut self, points: &Points<'_>) -> Result<()> {
        for series in &points.series {
            for (field, _) in points.shapes.iter().flat_map(|shape| &shape.fields) {
                self.add_names(series, field)?;
            }
        }
        let values: Vec<f64> = points.values.iter().map(|bits| f64::from_bits(*bits)).collect();
        self.add(&values, &points.times, 1)
    }
}

/// The sums of the points that a stage has made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StageSums {
    pub(super) rows: u64,
    pub(super) values: f64,
    /// The sum of the timestamps, in nanoseconds.
    pub(super) times: i128,
}

impl StageSums {
    pub(super) fn checksum(self) -> Checksum {
        let sums = [("value", ChecksumSum::Float(self.values)), ("time", ChecksumSum::Int(self.times))];
        Checksum::from_sums(self.rows, sums)
    }
}

impl Reader for StageSums {
    fn add(&mut self, values: &[f64], times: &[i64], unit: i128) -> Result<()> {
        self.rows += values.len() as u64;
        self.values += sum_f64(values);
        self.times += sum_i64(times) * unit;
        Ok(())
    }

    fn add_names(&mut self, _series: &SeriesKey<'_>, _field: &str) -> Result<()> {
        Ok(())
    }
}

/// The check that the batches of a sample come in their order, and each with its points in their order.
pub(super) struct PointCheck {
    spec: StageSpec,
    series: SeriesKey<'static>,
    batches: u64,
}

impl PointCheck {
    pub(super) fn new(spec: &StageSpec) -> Result<Self> {
        let mut tags: Vec<_> = tags()?.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let series = SeriesKey::of(&family()?.measurement, &mut tags).map_err(boundary_bench_codecs::Error::from)?;
        Ok(Self { spec: spec.clone(), series, batches: 0 })
    }

    /// Ends the check.
    pub(super) fn finish(self) -> Result<()> {
        let Self { spec, batches, .. } = self;
        if batches == spec.batches {
            return Ok(());
        }
        Err(Error::WrongRows(format!("{batches} batches came instead of {}", spec.batches)))
    }
}

impl Reader for PointCheck {
    fn add(&mut self, values: &[f64], times: &[i64], unit: i128) -> Result<()> {
        let Self { spec, batches, .. } = self;
        let wrong = |problem: String| Err(Error::WrongRows(format!("batch {batches}: {problem}")));
        if (values.len(), times.len()) != (spec.batch as usize, spec.batch as usize) {
            return wrong(format!("{} values and {} times, not {} of each", values.len(), times.len(), spec.batch));
        }
        let input = u32::try_from(*batches % u64::from(spec.inputs)).unwrap_or_default();
        let (expected_values, expected_times) = spec.columns(input)?;
        for (place, (value, time)) in expected_values.iter().zip(&expected_times).enumerate() {
            let found = (values[place], i128::from(times[place]) * unit);
            if found.0.to_bits() != value.to_bits() || found.1 != i128::from(*time) * MILLISECOND {
                return wrong(format!("the point {found:?} should have the value {value} at {time} ms"));
            }
        }
        *batches += 1;
        Ok(())
    }

    fn add_names(&mut self, series: &SeriesKey<'_>, field: &str) -> Result<()> {
        let expected = (&self.series, family()?.field.as_str());
        if (series, field) == expected {
            return Ok(());
        }
        Err(Error::WrongRows(format!("the points are of {:?}, and should be of {expected:?}", (series, field))))
    }
}
