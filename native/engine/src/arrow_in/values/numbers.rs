//! Conversions of numbers and times.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, Decimal128Array, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

use super::Misfit;
use crate::table::MAX_DECIMAL_PRECISION;

type Converted<T> = std::result::Result<T, Misfit>;

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;
const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// 2^63, the least floating-point number above all 64-bit integers.
const ABOVE_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// Converts each value that is not null by a function that returns `None` for a value that has no counterpart.
fn exact<S: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    array: &dyn Array,
    convert: impl Fn(S::Native) -> Option<O::Native>,
) -> Converted<PrimitiveArray<O>> {
    let values = array.as_primitive::<S>();
    values.try_unary(|value| convert(value).ok_or(())).map_err(|()| {
        let misfit = values.iter().position(|value| value.is_some_and(|value| convert(value).is_none()));
        Misfit::Value(misfit.unwrap_or_default())
    })
}

/// Integers, but for unsigned ones of 64 bits, as integers of 64 bits.
fn wide_integers(array: &ArrayRef) -> Converted<ArrayRef> {
    macro_rules! widened {
        ($type:ty) => {
            Arc::new(array.as_primitive::<$type>().unary::<_, Int64Type>(i64::from))
        };
    }
    Ok(match array.data_type() {
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::Int64 => Arc::clone(array),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::UInt32 => widened!(UInt32Type),
        _ => return Err(Misfit::Type),
    })
}

/// Floating-point numbers as numbers of 64 bits.
fn wide_floats(array: &ArrayRef) -> Converted<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Float16 => Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float64Type>(f64::from)),
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float64Type>(f64::from)),
        DataType::Float64 => Arc::clone(array),
        _ => return Err(Misfit::Type),
    })
}

/// Converts numbers to one of the types of signed integers.
pub(super) fn to_integer(array: &ArrayRef, wanted: &DataType) -> Converted<ArrayRef> {
    let wide = integers(array)?;
    Ok(match wanted {
        DataType::Int16 => Arc::new(exact::<Int64Type, Int16Type>(&wide, |value| value.try_into().ok())?),
        DataType::Int32 => Arc::new(exact::<Int64Type, Int32Type>(&wide, |value| value.try_into().ok())?),
        _ => wide,
    })
}

fn integers(array: &ArrayRef) -> Converted<ArrayRef> {
    Ok(match array.data_type() {
        DataType::UInt64 => Arc::new(exact::<UInt64Type, Int64Type>(array, |value| value.try_into().ok())?),
        integer if integer.is_integer() => wide_integers(array)?,
        // Libraries whose integers have no null, such as pandas by default, write a column of integers and nulls so.
        float if float.is_floating() => Arc::new(exact::<Float64Type, Int64Type>(&wide_floats(array)?, whole)?),
        decimal if decimal.is_decimal() => {
            let units = rescaled(array, MAX_DECIMAL_PRECISION, 0)?;
            Arc::new(exact::<Decimal128Type, Int64Type>(&units, |value| value.try_into().ok())?)
        }
        _ => return Err(Misfit::Type),
    })
}

/// A floating-point number as an integer, or `None` if it is no integer of 64 bits.
fn whole(value: f64) -> Option<i64> {
    let fits = (-ABOVE_INTEGERS..ABOVE_INTEGERS).contains(&value) && value.fract() == 0.0;
    #[expect(clippy::cast_possible_truncation, reason = "the value is an integer of this range")]
    fits.then_some(value as i64)
}

/// Converts numbers to one of the types of floating-point numbers.
pub(super) fn to_float(array: &ArrayRef, wanted: &DataType) -> Converted<ArrayRef> {
    let given = array.data_type();
    let wide: ArrayRef = match given {
        float if float.is_floating() => wide_floats(array)?,
        DataType::UInt64 => Arc::new(exact::<UInt64Type, Float64Type>(array, |value| float_of(value.into()))?),
        integer if integer.is_integer() => {
            let integers = wide_integers(array)?;
            Arc::new(exact::<Int64Type, Float64Type>(&integers, |value| float_of(value.into()))?)
        }
        _ => return Err(Misfit::Type),
    };
    if *wanted == DataType::Float64 {
        return Ok(wide);
    }
    #[expect(clippy::cast_possible_truncation, reason = "what the cast loses is seen")]
    let narrow = |value: f64| {
        let narrow = value as f32;
        (f64::from(narrow).to_bits() == value.to_bits() || value.is_nan()).then_some(narrow)
    };
    Ok(Arc::new(exact::<Float64Type, Float32Type>(&wide, narrow)?))
}

/// An integer as a floating-point number, or `None` if there is no equal one.
fn float_of(value: i128) -> Option<f64> {
    let float = value as f64;
    #[expect(clippy::cast_possible_truncation, reason = "the number is an integer of about 64 bits")]
    (float as i128 == value).then_some(float)
}

/// Converts integers and decimals to decimals of this precision and scale.
pub(super) fn to_decimal(array: &ArrayRef, precision: u8, scale: i8) -> Converted<ArrayRef> {
    Ok(Arc::new(rescaled(array, precision, scale)?))
}

