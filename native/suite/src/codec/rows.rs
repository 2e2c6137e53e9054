//! The row codec: rows as bytes, from structs or columns, and out of bytes.
//!
//! A row depends on its number alone, and a batch is one of [`TURNS`], in turn. The result of an operation is read of each batch:
//! - Of one that was encoded, its size in bytes, its first byte and its last one.
//! - Of a decoded batch, each number, timestamps included. Of each truth value, 1 if it is true. Of each text or value of bytes, its length
//!   in bytes and its last byte. Of each null, 1. All are added up.

use std::hint::black_box;

use boundary_bench_kernel::{Error, Result};

use super::extent;
use super::row_format::{
    Kind, Layout, ReadRow, RowProblem, RowReader, RowWriter, Texts, Values, WriteRow, decode_rows, encode_rows,
};
use crate::calls::{InProcessSpec, timed_work};
use crate::sample::CellSample;

/// The number of different batches.
const TURNS: u32 = 4;

/// A row of the table `users`. None of its values is null. The texts are of the type `T`: borrowed or owned.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields stand for any table's fields")]
pub struct UserRow<T> {
    pub id: i64,
    pub name: T,
    pub email: T,
    pub age: i32,
    pub score: f64,
    pub active: bool,
    /// Milliseconds since 1970.
    pub created: f64,
}

/// The types of the columns of [`UserRow`].
const USER: [Kind; 7] = [Kind::Int64, Kind::Text, Kind::Text, Kind::Int32, Kind::Float64, Kind::Truth, Kind::Timestamp];

impl<T: AsRef<str>> WriteRow for UserRow<T> {
    const COLUMNS: usize = USER.len();

    fn write(&self, row: &mut RowWriter<'_>) {
        row.int64(self.id);
        row.text(self.name.as_ref());
        row.text(self.email.as_ref());
        row.int32(self.age);
        row.float64(self.score);
        row.truth(self.active);
        row.timestamp(self.created);
    }
}

impl<'bytes> ReadRow<'bytes> for UserRow<&'bytes str> {
    const COLUMNS: usize = USER.len();

    fn read(row: &mut RowReader<'bytes>) -> std::result::Result<Self, RowProblem> {
        Ok(Self {
            id: row.int64()?,
            name: row.text()?,
            email: row.text()?,
            age: row.int32()?,
            score: row.float64()?,
            active: row.truth()?,
            created: row.timestamp()?,
        })
    }
}

/// A row of all types in the order of [`Kind::ALL`]. Each value may be null. The texts and bytes are of the types `T` and `B`: borrowed or
/// owned.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields stand for any table's fields")]
pub struct TenTypesRow<T, B> {
    pub truth: Option<bool>,
    pub int8: Option<i8>,
    pub int16: Option<i16>,
    pub int32: Option<i32>,
    pub int64: Option<i64>,
    pub float32: Option<f32>,
    pub float64: Option<f64>,
    pub text: Option<T>,
    pub bytes: Option<B>,
    /// Milliseconds since 1970.
    pub timestamp: Option<f64>,
}

impl<T: AsRef<str>, B: AsRef<[u8]>> WriteRow for TenTypesRow<T, B> {
    const COLUMNS: usize = Kind::ALL.len();

    fn write(&self, row: &mut RowWriter<'_>) {
        row.nullable(self.truth, RowWriter::truth);
        row.nullable(self.int8, RowWriter::int8);
        row.nullable(self.int16, RowWriter::int16);
        row.nullable(self.int32, RowWriter::int32);
        row.nullable(self.int64, RowWriter::int64);
        row.nullable(self.float32, RowWriter::float32);
        row.nullable(self.float64, RowWriter::float64);
        row.nullable(self.text.as_ref(), |row, text| row.text(text.as_ref()));
        row.nullable(self.bytes.as_ref(), |row, bytes| row.bytes(bytes.as_ref()));
        row.nullable(self.timestamp, RowWriter::timestamp);
    }
}

impl<'bytes> ReadRow<'bytes> for TenTypesRow<&'bytes str, &'bytes [u8]> {
    const COLUMNS: usize = Kind::ALL.len();

    fn read(row: &mut RowReader<'bytes>) -> std::result::Result<Self, RowProblem> {
        Ok(Self {
            truth: row.nullable(RowReader::truth)?,
            int8: row.nullable(RowReader::int8)?,
            int16: row.nullable(RowReader::int16)?,
            int32: row.nullable(RowReader::int32)?,
            int64: row.nullable(RowReader::int64)?,
            float32: row.nullable(RowReader::float32)?,
            float64: row.nullable(RowReader::float64)?,
            text: row.nullable(RowReader::text)?,
            bytes: row.nullable(RowReader::bytes)?,
            timestamp: row.nullable(RowReader::timestamp)?,
        })
    }
}

