//! Columns: the values of one field of one series, and their timestamps.
//!
//! Each number takes nine bytes: a tag, and eight bytes in big-endian order. Encoding and decoding are loops over chunks of
//! nine without a branch. Decoding checks all tags at once at the end.

use std::borrow::Cow;

use super::reader::{Reader, WIDE, fail, push_array, push_map, push_text, twice};
use crate::line::check_columns;
use crate::points::{FieldKind, Points, SeriesKey, Shape, check_tags};
use crate::{Error, Precision, Result};

pub(super) const FLOAT: u8 = 0xcb;
pub(super) const INT64: u8 = 0xd3;
const UINT64: u8 = 0xcf;

/// A batch of columns without its numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnsHead<'a> {
    /// The measurement of all points.
    pub measurement: &'a str,
    /// The tags of all points.
    pub tags: Vec<(&'a str, &'a str)>,
    /// The name of the field.
    pub field: &'a str,
    /// The number of points.
    pub len: usize,
    /// Whether the batch has timestamps.
    pub has_timestamps: bool,
}

impl<'a> ColumnsHead<'a> {
    /// The key of the series.
    pub fn series(&self) -> Result<SeriesKey<'static>> {
        let borrowed = |(name, value): &(&'a str, &'a str)| (Cow::Borrowed(*name), Cow::Borrowed(*value));
        Ok(SeriesKey::of(self.measurement, &mut self.tags.iter().map(borrowed).collect::<Vec<_>>())?)
    }

    /// The field of the points.
    pub fn shape(&self) -> Shape<'a> {
        let fields = vec![(Cow::Borrowed(self.field), FieldKind::Float)];
        Shape { measurement: Cow::Borrowed(self.measurement), fields }
    }
}

/// Decoded columns, in their own memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnarBatch<'a> {
    /// The names and the number of the points.
    pub head: ColumnsHead<'a>,
    /// The value of each point.
    pub values: Vec<f64>,
    /// The timestamp of each point, in the sender's unit. Empty without timestamps.
    pub timestamps: Vec<i64>,
}

/// Reusable memory for the numbers of a batch.
#[derive(Debug, Clone, Default)]
pub struct ColumnBuffers {
    values: Vec<f64>,
    timestamps: Vec<i64>,
}

impl ColumnBuffers {
    /// The values that were decoded last.
    pub fn last_values(&self) -> &[f64] {
        &self.values
    }

    /// The timestamps that were decoded last.
    pub fn last_timestamps(&self) -> &[i64] {
        &self.timestamps
    }
}

impl ColumnarBatch<'_> {
    /// Releases the memory for reuse.
    pub fn recycle(self) -> ColumnBuffers {
        ColumnBuffers { values: self.values, timestamps: self.timestamps }
    }
}

/// Provides the memory that numbers are decoded into.
pub trait ColumnSink {
    /// The memory for this many values.
    fn values(&mut self, count: usize) -> Result<&mut [f64]>;

    /// The memory for this many timestamps.
    fn timestamps(&mut self, count: usize) -> Result<&mut [i64]>;
}

/// Resizes reused memory. Only its growth is zeroed.
fn resized<T: Default + Copy>(memory: &mut Vec<T>, count: usize) -> &mut [T] {
    memory.truncate(count);
    memory.resize(count, T::default());
    memory
}

impl ColumnSink for ColumnBuffers {
    fn values(&mut self, count: usize) -> Result<&mut [f64]> {
        Ok(resized(&mut self.values, count))
    }

    fn timestamps(&mut self, count: usize) -> Result<&mut [i64]> {
        Ok(resized(&mut self.timestamps, count))
    }
}

/// Decodes columns into reused memory. Bytes behind them are not read, as a server of `HyperbyteDB` does not read them.
pub fn decode_columns(bytes: &[u8], mut buffers: ColumnBuffers, most_points: usize) -> Result<ColumnarBatch<'_>> {
    let head = read_columns(&mut Reader::new(bytes), &mut buffers, most_points)?;
    let ColumnBuffers { mut values, mut timestamps } = buffers;
    values.truncate(head.len);
    timestamps.truncate(if head.has_timestamps { head.len } else { 0 });
    Ok(ColumnarBatch { head, values, timestamps })
}

/// Decodes columns into the caller's memory.
pub fn decode_columns_into<'a>(
    bytes: &'a [u8],
    sink: &mut impl ColumnSink,
    most_points: usize,
) -> Result<ColumnsHead<'a>> {
    let mut reader = Reader::new(bytes);
    let head = read_columns(&mut reader, sink, most_points)?;
    reader.end()?;
    Ok(head)
}

