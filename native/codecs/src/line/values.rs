//! Reads the values and times of lines.

use super::names::unescape_as;
use super::parser::Parser;
use super::scan::Scanned;
use crate::points::FieldKind;
use crate::{Points, Precision, ReadOptions, Result};

impl Parser<'_> {
    /// Reads a value, and appends its bits to the points.
    #[inline]
    pub(super) fn read_value(&mut self) -> Result<FieldKind> {
        let start = self.at;
        let (kind, bits) = match self.peek() {
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => self.read_number()?,
            Some(b'"') => (FieldKind::String, self.read_text()?),
            Some(b't' | b'T' | b'f' | b'F') => (FieldKind::Boolean, self.read_boolean()?),
            _ => return self.fail(start, "a value is missing: a number, true or false, or text in quotes"),
        };
        if !matches!(self.peek(), None | Some(b',' | b' ' | b'\n')) && self.line_end().is_none() {
            return self.fail_behind("a comma, a space or the end of the line must follow a value");
        }
        self.points.values.push(bits);
        Ok(kind)
    }

    #[inline]
    fn read_number(&mut self) -> Result<(FieldKind, u64)> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let Some(number) = Scanned::of(rest) else {
            return self.fail(start, "this is no number");
        };
        let end = start + number.length;
        let suffix = self.bytes.get(end);
        if let Some(b'i' | b'u') = suffix {
            self.at = end + 1;
            let (kind, value) = if suffix == Some(&b'i') {
                (FieldKind::Integer, number.to_integer(rest).map(i64::cast_unsigned))
            } else {
                (FieldKind::UInteger, number.to_unsigned(rest))
            };
            let Some(value) = value else {
                return self.fail(start, format!("{} is no {} of 64 bits", &self.text[start..end], kind.name()));
            };
            return Ok((kind, value));
        }
        self.at = end;
        let value = number.to_float(rest);
        if value.is_infinite() {
            return self.fail(start, format!("{} is too large for a float", &self.text[start..end]));
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

    /// Reads text in quotes. The text may span several lines.
    fn read_text(&mut self) -> Result<u64> {
        let start = self.at + 1;
        let Some((length, has_escapes)) = text_end(&self.bytes[start..]) else {
            return self.fail(self.at, "the quote that ends this text is missing");
        };
        self.at = start + length + 1;
        Ok(keep_text(&mut self.points, &self.text[start..start + length], has_escapes))
    }

    /// Reads the timestamp and the end of the line.
    #[inline]
    pub(super) fn read_time(&mut self, options: &ReadOptions, unit: i64) -> Result<i64> {
        self.skip_spaces();
        let start = self.at;
        let time = if self.line_end().is_some() {
            options.now
        } else {
            let rest = &self.bytes[start..];
            let number = Scanned::of(rest);
            let Some((number, time)) = number.and_then(|number| Some((number, number.to_integer(rest)?))) else {
                return self.fail_behind("this is no timestamp: an integer of 64 bits");
            };
            self.at += number.length;
            match time.checked_mul(unit) {
                Some(time) => time,
                None => return self.fail(start, out_of_range(time, options.precision)),
            }
        };
        self.skip_spaces();
        let Some(length) = self.line_end() else { return self.fail_behind("the line must end after the timestamp") };
        self.at += length;
        Ok(time)
    }
}

/// The length of text behind its opening quote, and whether it has escapes, or `None` without a closing quote.
pub(super) fn text_end(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut end = 0;
    let mut has_escapes = false;
    loop {
        end += memchr::memchr2(b'"', b'\\', &bytes[end..])?;
        if bytes[end] == b'"' {
            return Some((end, has_escapes));
        }
        let is_escape = matches!(bytes.get(end + 1), Some(b'"' | b'\\'));
        has_escapes |= is_escape;
        end += 1 + usize::from(is_escape);
    }
}

/// Stores text without its escapes, and returns the bits of its place.
pub(super) fn keep_text(points: &mut Points<'_>, text: &str, has_escapes: bool) -> u64 {
    if has_escapes { points.keep_text(&unescape_as(text, &['"', '\\'])) } else { points.keep_text(text) }
}

#[cold]
fn out_of_range(time: i64, precision: Precision) -> String {
    format!("{time} {} is no 64-bit number of nanoseconds; is the precision right?", precision.name())
}
