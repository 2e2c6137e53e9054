//! Reads line protocol.
//!
//! Most lines of a body have the series and the fields of the line before, so those are compared first, as bytes, and
//! taken apart only where they differ.

use std::borrow::Cow;
use std::collections::HashMap;

use super::number::Scanned;
use crate::points::{FieldKind, Points, SeriesKey, place_of};
use crate::{Error, MOST_POINTS, Precision, Result};

/// How lines are read.
#[derive(Debug, Clone, Copy)]
pub struct LineOptions {
    /// The unit of the timestamps.
    pub precision: Precision,
    /// The time of a line that has none, in nanoseconds.
    pub now: i64,
    /// The most points.
    pub most_points: usize,
}

impl Default for LineOptions {
    fn default() -> Self {
        Self { precision: Precision::default(), now: 0, most_points: MOST_POINTS }
    }
}

/// Reads the points of a body.
///
/// # Errors
/// [`Error::Parse`] with the line and the column in bytes, [`Error::TooManyPoints`].
pub fn parse_lines<'a>(body: &'a [u8], options: &LineOptions) -> Result<Points<'a>> {
    parse_lines_into(body, options, Points::default())
}

/// As [`parse_lines`], into the memory of [`Points::recycle`].
///
/// # Errors
/// As [`parse_lines`].
pub fn parse_lines_into<'a>(body: &'a [u8], options: &LineOptions, memory: Points<'a>) -> Result<Points<'a>> {
    let text = std::str::from_utf8(body).map_err(|error| failure(body, error.valid_up_to(), "this is not UTF-8"))?;
    let parser = Parser {
        text,
        bytes: body,
        at: 0,
        points: memory,
        key: "",
        series: 0,
        names: Vec::new(),
        shape: 0,
        fields: Vec::new(),
        series_of_key: HashMap::new(),
    };
    parser.parse(options)
}

