//! Values to send to the server: as parameters of a statement, and as the rows of an insert.

use boundary_bench_engine::decimal;
use boundary_bench_engine::{Value, unusable_parameter};
use boundary_bench_kernel::{Error, Result};

use crate::calendar::{self, Clock, Date};
use crate::codec::{Bytes, put_text, type_id};

/// The most lists in one call.
const MOST_LISTS: usize = 1 << 24;

/// The problems of values that no type of the server can hold.
pub(crate) const NO_SUCH_DOUBLE: &str = "the server has no NaN and no infinity";
pub(crate) const NO_SUCH_DATE: &str = "dates go from year 0 to 9999";
pub(crate) const NO_SUCH_TIMESTAMP: &str = "timestamps go from year 0 to 9999";

/// A single value. It borrows its text or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// A `TINYINT` of 0 or 1.
    Bool(bool),
    /// An `INT` if it fits, else a `BIGINT`: servers with a part of the dialect compare an `INT` with nothing wider.
    Int(i64),
    /// A `DOUBLE`.
    Double(f64),
    /// A `VARCHAR`.
    Text(&'a str),
    /// A `BLOB`.
    Bytes(&'a [u8]),
    /// A `DECIMAL`, as text.
    Decimal(&'a str),
    /// A `DATE`: days since 1970-01-01.
    Date(i32),
    /// A `DATETIME`: microseconds since 1970-01-01T00:00:00.
    Timestamp(i64),
}

impl Cell<'_> {
    /// The number of the value's type in the protocol.
    pub(crate) fn type_id(self) -> u8 {
        match self {
            Self::Null => type_id::NULL,
            Self::Bool(_) => type_id::TINY,
            Self::Int(value) if i32::try_from(value).is_ok() => type_id::LONG,
            Self::Int(_) => type_id::LONGLONG,
            Self::Double(_) => type_id::DOUBLE,
            Self::Text(_) => type_id::VAR_STRING,
            Self::Bytes(_) => type_id::BLOB,
            Self::Decimal(_) => type_id::NEWDECIMAL,
            Self::Date(_) => type_id::DATE,
            Self::Timestamp(_) => type_id::DATETIME,
        }
    }

    /// Checks that a type of the server can hold the value.
    pub(crate) fn check(self) -> std::result::Result<(), &'static str> {
        match self {
            Self::Double(value) if !value.is_finite() => Err(NO_SUCH_DOUBLE),
            Self::Date(days) => Date::of_days(days).map(drop).ok_or(NO_SUCH_DATE),
            Self::Timestamp(microseconds) => calendar::split(microseconds).map(drop).ok_or(NO_SUCH_TIMESTAMP),
            _ => Ok(()),
        }
    }

    /// Appends the value in the binary form of its type.
    pub(crate) fn write(self, target: &mut Vec<u8>) -> std::result::Result<(), &'static str> {
        match self {
            Self::Null => {}
            Self::Bool(value) => target.push(value.into()),
            Self::Int(value) => match i32::try_from(value) {
                Ok(short) => target.extend_from_slice(&short.to_le_bytes()),
                Err(_) => target.extend_from_slice(&value.to_le_bytes()),
            },
            Self::Double(value) if value.is_finite() => target.extend_from_slice(&value.to_le_bytes()),
            Self::Double(_) => return Err(NO_SUCH_DOUBLE),
            Self::Text(text) | Self::Decimal(text) => put_text(target, text.as_bytes()),
            Self::Bytes(bytes) => put_text(target, bytes),
            Self::Date(days) => {
                let date = Date::of_days(days).ok_or(NO_SUCH_DATE)?;
                target.push(4);
                put_date(target, date);
            }
            Self::Timestamp(microseconds) => {
                let (date, clock) = calendar::split(microseconds).ok_or(NO_SUCH_TIMESTAMP)?;
                target.push(11);
                put_date(target, date);
                put_clock(target, clock);
            }
        }
        Ok(())
    }
}

fn put_date(target: &mut Vec<u8>, date: Date) {
    target.extend_from_slice(&date.year.to_le_bytes());
    target.extend_from_slice(&[date.month, date.day]);
}

fn put_clock(target: &mut Vec<u8>, clock: Clock) {
    target.extend_from_slice(&[clock.hour, clock.minute, clock.second]);
    target.extend_from_slice(&clock.microsecond.to_le_bytes());
}

