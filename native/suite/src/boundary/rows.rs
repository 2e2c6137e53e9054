//! The rows that cross, in three forms: structs, JSON, and columns in memory of the caller.
//!
//! A row has an integer `id`, further doubles, and in one shape a text. Row `i` has `id = i`, its number `k` from 0 is
//! `((i + k) % 1000) / 2`, and its text has the letters `(i + place) % 26`. So the sum of what is read of a row is exact.

use std::hint::black_box;

use boundary_bench_kernel::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{family, last_code};
use crate::calls::{Times, timed};
use crate::sample::CellSample;

/// The shape of the rows of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RowShape {
    /// The numbers of a row, the id among them: 2, 4 or 8.
    pub numbers: usize,
    /// The length of the text of a row, or 0 if it has none.
    pub characters: usize,
}

/// A row of an id, a number and a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields stand for any row's fields")]
pub struct NamedRow {
    pub id: i32,
    pub score: f64,
    pub name: String,
}

/// A row of an id and 3 numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields stand for any row's fields")]
pub struct FourRow {
    pub id: i32,
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

/// A row of an id and 7 numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields stand for any row's fields")]
pub struct WideRow {
    pub id: i32,
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
    pub e: f64,
    pub f: f64,
    pub g: f64,
}

/// A row as a struct.
pub trait Row: Serialize + DeserializeOwned {
    /// The row with the number `row`. Its text, if it has one, has `characters` characters.
    fn of(row: u32, characters: usize) -> Self;

    /// A sum that each of the values is in.
    fn sum(&self) -> f64;
}

impl Row for NamedRow {
    fn of(row: u32, characters: usize) -> Self {
        Self { id: id_of(row), score: number_of(row, 0), name: name_of(row, characters) }
    }

    fn sum(&self) -> f64 {
        f64::from(self.id) + self.score + f64::from(last_code(&self.name))
    }
}

impl Row for FourRow {
    fn of(row: u32, _: usize) -> Self {
        let [a, b, c] = [0, 1, 2].map(|number| number_of(row, number));
        Self { id: id_of(row), a, b, c }
    }

    fn sum(&self) -> f64 {
        f64::from(self.id) + self.a + self.b + self.c
    }
}

impl Row for WideRow {
    fn of(row: u32, _: usize) -> Self {
        let number = |number| number_of(row, number);
        Self {
            id: id_of(row),
            a: number(0),
            b: number(1),
            c: number(2),
            d: number(3),
            e: number(4),
            f: number(5),
            g: number(6),
        }
    }

    fn sum(&self) -> f64 {
        f64::from(self.id) + self.a + self.b + self.c + self.d + self.e + self.f + self.g
    }
}

fn id_of(row: u32) -> i32 {
    row.cast_signed()
}

/// The number `number` of a row, beside its id.
fn number_of(row: u32, number: u32) -> f64 {
    f64::from((row + number) % 1000) * 0.5
}

/// The letter at a place of the text of a row.
fn letter_of(row: u32, place: usize) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "below 26")]
    let letter = ((row as usize + place) % 26) as u8;
    b'a' + letter
}

fn name_of(row: u32, characters: usize) -> String {
    (0..characters).map(|place| char::from(letter_of(row, place))).collect()
}

/// The most rows that are made at once, and the most characters of their texts together: a call that asks for more is a mistake.
const MOST_ROWS: u32 = 1 << 20;
const MOST_CHARACTERS: usize = 1 << 26;

/// Makes `count` rows.
pub fn make<R: Row>(count: u32, characters: usize) -> Result<Vec<R>> {
    if count > MOST_ROWS || characters.saturating_mul(count as usize) > MOST_CHARACTERS {
        return Err(Error::InvalidArgument(format!("{count} rows with {characters} characters each are too many")));
    }
    Ok((0..count).map(|row| R::of(row, characters)).collect())
}

/// The sum of all values of rows.
pub fn sum<R: Row>(rows: &[R]) -> f64 {
    rows.iter().map(Row::sum).sum()
}

/// The sum of all values of rows of a shape, read from a JSON array of objects.
pub fn sum_json(text: &str, shape: RowShape) -> Result<f64> {
    fn of<R: Row>(text: &str) -> Result<f64> {
        let rows: Vec<R> = serde_json::from_str(text)
            .map_err(|error| Error::InvalidArgument(format!("the rows are unreadable: {error}")))?;
        Ok(sum(&rows))
    }
    match shape.numbers {
        2 => of::<NamedRow>(text),
        4 => of::<FourRow>(text),
        8 => of::<WideRow>(text),
        _ => Err(no_rows(shape)),
    }
}

