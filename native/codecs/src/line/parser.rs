//! Reads line protocol.
//!
//! Most lines of a body repeat a series and its fields, so a line is first compared with the expected bytes, and parsed only
//! where it differs. Expected is the series that followed the same series before, or the same series again; within a series,
//! the fields of its last line.

use std::borrow::Cow;
use std::collections::HashMap;

use super::names::{find_unescaped, split_unescaped, unescape, unescape_as};
use super::needle::Needle;
use crate::points::{FieldKind, FieldList, Points, SeriesKey, ShapeIndex, place_of};
use crate::{Error, ReadOptions, Result};

/// Reads the points of a body.
///
/// # Errors
/// [`Error::Parse`] with the line and the column in bytes, [`Error::TooManyPoints`] above the limit.
pub fn parse_lines<'a>(body: &'a [u8], options: &ReadOptions) -> Result<Points<'a>> {
    parse_lines_into(body, options, Points::default())
}

/// Reads the points of a body as [`parse_lines`] does, and reuses the memory of other points.
///
/// # Errors
/// The errors of [`parse_lines`].
pub fn parse_lines_into<'a>(body: &'a [u8], options: &ReadOptions, memory: Points<'a>) -> Result<Points<'a>> {
    let text = std::str::from_utf8(body).map_err(|error| failure(body, error.valid_up_to(), "this is not UTF-8"))?;
    let parser = Parser {
        text,
        bytes: body,
        at: 0,
        points: memory.recycle(),
        series: 0,
        known: Vec::new(),
        series_of_key: HashMap::new(),
        shape: 0,
        names: Vec::new(),
        shapes: ShapeIndex::default(),
        fields: FieldList::default(),
    };
    parser.parse(options)
}

#[cold]
fn failure(body: &[u8], at: usize, problem: impl Into<String>) -> Error {
    let before = &body[..at.min(body.len())];
    #[expect(clippy::naive_bytecount, reason = "once, for an error")]
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Error::Parse { format: "line protocol", place: format!("line {line}, column {column}"), problem: problem.into() }
}

/// The state of a series.
pub(super) struct Known<'a> {
    /// The series' key as it was written, with the space behind it.
    pub(super) key: Needle<'a>,
    /// The index of the series that followed this one.
    pub(super) next: usize,
    /// The index of the shape of the series' last line.
    pub(super) shape: Option<usize>,
}

/// A field of a shape: its name as it was written, with the `=` behind it, and its type.
pub(super) type Written<'a> = (Needle<'a>, FieldKind);

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) points: Points<'a>,
    /// The index of this line's series.
    pub(super) series: usize,
    /// The state of each series.
    pub(super) known: Vec<Known<'a>>,
    series_of_key: HashMap<&'a str, usize>,
    /// The index of this line's shape.
    pub(super) shape: usize,
    /// The fields of each shape.
    pub(super) names: Vec<Vec<Written<'a>>>,
    shapes: ShapeIndex,
    /// The fields of this line, where they differ from the expected ones.
    fields: FieldList<'a>,
}

impl<'a> Parser<'a> {
    fn parse(mut self, options: &ReadOptions) -> Result<Points<'a>> {
        let unit = options.precision.nanoseconds();
        loop {
            while self.points.times.len() < options.most_points && self.read_plain_line(unit) {}
            if !self.find_line() {
                break;
            }
            if self.points.times.len() >= options.most_points {
                return Err(Error::TooManyPoints { most: options.most_points });
            }
            self.read_key()?;
            self.read_fields()?;
            let time = self.read_time(options, unit)?;
            self.points.times.push(time);
        }
        self.place_series();
        self.place_shape();
        Ok(self.points)
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[cold]
    pub(super) fn fail<T>(&self, at: usize, problem: impl Into<String>) -> Result<T> {
        Err(failure(self.bytes, at, problem))
    }

    #[inline]
    pub(super) fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Goes to the next line that has a point; false at the end of the body.
    #[inline]
    fn find_line(&mut self) -> bool {
        loop {
            match self.peek() {
                None => return false,
                Some(b'\n' | b' ' | b'\t') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                Some(_) => return true,
            }
        }
    }

    /// Records the current series for the points read since the last change of series.
    #[inline]
    fn place_series(&mut self) {
        self.points.series_of.resize(self.points.times.len(), place_of(self.series));
    }

    /// Records the current shape for the points read since the last change of shape.
    #[inline]
    pub(super) fn place_shape(&mut self) {
        self.points.shape_of.resize(self.points.times.len(), place_of(self.shape));
    }

    /// Reads the measurement and tags.
    #[inline]
    fn read_key(&mut self) -> Result<()> {
        let rest = &self.bytes[self.at..];
        let begins = |series: usize| self.known.get(series).is_some_and(|known| known.key.begins(rest));
        let next = self.known.get(self.series).map_or(0, |known| known.next);
        if begins(next) {
            if next != self.series {
                self.turn_to(next);
            }
        } else if begins(self.series) {
            self.known[self.series].next = self.series;
        } else {
            let series = self.find_series()?;
            if let Some(before) = self.known.get_mut(self.series) {
                before.next = series;
            }
            self.turn_to(series);
        }
        self.at += self.known[self.series].key.len();
        self.skip_spaces();
        Ok(())
    }

    /// Makes `series` the series of this line.
    pub(super) fn turn_to(&mut self, series: usize) {
        self.place_series();
        self.series = series;
    }

