//! Numbers of JavaScript as integers.

use napi::ValueType;
use napi::bindgen_prelude::{BigInt, FromNapiValue, Unknown};

use crate::host::errors::invalid;

/// Reads a value of the type `kind`. Returns the reason if `expected` is another type.
pub fn read<T: FromNapiValue>(value: &Unknown<'_>, kind: ValueType, expected: ValueType) -> Result<T, String> {
    if kind != expected {
        return Err(format!("expected {expected}, got {kind}"));
    }
    // SAFETY: the handle belongs to a value of the call under way.
    unsafe { value.cast::<T>() }.map_err(|error| error.to_string())
}

/// The largest integer up to which a number holds every integer exactly.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The integer that a number holds exactly, or `None` if it holds none.
pub fn safe_integer(number: f64) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "exact: below 2^53")]
    const MOST: f64 = MAX_SAFE_INTEGER as f64;
    #[expect(clippy::cast_possible_truncation, reason = "checked: an integer below 2^53")]
    (number.fract() == 0.0 && number.abs() <= MOST).then_some(number as i64)
}

/// Converts a bigint, or a number that holds an integer exactly, to an integer.
pub fn integer(value: &Unknown<'_>, kind: ValueType) -> Result<i64, String> {
    if kind == ValueType::BigInt {
        let (integer, lossless) = read::<BigInt>(value, kind, ValueType::BigInt)?.get_i64();
        return if lossless { Ok(integer) } else { Err("does not fit 64 bits".to_owned()) };
    }
    let number = read::<f64>(value, kind, ValueType::Number)?;
    safe_integer(number).ok_or_else(|| format!("{number} is no safe integer"))
}

/// Converts an integer to a narrower type.
pub fn narrow<T: TryFrom<i64>>(value: i64) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("{value} is out of range"))
}

/// Converts a JavaScript number to a count of 0 to `most`. `what` names it in the error.
pub fn count(value: f64, what: &str, most: u32) -> napi::Result<usize> {
    if value.fract() == 0.0 && value >= 0.0 && value <= f64::from(most) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: an integer of 0 to 2^32 - 1"
        )]
        return Ok(value as usize);
    }
    Err(invalid(format!("{what} must be an integer of 0 to {most}, not {value}")))
}

/// Converts a number of digits. Whether the digits make a valid decimal is checked with the table or the value.
pub fn digits(value: f64, what: &str) -> napi::Result<u8> {
    let digits = count(value, what, u8::MAX.into())?;
    u8::try_from(digits).map_err(|error| invalid(error.to_string()))
}
