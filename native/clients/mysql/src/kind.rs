//! The kinds of a result's columns: what their types in the protocol are here.

use boundary_bench_engine::table::{MAX_DECIMAL_PRECISION, SqlType};

use crate::codec::{Field, type_id};
use crate::url::ValueForms;

/// The digits of the largest unsigned 64-bit integer.
const UNSIGNED_DIGITS: u8 = 20;

/// The type of a column in the protocol, and the form in which its values are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The type of an expression that is always null.
    Null,
    Bool,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Int64Text,
    UInt64Text,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    DecimalNumber,
    Text,
    Bytes,
    Date,
    DateText,
    /// With this many digits behind the seconds' point.
    DateTime(u8),
    DateTimeText(u8),
    /// Times as text, since times of the server range to 838 hours and below zero.
    Time(u8),
    BitBool,
    Bit,
    Bit64,
}

impl Kind {
    /// The kind of a column, or `None` for a type that is not known.
    pub(crate) fn of(field: &Field, forms: ValueForms) -> Option<Self> {
        let unsigned = field.is_unsigned();
        Some(match field.type_id {
            type_id::NULL => Self::Null,
            type_id::TINY if unsigned => Self::UInt8,
            type_id::TINY if field.length == 1 && forms.booleans => Self::Bool,
            type_id::TINY => Self::Int8,
            type_id::SHORT if unsigned => Self::UInt16,
            type_id::SHORT | type_id::YEAR => Self::Int16,
            type_id::LONG if unsigned => Self::UInt32,
            type_id::INT24 | type_id::LONG => Self::Int32,
            type_id::LONGLONG => match (unsigned, forms.big_number_strings) {
                (false, false) => Self::Int64,
                (true, false) => Self::UInt64,
                (false, true) => Self::Int64Text,
                (true, true) => Self::UInt64Text,
            },
            type_id::FLOAT => Self::Float,
            type_id::DOUBLE => Self::Double,
            type_id::DECIMAL | type_id::NEWDECIMAL if forms.decimal_numbers => Self::DecimalNumber,
            type_id::DECIMAL | type_id::NEWDECIMAL => decimal_kind(field),
            type_id::DATE if forms.date_strings => Self::DateText,
            type_id::DATE => Self::Date,
            type_id::DATETIME | type_id::TIMESTAMP if forms.date_strings => Self::DateTimeText(field.decimals),
            type_id::DATETIME | type_id::TIMESTAMP => Self::DateTime(field.decimals),
            type_id::TIME => Self::Time(field.decimals),
            type_id::BIT if field.length == 1 => Self::BitBool,
            type_id::BIT if field.length < 64 => Self::Bit,
            type_id::BIT => Self::Bit64,
            _ if field.has_bytes() => Self::Bytes,
            type_id::JSON
            | type_id::ENUM
            | type_id::SET
            | type_id::VARCHAR
            | type_id::VAR_STRING
            | type_id::STRING
            | type_id::TINY_BLOB
            | type_id::MEDIUM_BLOB
            | type_id::LONG_BLOB
            | type_id::BLOB => Self::Text,
            _ => return None,
        })
    }

    /// The engine type of a column of this kind.
    pub(crate) fn sql_type(self) -> SqlType {
        match self {
            Self::Bool | Self::BitBool => SqlType::Bool,
            Self::Int8 | Self::UInt8 | Self::Int16 => SqlType::SmallInt,
            Self::UInt16 | Self::Int32 => SqlType::Int,
            Self::UInt32 | Self::Int64 | Self::Bit => SqlType::BigInt,
            Self::UInt64 | Self::Bit64 => SqlType::Decimal { precision: UNSIGNED_DIGITS, scale: 0 },
            Self::Float => SqlType::Real,
            Self::Double | Self::DecimalNumber => SqlType::Double,
            Self::Decimal { precision, scale } => SqlType::Decimal { precision, scale },
            Self::Null
            | Self::Text
            | Self::Int64Text
            | Self::UInt64Text
            | Self::DateText
            | Self::DateTimeText(_)
            | Self::Time(_) => SqlType::Text,
            Self::Bytes => SqlType::Bytes,
            Self::Date => SqlType::Date,
            Self::DateTime(_) => SqlType::Timestamp,
        }
    }
}

/// A column of a table that has more digits than a decimal here is text. Sums have more digits too, but their values have not.
fn decimal_kind(field: &Field) -> Kind {
    let scale = field.decimals.min(MAX_DECIMAL_PRECISION);
    // The length counts the text with its sign and point.
    let signs = u32::from(!field.is_unsigned()) + u32::from(scale > 0);
    let digits = u8::try_from(field.length.saturating_sub(signs)).unwrap_or(u8::MAX);
    if digits > MAX_DECIMAL_PRECISION && field.of_table {
        return Kind::Text;
    }
    Kind::Decimal { precision: digits.clamp(scale.max(1), MAX_DECIMAL_PRECISION), scale }
}
