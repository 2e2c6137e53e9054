//! Parses numbers.

/// The powers of ten that a float holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Floats hold every integer up to this one exactly.
pub(super) const EXACT_INTEGERS: u64 = 1 << 53;

/// The number of digits that always fits 64 bits.
const SURE_DIGITS: usize = 19;

/// A number at the start of some bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scanned {
    /// The length of the number in bytes.
    pub length: usize,
    negative: bool,
    /// The digits without the point, if all of them fit 64 bits.
    digits: Option<u64>,
    /// The power of ten to multiply the digits by.
    exponent: i32,
    /// Whether the number has a point or an exponent.
    pub is_fraction: bool,
}

/// The byte `0`, eight times.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The powers of ten below the power of a whole chunk of digits.
const CHUNK_POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The value and the number of the digits that eight bytes begin with. There is no branch on their number, since the lengths of
/// numbers change from line to line.
#[inline]
fn digits_of(chunk: [u8; 8]) -> (u64, usize) {
    let word = u64::from_le_bytes(chunk) ^ ZEROS;
    // A byte that is no digit has a bit of its upper half set, itself or after adding six. Carries into later bytes do not
    // matter, since those lie behind the last digit.
    let others = (word | word.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0;
    let count = others.trailing_zeros() / 8;
    // Shifts the digits behind leading zeros, and drops the bytes behind the last digit.
    let word = if count == 8 { word } else { word << 8 << (56 - 8 * count) };
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, count as usize)
}

/// Appends the digits at the start of the bytes to `value`. Returns the new value, and the number of digits.
#[inline]
fn scan_digits(bytes: &[u8], mut value: u64) -> (u64, usize) {
    let mut length = 0;
    while let Some(chunk) = bytes[length..].first_chunk() {
        let (digits, count) = digits_of(*chunk);
        if let Some(power) = CHUNK_POWERS.get(count) {
            return (value.wrapping_mul(*power).wrapping_add(digits), length + count);
        }
        value = value.wrapping_mul(100_000_000).wrapping_add(digits);
        length += 8;
    }
    while let Some(digit) = bytes.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (value, length)
}

/// The value and the number of the digits that bytes begin with. `None` for no digits, for more than nineteen, and if the bytes
/// end soon after.
#[inline]
pub(super) fn plain_digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let (first, count) = digits_of(*bytes.first_chunk()?);
    let Some(_) = CHUNK_POWERS.get(count) else { return more_digits(bytes, first) };
    (count > 0).then_some((first, count))
}

/// The value and the number of the digits after a first chunk of eight.
#[inline]
fn more_digits(bytes: &[u8], first: u64) -> Option<(u64, usize)> {
    let (second, count) = digits_of(*bytes.get(8..)?.first_chunk()?);
    if let Some(power) = CHUNK_POWERS.get(count) {
        return Some((first * power + second, 8 + count));
    }
    // Times in nanoseconds have nineteen digits. These always fit an unsigned integer, but not a signed one.
    let (third, count) = digits_of(*bytes.get(16..)?.first_chunk()?);
    let power = CHUNK_POWERS.get(count).filter(|_| count <= 3)?;
    Some(((first * 100_000_000 + second) * power + third, 16 + count))
}

/// The float that bytes begin with, and its length. `None` for no float or a float that is too large. A comma or a space must follow.
#[inline]
pub(super) fn plain_float(bytes: &[u8]) -> Option<(f64, usize)> {
    let (value, length) = short_float(bytes).or_else(|| long_float(bytes))?;
    matches!(bytes.get(length), Some(b',' | b' ')).then_some((value, length))
}

/// A float of up to seven digits on either side of the point, computed with one rounding.
#[inline]
fn short_float(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (whole, count) = digits_of(*bytes.get(start..)?.first_chunk()?);
    if !(1..8).contains(&count) {
        return None;
    }
    let end = start + count;
    let (magnitude, length) = if bytes.get(end) == Some(&b'.') {
        let (fraction, places) = digits_of(*bytes.get(end + 1..)?.first_chunk()?);
        let digits = whole * CHUNK_POWERS.get(places)? + fraction;
        (digits as f64 / EXACT_POWERS[places], end + 1 + places)
    } else {
        (whole as f64, end)
    };
    // Other bytes than a comma or a space may be part of the number.
    let is_whole = matches!(bytes.get(length), Some(b',' | b' '));
    is_whole.then_some((if negative { -magnitude } else { magnitude }, length))
}

fn long_float(bytes: &[u8]) -> Option<(f64, usize)> {
    let number = Scanned::of(bytes)?;
    let value = number.to_float(bytes);
    value.is_finite().then_some((value, number.length))
}