fn read_columns<'a>(
    reader: &mut Reader<'a>,
    sink: &mut impl ColumnSink,
    most_points: usize,
) -> Result<ColumnsHead<'a>> {
    let (mut measurement, mut tags, mut field, mut values, mut timestamps) = (None, None, None, None, None);
    let mut counts = Counts { most: most_points, values: None, timestamps: None };
    for _ in 0..reader.map("the batch")? {
        let at = reader.position();
        match reader.text("a key")? {
            "measurement" if measurement.is_none() => measurement = Some(reader.text("measurement")?),
            "tags" if tags.is_none() => {
                let place = reader.position();
                let read = read_tags(reader)?;
                check_tags(&read).or_else(|twice| fail(place, twice.to_string()))?;
                tags = Some(read);
            }
            "field" if field.is_none() => field = Some(reader.text("field")?),
            "values" if values.is_none() => values = Some(read_values(reader, sink, &mut counts)?),
            "timestamps" if timestamps.is_none() => {
                let is_nil = reader.nil();
                timestamps = Some(if is_nil { None } else { Some(read_timestamps(reader, sink, &mut counts)?) });
            }
            key @ ("measurement" | "tags" | "field" | "values" | "timestamps") => return twice(at, key),
            _ => reader.skip()?,
        }
    }
    let timestamps = timestamps.flatten();
    let missing = |key: &str| fail(0, format!("the key {key} is missing"));
    let Some(measurement) = measurement else { return missing("measurement") };
    let Some(field) = field else { return missing("field") };
    let Some(len) = values else { return missing("values") };
    if measurement.is_empty() || field.is_empty() {
        return fail(0, "measurement and field must not be empty");
    }
    Ok(ColumnsHead { measurement, field, len, has_timestamps: timestamps.is_some(), tags: tags.unwrap_or_default() })
}

pub(super) fn read_tags<'a>(reader: &mut Reader<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    if reader.nil() {
        return Ok(Vec::new());
    }
    let entries = reader.map("tags")?;
    (0..entries).map(|_| Ok((reader.text("the name of a tag")?, reader.text("the value of a tag")?))).collect()
}

/// The lengths of the two arrays, as far as they were read.
struct Counts {
    most: usize,
    values: Option<usize>,
    timestamps: Option<usize>,
}

impl Counts {
    /// Checks the lengths when one has been read at `at`. A sink is asked for memory afterwards, so it never gets two lengths.
    fn check(&self, at: usize) -> Result<()> {
        match (self.values, self.timestamps) {
            (Some(values), Some(times)) if values != times => {
                fail(at, format!("there are {values} values and {times} timestamps; there must be as many of both"))
            }
            (Some(points), _) | (_, Some(points)) if points > self.most => {
                Err(Error::TooManyPoints { most: self.most })
            }
            _ => Ok(()),
        }
    }
}

/// The next `count` chunks of nine bytes, or `None` if fewer bytes are left.
fn wide_chunks<'a>(reader: &Reader<'a>, count: usize) -> Option<&'a [[u8; WIDE]]> {
    Some(reader.rest().get(..count.checked_mul(WIDE)?)?.as_chunks::<WIDE>().0)
}

fn number_of(chunk: &[u8; WIDE]) -> [u8; 8] {
    [chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7], chunk[8]]
}

fn read_values(reader: &mut Reader<'_>, sink: &mut impl ColumnSink, counts: &mut Counts) -> Result<usize> {
    let at = reader.position();
    let count = reader.array("values")?;
    counts.values = Some(count);
    counts.check(at)?;
    if let Some(chunks) = wide_chunks(reader, count) {
        let mut wrong = 0;
        for (value, chunk) in sink.values(count)?.iter_mut().zip(chunks) {
            wrong |= chunk[0] ^ FLOAT;
            *value = f64::from_be_bytes(number_of(chunk));
        }
        if wrong == 0 {
            reader.advance(count * WIDE);
            return Ok(count);
        }
    }
    // A value is not a 64-bit float, or the bytes end early.
    for (index, value) in sink.values(count)?.iter_mut().enumerate() {
        *value = reader.float(|| format_index("values", index))?;
    }
    Ok(count)
}

fn read_timestamps(reader: &mut Reader<'_>, sink: &mut impl ColumnSink, counts: &mut Counts) -> Result<usize> {
    let at = reader.position();
    let count = reader.array("timestamps")?;
    counts.timestamps = Some(count);
    counts.check(at)?;
    let into = sink.timestamps(count)?;
    if let Some(chunks) = wide_chunks(reader, count) {
        let first = chunks.first().map_or(INT64, |chunk| chunk[0]);
        // The highest bit of an unsigned timestamp must be clear.
        let (mut wrong, mut bits) = (first != INT64 && first != UINT64, 0_i64);
        let mut tags = 0;
        for (time, chunk) in into.iter_mut().zip(chunks) {
            tags |= chunk[0] ^ first;
            *time = i64::from_be_bytes(number_of(chunk));
            bits |= *time;
        }
        wrong |= tags != 0 || (first == UINT64 && bits < 0);
        if !wrong {
            reader.advance(count * WIDE);
            return Ok(count);
        }
    }
    // Timestamps may be integers in any encoding. Most encoders use the shortest.
    for (index, time) in into.iter_mut().enumerate() {
        *time = match reader.rest() {
            // The most frequent encoding is read without formatting a name for an error.
            [INT64, ..] if reader.rest().len() >= WIDE => {
                let chunk = reader.rest().first_chunk::<WIDE>().map_or([0; 8], number_of);
                reader.advance(WIDE);
                i64::from_be_bytes(chunk)
            }
            _ => reader.signed(&format_index("timestamps", index))?,
        };
    }
    Ok(count)
}

