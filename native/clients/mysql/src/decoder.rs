//! Decoders of a result's columns: one for each type in the protocol. It fills an Arrow column.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use boundary_bench_engine::decimal;
use boundary_bench_engine::table::SqlType;

use crate::calendar::{self, Date};
use crate::codec::Bytes;
use crate::kind::Kind;
use crate::temporal::{binary_date, binary_time, date_time_text, text_date};
use crate::unfit::{LONG_DECIMAL, NOT_A_TRUTH, OTHER_DATE, OTHER_NUMBER, Problem, Taken, ZERO_DATE, garbled, unfit};

/// The decoder of a column, with its values so far.
pub(crate) enum Decoder {
    Null(StringBuilder),
    Bool(BooleanBuilder),
    Int8(Int16Builder),
    UInt8(Int16Builder),
    Int16(Int16Builder),
    UInt16(Int32Builder),
    Int32(Int32Builder),
    UInt32(Int64Builder),
    Int64(Int64Builder),
    UInt64(Decimal128Builder),
    Int64Text(StringBuilder),
    UInt64Text(StringBuilder),
    Float(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder, u8, u8),
    DecimalNumber(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    DateText(StringBuilder),
    DateTime(TimestampMicrosecondBuilder, u8),
    DateTimeText(StringBuilder, u8),
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
            Decoder::Double($builder) | Decoder::DecimalNumber($builder) => $call,
            Decoder::Null($builder)
            | Decoder::Text($builder)
            | Decoder::Int64Text($builder)
            | Decoder::UInt64Text($builder)
            | Decoder::DateText($builder)
            | Decoder::DateTimeText($builder, _)
            | Decoder::Time($builder, _) => $call,
            Decoder::Bytes($builder) => $call,
            Decoder::Date($builder) => $call,
            Decoder::DateTime($builder, _) => $call,
        }
    };
}

