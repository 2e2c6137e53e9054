//! The stages of ingest in this process.

mod reader;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_codecs::line::{LineHead, write_columns};
use boundary_bench_codecs::msgpack::ColumnsWriter;
use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::used::Used;
use boundary_bench_kernel::{Error, Result, folder};
use serde::{Deserialize, Serialize};

use self::reader::{PointCheck, StageSums};
use self::work::StageRun;
use super::{Family, MOST_BATCH, family};
use crate::sample::CellSample;

/// The nanoseconds of a millisecond.
const MILLISECOND: i128 = 1_000_000;

/// The stages of ingest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Parses line protocol to points.
    LineProtocolParse,
    /// Parses line protocol to points, and registers their series and fields.
    LineProtocolMetadata,
    /// Parses line protocol to points, registers their series and fields, and appends an entry to the write-ahead log.
    LineProtocolWal,
    /// Encodes columns as line protocol.
    LineProtocolEncode,
    /// Decodes columnar `MessagePack` to columns.
    ColumnarDecode,
    /// Decodes columnar `MessagePack` and converts the columns to points.
    ColumnarToPoints,
    /// Decodes columnar `MessagePack` and converts the columns to an Arrow batch.
    ColumnarToArrow,
    /// Decodes columnar `MessagePack` to points, and registers their series and fields.
    ColumnarMetadata,
    /// Decodes columnar `MessagePack` to points, registers them, and appends an entry to the write-ahead log.
    ColumnarWal,
    /// Decodes columnar `MessagePack`, and registers and logs the columns as they are, without points.
    ColumnarFastWal,
    /// Encodes columns as columnar `MessagePack`.
    ColumnarEncode,
}

impl Stage {
    fn reads_lines(self) -> bool {
        matches!(self, Self::LineProtocolParse | Self::LineProtocolMetadata | Self::LineProtocolWal)
    }

    fn encodes(self) -> bool {
        matches!(self, Self::LineProtocolEncode | Self::ColumnarEncode)
    }
}

/// A cell of one stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSpec {
    /// The stage.
    pub workload: Stage,
    /// The number of batches of one sample.
    pub batches: u64,
    /// The number of points of a batch.
    pub batch: u32,
    /// The number of different batches. They are taken in turn.
    pub inputs: u32,
    /// Whether an entry of the log is written to the disk before the stage ends.
    #[serde(default)]
    pub durable: bool,
}

/// The columns of a batch.
pub struct InputBatch {
    /// The values of the points.
    pub values: Vec<f64>,
    /// The timestamps of the points, in milliseconds.
    pub times: Vec<i64>,
    /// The encoded points, for stages that decode, else empty.
    body: Vec<u8>,
}

impl StageSpec {
    /// Checks the numbers of batches and points.
    pub fn validate(&self) -> Result<()> {
        if self.batches == 0 || self.inputs == 0 || !(1..=MOST_BATCH).contains(&self.batch) {
            return Err(Error::InvalidArgument(format!(
                "{} batches of {} points: there must be one of each at least, and {MOST_BATCH} points at most",
                self.batches, self.batch
            )));
        }
        Ok(())
    }

    /// The checksum that every sample must return, in closed form.
    pub fn expected(&self) -> Result<Checksum> {
        let family = family()?;
        let (batch, inputs) = (i128::from(self.batch), u64::from(self.inputs));
        let indexes = |batches: u64| i128::from(batches) * batch * (i128::from(batches) * batch - 1) / 2;
        let (cycles, rest) = (self.batches / inputs, self.batches % inputs);
        let sum = i128::from(cycles) * indexes(inputs) + indexes(rest);
        let rows = i128::from(self.batches) * batch;
        let sums = StageSums {
            rows: self.batches * u64::from(self.batch),
            values: sum as f64 / f64::from(family.value_divisor),
            times: (rows * i128::from(family.timestamp_start) + sum) * MILLISECOND,
        };
        Ok(sums.checksum())
    }

    /// The values of an input's points, and their times in milliseconds.
    fn columns(&self, number: u32) -> Result<(Vec<f64>, Vec<i64>)> {
        let first = i64::from(number) * i64::from(self.batch);
        let indexes = first..first + i64::from(self.batch);
        let Family { timestamp_start, value_divisor, .. } = family()?;
        // Dividing yields the float nearest to the three decimals.
        let values: Vec<f64> = indexes.clone().map(|index| index as f64 / f64::from(*value_divisor)).collect();
        Ok((values, indexes.map(|index| timestamp_start + index).collect()))
    }

    fn input(&self, number: u32) -> Result<InputBatch> {
        let (values, times) = self.columns(number)?;
        let mut body = Vec::new();
        if self.workload.reads_lines() {
            write_columns(&mut body, &line_head()?, &values, Some(&times))?;
        } else if !self.workload.encodes() {
            columns_writer()?.encode_vec(&values, Some(&times), &mut body)?;
        }
        Ok(InputBatch { values, times, body })
    }
}

