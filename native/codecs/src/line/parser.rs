//! Reads line protocol.
//!
//! Most lines of a body repeat a series and its fields, so a line is first compared with the expected bytes, and parsed only if
//! it differs. The expected series is the series that followed the same series before, or the same series again. Within a
//! series, the fields of its last line are expected.
//!
//! A line ends with a line feed, with a carriage return and a line feed, or with the body. Besides these, only text in quotes may hold
//! a carriage return.

use std::borrow::Cow;
use std::collections::HashMap;

use super::names::unescape;
use super::needle::Needle;
use crate::points::{FieldKind, FieldList, Points, ShapeIndex, place_of};
use crate::{Error, ReadOptions, Result};

/// Reads the points of a body.
pub fn parse_lines<'a>(body: &'a [u8], options: &ReadOptions) -> Result<Points<'a>> {
    parse_lines_into(body, options, Points::default())
}

/// Reads the points of a body as [`parse_lines`] does, and reuses the memory of other points.
pub fn parse_lines_into<'a>(body: &'a [u8], options: &ReadOptions, memory: Points<'a>) -> Result<Points<'a>> {
    let text = std::str::from_utf8(body).map_err(|error| not_utf8(body, error.valid_up_to()))?;
    let parser = Parser {
        text,
        bytes: body,
        at: 0,
        points: memory.recycle(),
        series: 0,
        known: Vec::new(),
        key_indexes: HashMap::new(),
        canonical: HashMap::new(),
        shape: 0,
        names: Vec::new(),
        shapes: ShapeIndex::default(),
        fields: FieldList::default(),
    };
    parser.parse(options)
}

#[cold]
fn not_utf8(body: &[u8], at: usize) -> Error {
    let is_utf16 = body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff");
    let problem = if is_utf16 {
        "the body begins with the byte order mark of UTF-16; line protocol is UTF-8"
    } else {
        "this is not UTF-8"
    };
    failure(body, at, problem)
}

#[cold]
fn failure(body: &[u8], at: usize, problem: impl Into<String>) -> Error {
    let before = &body[..at.min(body.len())];
    #[expect(clippy::naive_bytecount, reason = "once, for an error")]
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Error::Parse { format: "line protocol", place: format!("line {line}, column {column}"), problem: problem.into() }
}

/// The problem of a carriage return without a line feed behind it.
pub(super) const LONE_RETURN: &str =
    "a carriage return may stand only before the line feed that ends a line, or in a text in quotes";

/// The state of a key. Keys that are written differently may name one series: tags have any order.
pub(super) struct Known<'a> {
    /// The key as it was written, with the space behind it.
    pub(super) key: Needle<'a>,
    /// The index of the key's series among the series of the points.
    pub(super) series: u32,
    /// The index of the key that followed this one.
    pub(super) next: usize,
    /// The index of the shape of the key's last line.
    pub(super) shape: Option<usize>,
}

/// A field of a shape: its name as it was written, with the `=` behind it, and its type.
pub(super) type Written<'a> = (Needle<'a>, FieldKind);

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) points: Points<'a>,
    /// The index of this line's key.
    pub(super) series: usize,
    /// The state of each key.
    pub(super) known: Vec<Known<'a>>,
    /// The index of a key, by how it was written.
    pub(super) key_indexes: HashMap<&'a str, usize>,
    /// The index of a series among the series of the points, by its key in canonical form. Empty as long as all keys are written in
    /// canonical form.
    pub(super) canonical: HashMap<Cow<'a, str>, u32>,
    /// The index of this line's shape.
    pub(super) shape: usize,
    /// The fields of each shape.
    pub(super) names: Vec<Vec<Written<'a>>>,
    shapes: ShapeIndex,
    /// The fields of this line, if they differ from the expected fields.
    fields: FieldList<'a>,
}

impl<'a> Parser<'a> {
    fn parse(mut self, options: &ReadOptions) -> Result<Points<'a>> {
        let unit = options.precision.nanoseconds();
        loop {
            while self.points.times.len() < options.most_points && self.read_plain_line(unit) {}
            if !self.find_line()? {
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

    /// The length of the end of a line at this place: 0 at the end of the body, `None` if the line goes on.
    #[inline]
    pub(super) fn line_end(&self) -> Option<usize> {
        match self.bytes[self.at..] {
            [] => Some(0),
            [b'\n', ..] | [b'\r'] => Some(1),
            [b'\r', b'\n', ..] => Some(2),
            _ => None,
        }
    }

    /// Fails at this place, because a line neither ends nor continues here as it must.
    #[cold]
    pub(super) fn fail_behind<T>(&self, problem: &str) -> Result<T> {
        let is_lone = self.peek() == Some(b'\r') && self.line_end().is_none();
        self.fail(self.at, if is_lone { LONE_RETURN } else { problem })
    }

    /// Goes to the next line that has a point. Returns false at the end of the body.
    #[inline]
    fn find_line(&mut self) -> Result<bool> {
        loop {
            match self.peek() {
                None => return Ok(false),
                Some(b'\n' | b' ' | b'\t') => self.at += 1,
                Some(b'\r' | b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    // In a file whose lines end with carriage returns alone, a comment would hide all lines behind it.
                    let Some(length) = self.line_end() else { return self.fail(self.at, LONE_RETURN) };
                    self.at += length;
                }
                Some(_) => return Ok(true),
            }
        }
    }

    /// Records the current series for the points read since the last change of series.
    #[inline]
    fn place_series(&mut self) {
        let series = self.known.get(self.series).map_or(0, |known| known.series);
        self.points.series_of.resize(self.points.times.len(), series);
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
            let series = self.find_key()?;
            if let Some(before) = self.known.get_mut(self.series) {
                before.next = series;
            }
            self.turn_to(series);
        }
        self.at += self.known[self.series].key.len();
        self.skip_spaces();
        Ok(())
    }

    /// Makes the key of this index the key of this line.
    pub(super) fn turn_to(&mut self, series: usize) {
        self.place_series();
        self.series = series;
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

    /// Reads the fields from `index` on. They differ from the expected shape. The fields before them match. `read` is a field
    /// that was read already: its name, where it starts, and its type.
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
        let series = self.known[self.series].series as usize;
        self.shape = self.points.intern_shape(series, &mut self.fields, &mut self.shapes);
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
            let ends = before != b'\\' && matches!(byte, b'=' | b' ' | b',' | b'\n') || *byte == b'\r';
            before = *byte;
            ends
        });
        let end = length.map_or(self.bytes.len(), |length| start + length);
        self.at = end;
        if end == start {
            return self.fail_behind("a field is missing");
        }
        if self.peek() != Some(b'=') {
            return self.fail_behind("a field must be name=value; write a backslash before a space or comma of a name");
        }
        self.at = end + 1;
        Ok(&self.text[start..=end])
    }
}