fn rescaled(array: &ArrayRef, precision: u8, scale: i8) -> Converted<Decimal128Array> {
    let units = |given: i8| Rescale { by: i16::from(scale) - i16::from(given), precision };
    let decimals = match array.data_type() {
        DataType::UInt64 => exact::<UInt64Type, Decimal128Type>(array, |value| units(0).of(value.into())),
        integer if integer.is_integer() => {
            let integers = wide_integers(array)?;
            exact::<Int64Type, Decimal128Type>(&integers, |value| units(0).of(value.into()))
        }
        DataType::Decimal32(_, given) => {
            exact::<Decimal32Type, Decimal128Type>(array, |value| units(*given).of(value.into()))
        }
        DataType::Decimal64(_, given) => {
            exact::<Decimal64Type, Decimal128Type>(array, |value| units(*given).of(value.into()))
        }
        DataType::Decimal128(_, given) => {
            exact::<Decimal128Type, Decimal128Type>(array, |value| units(*given).of(value))
        }
        DataType::Decimal256(_, given) => {
            exact::<Decimal256Type, Decimal128Type>(array, |value| units(*given).of_long(value))
        }
        _ => Err(Misfit::Type),
    }?;
    decimals.with_precision_and_scale(precision, scale).map_err(|_| Misfit::Type)
}

/// A change of the scale of decimals.
#[derive(Clone, Copy)]
struct Rescale {
    /// The number of digits that are added behind the point.
    by: i16,
    /// The most digits of a result.
    precision: u8,
}

impl Rescale {
    fn of(self, value: i128) -> Option<i128> {
        if value == 0 {
            return Some(0);
        }
        let factor = 10_i128.checked_pow(u32::from(self.by.unsigned_abs()))?;
        let value =
            if self.by >= 0 { value.checked_mul(factor)? } else { (value % factor == 0).then(|| value / factor)? };
        has_digits(value, self.precision).then_some(value)
    }

    fn of_long(self, value: i256) -> Option<i128> {
        if let Some(value) = value.to_i128() {
            return self.of(value);
        }
        // Only a value that loses digits can still fit.
        let factor = i256::from_i128(10).checked_pow(u32::try_from(-self.by).ok()?)?;
        if value.checked_rem(factor)? != i256::ZERO {
            return None;
        }
        value.checked_div(factor)?.to_i128().filter(|value| has_digits(*value, self.precision))
    }
}

/// Whether a value has at most this number of digits. The number is at most 38.
fn has_digits(value: i128, most: u8) -> bool {
    value.unsigned_abs() < 10_u128.pow(most.into())
}

/// Checks that all values have at most the digits of their type.
pub(super) fn check_digits(array: &Decimal128Array, precision: u8) -> Converted<()> {
    let end = 10_u128.pow(precision.min(MAX_DECIMAL_PRECISION).into());
    // A value behind a null may have any number of digits.
    let all = array.null_count() == 0 && array.values().iter().all(|value| value.unsigned_abs() < end);
    let misfit = |value: Option<i128>| value.is_some_and(|value| value.unsigned_abs() >= end);
    match (!all).then(|| array.iter().position(misfit)).flatten() {
        Some(row) => Err(Misfit::Value(row)),
        None => Ok(()),
    }
}

/// Converts dates, and timestamps without a zone that are at midnight, to dates.
pub(super) fn to_date(array: &ArrayRef) -> Converted<ArrayRef> {
    let whole_days = |value: i64, day: i64| (value % day == 0).then(|| (value / day).try_into().ok()).flatten();
    Ok(match array.data_type() {
        DataType::Date64 => {
            Arc::new(exact::<Date64Type, Date32Type>(array, |value| whole_days(value, MILLISECONDS_A_DAY))?)
        }
        DataType::Timestamp(_, None) => {
            Arc::new(exact::<TimestampMicrosecondType, Date32Type>(&to_timestamp(array)?, |value| {
                whole_days(value, MICROSECONDS_A_DAY)
            })?)
        }
        _ => return Err(Misfit::Type),
    })
}

/// Converts timestamps and dates to timestamps in microseconds. Those with a zone are in UTC, and stay so.
pub(super) fn to_timestamp(array: &ArrayRef) -> Converted<ArrayRef> {
    type Micros = TimestampMicrosecondType;
    let micros = match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            exact::<TimestampSecondType, Micros>(array, |value| value.checked_mul(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            exact::<TimestampMillisecondType, Micros>(array, |value| value.checked_mul(1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(array.as_primitive::<Micros>().clone().with_timezone_opt::<Arc<str>>(None))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            exact::<TimestampNanosecondType, Micros>(array, |value| (value % 1000 == 0).then_some(value / 1000))
        }
        DataType::Date32 => {
            exact::<Date32Type, Micros>(array, |value| i64::from(value).checked_mul(MICROSECONDS_A_DAY))
        }
        DataType::Date64 => exact::<Date64Type, Micros>(array, |value| value.checked_mul(1000)),
        _ => Err(Misfit::Type),
    };
    Ok(Arc::new(micros?))
}