impl Scanned {
    /// Scans a sign, digits with at most one point, and an exponent. `None` without digits, and for an exponent without digits.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let negative = bytes.first() == Some(&b'-');
        let sign = usize::from(negative || bytes.first() == Some(&b'+'));
        let (mut value, whole) = scan_digits(&bytes[sign..], 0);
        let mut length = sign + whole;
        let (mut fraction, mut is_fraction) = (0, false);
        if bytes.get(length) == Some(&b'.') {
            is_fraction = true;
            (value, fraction) = scan_digits(&bytes[length + 1..], value);
            length += 1 + fraction;
        }
        if whole + fraction == 0 {
            return None;
        }
        let mut exponent = -i32::try_from(fraction).unwrap_or(i32::MAX);
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            is_fraction = true;
            let negative = bytes.get(length + 1) == Some(&b'-');
            let start = length + 1 + usize::from(negative || bytes.get(length + 1) == Some(&b'+'));
            let (power, count) = scan_digits(bytes.get(start..).unwrap_or_default(), 0);
            if count == 0 {
                return None;
            }
            // A larger exponent makes the number zero or infinite either way. The standard library decides which.
            let power = if count > 6 { i32::MAX / 2 } else { i32::try_from(power).unwrap_or(i32::MAX / 2) };
            exponent = exponent.saturating_add(if negative { -power } else { power });
            length = start + count;
        }
        // Leading zeros count as digits here. Such numbers take the slow path, and it is right for them, too.
        let digits = (whole + fraction <= SURE_DIGITS).then_some(value);
        Some(Self { length, negative, digits, exponent, is_fraction })
    }

    /// The float, rounded as the standard library does. It is infinite if it is too large. `bytes` begin with the scanned number.
    #[inline]
    pub fn to_float(self, bytes: &[u8]) -> f64 {
        if let Some(digits) = self.digits
            && digits <= EXACT_INTEGERS
            && let Some(power) = EXACT_POWERS.get(self.exponent.unsigned_abs() as usize)
        {
            // Both operands are exact, so that only one rounding happens.
            let magnitude = if self.exponent < 0 { digits as f64 / power } else { digits as f64 * power };
            return if self.negative { -magnitude } else { magnitude };
        }
        self.parsed(bytes).unwrap_or(f64::INFINITY)
    }

    /// The signed integer, or `None` if it does not fit or is a fraction.
    #[inline]
    pub fn to_integer(self, bytes: &[u8]) -> Option<i64> {
        if self.is_fraction {
            return None;
        }
        // Nineteen digits may exceed a signed integer.
        match self.digits.map(i64::try_from) {
            Some(Ok(magnitude)) => Some(if self.negative { -magnitude } else { magnitude }),
            _ => self.parsed(bytes),
        }
    }

    /// The unsigned integer, or `None` if it does not fit, is negative or is a fraction.
    pub fn to_unsigned(self, bytes: &[u8]) -> Option<u64> {
        (!self.is_fraction && !self.negative).then(|| self.parsed(bytes)).flatten()
    }

    /// The scanned number, parsed by the standard library.
    #[cold]
    fn parsed<T: std::str::FromStr>(self, bytes: &[u8]) -> Option<T> {
        std::str::from_utf8(bytes.get(..self.length)?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_scanned_float_is_that_of_the_standard_library(text in "[-+]?[0-9]{0,25}\\.?[0-9]{0,25}([eE][-+]?[0-9]{1,4})?") {
            match Scanned::of(text.as_bytes()) {
                Some(scanned) => {
                    prop_assert_eq!(scanned.length, text.len());
                    prop_assert_eq!(scanned.to_float(text.as_bytes()).to_bits(), text.parse::<f64>().unwrap().to_bits());
                    if !scanned.is_fraction {
                        prop_assert_eq!(scanned.to_integer(text.as_bytes()), text.parse().ok());
                        let unsigned = if text.starts_with('-') { None } else { text.parse().ok() };
                        prop_assert_eq!(scanned.to_unsigned(text.as_bytes()), unsigned);
                    }
                }
                None => prop_assert!(text.parse::<f64>().is_err()),
            }
        }

        #[test]
        fn plain_numbers_are_those_of_the_standard_library(text in "-?[0-9]{0,20}\\.?[0-9]{0,20}([eE][-+]?[0-9]{1,2})?") {
            let line = format!("{text} 1700000000000\n");
            let expected = text.parse::<f64>().ok().map(|value| (value.to_bits(), text.len()));
            prop_assert_eq!(plain_float(line.as_bytes()).map(|(value, length)| (value.to_bits(), length)), expected);
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            let found = plain_digits(line.as_bytes());
            if (1..=19).contains(&digits.len()) {
                prop_assert_eq!(found, Some((digits.parse().unwrap(), digits.len())));
            } else {
                prop_assert_eq!(found, None);
            }
        }
    }
}