/// Makes `count` rows of a shape, as a JSON array of objects.
pub fn make_json(count: u32, shape: RowShape) -> Result<String> {
    fn of<R: Row>(count: u32, characters: usize) -> Result<String> {
        serde_json::to_string(&make::<R>(count, characters)?).map_err(|error| Error::Internal(error.to_string()))
    }
    match shape.numbers {
        2 => of::<NamedRow>(count, shape.characters),
        4 => of::<FourRow>(count, shape.characters),
        8 => of::<WideRow>(count, shape.characters),
        _ => Err(no_rows(shape)),
    }
}

fn no_rows(RowShape { numbers, .. }: RowShape) -> Error {
    Error::InvalidArgument(format!("no rows have {numbers} numbers"))
}

/// The sum of all values of rows in columns. `numbers` has one column of doubles after the other. The text of row `i` lies from
/// `offsets[i]` to `offsets[i + 1]` of `bytes`. Rows without texts have no offsets.
pub fn sum_columns(ids: &[i32], numbers: &[f64], offsets: &[u32], bytes: &[u8]) -> Result<f64> {
    if !ids.is_empty() && !numbers.len().is_multiple_of(ids.len()) {
        return Err(Error::InvalidArgument("the columns have different lengths".to_owned()));
    }
    let mut sum = ids.iter().map(|id| f64::from(*id)).sum::<f64>() + numbers.iter().sum::<f64>();
    if offsets.is_empty() {
        return Ok(sum);
    }
    if offsets.len() != ids.len() + 1 {
        return Err(Error::InvalidArgument("rows have one offset more than there are rows, or none".to_owned()));
    }
    for ends in offsets.windows(2) {
        let text = bytes.get(ends[0] as usize..ends[1] as usize).and_then(|text| std::str::from_utf8(text).ok());
        let text =
            text.ok_or_else(|| Error::InvalidArgument("a text lies beyond the bytes, or is no UTF-8".to_owned()))?;
        sum += f64::from(last_code(text));
    }
    Ok(sum)
}

/// Writes as many rows as there are ids into columns as [`sum_columns`] reads them, and returns the size of their texts in bytes.
pub fn fill_columns(
    ids: &mut [i32],
    numbers: &mut [f64],
    offsets: &mut [u32],
    bytes: &mut [u8],
    characters: usize,
) -> Result<usize> {
    let count = ids.len();
    let size = if offsets.is_empty() { 0 } else { count * characters };
    let fits = (offsets.is_empty() || offsets.len() == count + 1) && bytes.len() >= size;
    if count == 0 || !numbers.len().is_multiple_of(count) || !fits || u32::try_from(size).is_err() {
        return Err(Error::InvalidArgument("the columns have different lengths, or too little room".to_owned()));
    }
    for (row, id) in (0..).zip(&mut *ids) {
        *id = id_of(row);
    }
    for (number, column) in (0..).zip(numbers.chunks_exact_mut(count)) {
        for (row, value) in (0..).zip(column) {
            *value = number_of(row, number);
        }
    }
    if !offsets.is_empty() {
        let mut end = 0;
        offsets[0] = 0;
        for (row, offset) in (0..).zip(&mut offsets[1..]) {
            for (place, byte) in bytes[end..end + characters].iter_mut().enumerate() {
                *byte = letter_of(row, place);
            }
            end += characters;
            #[expect(clippy::cast_possible_truncation, reason = "checked: all texts together have fewer bytes")]
            {
                *offset = end as u32;
            }
        }
    }
    Ok(size)
}

/// The shape and number of the rows of a workload, such as `1000` or `wide.10` after its first word.
fn rows_of(kind: &str) -> Option<(RowShape, u32)> {
    let (shape, count) = kind.split_once('.').unwrap_or(("named", kind));
    Some((*family().ok()?.row_shapes.get(shape)?, count.parse().ok()?))
}

/// Executes the calls of a workload that passes rows, within Rust. Returns `None` for a workload without a floor.
pub(super) fn run(direction: &str, kind: &str, lane: &str, times: Times) -> Option<CellSample> {
    let (shape, count) = rows_of(kind)?;
    match (shape.numbers, lane) {
        (_, "json") => run_json(direction, shape, count, times),
        (_, "columns") => Some(run_columns(direction, shape, count, times)),
        (2, _) => run_structs::<NamedRow>(direction, shape, count, times),
        (4, _) => run_structs::<FourRow>(direction, shape, count, times),
        (8, _) => run_structs::<WideRow>(direction, shape, count, times),
        _ => None,
    }
}

fn run_structs<R: Row>(direction: &str, shape: RowShape, count: u32, times: Times) -> Option<CellSample> {
    let made = || make::<R>(black_box(count), shape.characters);
    if direction == "rows_out" {
        return Some(timed(times, |_| black_box(made()).map_or(f64::NAN, |rows| sum(&rows))));
    }
    let rows = made().ok()?;
    Some(timed(times, |_| sum(black_box(&rows))))
}

