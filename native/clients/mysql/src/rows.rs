//! Rows of results decoded into Arrow columns, from the binary form of prepared statements and from text.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use boundary_bench_engine::decimal;
use boundary_bench_engine::table::{Column, MAX_DECIMAL_PRECISION, SqlType, arrow_schema_of, unique_names};
use boundary_bench_kernel::{Error, Result};

use crate::calendar::{self, Clock, Date};
use crate::codec::{BINARY_CHARSET, Bytes, Field, garbled, type_id};
use crate::engine_error;

/// The digits of the largest unsigned 64-bit integer.
const UNSIGNED_DIGITS: u8 = 20;

/// The most bytes of rows in a batch: the offsets of texts have 31 bits, and a time is longer as text than on the wire.
const MOST_BYTES: usize = 1 << 30;

/// The encoding of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The binary form, of a prepared statement.
    Binary,
    /// The text form, of a statement sent as text.
    Text,
}

/// The columns of a result as engine types. Made once for all results of a statement.
#[derive(Debug)]
pub struct RowShape {
    fields: Arc<[Field]>,
    form: Form,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl RowShape {
    /// The shape of a result with these columns.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a type that is not known.
    pub fn new(fields: &Arc<[Field]>, form: Form) -> Result<Arc<Self>> {
        let names = unique_names(fields.iter().map(|field| field.name.as_str()));
        let columns = names.into_iter().zip(fields.iter()).map(|(name, field)| {
            let (sql_type, _) = decoder_of(field, 0).ok_or_else(|| {
                Error::Unsupported(format!(
                    "column \"{name}\" has a type (number {} of the wire) with no counterpart here; CAST it to CHAR in \
                     the query",
                    field.type_id
                ))
            })?;
            Ok(Column { name, sql_type, nullable: true })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Self { fields: Arc::clone(fields), form, schema: arrow_schema_of(&columns), columns }))
    }

    /// Whether results with these columns are decoded alike. The length of the longest text may differ.
    pub(crate) fn fits(&self, fields: &Arc<[Field]>, form: Form) -> bool {
        let same = |known: &Field, field: &Field| {
            let is_text = known.charset != BINARY_CHARSET;
            let Field { name, type_id, charset, length, flags, decimals } = field;
            known.name == *name
                && (known.type_id, known.charset, known.flags, known.decimals)
                    == (*type_id, *charset, *flags, *decimals)
                && (is_text || known.length == *length)
        };
        self.form == form
            && (Arc::ptr_eq(&self.fields, fields)
                || (self.fields.len() == fields.len()
                    && self.fields.iter().zip(fields.iter()).all(|(known, field)| same(known, field))))
    }

    /// The columns of the result.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

/// The rows that are gathered for a batch.
pub struct RowBuilder {
    shape: Arc<RowShape>,
    decoders: Vec<Decoder>,
    rows: usize,
    bytes: usize,
    /// The number of rows in earlier batches.
    earlier: u64,
}

/// The decoder of a column, by its type in the protocol and its Arrow type.
enum Decoder {
    Bool(BooleanBuilder),
    Int8(Int16Builder),
    UInt8(Int16Builder),
    Int16(Int16Builder),
    UInt16(Int32Builder),
    Int32(Int32Builder),
    UInt32(Int64Builder),
    Int64(Int64Builder),
    UInt64(Decimal128Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder, u8, u8),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    DateTime(TimestampMicrosecondBuilder),
    /// Times as text, since times of the server range to 838 hours and below zero; with this many digits behind the
    /// point.
    Time(StringBuilder, u8),
    BitBool(BooleanBuilder),
    Bit(Int64Builder),
    Bit64(Decimal128Builder),
}

/// Evaluates the same call on the builder of any decoder.
macro_rules! on_builder {
    ($decoder:expr, $builder:ident => $call:expr) => {
        match $decoder {
            Decoder::Bool($builder) | Decoder::BitBool($builder) => $call,
            Decoder::Int8($builder) | Decoder::UInt8($builder) | Decoder::Int16($builder) => $call,
            Decoder::UInt16($builder) | Decoder::Int32($builder) => $call,
            Decoder::UInt32($builder) | Decoder::Int64($builder) | Decoder::Bit($builder) => $call,
            Decoder::UInt64($builder) | Decoder::Bit64($builder) | Decoder::Decimal($builder, ..) => $call,
            Decoder::Float($builder) => $call,
            Decoder::Double($builder) => $call,
            Decoder::Text($builder) | Decoder::Time($builder, _) => $call,
            Decoder::Bytes($builder) => $call,
            Decoder::Date($builder) => $call,
            Decoder::DateTime($builder) => $call,
        }
    };
}

/// The reason for which a value could not be decoded.
enum Problem {
    /// The bytes are no value of the column's type in the protocol.
    Garbled,
    /// The value has no counterpart in the column's engine type.
    Value(&'static str),
}

type Taken<T> = std::result::Result<T, Problem>;

impl RowBuilder {
    /// A builder for rows of this shape, with room for `capacity` rows.
    #[must_use]
    pub fn new(shape: &Arc<RowShape>, capacity: usize) -> Self {
        // A shape has only columns with decoders.
        let decoders = shape.fields.iter().filter_map(|field| decoder_of(field, capacity)).map(|(_, decoder)| decoder);
        Self { decoders: decoders.collect(), shape: Arc::clone(shape), rows: 0, bytes: 0, earlier: 0 }
    }

    /// The shape of the rows.
    #[must_use]
    pub fn shape(&self) -> &Arc<RowShape> {
        &self.shape
    }

    /// The columns of the result.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.shape.columns
    }

    /// The Arrow schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.shape.schema
    }

    /// The number of rows gathered.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of these rows on the wire.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row. A row that can't be decoded leaves an unusable one in its place.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a value without a counterpart, [`Error::Engine`] for bytes that are no row,
    /// [`Error::Unsupported`] where the rows would take more bytes than a batch can hold.
    pub fn push(&mut self, row: &[u8]) -> Result<()> {
        if self.bytes + row.len() > MOST_BYTES {
            return Err(Error::Unsupported("rows of more than 1 GiB at once; ask for fewer at a time".to_owned()));
        }
        let pushed = match self.shape.form {
            Form::Binary => self.push_binary(row),
            Form::Text => self.push_text(row),
        };
        if let Err((index, problem)) = pushed {
            let error = self.refused(index, &problem);
            // All columns must keep the same length.
            for decoder in &mut self.decoders[index..] {
                on_builder!(decoder, builder => builder.append_null());
            }
            self.rows += 1;
            return Err(error);
        }
        self.rows += 1;
        self.bytes += row.len();
        Ok(())
    }

    fn push_binary(&mut self, row: &[u8]) -> std::result::Result<(), (usize, Problem)> {
        let bitmap = (self.decoders.len() + 9) / 8;
        let (Some(0), Some((nulls, values))) = (row.first(), row.get(1..).and_then(|row| row.split_at_checked(bitmap)))
        else {
            return Err((0, Problem::Garbled));
        };
        let mut bytes = Bytes(values);
        for (index, decoder) in self.decoders.iter_mut().enumerate() {
            let bit = index + 2;
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                on_builder!(decoder, builder => builder.append_null());
            } else {
                decoder.push_binary(&mut bytes).map_err(|problem| (index, problem))?;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, row: &[u8]) -> std::result::Result<(), (usize, Problem)> {
        let mut bytes = Bytes(row);
        for (index, decoder) in self.decoders.iter_mut().enumerate() {
            match bytes.nullable_text() {
                Some(None) => on_builder!(decoder, builder => builder.append_null()),
                Some(Some(text)) => decoder.push_text(text).map_err(|problem| (index, problem))?,
                None => return Err((index, Problem::Garbled)),
            }
        }
        Ok(())
    }

    fn refused(&self, index: usize, problem: &Problem) -> Error {
        match (problem, self.shape.columns.get(index)) {
            (Problem::Value(problem), Some(column)) => Error::InvalidValue {
                row: self.earlier + self.rows as u64,
                column: column.name.clone(),
                problem: (*problem).to_owned(),
            },
            _ => garbled("row"),
        }
    }

    /// Returns the rows gathered as a batch, and starts a new one.
    ///
    /// # Errors
    /// [`Error::Engine`] where Arrow refuses the columns.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.earlier += self.rows as u64;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let arrays: Vec<_> = self
            .decoders
            .iter_mut()
            .map(|decoder| on_builder!(decoder, builder => Arc::new(builder.finish()) as ArrayRef))
            .collect();
        RecordBatch::try_new_with_options(Arc::clone(&self.shape.schema), arrays, &options).map_err(engine_error)
    }
}

/// The engine type of a column, and its decoder.
fn decoder_of(field: &Field, capacity: usize) -> Option<(SqlType, Decoder)> {
    let unsigned = field.is_unsigned();
    let wide = SqlType::Decimal { precision: UNSIGNED_DIGITS, scale: 0 };
    let decimals = |sql_type: SqlType| Decimal128Builder::with_capacity(capacity).with_data_type(sql_type.to_arrow());
    let texts = || (SqlType::Text, Decoder::Text(StringBuilder::with_capacity(capacity, 16 * capacity)));
    Some(match field.type_id {
        type_id::TINY if field.length == 1 && !unsigned => {
            (SqlType::Bool, Decoder::Bool(BooleanBuilder::with_capacity(capacity)))
        }
        type_id::TINY if unsigned => (SqlType::SmallInt, Decoder::UInt8(Int16Builder::with_capacity(capacity))),
        type_id::TINY => (SqlType::SmallInt, Decoder::Int8(Int16Builder::with_capacity(capacity))),
        type_id::SHORT if unsigned => (SqlType::Int, Decoder::UInt16(Int32Builder::with_capacity(capacity))),
        type_id::SHORT | type_id::YEAR => (SqlType::SmallInt, Decoder::Int16(Int16Builder::with_capacity(capacity))),
        type_id::LONG if unsigned => (SqlType::BigInt, Decoder::UInt32(Int64Builder::with_capacity(capacity))),
        type_id::INT24 | type_id::LONG => (SqlType::Int, Decoder::Int32(Int32Builder::with_capacity(capacity))),
        type_id::LONGLONG if unsigned => (wide, Decoder::UInt64(decimals(wide))),
        type_id::LONGLONG => (SqlType::BigInt, Decoder::Int64(Int64Builder::with_capacity(capacity))),
        type_id::FLOAT => (SqlType::Real, Decoder::Float(Float32Builder::with_capacity(capacity))),
        type_id::DOUBLE => (SqlType::Double, Decoder::Double(Float64Builder::with_capacity(capacity))),
        type_id::DECIMAL | type_id::NEWDECIMAL => {
            let scale = field.decimals.min(MAX_DECIMAL_PRECISION);
            // The length is that of the text, with its sign and point.
            let signs = u32::from(!unsigned) + u32::from(scale > 0);
            let digits = u8::try_from(field.length.saturating_sub(signs)).unwrap_or(u8::MAX);
            let precision = digits.clamp(scale.max(1), MAX_DECIMAL_PRECISION);
            let sql_type = SqlType::Decimal { precision, scale };
            (sql_type, Decoder::Decimal(decimals(sql_type), precision, scale))
        }
        type_id::DATE => (SqlType::Date, Decoder::Date(Date32Builder::with_capacity(capacity))),
        type_id::DATETIME | type_id::TIMESTAMP => {
            (SqlType::Timestamp, Decoder::DateTime(TimestampMicrosecondBuilder::with_capacity(capacity)))
        }
        type_id::TIME => {
            (SqlType::Text, Decoder::Time(StringBuilder::with_capacity(capacity, 16 * capacity), field.decimals))
        }
        type_id::BIT if field.length == 1 => (SqlType::Bool, Decoder::BitBool(BooleanBuilder::with_capacity(capacity))),
        type_id::BIT if field.length < 64 => (SqlType::BigInt, Decoder::Bit(Int64Builder::with_capacity(capacity))),
        type_id::BIT => (wide, Decoder::Bit64(decimals(wide))),
        type_id::NULL | type_id::JSON | type_id::ENUM | type_id::SET => texts(),
        type_id::VARCHAR
        | type_id::VAR_STRING
        | type_id::STRING
        | type_id::TINY_BLOB
        | type_id::MEDIUM_BLOB
        | type_id::LONG_BLOB
        | type_id::BLOB
        | type_id::GEOMETRY => {
            if field.charset == BINARY_CHARSET || field.type_id == type_id::GEOMETRY {
                (SqlType::Bytes, Decoder::Bytes(BinaryBuilder::with_capacity(capacity, 16 * capacity)))
            } else {
                texts()
            }
        }
        _ => return None,
    })
}

impl Decoder {
    fn push_binary(&mut self, bytes: &mut Bytes<'_>) -> Taken<()> {
        let garbled = Problem::Garbled;
        match self {
            Self::Bool(builder) => builder.append_value(truth(bytes.u8().ok_or(garbled)?.cast_signed().into())?),
            Self::Int8(builder) => builder.append_value(bytes.u8().ok_or(garbled)?.cast_signed().into()),
            Self::UInt8(builder) => builder.append_value(bytes.u8().ok_or(garbled)?.into()),
            Self::Int16(builder) => builder.append_value(bytes.u16().ok_or(garbled)?.cast_signed()),
            Self::UInt16(builder) => builder.append_value(bytes.u16().ok_or(garbled)?.into()),
            Self::Int32(builder) => builder.append_value(bytes.u32().ok_or(garbled)?.cast_signed()),
            Self::UInt32(builder) => builder.append_value(bytes.u32().ok_or(garbled)?.into()),
            Self::Int64(builder) => builder.append_value(bytes.u64().ok_or(garbled)?.cast_signed()),
            Self::UInt64(builder) => builder.append_value(bytes.u64().ok_or(garbled)?.into()),
            Self::Float(builder) => builder.append_value(f32::from_bits(bytes.u32().ok_or(garbled)?)),
            Self::Double(builder) => builder.append_value(f64::from_bits(bytes.u64().ok_or(garbled)?)),
            Self::Date(builder) => {
                let (date, _) = binary_date(bytes).ok_or(garbled)?;
                builder.append_value(date.days().ok_or(ZERO_DATE)?);
            }
            Self::DateTime(builder) => {
                let (date, clock) = binary_date(bytes).ok_or(garbled)?;
                builder.append_value(calendar::join(date, clock).ok_or(ZERO_DATE)?);
            }
            Self::Time(builder, decimals) => builder.append_value(binary_time(bytes, *decimals).ok_or(garbled)?),
            Self::Decimal(..) | Self::Text(_) | Self::Bytes(_) | Self::BitBool(_) | Self::Bit(_) | Self::Bit64(_) => {
                // The binary form of these types is their text.
                return self.push_text(bytes.text().ok_or(garbled)?);
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &[u8]) -> Taken<()> {
        match self {
            Self::Bool(builder) => builder.append_value(truth(number(text)?)?),
            Self::Int8(builder) | Self::UInt8(builder) | Self::Int16(builder) => builder.append_value(number(text)?),
            Self::UInt16(builder) | Self::Int32(builder) => builder.append_value(number(text)?),
            Self::UInt32(builder) | Self::Int64(builder) => builder.append_value(number(text)?),
            Self::UInt64(builder) => builder.append_value(number::<u64>(text)?.into()),
            Self::Float(builder) => builder.append_value(number(text)?),
            Self::Double(builder) => builder.append_value(number(text)?),
            Self::Decimal(builder, precision, scale) => {
                let value = decimal::parse(utf8(text)?, *precision, *scale);
                builder.append_value(value.ok_or(Problem::Value("a decimal of more than 38 digits"))?);
            }
            Self::Text(builder) | Self::Time(builder, _) => builder.append_value(utf8(text)?),
            Self::Bytes(builder) => builder.append_value(text),
            Self::Date(builder) => {
                let (date, _) = text_date(utf8(text)?).ok_or(Problem::Garbled)?;
                builder.append_value(date.days().ok_or(ZERO_DATE)?);
            }
            Self::DateTime(builder) => {
                let (date, clock) = text_date(utf8(text)?).ok_or(Problem::Garbled)?;
                builder.append_value(calendar::join(date, clock).ok_or(ZERO_DATE)?);
            }
            Self::BitBool(builder) => builder.append_value(bits(text)? != 0),
            Self::Bit(builder) => builder.append_value(bits(text)?.cast_signed()),
            Self::Bit64(builder) => builder.append_value(bits(text)?.into()),
        }
        Ok(())
    }
}

const ZERO_DATE: Problem = Problem::Value("a date without a month or a day, as 0000-00-00; CAST it to CHAR");

/// Decodes a `BOOLEAN`, which is a `TINYINT(1)` and can hold other numbers, too.
fn truth(number: i64) -> Taken<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Problem::Value("a number other than 0 and 1 in a TINYINT(1), which is a BOOLEAN; CAST it to SIGNED")),
    }
}

