//! Writes line protocol.

use super::number::{MOST_FLOAT, MOST_INTEGER, push_float, push_integer, put_float, put_integer};
use crate::points::{FieldValue, Point, check_tags};
use crate::{Error, Result};

/// Bytes of a head that are copied at a time.
const HEAD_CHUNK: usize = 32;

/// The part of a line before its value. All lines of one series and field share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHead {
    /// The head's bytes, zero-padded to whole chunks: chunks of a fixed size are copied without a call.
    chunks: Vec<[u8; HEAD_CHUNK]>,
    length: usize,
}

impl LineHead {
    /// The head of the lines of a series and field.
    pub fn new(measurement: &str, tags: &[(&str, &str)], field: &str) -> Result<Self> {
        check_tags(tags)?;
        let mut head = Vec::new();
        push_name(&mut head, measurement, "measurement", b", ")?;
        for (name, value) in tags {
            head.push(b',');
            push_name(&mut head, name, "tag", b",= ")?;
            head.push(b'=');
            push_name(&mut head, value, "tag value", b",= ")?;
        }
        head.push(b' ');
        push_name(&mut head, field, "field", b",= ")?;
        head.push(b'=');
        let length = head.len();
        head.resize(length.next_multiple_of(HEAD_CHUNK), 0);
        Ok(Self { chunks: head.as_chunks().0.to_vec(), length })
    }

    /// The room that writing this many lines needs, in bytes.
    pub fn most_bytes(&self, lines: usize) -> usize {
        lines * self.most_line_bytes() + HEAD_CHUNK
    }

    fn most_line_bytes(&self) -> usize {
        self.length + MOST_FLOAT + 1 + MOST_INTEGER + 1
    }

    /// Writes the head at the start of `line`, perhaps with zeros behind it, and returns its length.
    #[inline]
    fn put(&self, line: &mut [u8]) -> usize {
        for (place, chunk) in line.as_chunks_mut::<HEAD_CHUNK>().0.iter_mut().zip(&self.chunks) {
            *place = *chunk;
        }
        self.length
    }
}

/// Appends a line for each value.
///
/// # Errors
/// [`Error::InvalidArgument`] if the numbers of timestamps and values differ, and for a value that is not finite. Then nothing
/// is appended.
pub fn write_columns(out: &mut Vec<u8>, head: &LineHead, values: &[f64], timestamps: Option<&[i64]>) -> Result<()> {
    let start = out.len();
    out.resize(start + head.most_bytes(values.len()), 0);
    let written = put_columns(&mut out[start..], head, values, timestamps);
    out.truncate(start + written.as_ref().map_or(0, |length| *length));
    written.map(|_| ())
}

/// Writes a line for each value at the start of `out`, and returns their length. `out` has room for [`LineHead::most_bytes`].
pub fn put_columns(out: &mut [u8], head: &LineHead, values: &[f64], timestamps: Option<&[i64]>) -> Result<usize> {
    check_columns(values, timestamps, out, head.most_bytes(values.len()))?;
    let mut at = 0;
    for (index, value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::InvalidArgument(format!("values[{index}]: line protocol has no {value}")));
        }
        let line = &mut out[at..];
        let mut end = head.put(line);
        end += put_float(&mut line[end..], *value);
        if let Some(timestamps) = timestamps {
            line[end] = b' ';
            end += 1;
            end += put_integer(&mut line[end..], timestamps[index]);
        }
        line[end] = b'\n';
        at += end + 1;
    }
    Ok(at)
}

/// Checks columns that are to be written: that there are as many timestamps as values, and as many bytes of room as are needed.
pub(crate) fn check_columns(values: &[f64], timestamps: Option<&[i64]>, out: &[u8], needed: usize) -> Result<()> {
    let problem = match timestamps {
        Some(timestamps) if timestamps.len() != values.len() => {
            let (values, timestamps) = (values.len(), timestamps.len());
            format!("there are {values} values and {timestamps} timestamps; there must be as many of both")
        }
        _ if out.len() < needed => format!("{needed} bytes may be needed, and there are {}", out.len()),
        _ => return Ok(()),
    };
    Err(Error::InvalidArgument(problem))
}

/// Appends the line of a point, with its time in nanoseconds.
pub fn push_point(out: &mut Vec<u8>, point: &Point<'_, '_>) -> Result<()> {
    let series = point.series();
    push_name(out, &series.measurement(), "measurement", b", ")?;
    for (name, value) in series.tags() {
        out.push(b',');
        push_name(out, &name, "tag", b",= ")?;
        out.push(b'=');
        push_name(out, &value, "tag value", b",= ")?;
    }
    for (index, (name, value)) in point.fields().enumerate() {
        out.push(if index == 0 { b' ' } else { b',' });
        push_name(out, name, "field", b",= ")?;
        out.push(b'=');
        push_value(out, value)?;
    }
    out.push(b' ');
    push_integer(out, point.time());
    out.push(b'\n');
    Ok(())
}

fn push_value(out: &mut Vec<u8>, value: FieldValue<'_>) -> Result<()> {
    match value {
        FieldValue::Float(value) if value.is_finite() => push_float(out, value),
        FieldValue::Float(value) => return Err(Error::InvalidArgument(format!("line protocol has no {value}"))),
        FieldValue::Integer(value) => {
            push_integer(out, value);
            out.push(b'i');
        }
        FieldValue::UInteger(value) => {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            out.push(b'u');
        }
        FieldValue::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        FieldValue::String(text) => {
            out.push(b'"');
            for byte in text.bytes() {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'"');
        }
    }
    Ok(())
}

fn push_name(out: &mut Vec<u8>, name: &str, what: &str, special: &[u8]) -> Result<()> {
    let problem = if name.is_empty() {
        "must not be empty"
    } else if name.contains(['\n', '\r']) {
        "must not have a line break"
    } else if name.ends_with('\\') {
        "must not end with a backslash: it would escape the next character"
    } else if what == "measurement" && name.starts_with(['#', '\t', '\u{feff}']) {
        "must not begin with #, a tab or a byte order mark: that is a comment, skipped, or no part of a name"
    } else {
        for byte in name.bytes() {
            if special.contains(&byte) {
                out.push(b'\\');
            }
            out.push(byte);
        }
        return Ok(());
    };
    Err(Error::InvalidArgument(format!("the {what} {name:?} {problem}, in line protocol")))
}