/// The row of the table `users` with this number.
pub fn user(number: u32) -> UserRow<String> {
    let (id, whole) = (i64::from(number), f64::from(number));
    UserRow {
        id,
        name: format!("user_{number:06}"),
        email: format!("u{number}@b.local"),
        age: small(18 + number % 62),
        score: 100.0 + f64::from(number % 1000) * 0.1,
        active: number.is_multiple_of(2),
        created: whole * 1000.0 + 0.5,
    }
}

/// A number that is known to be small, with its sign.
#[expect(clippy::cast_possible_wrap, reason = "the closed forms have few bits")]
fn small(number: u32) -> i32 {
    number as i32
}

/// The row of ten types with this number. `nulls`: whether every second value is null, in turn by row.
pub fn ten_types(number: u32, nulls: bool) -> TenTypesRow<String, Vec<u8>> {
    let whole = f64::from(number);
    let sign = if number.is_multiple_of(2) { 1 } else { -1 };
    let has = |column: u32| !(nulls && (column + number) % 2 == 1);
    #[expect(clippy::cast_possible_truncation, reason = "the values are cut to the width of their type")]
    TenTypesRow {
        truth: has(0).then_some(number.is_multiple_of(3)),
        int8: has(1).then_some(number as i8),
        int16: has(2).then_some((number * 7) as i16),
        int32: has(3).then_some(small(number) * 31 - 1_000_000),
        // Sums of these stay within the integers that a double holds exactly, since the signs take turns.
        int64: has(4).then_some(sign * ((1 << 40) + i64::from(number))),
        float32: has(5).then_some(small(number % 4096) as f32 * 0.5),
        float64: has(6).then_some(whole * 0.25),
        text: has(7).then(|| format!("text {number:04} of a row")),
        bytes: has(8).then(|| (0..number % 16).map(|place| (number + place * 31) as u8).collect()),
        timestamp: has(9).then_some(whole * 1000.0 + 0.25),
    }
}

/// The sum of the last byte and the number of bytes, or 0 if there are none.
fn text_sum(bytes: &[u8]) -> f64 {
    bytes.last().map_or(0.0, |last| bytes.len() as f64 + f64::from(*last))
}

/// The sum of what is read of a row.
trait RowSum {
    fn sum(&self) -> f64;
}

impl RowSum for UserRow<&str> {
    fn sum(&self) -> f64 {
        let Self { id, name, email, age, score, active, created } = self;
        let numbers = *id as f64 + f64::from(*age) + score + created;
        numbers + text_sum(name.as_bytes()) + text_sum(email.as_bytes()) + f64::from(u8::from(*active))
    }
}

impl RowSum for TenTypesRow<&str, &[u8]> {
    fn sum(&self) -> f64 {
        /// A value as a number, or 1 for a null.
        fn of<T>(value: Option<T>, number: impl FnOnce(T) -> f64) -> f64 {
            value.map_or(1.0, number)
        }
        let Self { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp } = self;
        let integers = of(*int8, f64::from) + of(*int16, f64::from) + of(*int32, f64::from);
        let floats = of(*float32, f64::from) + of(*float64, f64::from) + of(*timestamp, f64::from);
        let texts = of(*text, |text| text_sum(text.as_bytes())) + of(*bytes, text_sum);
        integers + of(*int64, |value| value as f64) + floats + texts + of(*truth, |truth| f64::from(u8::from(truth)))
    }
}

/// The sum of values of a fixed width. It is added up in four parts, since an addition waits for the previous addition.
fn sum_of<const N: usize>(values: &[[u8; N]], number: impl Fn([u8; N]) -> f64) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, value) in sums.iter_mut().zip(four) {
            *sum += number(*value);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|value| number(*value)).sum::<f64>()
}

/// The sum of what is read of the columns, as [`RowSum`] has it of rows.
fn sum_of_columns(layout: &Layout, kinds: &[Kind], block: &[u8], rows: usize) -> Result<f64> {
    let mut sum: u32 = layout.bitmaps(block, rows)?.iter().map(|byte| byte.count_ones()).sum();
    let mut numbers = 0.0;
    for (column, kind) in kinds.iter().enumerate() {
        numbers += match (layout.values(block, column, rows)?, kind) {
            (Values::One(values), Kind::Int8) => {
                sum_of(values.as_chunks().0, |value| f64::from(i8::from_le_bytes(value)))
            }
            (Values::One(values), _) => {
                sum += values.iter().map(|truth| u32::from(*truth)).sum::<u32>();
                0.0
            }
            (Values::Two(values), _) => sum_of(values, |value| f64::from(i16::from_le_bytes(value))),
            (Values::Four(values), Kind::Float32) => sum_of(values, |value| f64::from(f32::from_le_bytes(value))),
            (Values::Four(values), _) => sum_of(values, |value| f64::from(i32::from_le_bytes(value))),
            (Values::Eight(values), Kind::Int64) => sum_of(values, |value| i64::from_le_bytes(value) as f64),
            (Values::Eight(values), _) => sum_of(values, f64::from_le_bytes),
            (Values::Texts(texts), _) => sum_of_texts(&texts),
        };
    }
    Ok(numbers + f64::from(sum))
}