impl Decoder {
    /// A decoder of a kind, with room for `capacity` values.
    pub(crate) fn new(kind: Kind, capacity: usize) -> Self {
        let decimals = || Decimal128Builder::with_capacity(capacity).with_data_type(kind.sql_type().to_arrow());
        let texts = || StringBuilder::with_capacity(capacity, 16 * capacity);
        match kind {
            Kind::Null => Self::Null(StringBuilder::with_capacity(capacity, 0)),
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(capacity)),
            Kind::Int8 => Self::Int8(Int16Builder::with_capacity(capacity)),
            Kind::UInt8 => Self::UInt8(Int16Builder::with_capacity(capacity)),
            Kind::Int16 => Self::Int16(Int16Builder::with_capacity(capacity)),
            Kind::UInt16 => Self::UInt16(Int32Builder::with_capacity(capacity)),
            Kind::Int32 => Self::Int32(Int32Builder::with_capacity(capacity)),
            Kind::UInt32 => Self::UInt32(Int64Builder::with_capacity(capacity)),
            Kind::Int64 => Self::Int64(Int64Builder::with_capacity(capacity)),
            Kind::UInt64 => Self::UInt64(decimals()),
            Kind::Int64Text => Self::Int64Text(texts()),
            Kind::UInt64Text => Self::UInt64Text(texts()),
            Kind::Float => Self::Float(Float32Builder::with_capacity(capacity)),
            Kind::Double => Self::Double(Float64Builder::with_capacity(capacity)),
            Kind::Decimal { precision, scale } => Self::Decimal(decimals(), precision, scale),
            Kind::DecimalNumber => Self::DecimalNumber(Float64Builder::with_capacity(capacity)),
            Kind::Text => Self::Text(texts()),
            Kind::Bytes => Self::Bytes(BinaryBuilder::with_capacity(capacity, 16 * capacity)),
            Kind::Date => Self::Date(Date32Builder::with_capacity(capacity)),
            Kind::DateText => Self::DateText(texts()),
            Kind::DateTime(digits) => Self::DateTime(TimestampMicrosecondBuilder::with_capacity(capacity), digits),
            Kind::DateTimeText(digits) => Self::DateTimeText(texts(), digits),
            Kind::Time(digits) => Self::Time(texts(), digits),
            Kind::BitBool => Self::BitBool(BooleanBuilder::with_capacity(capacity)),
            Kind::Bit => Self::Bit(Int64Builder::with_capacity(capacity)),
            Kind::Bit64 => Self::Bit64(decimals()),
        }
    }

    /// The kind of the decoder, as it is by now.
    fn kind(&self) -> Kind {
        match self {
            Self::Null(_) => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int8(_) => Kind::Int8,
            Self::UInt8(_) => Kind::UInt8,
            Self::Int16(_) => Kind::Int16,
            Self::UInt16(_) => Kind::UInt16,
            Self::Int32(_) => Kind::Int32,
            Self::UInt32(_) => Kind::UInt32,
            Self::Int64(_) => Kind::Int64,
            Self::UInt64(_) => Kind::UInt64,
            Self::Int64Text(_) => Kind::Int64Text,
            Self::UInt64Text(_) => Kind::UInt64Text,
            Self::Float(_) => Kind::Float,
            Self::Double(_) => Kind::Double,
            Self::Decimal(_, precision, scale) => Kind::Decimal { precision: *precision, scale: *scale },
            Self::DecimalNumber(_) => Kind::DecimalNumber,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
            Self::Date(_) => Kind::Date,
            Self::DateText(_) => Kind::DateText,
            Self::DateTime(_, digits) => Kind::DateTime(*digits),
            Self::DateTimeText(_, digits) => Kind::DateTimeText(*digits),
            Self::Time(_, digits) => Kind::Time(*digits),
            Self::BitBool(_) => Kind::BitBool,
            Self::Bit(_) => Kind::Bit,
            Self::Bit64(_) => Kind::Bit64,
        }
    }

    /// The engine type of the column, as it is by now.
    pub(crate) fn sql_type(&self) -> SqlType {
        self.kind().sql_type()
    }

    pub(crate) fn push_null(&mut self) {
        on_builder!(self, builder => builder.append_null());
    }

    /// Takes the values out as a column.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        on_builder!(self, builder => Arc::new(builder.finish()) as ArrayRef)
    }

    /// Moves the values from `first` to `end` to another decoder of the same kind, and drops the values behind them.
    pub(crate) fn split_into(&mut self, other: &mut Self, first: usize, end: usize) {
        let values = self.finish();
        self.append(&values.slice(0, first));
        other.append(&values.slice(first, end - first));
    }

    fn append(&mut self, values: &ArrayRef) {
        // They are of the builder's type, and were in its memory before.
        on_builder!(self, builder => {
            let _ = values.as_any().downcast_ref().map(|values| builder.append_array(values));
        });
    }

    /// Takes a value that the column's type does not have: the column becomes a column of the values as the server writes them, or of
    /// numbers instead of truths.
    #[cold]
    pub(crate) fn push_unfit(&mut self, mut problem: Problem) -> Taken<()> {
        while let Problem::Unfit(value) = problem {
            self.loosen();
            match self.push_text(value.text.as_bytes()) {
                Ok(()) => return Ok(()),
                Err(next) => problem = next,
            }
        }
        Err(problem)
    }

    fn loosen(&mut self) {
        *self = match self {
            Self::Bool(builder) => {
                let mut numbers = Int16Builder::new();
                builder.finish().iter().for_each(|value| numbers.append_option(value.map(i16::from)));
                Self::Int8(numbers)
            }
            Self::Date(builder) => {
                let texts = |days| Date::of_days(days).map(|date| date.to_string()).unwrap_or_default();
                Self::DateText(texts_of(&builder.finish(), texts))
            }
            Self::DateTime(builder, digits) => {
                let digits = *digits;
                let texts = |microseconds| {
                    let moment = calendar::split(microseconds);
                    moment.map(|(date, clock)| date_time_text(date, clock, digits)).unwrap_or_default()
                };
                Self::DateTimeText(texts_of(&builder.finish(), texts), digits)
            }
            Self::Decimal(builder, _, scale) => {
                let scale = *scale;
                Self::Text(texts_of(&builder.finish(), |value| decimal::format(value, scale)))
            }
            Self::UInt64(builder) | Self::Bit64(builder) => {
                Self::Text(texts_of(&builder.finish(), |value| value.to_string()))
            }
            Self::Int8(builder) | Self::UInt8(builder) | Self::Int16(builder) => {
                Self::Text(texts_of(&builder.finish(), |value| value.to_string()))
            }
            Self::UInt16(builder) | Self::Int32(builder) => {
                Self::Text(texts_of(&builder.finish(), |value| value.to_string()))
            }
            Self::UInt32(builder) | Self::Int64(builder) | Self::Bit(builder) => {
                Self::Text(texts_of(&builder.finish(), |value| value.to_string()))
            }
            Self::Float(builder) => Self::Text(texts_of(&builder.finish(), |value| value.to_string())),
            Self::Double(builder) | Self::DecimalNumber(builder) => {
                Self::Text(texts_of(&builder.finish(), |value| value.to_string()))
            }
            Self::BitBool(builder) => {
                let mut texts = StringBuilder::new();
                builder
                    .finish()
                    .iter()
                    .for_each(|value| texts.append_option(value.map(|bit| u8::from(bit).to_string())));
                Self::Text(texts)
            }
            Self::Null(builder)
            | Self::Text(builder)
            | Self::Int64Text(builder)
            | Self::UInt64Text(builder)
            | Self::DateText(builder)
            | Self::DateTimeText(builder, _)
            | Self::Time(builder, _) => Self::Text(std::mem::take(builder)),
            Self::Bytes(builder) => Self::Bytes(std::mem::take(builder)),
        };
    }

    pub(crate) fn push_binary(&mut self, bytes: &mut Bytes<'_>) -> Taken<()> {
        match self {
            Self::Bool(builder) => builder.append_value(truth(bytes.u8().ok_or_else(garbled)?.cast_signed().into())?),
            Self::Int8(builder) => builder.append_value(bytes.u8().ok_or_else(garbled)?.cast_signed().into()),
            Self::UInt8(builder) => builder.append_value(bytes.u8().ok_or_else(garbled)?.into()),
            Self::Int16(builder) => builder.append_value(bytes.u16().ok_or_else(garbled)?.cast_signed()),
            Self::UInt16(builder) => builder.append_value(bytes.u16().ok_or_else(garbled)?.into()),
            Self::Int32(builder) => builder.append_value(bytes.u32().ok_or_else(garbled)?.cast_signed()),
            Self::UInt32(builder) => builder.append_value(bytes.u32().ok_or_else(garbled)?.into()),
            Self::Int64(builder) => builder.append_value(bytes.u64().ok_or_else(garbled)?.cast_signed()),
            Self::UInt64(builder) => builder.append_value(bytes.u64().ok_or_else(garbled)?.into()),
            Self::Int64Text(builder) => {
                let number = bytes.u64().ok_or_else(garbled)?.cast_signed();
                builder.append_value(number.to_string());
            }
            Self::UInt64Text(builder) => builder.append_value(bytes.u64().ok_or_else(garbled)?.to_string()),
            Self::Float(builder) => builder.append_value(f32::from_bits(bytes.u32().ok_or_else(garbled)?)),
            Self::Double(builder) => builder.append_value(f64::from_bits(bytes.u64().ok_or_else(garbled)?)),
            Self::Date(builder) => {
                let (date, _) = binary_date(bytes).ok_or_else(garbled)?;
                builder.append_value(date.days().ok_or_else(|| unfit(date, ZERO_DATE))?);
            }
            Self::DateText(builder) => builder.append_value(binary_date(bytes).ok_or_else(garbled)?.0.to_string()),
            Self::DateTime(builder, digits) => {
                let (date, clock) = binary_date(bytes).ok_or_else(garbled)?;
                let moment = calendar::join(date, clock);
                let zero = || unfit(date_time_text(date, clock, *digits), ZERO_DATE);
                builder.append_value(moment.ok_or_else(zero)?);
            }
            Self::DateTimeText(builder, digits) => {
                let (date, clock) = binary_date(bytes).ok_or_else(garbled)?;
                builder.append_value(date_time_text(date, clock, *digits));
            }
            Self::Time(builder, digits) => builder.append_value(binary_time(bytes, *digits).ok_or_else(garbled)?),
            Self::Null(_)
            | Self::Decimal(..)
            | Self::DecimalNumber(_)
            | Self::Text(_)
            | Self::Bytes(_)
            | Self::BitBool(_)
            | Self::Bit(_)
            | Self::Bit64(_) => {
                // The binary form of these types is their text.
                return self.push_text(bytes.text().ok_or_else(garbled)?);
            }
        }
        Ok(())
    }

    pub(crate) fn push_text(&mut self, text: &[u8]) -> Taken<()> {
        match self {
            Self::Bool(builder) => builder.append_value(truth(number(text)?)?),
            Self::Int8(builder) | Self::UInt8(builder) | Self::Int16(builder) => builder.append_value(number(text)?),
            Self::UInt16(builder) | Self::Int32(builder) => builder.append_value(number(text)?),
            Self::UInt32(builder) | Self::Int64(builder) => builder.append_value(number(text)?),
            Self::UInt64(builder) => builder.append_value(number::<u64>(text)?.into()),
            Self::Float(builder) => builder.append_value(number(text)?),
            Self::Double(builder) | Self::DecimalNumber(builder) => builder.append_value(number(text)?),
            Self::Decimal(builder, precision, scale) => {
                let text = utf8(text)?;
                let value = decimal::parse(text, *precision, *scale);
                builder.append_value(value.ok_or_else(|| unfit(text, LONG_DECIMAL))?);
            }
            Self::Null(builder)
            | Self::Text(builder)
            | Self::Int64Text(builder)
            | Self::UInt64Text(builder)
            | Self::DateText(builder)
            | Self::DateTimeText(builder, _)
            | Self::Time(builder, _) => builder.append_value(utf8(text)?),
            Self::Bytes(builder) => builder.append_value(text),
            Self::Date(builder) => {
                let text = utf8(text)?;
                let (date, _) = text_date(text).ok_or_else(|| unfit(text, OTHER_DATE))?;
                builder.append_value(date.days().ok_or_else(|| unfit(text, ZERO_DATE))?);
            }
            Self::DateTime(builder, _) => {
                let text = utf8(text)?;
                let (date, clock) = text_date(text).ok_or_else(|| unfit(text, OTHER_DATE))?;
                builder.append_value(calendar::join(date, clock).ok_or_else(|| unfit(text, ZERO_DATE))?);
            }
            Self::BitBool(builder) => builder.append_value(bits(text)? != 0),
            Self::Bit(builder) => builder.append_value(bits(text)?.cast_signed()),
            Self::Bit64(builder) => builder.append_value(bits(text)?.into()),
        }
        Ok(())
    }
}

/// A column of the values' texts.
fn texts_of<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, text: impl Fn(T::Native) -> String) -> StringBuilder {
    let mut texts = StringBuilder::new();
    values.iter().for_each(|value| texts.append_option(value.map(&text)));
    texts
}

/// Decodes a `BOOLEAN`. It is a `TINYINT(1)` and can hold other numbers, too.
fn truth(number: i64) -> Taken<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(unfit(number, NOT_A_TRUTH)),
    }
}

fn utf8(text: &[u8]) -> Taken<&str> {
    std::str::from_utf8(text).map_err(|_| Problem::Value("a text that is not UTF-8; CAST it to BINARY"))
}

fn number<T: FromStr>(text: &[u8]) -> Taken<T> {
    let text = std::str::from_utf8(text).map_err(|_| Problem::Garbled)?;
    text.parse().map_err(|_| unfit(text, OTHER_NUMBER))
}

/// Decodes a `BIT` value, whose first byte is the highest.
fn bits(bytes: &[u8]) -> Taken<u64> {
    if bytes.len() > 8 {
        return Err(Problem::Garbled);
    }
    Ok(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}