/// A writer of the parameters of `COM_STMT_EXECUTE`: the bitmap of nulls, the byte 1, the types, the values.
pub(crate) struct Parameters<'t> {
    target: &'t mut Vec<u8>,
    start: usize,
    count: usize,
    next: usize,
}

impl<'t> Parameters<'t> {
    /// Reserves the bitmap and the types of `count` parameters.
    pub(crate) fn begin(target: &'t mut Vec<u8>, count: usize) -> Self {
        let start = target.len();
        if count > 0 {
            let bitmap = count.div_ceil(8);
            target.resize(start + bitmap + 1 + 2 * count, 0);
            target[start + bitmap] = 1;
        }
        Self { target, start, count, next: 0 }
    }

    /// Appends the next parameter.
    pub(crate) fn push(&mut self, cell: Cell<'_>) -> std::result::Result<(), &'static str> {
        if self.next == self.count {
            return Err("it is one too many");
        }
        if cell == Cell::Null {
            self.target[self.start + self.next / 8] |= 1 << (self.next % 8);
        }
        let types = self.start + self.count.div_ceil(8) + 1;
        self.target[types + 2 * self.next] = cell.type_id();
        self.next += 1;
        cell.write(self.target)
    }
}

/// Appends the parameters of `COM_STMT_EXECUTE`.
pub(crate) fn put_parameters<'a>(
    target: &mut Vec<u8>,
    count: usize,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<()> {
    let start = target.len();
    let mut parameters = Parameters::begin(target, count);
    for (index, cell) in cells.enumerate() {
        if let Err(problem) = parameters.push(cell) {
            target.truncate(start);
            return Err(unusable_parameter(index + 1, problem));
        }
    }
    Ok(())
}

/// Values of the engine as cells. The cells borrow them. Decimals are formatted as texts to borrow.
pub(crate) struct Values<'a> {
    values: &'a [Value],
    decimals: Vec<Option<String>>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(values: &'a [Value]) -> Self {
        let decimals = values.iter().map(|value| match value {
            Value::Decimal { value, scale, .. } => Some(decimal::format(*value, *scale)),
            _ => None,
        });
        Self { values, decimals: decimals.collect() }
    }

    pub(crate) fn cell(&self, index: usize) -> Cell<'_> {
        match &self.values[index] {
            Value::Null | Value::NullOf(_) => Cell::Null,
            Value::SmallInt(value) => Cell::Int((*value).into()),
            Value::Int32(value) => Cell::Int((*value).into()),
            Value::Real(value) => Cell::Double((*value).into()),
            Value::Bool(value) => Cell::Bool(*value),
            Value::Int(value) => Cell::Int(*value),
            Value::Double(value) => Cell::Double(*value),
            Value::Decimal { .. } => Cell::Decimal(self.decimals[index].as_deref().unwrap_or_default()),
            Value::Text(text) => Cell::Text(text),
            Value::Bytes(bytes) => Cell::Bytes(bytes),
            Value::Date(days) => Cell::Date(*days),
            Value::Timestamp(microseconds) => Cell::Timestamp(*microseconds),
        }
    }
}

/// Lists of values in one buffer, as they cross from JavaScript: each value is a byte for its kind, and the value
/// itself, little-endian.
///
/// | kind | value |
/// |---|---|
/// | 0 | NULL |
/// | 1, 2 | false, true |
/// | 3 | a 64-bit integer |
/// | 4 | a double |
/// | 5, 6, 7 | a text, bytes, a decimal: 32 bits of length, then this many bytes |
/// | 8 | a date: 32 bits of days |
/// | 9 | a timestamp: 64 bits of microseconds |
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellLists {
    bytes: Vec<u8>,
    width: usize,
    /// The start of each list in `bytes`, and the end of the last one.
    starts: Vec<usize>,
}