fn utf8(text: &[u8]) -> Taken<&str> {
    std::str::from_utf8(text).map_err(|_| Problem::Value("a text that is not UTF-8; CAST it to BINARY"))
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Taken<T> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Problem::Garbled)
}

/// Decodes a `BIT` value, whose first byte is the highest.
fn bits(bytes: &[u8]) -> Taken<u64> {
    if bytes.len() > 8 {
        return Err(Problem::Garbled);
    }
    Ok(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

/// Reads a date and a time of day, preceded by their length: fields of zeros at the end are left out.
pub(crate) fn binary_date(bytes: &mut Bytes<'_>) -> Option<(Date, Clock)> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length.into())?);
    let mut date = Date { year: 0, month: 0, day: 0 };
    let mut clock = Clock::default();
    if length >= 4 {
        date = Date { year: bytes.u16()?, month: bytes.u8()?, day: bytes.u8()? };
    }
    if length >= 7 {
        clock = Clock { hour: bytes.u8()?, minute: bytes.u8()?, second: bytes.u8()?, microsecond: 0 };
    }
    if length >= 11 {
        clock.microsecond = bytes.u32()?;
    }
    Some((date, clock))
}

/// Reads a time, and formats it as the server does: `-838:59:59.000001`, with this many digits behind the point. Fields of
/// zeros at the end are left out on the wire.
pub(crate) fn binary_time(bytes: &mut Bytes<'_>, decimals: u8) -> Option<String> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length.into())?);
    let (mut sign, mut hours, mut minute, mut second, mut microsecond) = ("", 0, 0, 0, 0);
    if length >= 8 {
        sign = if bytes.u8()? == 0 { "" } else { "-" };
        hours = u64::from(bytes.u32()?) * 24 + u64::from(bytes.u8()?);
        (minute, second) = (bytes.u8()?, bytes.u8()?);
    }
    if length >= 12 {
        microsecond = bytes.u32()?;
    }
    let text = format!("{sign}{hours:02}:{minute:02}:{second:02}");
    match decimals {
        // Expressions without a fixed number of digits have a greater number here.
        1..=6 => Some(format!("{text}.{:.*}", usize::from(decimals), format!("{microsecond:06}"))),
        _ if microsecond == 0 => Some(text),
        _ => Some(format!("{text}.{microsecond:06}")),
    }
}

/// Parses `YYYY-MM-DD`, alone or before `HH:MM:SS` with up to six digits behind a point.
fn text_date(text: &str) -> Option<(Date, Clock)> {
    let (date, clock) = text.split_once(' ').unwrap_or((text, ""));
    let mut parts = date.splitn(3, '-');
    let date = Date {
        year: parts.next()?.parse().ok()?,
        month: parts.next()?.parse().ok()?,
        day: parts.next()?.parse().ok()?,
    };
    if clock.is_empty() {
        return Some((date, Clock::default()));
    }
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.splitn(3, ':');
    let mut clock = Clock {
        hour: parts.next()?.parse().ok()?,
        minute: parts.next()?.parse().ok()?,
        second: parts.next()?.parse().ok()?,
        microsecond: 0,
    };
    if !fraction.is_empty() {
        clock.microsecond = format!("{fraction:0<6.6}").parse().ok()?;
    }
    Some((date, clock))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(type_id: u8, length: u32, flags: u16, decimals: u8) -> Field {
        Field { name: "c".to_owned(), type_id, charset: BINARY_CHARSET, length, flags, decimals }
    }

    fn rows_of(fields: &[Field], form: Form) -> Result<RowBuilder> {
        RowShape::new(&fields.into(), form).map(|shape| RowBuilder::new(&shape, 1))
    }

    #[test]
    fn dates_and_times_are_read_from_text() {
        let date = Date { year: 2024, month: 2, day: 29 };
        assert_eq!(text_date("2024-02-29"), Some((date, Clock::default())));
        let clock = Clock { hour: 23, minute: 59, second: 1, microsecond: 120_000 };
        assert_eq!(text_date("2024-02-29 23:59:01.12"), Some((date, clock)));
        assert_eq!(text_date("2024-02"), None);
        let time = |bytes: &[u8], decimals| binary_time(&mut Bytes(bytes), decimals);
        let least = [12, 1, 34, 0, 0, 0, 22, 59, 59, 1, 0, 0, 0];
        assert_eq!(time(&[0], 0), Some("00:00:00".to_owned()));
        assert_eq!(time(&least, 6), Some("-838:59:59.000001".to_owned()));
        assert_eq!(time(&[8, 1], 0), None);
        // The digits are always written, as the server does in text.
        assert_eq!(time(&[0], 3), Some("00:00:00.000".to_owned()));
        assert_eq!(time(&[8, 0, 0, 0, 0, 0, 10, 0, 0], 6), Some("10:00:00.000000".to_owned()));
        assert_eq!(time(&[12, 0, 0, 0, 0, 0, 10, 0, 0, 0x90, 0xd0, 3, 0], 2), Some("10:00:00.25".to_owned()));
        assert_eq!(time(&least, 31), Some("-838:59:59.000001".to_owned()));
    }

    #[test]
    fn a_row_that_is_cut_short_is_refused() {
        for row in [&[][..], &[1, 0], &[0], &[0, 0], &[0, 0, 1, 2]] {
            let mut rows = rows_of(&[field(type_id::LONG, 11, 0, 0)], Form::Binary).unwrap();
            assert_eq!(rows.push(row).unwrap_err().code(), "BB_ENGINE");
        }
    }

    #[test]
    fn a_date_of_zeros_is_named_by_row_and_column() {
        let mut rows = rows_of(&[field(type_id::DATE, 10, 0, 0)], Form::Binary).unwrap();
        rows.push(&[0, 0, 4, 0xe8, 0x07, 1, 2]).unwrap();
        let error = rows.push(&[0, 0, 0]).unwrap_err();
        assert!(error.to_string().starts_with("row 1, column \"c\": a date without"), "{error}");
    }

    proptest! {
        #[test]
        fn no_row_makes_it_panic(
            fields in prop::collection::vec((any::<u8>(), 0_u32..80, any::<u16>(), any::<u8>()), 0..6),
            row in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let fields: Vec<_> = fields.into_iter().map(|(id, length, flags, decimals)| field(id, length, flags, decimals)).collect();
            for form in [Form::Binary, Form::Text] {
                if let Ok(mut rows) = rows_of(&fields, form) && rows.push(&row).is_ok() {
                    prop_assert_eq!(rows.finish().unwrap().num_rows(), 1);
                }
            }
        }
    }
}
