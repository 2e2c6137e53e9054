//! Rows: each point carries all its names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::columns::{ARRAY_HEADER, FLOAT, INT64, names_of, put, put_array, read_tags};
use super::reader::{Integer, Reader, WIDE, fail, push_array, push_map, push_text, twice};
use crate::line::check_columns;
use crate::points::{FieldKind, FieldList, FieldValue, Points, SeriesKey, ShapeIndex, place_of};
use crate::{Error, ReadOptions, Result};

/// Decodes rows, reusing the memory of other points. Bytes behind the rows are not read.
pub fn decode_rows<'a>(bytes: &'a [u8], options: &ReadOptions, memory: Points<'a>) -> Result<Points<'a>> {
    let mut decoder = Decoder {
        reader: Reader::new(bytes),
        points: memory.recycle(),
        fields: FieldList::default(),
        shapes: ShapeIndex::default(),
        series_of: HashMap::new(),
        series_of_key: HashMap::new(),
    };
    let rows = decoder.reader.array("the rows")?;
    if rows > options.most_points {
        return Err(Error::TooManyPoints { most: options.most_points });
    }
    for _ in 0..rows {
        decoder.read_row(options)?;
    }
    Ok(decoder.points)
}

struct Decoder<'a> {
    reader: Reader<'a>,
    points: Points<'a>,
    fields: FieldList<'a>,
    shapes: ShapeIndex,
    /// The index of a series, by its measurement and the encoded bytes of its tags.
    series_of: HashMap<(&'a str, &'a [u8]), u32>,
    /// The index of a series, by its key: the same tags may be in several orders.
    series_of_key: HashMap<Cow<'a, str>, u32>,
}

impl<'a> Decoder<'a> {
    fn read_row(&mut self, options: &ReadOptions) -> Result<()> {
        let start = self.reader.position();
        let (mut measurement, mut tags, mut has_fields, mut time) = (None, None, false, None);
        self.fields.clear();
        for _ in 0..self.reader.map("a row")? {
            let at = self.reader.position();
            match self.reader.text("a key")? {
                "measurement" if measurement.is_none() => measurement = Some(self.reader.text("measurement")?),
                "tags" if tags.is_none() => {
                    let at = self.reader.position();
                    tags = Some((at, read_tags(&mut self.reader)?, self.reader.since(at)));
                }
                "fields" if !has_fields => {
                    has_fields = true;
                    self.read_fields()?;
                }
                "timestamp" if time.is_none() => {
                    let at = self.reader.position();
                    time = Some(if self.reader.nil() { None } else { Some((at, self.reader.signed("timestamp")?)) });
                }
                key @ ("measurement" | "tags" | "fields" | "timestamp") => return twice(at, key),
                _ => self.reader.skip()?,
            }
        }
        let measurement = measurement.unwrap_or_default();
        if measurement.is_empty() || self.fields.is_empty() {
            return fail(start, "a row must have a measurement and a field");
        }
        let time = match time.flatten() {
            None => options.now,
            Some((at, time)) => {
                let unit = options.precision;
                let nanoseconds = time.checked_mul(unit.nanoseconds()).ok_or(());
                let out_of_range = |()| format!("{time} {} is no 64-bit number of nanoseconds", unit.name());
                nanoseconds.map_err(out_of_range).or_else(|problem| fail(at, problem))?
            }
        };
        let (tags_at, tags, tag_bytes) = tags.unwrap_or_default();
        let known = self.series_of.get(&(measurement, tag_bytes)).copied();
        let series = if let Some(series) = known {
            series
        } else {
            let series = self.find_series(measurement, tags, tags_at)?;
            self.series_of.insert((measurement, tag_bytes), series);
            series
        };
        let shape = self.points.intern_shape(series as usize, &mut self.fields, &mut self.shapes);
        self.points.series_of.push(series);
        self.points.shape_of.push(place_of(shape));
        self.points.times.push(time);
        Ok(())
    }