    /// Finds or adds the series of a line whose key is not an expected one.
    fn find_series(&mut self) -> Result<usize> {
        let start = self.at;
        let end = find_unescaped(&self.bytes[start..], b' ', b'\n').map_or(self.bytes.len(), |length| start + length);
        if self.bytes.get(end) != Some(&b' ') {
            return self.fail(end, "a space and the fields are missing after the measurement and tags");
        }
        let key = &self.text[start..end];
        if let Some(series) = self.series_of_key.get(key) {
            return Ok(*series);
        }
        let parsed = self.parse_key(key, start)?;
        // Keys that are written differently may name one series; the store resolves them to one.
        let series = self.known.len();
        self.points.series.push(parsed);
        self.known.push(Known { key: Needle::new(&self.text[start..=end]), next: series, shape: None });
        self.series_of_key.insert(key, series);
        Ok(series)
    }

    fn parse_key(&self, key: &'a str, start: usize) -> Result<SeriesKey<'a>> {
        let mut rest = key;
        let measurement = split_unescaped(&mut rest, b',');
        if measurement.is_empty() {
            return self.fail(start, "the measurement is missing");
        }
        let mut tags: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        let mut is_canonical = !key.contains('\\') && !measurement.contains('=');
        let mut at = start + measurement.len();
        while at < start + key.len() {
            let tag = split_unescaped(&mut rest, b',');
            let mut value = tag;
            let name = split_unescaped(&mut value, b'=');
            if name.is_empty() || value.is_empty() || name.len() == tag.len() {
                return self.fail(at + 1, "a tag must be name=value, neither of them empty");
            }
            let mut other = value;
            if split_unescaped(&mut other, b'=').len() < value.len() {
                return self.fail(at + 1, "a tag has one equals sign; write \\= for one in a name or value");
            }
            is_canonical &= tags.last().is_none_or(|(last, _)| **last < *name);
            tags.push((unescape(name), unescape(value)));
            at += 1 + tag.len();
        }
        if is_canonical {
            return Ok(SeriesKey { text: Cow::Borrowed(key), measurement_end: measurement.len() });
        }
        Ok(SeriesKey::of(&unescape_as(measurement, &[',', ' ']), &mut tags))
    }

    /// Reads the fields, and appends their values to the points.
    #[inline]
    fn read_fields(&mut self) -> Result<()> {
        let Some(shape) = self.known[self.series].shape else { return self.read_other_fields(0, None) };
        if shape != self.shape {
            self.place_shape();
            self.shape = shape;
        }
        let fields = self.names[shape].len();
        for index in 0..fields {
            let (name, kind) = self.names[shape][index];
            if !name.begins(&self.bytes[self.at..]) {
                return self.read_other_fields(index, None);
            }
            let start = self.at;
            self.at += name.len();
            let read = self.read_value()?;
            if read != kind {
                return self.read_other_fields(index, Some((name.text(), start, read)));
            }
            let is_last = self.peek() != Some(b',');
            if is_last != (index + 1 == fields) {
                // The line has fewer or more fields than expected.
                self.at += usize::from(!is_last);
                if !is_last {
                    return self.read_other_fields(index + 1, None);
                }
                self.end_other_fields(index + 1);
                return Ok(());
            }
            self.at += usize::from(!is_last);
        }
        Ok(())
    }

    /// Reads the fields from `index` on, which differ from the expected shape; those before it match. `read` is a field that
    /// was read already: its name, where it starts, and its type.
    #[cold]
    fn read_other_fields(&mut self, index: usize, read: Option<(&'a str, usize, FieldKind)>) -> Result<()> {
        let mut names = self.keep_fields(index);
        let mut read = read;
        loop {
            let (name, start, kind) = if let Some(read) = read.take() {
                read
            } else {
                let start = self.at;
                (self.read_name()?, start, self.read_value()?)
            };
            let plain = unescape(&name[..name.len() - 1]);
            if let Err(plain) = self.fields.push(plain, kind) {
                return self.fail(start, format!("the field {plain:?} is there twice"));
            }
            names.push((Needle::new(name), kind));
            if self.peek() != Some(b',') {
                break;
            }
            self.at += 1;
        }
        self.intern_fields(names);
        Ok(())
    }

    /// Records the shape of a line that ended after the first `fields` fields of the expected shape.
    #[cold]
    fn end_other_fields(&mut self, fields: usize) {
        let names = self.keep_fields(fields);
        self.intern_fields(names);
    }

    /// Begins the fields of this line with the first `count` of the expected shape.
    fn keep_fields(&mut self, count: usize) -> Vec<Written<'a>> {
        self.fields.clear();
        let Some(shape) = self.known[self.series].shape.filter(|_| count > 0) else { return Vec::new() };
        self.fields.extend(&self.points.shapes[shape].fields[..count]);
        self.names[shape][..count].to_vec()
    }

    /// Finds or adds the shape of this line's fields, and makes it the shape of the line and of its series.
    fn intern_fields(&mut self, names: Vec<Written<'a>>) {
        self.place_shape();
        self.shape = self.points.intern_shape(self.series, &mut self.fields, &mut self.shapes);
        if self.shape == self.names.len() {
            self.names.push(names);
        }
        self.known[self.series].shape = Some(self.shape);
    }

    /// Reads the name of a field and its equals sign.
    fn read_name(&mut self) -> Result<&'a str> {
        let start = self.at;
        let mut before = 0;
        let length = self.bytes[start..].iter().position(|byte| {
            let ends = before != b'\\' && matches!(byte, b'=' | b' ' | b',' | b'\n');
            before = *byte;
            ends
        });
        let end = length.map_or(self.bytes.len(), |length| start + length);
        if end == start {
            return self.fail(end, "a field is missing");
        }
        if self.bytes.get(end) != Some(&b'=') {
            return self.fail(end, "a field must be name=value; write a backslash before a space or comma of a name");
        }
        self.at = end + 1;
        Ok(&self.text[start..=end])
    }
}
