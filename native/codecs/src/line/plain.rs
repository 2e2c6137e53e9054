//! A fast path for lines written like those before: most lines of a body, and in some bodies all.

use super::parser::Parser;
use super::scan::{plain_digits, plain_float};
use super::values::{keep_text, text_end};
use crate::points::FieldKind;

impl Parser<'_> {
    /// Reads a line with an expected series, the fields of that series' last line, and no extra blanks. Returns false for any
    /// other line and consumes nothing of it: the slow path then reads it and reports its problems.
    ///
    /// The position is kept in a local variable, since each step waits for the position of the previous step.
    #[inline]
    pub(super) fn read_plain_line(&mut self, unit: i64) -> bool {
        let rest = &self.bytes[self.at..];
        let Some(before) = self.known.get(self.series) else { return false };
        let series = if self.known[before.next].key.begins(rest) {
            before.next
        } else if before.key.begins(rest) {
            self.series
        } else {
            return false;
        };
        let known = &self.known[series];
        let Some(shape) = known.shape else { return false };
        let (values, text) = (self.points.values.len(), self.points.text.len());
        let Some((end, time)) = self.read_plain_fields(self.at + known.key.len(), shape, unit) else {
            self.points.values.truncate(values);
            self.points.text.truncate(text);
            return false;
        };
        self.at = end;
        if series != self.series {
            self.known[self.series].next = series;
            self.turn_to(series);
        }
        if shape != self.shape {
            self.place_shape();
            self.shape = shape;
        }
        self.points.times.push(time);
        true
    }

    /// Reads the fields of this shape and a time. Returns the place where the next line begins, and the time.
    #[inline]
    fn read_plain_fields(&mut self, start: usize, shape: usize, unit: i64) -> Option<(usize, i64)> {
        let bytes = self.bytes;
        let mut at = start;
        for (index, (name, kind)) in self.names[shape].iter().enumerate() {
            if index > 0 {
                if bytes.get(at) != Some(&b',') {
                    return None;
                }
                at += 1;
            }
            let rest = &bytes[at..];
            if !name.begins(rest) {
                return None;
            }
            let rest = &rest[name.len()..];
            let (bits, length) = match kind {
                FieldKind::Float => {
                    let (value, length) = plain_float(rest)?;
                    (value.to_bits(), length)
                }
                FieldKind::Integer => {
                    let negative = rest.first() == Some(&b'-');
                    let (magnitude, length) = plain_digits(&rest[usize::from(negative)..])?;
                    let magnitude = i64::try_from(magnitude).ok()?;
                    let length = length + usize::from(negative);
                    if rest.get(length) != Some(&b'i') {
                        return None;
                    }
                    ((if negative { -magnitude } else { magnitude }).cast_unsigned(), length + 1)
                }
                FieldKind::UInteger => {
                    let (value, length) = plain_digits(rest)?;
                    if rest.get(length) != Some(&b'u') {
                        return None;
                    }
                    (value, length + 1)
                }
                FieldKind::Boolean if rest.starts_with(b"true") => (1, 4),
                FieldKind::Boolean if rest.starts_with(b"false") => (0, 5),
                FieldKind::Boolean => return None,
                FieldKind::String => {
                    let inside = rest.strip_prefix(b"\"")?;
                    let (length, has_escapes) = text_end(inside)?;
                    let first = at + name.len() + 1;
                    (keep_text(&mut self.points, &self.text[first..first + length], has_escapes), length + 2)
                }
            };
            at += name.len() + length;
            self.points.values.push(bits);
        }
        if bytes.get(at) != Some(&b' ') {
            return None;
        }
        at += 1;
        let (time, length) = plain_digits(&bytes[at..])?;
        at += length;
        let end = match bytes.get(at) {
            Some(b'\n') => at + 1,
            Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => at + 2,
            _ => return None,
        };
        Some((end, i64::try_from(time).ok()?.checked_mul(unit)?))
    }
}
