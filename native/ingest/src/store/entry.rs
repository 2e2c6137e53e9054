//! Entries of the write-ahead log. An entry holds a write with all its names, and its arrays as in memory, little-endian.

use std::borrow::Cow;

use crate::Precision;
use crate::msgpack::ColumnarBatch;
use crate::points::{FieldKind, Points, SeriesKey, Shape, parse_key};

/// The first byte of an entry of points.
const POINTS: u8 = 1;

/// The values of an entry.
#[derive(Debug, Clone, Copy)]
pub enum EntryValues<'a> {
    /// Values of any types, as bits.
    Bits(&'a [u64]),
    /// Values that are all floats.
    Floats(&'a [f64]),
}

/// The parts of a log entry for one write.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The name of the database.
    pub database: &'a str,
    /// The series of the points.
    pub series: &'a [SeriesKey<'a>],
    /// The shapes of the points.
    pub shapes: &'a [Shape<'a>],
    /// For each point, the index of its series; not written for a single series.
    pub series_of: &'a [u32],
    /// For each point, the index of its shape; not written for a single shape.
    pub shape_of: &'a [u32],
    /// The unit of the times.
    pub precision: Precision,
    /// The time of each point; if empty, all points have the time `now`.
    pub times: &'a [i64],
    /// The time of points without one, in nanoseconds.
    pub now: i64,
    /// The number of points.
    pub len: usize,
    /// The values of the points.
    pub values: EntryValues<'a>,
    /// The concatenated text of all text values.
    pub text: &'a str,
}

impl<'a> Entry<'a> {
    /// The entry of points.
    #[must_use]
    pub fn of_points(database: &'a str, points: &'a Points<'a>) -> Self {
        Self {
            database,
            series: &points.series,
            shapes: &points.shapes,
            series_of: &points.series_of,
            shape_of: &points.shape_of,
            precision: Precision::Nanoseconds,
            times: &points.times,
            now: 0,
            len: points.len(),
            values: EntryValues::Bits(&points.values),
            text: &points.text,
        }
    }

    /// The entry of columns, whose series and shape the caller has made.
    #[must_use]
    pub fn of_columns(
        database: &'a str,
        batch: &'a ColumnarBatch<'_>,
        names: (&'a [SeriesKey<'a>; 1], &'a [Shape<'a>; 1]),
        precision: Precision,
        now: i64,
    ) -> Self {
        Self {
            database,
            series: names.0,
            shapes: names.1,
            series_of: &[],
            shape_of: &[],
            precision,
            times: &batch.timestamps,
            now,
            len: batch.head.len,
            values: EntryValues::Floats(&batch.values),
            text: "",
        }
    }

    /// Appends the encoded entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(POINTS);
        put_text(out, self.database);
        put_number(out, self.series.len());
        self.series.iter().for_each(|series| put_text(out, &series.text));
        put_number(out, self.shapes.len());
        for shape in self.shapes {
            put_text(out, &shape.measurement);
            put_number(out, shape.fields.len());
            for (name, kind) in &shape.fields {
                put_text(out, name);
                out.push(*kind as u8);
            }
        }
        put_text(out, self.precision.name());
        out.extend_from_slice(&self.now.to_le_bytes());
        put_number(out, self.len);
        out.push(u8::from(!self.times.is_empty()));
        put_array(out, self.times, i64::to_le_bytes);
        if self.series.len() > 1 {
            put_array(out, self.series_of, u32::to_le_bytes);
        }
        if self.shapes.len() > 1 {
            put_array(out, self.shape_of, u32::to_le_bytes);
        }
        match self.values {
            EntryValues::Bits(values) => {
                put_number(out, values.len());
                put_array(out, values, u64::to_le_bytes);
            }
            EntryValues::Floats(values) => {
                put_number(out, values.len());
                put_array(out, values, f64::to_le_bytes);
            }
        }
        put_text(out, self.text);
    }
}

/// Decodes the database and the points of an entry. `None` for bytes that are no entry.
#[must_use]
pub fn read_entry(bytes: &[u8]) -> Option<(&str, Points<'_>)> {
    let mut rest = bytes;
    if take(&mut rest, 1)? != [POINTS] {
        return None;
    }
    let database = take_text(&mut rest)?;
    let mut points = Points::default();
    for _ in 0..take_number(&mut rest)? {
        points.series.push(parse_key(take_text(&mut rest)?));
    }
    for _ in 0..take_number(&mut rest)? {
        let measurement = Cow::Borrowed(take_text(&mut rest)?);
        let mut fields = Vec::new();
        for _ in 0..take_number(&mut rest)? {
            let name = Cow::Borrowed(take_text(&mut rest)?);
            fields.push((name, *FieldKind::ALL.get(take(&mut rest, 1)?[0] as usize)?));
        }
        points.shapes.push(Shape { measurement, fields });
    }
    let precision = Precision::of(take_text(&mut rest)?);
    let now = i64::from_le_bytes(take_chunk(&mut rest)?);
    // A point has at least one value of eight bytes, so few bytes never allocate memory for many points.
    let len = take_number(&mut rest).filter(|len| *len <= rest.len() / size_of::<u64>())?;
    let has_times = take(&mut rest, 1)? == [1];
    points.times = if has_times { take_array(&mut rest, len, i64::from_le_bytes)? } else { vec![now; len] };
    if has_times {
        precision.to_nanoseconds(&mut points.times).ok()?;
    }
    let mut places = |count: usize| {
        let places = if count > 1 { take_array(&mut rest, len, u32::from_le_bytes)? } else { vec![0; len] };
        places.iter().all(|place| (*place as usize) < count).then_some(places)
    };
    points.series_of = places(points.series.len())?;
    points.shape_of = places(points.shapes.len())?;
    let values = take_number(&mut rest)?;
    points.values = take_array(&mut rest, values, u64::from_le_bytes)?;
    take_text(&mut rest)?.clone_into(&mut points.text);
    let needed: usize = points.shape_of.iter().map(|shape| points.shapes[*shape as usize].fields.len()).sum();
    (rest.is_empty() && needed == values).then_some((database, points))
}

pub(super) fn put_number(out: &mut Vec<u8>, number: usize) {
    // No count here reaches four billion: a write is limited to less.
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn put_array<T: Copy, const N: usize>(out: &mut Vec<u8>, numbers: &[T], bytes_of: impl Fn(T) -> [u8; N]) {
    let start = out.len();
    out.resize(start + numbers.len() * N, 0);
    for (place, number) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
        *place = bytes_of(*number);
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

fn take_chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}

pub(super) fn take_number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take_chunk(rest)?)).ok()
}

pub(super) fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_number(rest)?;
    std::str::from_utf8(take(rest, length)?).ok()
}

fn take_array<T, const N: usize>(rest: &mut &[u8], count: usize, number: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let bytes = take(rest, count.checked_mul(N)?)?;
    Some(bytes.as_chunks::<N>().0.iter().map(|chunk| number(*chunk)).collect())
}