    /// Finds or adds the series of tags that were not written like this before.
    fn find_series(&mut self, measurement: &'a str, tags: Vec<(&'a str, &'a str)>, at: usize) -> Result<u32> {
        let mut tags: Vec<_> =
            tags.into_iter().map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value))).collect();
        let key = SeriesKey::of(measurement, &mut tags).or_else(|twice| fail(at, twice.to_string()))?;
        let next = place_of(self.points.series.len());
        let series = *self.series_of_key.entry(key.text.clone()).or_insert(next);
        if series == next {
            self.points.series.push(key);
        }
        Ok(series)
    }

    fn read_fields(&mut self) -> Result<()> {
        for _ in 0..self.reader.map("fields")? {
            let at = self.reader.position();
            let name = self.reader.text("the name of a field")?;
            let (kind, bits) = self.read_value()?;
            if name.is_empty() || self.fields.push(Cow::Borrowed(name), kind).is_err() {
                return fail(at, format!("the field {name:?}: a name is not empty, and is there once"));
            }
            self.points.values.push(bits);
        }
        Ok(())
    }

    fn read_value(&mut self) -> Result<(FieldKind, u64)> {
        let at = self.reader.position();
        if self.reader.map("a value")? != 1 {
            return fail(at, "a value is a map of one entry, its type: {\"Float\": 1.5}");
        }
        Ok(match self.reader.text("the type of a value")? {
            "Float" => (FieldKind::Float, self.reader.float(|| "a Float".to_owned())?.to_bits()),
            "Integer" => (FieldKind::Integer, self.reader.signed("an Integer")?.cast_unsigned()),
            "UInteger" => match self.reader.integer("an UInteger")? {
                Integer::Large(value) => (FieldKind::UInteger, value),
                Integer::Signed(value) => match u64::try_from(value) {
                    Ok(value) => (FieldKind::UInteger, value),
                    Err(_) => return fail(at, format!("{value} is no UInteger")),
                },
            },
            "String" => {
                let text = self.reader.text("a String")?;
                (FieldKind::String, self.points.keep_text(text))
            }
            "Boolean" => (FieldKind::Boolean, u64::from(self.reader.boolean("a Boolean")?)),
            other => {
                let known = "Float, Integer, UInteger, String or Boolean";
                return fail(at, format!("a value is of the type {known}, not {other:?}"));
            }
        })
    }
}

/// Encodes points as rows, with timestamps in nanoseconds.
pub fn encode_rows(points: &Points<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    push_array(&mut out, points.len());
    for point in points.iter() {
        push_map(&mut out, 4);
        push_text(&mut out, "measurement");
        push_text(&mut out, &point.series().measurement());
        push_text(&mut out, "tags");
        let tags = point.series().tags();
        push_map(&mut out, tags.len());
        for (name, value) in tags {
            push_text(&mut out, &name);
            push_text(&mut out, &value);
        }
        push_text(&mut out, "fields");
        push_map(&mut out, point.fields().count());
        for (name, value) in point.fields() {
            push_text(&mut out, name);
            push_value(&mut out, value);
        }
        push_text(&mut out, "timestamp");
        push_wide(&mut out, 0xd3, point.time().to_be_bytes());
    }
    out
}

fn push_value(out: &mut Vec<u8>, value: FieldValue<'_>) {
    push_map(out, 1);
    match value {
        FieldValue::Float(value) => {
            push_text(out, "Float");
            push_wide(out, 0xcb, value.to_be_bytes());
        }
        FieldValue::Integer(value) => {
            push_text(out, "Integer");
            push_wide(out, 0xd3, value.to_be_bytes());
        }
        FieldValue::UInteger(value) => {
            push_text(out, "UInteger");
            push_wide(out, 0xcf, value.to_be_bytes());
        }
        FieldValue::String(text) => {
            push_text(out, "String");
            push_text(out, text);
        }
        FieldValue::Boolean(value) => {
            push_text(out, "Boolean");
            out.push(0xc2 | u8::from(value));
        }
    }
}

fn push_wide(out: &mut Vec<u8>, tag: u8, bytes: [u8; 8]) {
    out.push(tag);
    out.extend_from_slice(&bytes);
}

/// The encoded key `timestamp`.
const TIMESTAMP: &[u8; 10] = b"\xa9timestamp";

/// Encodes columns of one series and field as rows, each with all its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsWriter {
    /// The encoded part of a row before its value, without the first byte of the map.
    head: Vec<u8>,
}

impl RowsWriter {
    /// A writer for these names.
    pub fn new(measurement: &str, tags: &[(&str, &str)], field: &str) -> Result<Self> {
        let mut head = names_of(measurement, tags, field)?;
        push_text(&mut head, "fields");
        push_map(&mut head, 1);
        push_text(&mut head, field);
        push_map(&mut head, 1);
        push_text(&mut head, "Float");
        Ok(Self { head })
    }

    /// The most bytes that this many points take.
    pub fn most_bytes(&self, points: usize, has_timestamps: bool) -> usize {
        let time = if has_timestamps { TIMESTAMP.len() + WIDE } else { 0 };
        ARRAY_HEADER + points * (1 + self.head.len() + WIDE + time)
    }

    /// Encodes into `out`, and returns the number of bytes written.
    pub fn encode(&self, values: &[f64], timestamps: Option<&[i64]>, out: &mut [u8]) -> Result<usize> {
        check_columns(values, timestamps, out, self.most_bytes(values.len(), timestamps.is_some()))?;
        let whole = out.len();
        let entries = 3 + u8::from(timestamps.is_some());
        let mut rest = put_array(out, values.len());
        for (index, value) in values.iter().enumerate() {
            rest = put(rest, &[0x80 | entries]);
            rest = put(rest, &self.head);
            rest = put(rest, &[FLOAT]);
            rest = put(rest, &value.to_be_bytes());
            if let Some(timestamps) = timestamps {
                rest = put(rest, TIMESTAMP);
                rest = put(rest, &[INT64]);
                rest = put(rest, &timestamps[index].to_be_bytes());
            }
        }
        Ok(whole - rest.len())
    }
}