fn sum_of_texts(Texts { offsets, bytes }: &Texts<'_>) -> f64 {
    let (mut sum, mut start) = (0, 0);
    for offset in *offsets {
        let end = u32::from_le_bytes(*offset);
        if end > start {
            let last = bytes.get(end as usize - 1).copied().unwrap_or_default();
            sum += u64::from(end - start) + u64::from(last);
        }
        start = end;
    }
    sum as f64
}

/// The most rows of a batch.
const MOST_BATCH: u32 = 1 << 20;

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    fn sum<R: RowSum>(rows: &[R]) -> f64 {
        black_box(rows).iter().map(RowSum::sum).sum()
    }
    match spec.workload.as_str() {
        "row_encode.user" | "row_decode.user" => {
            by_lane(spec, &USER, user, |bytes| Ok(sum(&decode_rows::<UserRow<&str>>(bytes)?)))
        }
        "row_encode.ten_types" | "row_decode.ten_types" | "row_encode.half_nulls" | "row_decode.half_nulls" => {
            let nulls = spec.workload.ends_with("half_nulls");
            let row = |number| ten_types(number, nulls);
            by_lane(spec, &Kind::ALL, row, |bytes| Ok(sum(&decode_rows::<TenTypesRow<&str, &[u8]>>(bytes)?)))
        }
        _ => Err(spec.unknown()),
    }
}

/// Executes a cell of a shape. `row` makes its rows. `sum_of_rows` reads a batch into rows, and returns the sum of the parts that are read.
fn by_lane<R: WriteRow>(
    spec: &InProcessSpec,
    kinds: &[Kind],
    row: impl Fn(u32) -> R,
    sum_of_rows: impl Fn(&[u8]) -> Result<f64>,
) -> Result<CellSample> {
    let batch = spec.batch;
    if !(1..=MOST_BATCH).contains(&batch) {
        return Err(Error::InvalidArgument(format!("a batch has 1 to {MOST_BATCH} rows, not {batch}")));
    }
    let batches: Vec<Vec<R>> =
        (0..TURNS).map(|turn| (turn * batch + 1..=(turn + 1) * batch).map(&row).collect()).collect();
    let mut encoded = vec![Vec::new(); batches.len()];
    for (rows, out) in batches.iter().zip(&mut encoded) {
        encode_rows(rows, out)?;
    }
    let most_bytes = encoded.iter().map(Vec::len).max().unwrap_or_default();
    let layout = Layout::new(kinds, batch, u32::try_from(most_bytes).unwrap_or(u32::MAX))?;
    match (spec.workload.starts_with("row_encode"), spec.lane.as_str()) {
        (true, "call") => {
            let mut out = Vec::with_capacity(most_bytes);
            sample(spec, |turn| {
                out.clear();
                encode_rows(black_box(&batches[turn]), &mut out)?;
                Ok(extent(black_box(&out)))
            })
        }
        (true, "columns") => {
            let mut out = vec![0; most_bytes];
            let mut blocks = vec![vec![0; layout.size()]; encoded.len()];
            for (bytes, block) in encoded.iter().zip(&mut blocks) {
                layout.decode(bytes, block)?;
            }
            sample(spec, |turn| {
                let size = layout.encode(black_box(&blocks[turn]), batch as usize, &mut out)?;
                Ok(extent(&black_box(&out)[..size]))
            })
        }
        (false, "call") => sample(spec, |turn| sum_of_rows(black_box(&encoded[turn]))),
        (false, "columns") => {
            let mut block = vec![0; layout.size()];
            sample(spec, |turn| {
                let rows = layout.decode(black_box(&encoded[turn]), &mut block)?;
                sum_of_columns(&layout, kinds, black_box(&block), rows)
            })
        }
        _ => Err(spec.unknown()),
    }
}

/// Executes the batches of a sample, in turn.
fn sample(spec: &InProcessSpec, mut execute: impl FnMut(usize) -> Result<f64>) -> Result<CellSample> {
    let mut outcome = Ok(());
    let sample = timed_work(spec.times(), || {
        let results = (0..spec.calls / spec.batch).map(|batch| execute((batch % TURNS) as usize));
        let or_nothing = |result: Result<f64>| {
            result.unwrap_or_else(|error| {
                outcome = Err(error);
                f64::NAN
            })
        };
        results.map(or_nothing).sum()
    });
    outcome.map(|()| sample)
}

#[cfg(test)]
mod tests;