/// The rows as JSON and back: into the other side from structs, or out of it with the making of the structs.
fn run_json(direction: &str, shape: RowShape, count: u32, times: Times) -> Option<CellSample> {
    fn in_of<R: Row>(shape: RowShape, count: u32, times: Times) -> Option<CellSample> {
        let rows: Vec<R> = make(count, shape.characters).ok()?;
        Some(timed(times, |_| {
            serde_json::to_string(black_box(&rows))
                .map_or(f64::NAN, |text| sum_json(&black_box(text), shape).unwrap_or(f64::NAN))
        }))
    }
    match (direction, shape.numbers) {
        ("rows_in", 2) => in_of::<NamedRow>(shape, count, times),
        ("rows_in", 4) => in_of::<FourRow>(shape, count, times),
        ("rows_in", _) => in_of::<WideRow>(shape, count, times),
        _ => Some(timed(times, |_| {
            let text = make_json(black_box(count), shape);
            text.and_then(|text| sum_json(&black_box(text), shape)).unwrap_or(f64::NAN)
        })),
    }
}

/// The rows written into columns, and read there. On the way in they are columns already, as in memory of Rust's own.
fn run_columns(direction: &str, shape: RowShape, count: u32, times: Times) -> CellSample {
    let rows = count as usize;
    let has_text = shape.characters > 0;
    let mut ids = vec![0; rows];
    let mut numbers = vec![0.0; rows * (shape.numbers - 1)];
    let mut offsets = vec![0; if has_text { rows + 1 } else { 0 }];
    let mut bytes = vec![0; if has_text { rows * shape.characters } else { 0 }];
    let fill = |ids: &mut [i32], numbers: &mut [f64], offsets: &mut [u32], bytes: &mut [u8]| {
        fill_columns(ids, numbers, offsets, bytes, shape.characters)
    };
    if direction == "rows_in" && fill(&mut ids, &mut numbers, &mut offsets, &mut bytes).is_err() {
        return timed(times, |_| f64::NAN);
    }
    timed(times, |_| {
        if direction == "rows_out" && fill(&mut ids, &mut numbers, &mut offsets, &mut bytes).is_err() {
            return f64::NAN;
        }
        sum_columns(black_box(&ids), black_box(&numbers), black_box(&offsets), black_box(&bytes)).unwrap_or(f64::NAN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::checksum;

    fn times(calls: u32) -> Times {
        Times { calls, repeats: 2 }
    }

    const SHAPES: [RowShape; 4] = [
        RowShape { numbers: 2, characters: 12 },
        RowShape { numbers: 2, characters: 200 },
        RowShape { numbers: 4, characters: 0 },
        RowShape { numbers: 8, characters: 0 },
    ];

    fn sum_of_structs(shape: RowShape, count: u32) -> f64 {
        match shape.numbers {
            2 => sum(&make::<NamedRow>(count, shape.characters).unwrap()),
            4 => sum(&make::<FourRow>(count, 0).unwrap()),
            _ => sum(&make::<WideRow>(count, 0).unwrap()),
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the sums are of halves, and exact")]
    fn rows_are_the_same_in_each_form() {
        for shape in SHAPES {
            for count in [1, 27, 1001] {
                let expected = sum_of_structs(shape, count);
                assert_eq!(sum_json(&make_json(count, shape).unwrap(), shape).unwrap(), expected);
                for lane in ["objects", "json", "columns"] {
                    for direction in ["rows_in", "rows_out"] {
                        let kind = match shape {
                            RowShape { characters: 12, .. } => format!("{count}"),
                            RowShape { characters: 200, .. } => format!("long.{count}"),
                            RowShape { numbers: 4, .. } => format!("four.{count}"),
                            _ => format!("wide.{count}"),
                        };
                        let sample = run(direction, &kind, lane, times(2)).unwrap();
                        assert_eq!(sample.checksum, checksum(2, expected * 2.0), "{kind} {lane}");
                    }
                }
            }
        }
        assert!(run("rows_in", "other.1", "objects", times(1)).is_none());
        assert!(run("rows_in", "x", "objects", times(1)).is_none());
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        assert!(sum_columns(&[1, 2], &[0.5], &[], &[]).is_err());
        assert!(sum_columns(&[1], &[0.5], &[0], b"a").is_err());
        assert!(sum_columns(&[1], &[0.5], &[0, 2], b"a").is_err());
        assert!(sum_columns(&[1], &[0.5], &[1, 0], b"a").is_err());
        assert!(sum_columns(&[1], &[0.5], &[0, 1], &[0xff]).is_err());
        assert!(fill_columns(&mut [0], &mut [0.0], &mut [0, 0], &mut [0; 3], 4).is_err());
        assert!(fill_columns(&mut [], &mut [], &mut [], &mut [], 4).is_err());
        assert!(sum_json("[{}]", SHAPES[0]).is_err());
        assert!(make_json(1, RowShape { numbers: 3, characters: 0 }).is_err());
        assert!(make::<FourRow>(u32::MAX, 0).is_err());
        assert!(make::<NamedRow>(2, usize::MAX).is_err());
    }
}