fn line_head() -> Result<LineHead> {
    let Family { measurement, field, .. } = family()?;
    Ok(LineHead::new(measurement, &tags()?, field)?)
}

fn columns_writer() -> Result<ColumnsWriter> {
    let Family { measurement, field, .. } = family()?;
    Ok(ColumnsWriter::new(measurement, &tags()?, field)?)
}

fn tags() -> Result<Vec<(&'static str, &'static str)>> {
    Ok(family()?.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
}

/// An open stage that runs on bodies.
pub struct StageCell {
    spec: StageSpec,
    work: StageRun,
    sums: StageSums,
    /// The check that takes the place of the sums, while there is one.
    check: Option<PointCheck>,
    folder: Folder,
}

/// A temporary folder of a cell, removed when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl StageCell {
    /// Opens a stage.
    pub fn open(spec: &StageSpec) -> Result<Self> {
        spec.validate()?;
        let folder = Folder(folder::create_temporary("ingest").map_err(|source| Error::Io {
            path: std::env::temp_dir().display().to_string(),
            source: Arc::new(source),
        })?);
        let work = StageRun::open(spec)?;
        Ok(Self { spec: spec.clone(), work, sums: StageSums::default(), check: None, folder })
    }

    /// Begins a sample: empties the log and the sums.
    pub fn begin(&mut self) -> Result<()> {
        self.sums = StageSums::default();
        self.check = None;
        self.work.begin(&self.folder.0)
    }

    /// Begins a sample of which each point is compared with the one that it must be, instead of being summed.
    pub fn begin_check(&mut self) -> Result<()> {
        self.begin()?;
        self.check = Some(PointCheck::new(&self.spec)?);
        Ok(())
    }

    /// Runs the stage on a body, and returns the number of its points.
    pub fn run(&mut self, body: &[u8]) -> Result<usize> {
        self.work.run(body)
    }

    /// Adds the result of the last body to the sums, or checks it. Untimed.
    pub fn consume(&mut self) -> Result<()> {
        match &mut self.check {
            Some(check) => self.work.consume(check),
            None => self.work.consume(&mut self.sums),
        }
    }

    /// The checksum of the sample's results, or for a stage that logs, of the log's contents. The checksum of a check is empty.
    pub fn finish(&mut self) -> Result<Checksum> {
        match self.check.take() {
            Some(mut check) => {
                self.work.finish(&self.folder.0, &mut check)?;
                check.finish()?;
            }
            None => self.work.finish(&self.folder.0, &mut self.sums)?,
        }
        Ok(self.sums.checksum())
    }
}

/// A cell of the `rust` side: a stage with its input.
pub struct NativeStage {
    spec: StageSpec,
    cell: StageCell,
    inputs: Vec<InputBatch>,
}

impl NativeStage {
    /// Opens a stage and makes its input.
    pub fn open(spec: &StageSpec) -> Result<Self> {
        let cell = StageCell::open(spec)?;
        let inputs = (0..spec.inputs).map(|number| spec.input(number)).collect::<Result<_>>()?;
        Ok(Self { spec: spec.clone(), cell, inputs })
    }

    /// Takes a sample. Its time is the sum of the times of its batches, each timed by itself.
    pub fn sample(&mut self, cancel: &CancelToken) -> Result<CellSample> {
        self.cell.begin()?;
        let (spent, checksum) = self.run_batches(cancel)?;
        Ok(CellSample::new(spent.as_secs_f64(), Used::default(), checksum))
    }

    /// Runs all batches once more, and compares each point with the one that it must be: sums do not show that two points have
    /// exchanged their values.
    pub fn verify(&mut self, cancel: &CancelToken) -> Result<()> {
        self.cell.begin_check()?;
        self.run_batches(cancel).map(drop)
    }

    fn run_batches(&mut self, cancel: &CancelToken) -> Result<(Duration, Checksum)> {
        let clock = clock_cost();
        let mut spent = Duration::ZERO;
        let inputs = self.inputs.iter().cycle();
        for (_, input) in (0..self.spec.batches).zip(inputs) {
            cancel.check()?;
            let started = Instant::now();
            self.cell.work.run_input(input)?;
            spent += started.elapsed().saturating_sub(clock);
            self.cell.consume()?;
        }
        Ok((spent, self.cell.finish()?))
    }
}

/// The median time of reading the clock. It is subtracted from each batch's time, because it is not the stage's work. The other sides
/// have a larger one, and subtract it too.
fn clock_cost() -> Duration {
    const READINGS: usize = 1001;
    let mut costs: Vec<_> = (0..READINGS).map(|_| Instant::now().elapsed()).collect();
    costs.sort_unstable();
    costs[READINGS / 2]
}

#[cfg(test)]
mod tests {
    use boundary_bench_codecs::points::SeriesKey;
    use boundary_bench_engine::checksum::FLOAT_TOLERANCE;

    use super::Stage::*;
    use super::reader::Reader;
    use super::*;