fn format_index(name: &str, index: usize) -> String {
    format!("{name}[{index}]")
}

/// Converts columns to points.
pub fn columns_to_points<'a>(
    batch: &ColumnarBatch<'a>,
    precision: Precision,
    now: i64,
    memory: Points<'a>,
) -> Result<Points<'a>> {
    let mut points = memory.recycle();
    let head = &batch.head;
    points.series.push(head.series()?);
    points.shapes.push(head.shape());
    points.series_of.resize(head.len, 0);
    points.shape_of.resize(head.len, 0);
    if head.has_timestamps {
        points.times.extend_from_slice(&batch.timestamps);
        precision.to_nanoseconds(&mut points.times)?;
    } else {
        points.times.resize(head.len, now);
    }
    points.values.extend(batch.values.iter().map(|value| value.to_bits()));
    Ok(points)
}

/// Encodes columns of one series and field, whose names are written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnsWriter {
    /// The encoded names that precede the values, without the first byte of the map.
    head: Vec<u8>,
}

/// The entries of the map without timestamps.
const ENTRIES: u8 = 4;

/// The encoded key `timestamps`.
const TIMESTAMPS: &[u8; 11] = b"\xaatimestamps";

/// The encoded measurement and tags, with which all encodings begin.
pub(super) fn names_of(measurement: &str, tags: &[(&str, &str)], field: &str) -> Result<Vec<u8>> {
    if measurement.is_empty() || field.is_empty() {
        return Err(Error::InvalidArgument("measurement and field must not be empty".to_owned()));
    }
    check_tags(tags)?;
    let mut head = Vec::new();
    push_text(&mut head, "measurement");
    push_text(&mut head, measurement);
    push_text(&mut head, "tags");
    push_map(&mut head, tags.len());
    for (name, value) in tags {
        push_text(&mut head, name);
        push_text(&mut head, value);
    }
    Ok(head)
}

/// Bytes of an array's header, at most.
pub(super) const ARRAY_HEADER: usize = 5;

impl ColumnsWriter {
    /// A writer for these names.
    pub fn new(measurement: &str, tags: &[(&str, &str)], field: &str) -> Result<Self> {
        let mut head = names_of(measurement, tags, field)?;
        push_text(&mut head, "field");
        push_text(&mut head, field);
        push_text(&mut head, "values");
        Ok(Self { head })
    }

    /// The most bytes that this many points take.
    pub fn most_bytes(&self, points: usize, has_timestamps: bool) -> usize {
        let columns = if has_timestamps { 2 } else { 1 };
        1 + self.head.len() + TIMESTAMPS.len() + columns * (ARRAY_HEADER + WIDE * points)
    }

    /// Encodes into `out`, and returns the number of bytes written.
    pub fn encode(&self, values: &[f64], timestamps: Option<&[i64]>, out: &mut [u8]) -> Result<usize> {
        check_columns(values, timestamps, out, self.most_bytes(values.len(), timestamps.is_some()))?;
        let whole = out.len();
        let entries = ENTRIES + u8::from(timestamps.is_some());
        let mut rest = put(out, &[0x80 | entries]);
        rest = put(rest, &self.head);
        rest = put_array(rest, values.len());
        rest = put_wide(rest, FLOAT, values.iter().map(|value| value.to_be_bytes()));
        if let Some(timestamps) = timestamps {
            rest = put(rest, TIMESTAMPS);
            rest = put_array(rest, timestamps.len());
            rest = put_wide(rest, INT64, timestamps.iter().map(|time| time.to_be_bytes()));
        }
        Ok(whole - rest.len())
    }

    /// Encodes into a vector, replacing its contents.
    pub fn encode_vec(&self, values: &[f64], timestamps: Option<&[i64]>, out: &mut Vec<u8>) -> Result<()> {
        let needed = self.most_bytes(values.len(), timestamps.is_some());
        if out.len() < needed {
            out.resize(needed, 0);
        }
        let length = self.encode(values, timestamps, out)?;
        out.truncate(length);
        Ok(())
    }
}

#[inline]
pub(super) fn put<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (place, rest) = out.split_at_mut(bytes.len());
    place.copy_from_slice(bytes);
    rest
}

pub(super) fn put_array(out: &mut [u8], elements: usize) -> &mut [u8] {
    let mut header = Vec::with_capacity(ARRAY_HEADER);
    push_array(&mut header, elements);
    put(out, &header)
}

fn put_wide(out: &mut [u8], tag: u8, numbers: impl ExactSizeIterator<Item = [u8; 8]>) -> &mut [u8] {
    let (place, rest) = out.split_at_mut(numbers.len() * WIDE);
    for (chunk, number) in place.as_chunks_mut::<WIDE>().0.iter_mut().zip(numbers) {
        chunk[0] = tag;
        chunk[1..].copy_from_slice(&number);
    }
    rest
}
