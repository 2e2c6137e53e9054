//! Values of the embedded engine as JSON and as text.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::date::of_days;
use crate::tables::escaped;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON in UTF-8.
    Json,
    /// JSON that is ASCII only.
    JsonAscii,
    /// Text without quotes, with tabs and line ends escaped.
    Text,
}

/// Appends the value of one column in one row.
pub(super) fn write(batch: &RecordBatch, column: usize, row: usize, form: Form, out: &mut Vec<u8>) {
    let array = batch.column(column);
    if array.is_null(row) {
        out.extend_from_slice(if form == Form::Text { b"NULL" } else { b"null" });
        return;
    }
    // Writing to memory does not fail.
    let _ = match array.data_type() {
        DataType::Boolean => write!(out, "{}", array.as_boolean().value(row)),
        DataType::Int16 => write!(out, "{}", array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => write!(out, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => {
            write_float(array.as_primitive::<Float32Type>().value(row).into(), form, out);
            Ok(())
        }
        DataType::Float64 => {
            write_float(array.as_primitive::<Float64Type>().value(row), form, out);
            Ok(())
        }
        DataType::Decimal128(_, scale) => {
            write_decimal(array.as_primitive::<Decimal128Type>().value(row), scale.unsigned_abs(), out);
            Ok(())
        }
        DataType::Date32 => {
            let (year, month, day) = of_days(array.as_primitive::<Date32Type>().value(row));
            quoted(form, out, |out| write!(out, "{year:04}-{month:02}-{day:02}"))
        }
        DataType::Timestamp(..) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            let (days, rest) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
            let (year, month, day) = of_days(i32::try_from(days).unwrap_or_default());
            let seconds = rest / 1_000_000;
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            quoted(form, out, |out| {
                write!(
                    out,
                    "{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}.{:06}",
                    rest % 1_000_000
                )
            })
        }
        DataType::Utf8 => {
            write_text(array.as_string::<i32>().value(row), form, out);
            Ok(())
        }
        DataType::Binary => {
            write_text(&STANDARD.encode(array.as_binary::<i32>().value(row)), form, out);
            Ok(())
        }
        // The embedded engine returns no other type.
        other => write!(out, "\"{other}\""),
    };
}

const DAY_MICROS: i64 = 86_400_000_000;

/// Appends a text in the form.
pub(super) fn write_text(text: &str, form: Form, out: &mut Vec<u8>) {
    match form {
        Form::Json => escaped(text, out),
        Form::JsonAscii => {
            let start = out.len();
            escaped(text, out);
            if !out[start..].is_ascii() {
                let json = String::from_utf8_lossy(&out.split_off(start)).into_owned();
                for unit in json.encode_utf16() {
                    let _ = match u8::try_from(unit) {
                        Ok(byte) if byte.is_ascii() => out.write_all(&[byte]),
                        _ => write!(out, "\\u{unit:04x}"),
                    };
                }
            }
        }
        Form::Text => text.bytes().for_each(|byte| match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(byte),
        }),
    }
}

fn quoted(
    form: Form,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let quote: &[u8] = if form == Form::Text { b"" } else { b"\"" };
    out.extend_from_slice(quote);
    write(out)?;
    out.extend_from_slice(quote);
    Ok(())
}

/// Appends a float; infinities and NaN are `null`, since JSON has none.
fn write_float(value: f64, form: Form, out: &mut Vec<u8>) {
    if value.is_finite() || form == Form::Text {
        let _ = write!(out, "{value:?}");
    } else {
        out.extend_from_slice(b"null");
    }
}

fn write_decimal(value: i128, scale: u8, out: &mut Vec<u8>) {
    // Most decimals fit 64 bits, whose division is ten times as fast.
    match (i64::try_from(value), 10_u64.checked_pow(scale.into())) {
        (Ok(value), Some(unit)) if scale > 0 => {
            let sign = if value < 0 { "-" } else { "" };
            let (whole, part) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
            let _ = write!(out, "{sign}{whole}.{part:0width$}", width = usize::from(scale));
        }
        _ => out.extend_from_slice(boundary_bench_core::decimal::format(value, scale).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_have_their_form() {
        let write = |form| {
            let mut out = Vec::new();
            write_text("ä\t\"𝄞\n", form, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(Form::Json), r#""ä\t\"𝄞\n""#);
        assert_eq!(write(Form::JsonAscii), r#""\u00e4\t\"\ud834\udd1e\n""#);
        assert_eq!(write(Form::Text), "ä\\t\"𝄞\\n");
    }

    proptest! {
        #[test]
        fn decimals_are_as_the_core_writes_them(value: i64, scale in 0_u8..20) {
            let mut out = Vec::new();
            write_decimal(value.into(), scale, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), boundary_bench_core::decimal::format(value.into(), scale));
        }
    }
}