    const STAGES: [Stage; 11] = [
        LineProtocolParse,
        LineProtocolMetadata,
        LineProtocolWal,
        LineProtocolEncode,
        ColumnarDecode,
        ColumnarToPoints,
        ColumnarToArrow,
        ColumnarMetadata,
        ColumnarWal,
        ColumnarFastWal,
        ColumnarEncode,
    ];

    fn spec(workload: Stage) -> StageSpec {
        StageSpec { workload, batches: 7, batch: 10, inputs: 3, durable: workload == ColumnarWal }
    }

    /// A body whose points another writer has made: the batch that `spoil` has changed.
    fn spoiled_body(spec: &StageSpec, spoil: fn(&mut Vec<f64>, &mut Vec<i64>)) -> Vec<u8> {
        let (mut values, mut times) = spec.columns(1).unwrap();
        spoil(&mut values, &mut times);
        let mut body = Vec::new();
        if spec.workload.reads_lines() {
            write_columns(&mut body, &line_head().unwrap(), &values, Some(&times)).unwrap();
        } else {
            columns_writer().unwrap().encode_vec(&values, Some(&times), &mut body).unwrap();
        }
        body
    }

    #[test]
    fn every_stage_notices_points_that_are_not_those_of_their_batch() {
        type Spoil = fn(&mut Vec<f64>, &mut Vec<i64>);
        // The sums of most of these are right.
        let mistakes: [(&str, Spoil); 6] = [
            ("two points have exchanged their values", |values, _| values.swap(3, 7)),
            ("two points have exchanged their times", |_, times| times.swap(0, 9)),
            ("two points have exchanged their places", |values, times| {
                values.swap(3, 7);
                times.swap(3, 7);
            }),
            ("one point came twice, instead of two", |values, times| {
                (values[2], times[2], values[4], times[4]) = (values[3], times[3], values[3], times[3]);
            }),
            ("a point has the value of an earlier batch", |values, _| values[5] -= 0.01),
            ("a point is missing", |values, times| {
                values.pop();
                times.pop();
            }),
        ];
        for workload in STAGES.into_iter().filter(|workload| !workload.encodes()) {
            let spec = spec(workload);
            let right = spoiled_body(&spec, |_, _| {});
            let check = |second: &[u8]| -> Result<()> {
                let mut cell = StageCell::open(&spec)?;
                cell.begin_check()?;
                for batch in 0..spec.batches {
                    let input = spec.input(u32::try_from(batch % 3).unwrap())?;
                    cell.run(if batch == 1 { second } else { &input.body })?;
                    cell.consume()?;
                }
                cell.finish().map(drop)
            };
            check(&right).unwrap();
            for (what, spoil) in mistakes {
                let error = check(&spoiled_body(&spec, spoil)).unwrap_err();
                assert_eq!(error.code(), "BB_CHECKSUM_MISMATCH", "{workload:?}, {what}: {error}");
            }
        }
    }

    #[test]
    fn batches_that_are_exchanged_or_missing_are_noticed_and_so_are_other_names() {
        let check = |batches: &[u32]| {
            let spec = spec(ColumnarDecode);
            let mut check = PointCheck::new(&spec).unwrap();
            for number in batches {
                let (values, times) = spec.columns(*number)?;
                check.add(&values, &times, MILLISECOND)?;
            }
            check.finish()
        };
        check(&[0, 1, 2, 0, 1, 2, 0]).unwrap();
        for wrong in [&[0, 2, 1, 0, 1, 2, 0][..], &[0, 1, 2, 0, 1, 2], &[0, 0, 2, 0, 1, 2, 1]] {
            assert_eq!(check(wrong).unwrap_err().code(), "BB_CHECKSUM_MISMATCH", "{wrong:?}");
        }
        let mut check = PointCheck::new(&spec(ColumnarDecode)).unwrap();
        let key = |host: &str| SeriesKey::of("bench", &mut [("host".into(), host.to_owned().into())]).unwrap();
        check.add_names(&key("bench"), "v").unwrap();
        assert!(check.add_names(&key("benc"), "v").is_err());
        assert!(check.add_names(&key("bench"), "w").is_err());
    }

    #[test]
    fn every_stage_makes_what_the_closed_form_says() {
        for workload in STAGES {
            let spec = spec(workload);
            let mut stage = NativeStage::open(&spec).unwrap();
            for _ in 0..2 {
                let sample = stage.sample(&CancelToken::default()).unwrap();
                assert_eq!(
                    sample.checksum.difference(&spec.expected().unwrap(), FLOAT_TOLERANCE),
                    None,
                    "{workload:?}"
                );
            }
            stage.verify(&CancelToken::default()).unwrap();
            let folder = stage.cell.folder.0.clone();
            drop(stage);
            assert!(!folder.exists());
        }
        let none = StageSpec { workload: ColumnarDecode, batches: 1, batch: 0, inputs: 1, durable: false };
        assert!(NativeStage::open(&none).is_err());
    }
}