impl CellLists {
    /// Reads `lists` lists of `width` values.
    pub fn new(bytes: Vec<u8>, lists: usize, width: usize) -> Result<Self> {
        let garbled = || Error::InvalidArgument("the values are not encoded as they must be".to_owned());
        // Each value takes at least one byte.
        if lists > MOST_LISTS || lists.checked_mul(width).is_none_or(|values| values > bytes.len()) {
            return Err(garbled());
        }
        let mut starts = Vec::with_capacity(lists + 1);
        let mut rest = Bytes(&bytes);
        for _ in 0..lists {
            starts.push(bytes.len() - rest.0.len());
            for _ in 0..width {
                next_cell(&mut rest).ok_or_else(garbled)?;
            }
        }
        if !rest.0.is_empty() {
            return Err(garbled());
        }
        starts.push(bytes.len());
        Ok(Self { bytes, width, starts })
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of values in each list.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The size of a list in bytes, about as on the wire.
    pub(crate) fn size(&self, list: usize) -> usize {
        self.starts[list + 1] - self.starts[list]
    }

    /// Checks that types of the server can hold all values of a list.
    pub(crate) fn check(&self, list: usize) -> Result<()> {
        for (index, cell) in self.cells(list).enumerate() {
            cell.check().map_err(|problem| unusable_parameter(index + 1, problem))?;
        }
        Ok(())
    }

    /// The values of a list.
    pub(crate) fn cells(&self, list: usize) -> impl Iterator<Item = Cell<'_>> + Clone {
        let mut rest = Bytes(&self.bytes[self.starts[list]..self.starts[list + 1]]);
        std::iter::from_fn(move || if rest.0.is_empty() { None } else { next_cell(&mut rest) })
    }
}

fn next_cell<'a>(bytes: &mut Bytes<'a>) -> Option<Cell<'a>> {
    let kind = bytes.u8()?;
    let mut sized = || {
        let length = bytes.u32()?;
        bytes.take(usize::try_from(length).ok()?)
    };
    Some(match kind {
        0 => Cell::Null,
        1 => Cell::Bool(false),
        2 => Cell::Bool(true),
        3 => Cell::Int(bytes.u64()?.cast_signed()),
        4 => Cell::Double(f64::from_bits(bytes.u64()?)),
        5 => Cell::Text(std::str::from_utf8(sized()?).ok()?),
        6 => Cell::Bytes(sized()?),
        7 => Cell::Decimal(std::str::from_utf8(sized()?).ok()?),
        8 => Cell::Date(bytes.u32()?.cast_signed()),
        9 => Cell::Timestamp(bytes.u64()?.cast_signed()),
        _ => return None,
    })
}

/// Lists in the form that JavaScript makes.
#[cfg(test)]
#[path = "../tests/common/lists.rs"]
mod lists;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::lists::lists_of;
    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-1e300..1e300_f64).prop_map(Value::Double),
            "\\PC*".prop_map(Value::Text),
            prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Timestamp),
            (-99_999_i128..99_999).prop_map(|value| Value::Decimal { value, precision: 5, scale: 2 }),
        ]
    }

    #[test]
    fn integers_are_sent_in_the_narrowest_of_two_types_that_holds_them() {
        let sent = |value| {
            let mut bytes = Vec::new();
            put_parameters(&mut bytes, 1, [Cell::Int(value)].into_iter()).unwrap();
            (bytes[2], bytes[4..].to_vec())
        };
        for value in [0, -1, i32::MAX, i32::MIN] {
            assert_eq!(sent(value.into()), (type_id::LONG, value.to_le_bytes().to_vec()));
        }
        for value in [i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1, i64::MAX] {
            assert_eq!(sent(value), (type_id::LONGLONG, value.to_le_bytes().to_vec()));
        }
    }

    #[test]
    fn what_the_server_has_no_value_for_is_named() {
        let mut target = vec![7];
        for (cell, problem) in [
            (Cell::Double(f64::NAN), "parameter 2: the server has no NaN"),
            (Cell::Date(i32::MAX), "parameter 2: dates go"),
            (Cell::Timestamp(i64::MIN), "parameter 2: timestamps go"),
        ] {
            let error = put_parameters(&mut target, 2, [Cell::Int(1), cell].into_iter()).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
            assert_eq!(target, [7]);
        }
    }

    proptest! {
        #[test]
        fn lists_are_read_back(lists in (0_usize..4).prop_flat_map(|width| prop::collection::vec(prop::collection::vec(value(), width), 0..5))) {
            let cells = lists_of(&lists);
            prop_assert_eq!(cells.len(), lists.len());
            for (index, list) in lists.iter().enumerate() {
                let values = Values::new(list);
                prop_assert!(cells.cells(index).eq((0..list.len()).map(|index| values.cell(index))));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(0_u8..12, 0..60), lists in any::<usize>(), width in any::<usize>()) {
            let _ = CellLists::new(bytes.clone(), lists, width);
            let _ = CellLists::new(bytes, lists % 10, width % 10);
        }
    }
}
