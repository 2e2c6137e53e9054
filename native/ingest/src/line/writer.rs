//! Writes line protocol.

use super::number::{push_float, push_integer};
use crate::points::{FieldValue, Point};
use crate::{Error, Result};

/// The part of a line before its value, the same for all lines of one series and one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHead(Vec<u8>);

impl LineHead {
    /// The head of lines of this series and field.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that line protocol can't say: an empty one, one with a line break, or one
    /// that ends with a backslash.
    pub fn new(measurement: &str, tags: &[(&str, &str)], field: &str) -> Result<Self> {
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
        Ok(Self(head))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Adds a line for each value.
///
/// # Errors
/// [`Error::InvalidArgument`] for another number of timestamps than of values, and for a value that is not finite.
pub fn write_columns(out: &mut Vec<u8>, head: &LineHead, values: &[f64], timestamps: Option<&[i64]>) -> Result<()> {
    check_lengths(values.len(), timestamps.map(<[i64]>::len))?;
    // Most numbers have fewer digits than the longest.
    out.reserve(values.len() * (head.0.len() + if timestamps.is_some() { 32 } else { 16 }));
    for (index, value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::InvalidArgument(format!("values[{index}]: line protocol has no {value}")));
        }
        out.extend_from_slice(&head.0);
        push_float(out, *value);
        if let Some(timestamps) = timestamps {
            out.push(b' ');
            push_integer(out, timestamps[index]);
        }
        out.push(b'\n');
    }
    Ok(())
}

pub(crate) fn check_lengths(values: usize, timestamps: Option<usize>) -> Result<()> {
    match timestamps {
        Some(timestamps) if timestamps != values => Err(Error::InvalidArgument(format!(
            "there are {values} values and {timestamps} timestamps; there must be as many of both"
        ))),
        _ => Ok(()),
    }
}

/// Adds the line of a point, its time in nanoseconds.
///
/// # Errors
/// As [`LineHead::new`] and [`write_columns`].
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
        "must not end with a backslash: it would be that of what follows"
    } else if what == "measurement" && name.starts_with('#') {
        "must not begin with #: that is a comment"
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