fn failure(body: &[u8], at: usize, problem: impl Into<String>) -> Error {
    let before = &body[..at.min(body.len())];
    #[expect(clippy::naive_bytecount, reason = "once, for an error")]
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Error::Parse { format: "line protocol", place: format!("line {line}, column {column}"), problem: problem.into() }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    points: Points<'a>,
    /// The key of the line before as it was written, and its place among the series.
    key: &'a str,
    series: u32,
    /// The names of the fields of the line before as they were written, each with its `=`, and its place among the shapes.
    names: Vec<&'a str>,
    shape: u32,
    /// The fields of this line, where they are not those of the line before.
    fields: Vec<(Cow<'a, str>, FieldKind)>,
    series_of_key: HashMap<&'a str, u32>,
}

impl<'a> Parser<'a> {
    fn parse(mut self, options: &LineOptions) -> Result<Points<'a>> {
        let unit = options.precision.nanoseconds();
        while self.find_line() {
            if self.points.times.len() >= options.most_points {
                return Err(Error::TooManyPoints { most: options.most_points });
            }
            self.read_key()?;
            self.read_fields()?;
            let time = self.read_time(options, unit)?;
            self.points.series_of.push(self.series);
            self.points.shape_of.push(self.shape);
            self.points.times.push(time);
        }
        Ok(self.points)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fail<T>(&self, at: usize, problem: impl Into<String>) -> Result<T> {
        Err(failure(self.bytes, at, problem))
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Goes to the next line that has a point; false at the end.
    fn find_line(&mut self) -> bool {
        loop {
            match self.peek() {
                None => return false,
                Some(b'\n' | b'\r' | b' ' | b'\t') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                Some(_) => return true,
            }
        }
    }

    /// Reads the measurement and tags.
    fn read_key(&mut self) -> Result<()> {
        let rest = &self.bytes[self.at..];
        let known = self.key.len();
        if known > 0 && rest.get(known) == Some(&b' ') && rest.starts_with(self.key.as_bytes()) {
            self.at += known;
        } else {
            self.read_other_key()?;
        }
        self.skip_spaces();
        Ok(())
    }

    fn read_other_key(&mut self) -> Result<()> {
        let start = self.at;
        let mut before = 0;
        let length = self.bytes[start..].iter().position(|byte| {
            let ends = before != b'\\' && matches!(byte, b' ' | b'\n');
            before = *byte;
            ends
        });
        let end = length.map_or(self.bytes.len(), |length| start + length);
        if self.bytes.get(end) != Some(&b' ') {
            return self.fail(end, "a space and the fields are missing after the measurement and tags");
        }
        let key = &self.text[start..end];
        if let Some(place) = self.series_of_key.get(key) {
            self.series = *place;
        } else {
            let series = self.parse_key(key, start)?;
            // Keys that differ in writing may be of one series; the store finds them equal.
            self.series = place_of(self.points.series.len());
            self.points.series.push(series);
            self.series_of_key.insert(key, self.series);
        }
        self.key = key;
        self.at = end;
        let shape = self.points.shapes.get(self.shape as usize);
        if shape.is_none_or(|shape| shape.measurement != self.points.series[self.series as usize].measurement()) {
            self.names.clear();
        }
        Ok(())
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
        Ok(SeriesKey::of(&unescape(measurement), &mut tags))
    }

    /// Reads the fields into the values of the points.
    fn read_fields(&mut self) -> Result<()> {
        let first_value = self.points.values.len();
        let mut index = 0;
        // While the fields are those of the line before, nothing is kept of them.
        let mut same = !self.names.is_empty();
        loop {
            let rest = &self.bytes[self.at..];
            let expected = if same { self.names.get(index).copied() } else { None };
            let start = self.at;
            if let Some(name) = expected.filter(|name| rest.starts_with(name.as_bytes())) {
                self.at += name.len();
                let kind = self.read_value()?;
                if kind != self.known_kind(index) {
                    self.leave_shape(index, &mut same);
                    self.add_field(name, start, kind)?;
                }
            } else {
                if same {
                    self.leave_shape(index, &mut same);
                }
                let name = self.read_name()?;
                let kind = self.read_value()?;
                self.add_field(name, start, kind)?;
            }
            index += 1;
            if self.peek() != Some(b',') {
                break;
            }
            self.at += 1;
        }
        if same && index < self.names.len() {
            self.leave_shape(index, &mut same);
        }
        if !same {
            let measurement = self.points.series[self.series as usize].measurement().into_owned();
            self.shape = self.points.intern_shape(&measurement, &mut self.fields);
        }
        debug_assert_eq!(self.points.values.len() - first_value, index, "each field has a value");
        Ok(())
    }

    fn known_kind(&self, index: usize) -> FieldKind {
        self.points.shapes[self.shape as usize].fields[index].1
    }

    /// Keeps the first fields of the shape of the line before, since what follows differs.
    fn leave_shape(&mut self, fields: usize, same: &mut bool) {
        *same = false;
        self.fields.clear();
        let shape = self.points.shapes.get(self.shape as usize);
        self.fields.extend(shape.into_iter().flat_map(|shape| &shape.fields[..fields]).cloned());
        self.names.truncate(fields);
    }

    fn add_field(&mut self, name: &'a str, start: usize, kind: FieldKind) -> Result<()> {
        let plain = unescape(&name[..name.len() - 1]);
        if self.fields.iter().any(|(other, _)| *other == plain) {
            return self.fail(start, format!("the field {plain:?} is there twice"));
        }
        self.names.push(name);
        self.fields.push((plain, kind));
        Ok(())
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

    fn read_value(&mut self) -> Result<FieldKind> {
        let start = self.at;
        let (kind, bits) = match self.peek() {
            Some(b'"') => (FieldKind::String, self.read_text()?),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => self.read_number()?,
            Some(b't' | b'T' | b'f' | b'F') => (FieldKind::Boolean, self.read_boolean()?),
            _ => return self.fail(start, "a value is missing: a number, true or false, or text in quotes"),
        };
        if !matches!(self.peek(), None | Some(b',' | b' ' | b'\n' | b'\r')) {
            return self.fail(self.at, "a comma, a space or the end of the line must follow a value");
        }
        self.points.values.push(bits);
        Ok(kind)
    }

    fn read_number(&mut self) -> Result<(FieldKind, u64)> {
        let start = self.at;
        let Some(number) = Scanned::of(&self.bytes[start..]) else {
            return self.fail(start, "this is no number");
        };
        let end = start + number.length;
        let text = &self.text[start..end];
        let suffix = self.bytes.get(end);
        if let Some(b'i' | b'u') = suffix {
            self.at = end + 1;
            let (kind, value) = if suffix == Some(&b'i') {
                (FieldKind::Integer, number.to_integer(text).map(i64::cast_unsigned))
            } else {
                (FieldKind::UInteger, number.to_unsigned(text))
            };
            let Some(value) = value else {
                return self.fail(start, format!("{text} is no {} of 64 bits", kind.name()));
            };
            return Ok((kind, value));
        }
        self.at = end;
        let value = number.to_float(text);
        if value.is_infinite() {
            return self.fail(start, format!("{text} is too large for a float"));
        }
        Ok((FieldKind::Float, value.to_bits()))
    }

    fn read_boolean(&mut self) -> Result<u64> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let value = match &rest[..length] {
            b"t" | b"T" | b"true" | b"True" | b"TRUE" => 1,
            b"f" | b"F" | b"false" | b"False" | b"FALSE" => 0,
            _ => return self.fail(self.at, "this is neither true nor false; text must be in quotes"),
        };
        self.at += length;
        Ok(value)
    }

    /// Reads text in quotes; it may go over several lines.
    fn read_text(&mut self) -> Result<u64> {
        let start = self.at + 1;
        let mut end = start;
        let mut has_escapes = false;
        loop {
            match self.bytes.get(end) {
                None => return self.fail(self.at, "the quote that ends this text is missing"),
                Some(b'"') => break,
                Some(b'\\') if matches!(self.bytes.get(end + 1), Some(b'"' | b'\\')) => {
                    has_escapes = true;
                    end += 2;
                }
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        let text = &self.text[start..end];
        Ok(if has_escapes {
            let mut plain = String::with_capacity(text.len());
            let mut characters = text.chars().peekable();
            while let Some(character) = characters.next() {
                let escaped = characters.next_if(|next| character == '\\' && matches!(next, '"' | '\\'));
                plain.push(escaped.unwrap_or(character));
            }
            self.points.keep_text(&plain)
        } else {
            self.points.keep_text(text)
        })
    }

    /// Reads the timestamp and the end of the line.
    fn read_time(&mut self, options: &LineOptions, unit: i64) -> Result<i64> {
        self.skip_spaces();
        let start = self.at;
        let time = if matches!(self.peek(), None | Some(b'\n' | b'\r')) {
            options.now
        } else {
            let number = Scanned::of(&self.bytes[start..]);
            let number = number.map(|number| (number, &self.text[start..start + number.length]));
            let Some(time) = number.and_then(|(number, text)| number.to_integer(text)) else {
                return self.fail(start, "this is no timestamp: an integer of 64 bits");
            };
            self.at += number.map_or(0, |(number, _)| number.length);
            let Some(time) = time.checked_mul(unit) else {
                return self.fail(
                    start,
                    format!(
                        "{time} {} is no 64-bit number of nanoseconds; is the precision right?",
                        options.precision.name()
                    ),
                );
            };
            time
        };
        self.skip_spaces();
        if self.peek() == Some(b'\r') {
            self.at += 1;
        }
        match self.peek() {
            None => {}
            Some(b'\n') => self.at += 1,
            Some(_) => return self.fail(self.at, "the line must end after the timestamp"),
        }
        Ok(time)
    }
}

/// Takes what is before the separator off the front, and the separator.
fn split_unescaped<'a>(rest: &mut &'a str, separator: u8) -> &'a str {
    let text = *rest;
    let mut before = 0;
    let end = text.bytes().position(|byte| {
        let ends = before != b'\\' && byte == separator;
        before = byte;
        ends
    });
    let end = end.unwrap_or(text.len());
    *rest = text.get(end + 1..).unwrap_or_default();
    &text[..end]
}

/// Takes the backslashes off that are before a comma, a space or an equals sign.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = characters.next_if(|next| character == '\\' && matches!(next, ',' | ' ' | '='));
        plain.push(escaped.unwrap_or(character));
    }
    Cow::Owned(plain)
}
