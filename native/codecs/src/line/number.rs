//! Writes numbers in line protocol.

use super::scan::EXACT_INTEGERS;

/// Bytes of a float and of an integer as text, at most.
pub(super) const MOST_FLOAT: usize = 25;
pub(super) const MOST_INTEGER: usize = 20;

/// The decimals of a float that is written digit by digit, and ten to their power.
const DECIMALS: usize = 3;
const SCALE: u64 = 1000;

/// Below this scaled value, a float of that many decimals is recognised exactly.
const MOST_SCALED: u64 = 1 << 50;

/// The digits of all numbers below a thousand.
#[expect(clippy::cast_possible_truncation, reason = "digits")]
const DIGITS: [[u8; DECIMALS]; 1000] = {
    let mut digits = [[b'0'; DECIMALS]; 1000];
    let mut number = 0;
    while number < digits.len() {
        digits[number] = [b'0' + (number / 100) as u8, b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    digits
};

/// Writes a finite float at the start of `place`, and returns its length. `place` has room for the longest float.
#[inline]
pub(super) fn put_float(place: &mut [u8], value: f64) -> usize {
    // Most floats have at most three decimals. A text of at most fifteen digits that reads back as the float is the shortest
    // such text.
    let magnitude = value.abs();
    let scaled = magnitude * SCALE as f64 + 0.5;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, and is checked below")]
    let scaled = scaled as u64;
    #[expect(clippy::float_cmp, reason = "the same float, or another text")]
    let is_exact = scaled < MOST_SCALED && scaled as f64 / SCALE as f64 == magnitude;
    if !is_exact {
        return put_any_float(place, value);
    }
    // Zero is written without a sign, as in JavaScript.
    let sign = usize::from(value < 0.0);
    place[0] = b'-';
    let whole = sign + put_unsigned(&mut place[sign..], scaled / SCALE);
    let digits = DIGITS[usize::try_from(scaled % SCALE).unwrap_or_default()];
    place[whole] = b'.';
    place[whole + 1..=whole + DECIMALS].copy_from_slice(&digits);
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    if zeros == DECIMALS { whole } else { whole + 1 + DECIMALS - zeros }
}

#[inline]
fn put_unsigned(place: &mut [u8], value: u64) -> usize {
    if value < 10 {
        #[expect(clippy::cast_possible_truncation, reason = "a digit")]
        let digit = value as u8;
        place[0] = b'0' + digit;
        return 1;
    }
    let mut buffer = itoa::Buffer::new();
    put_text(place, buffer.format(value).as_bytes())
}

/// Writes an integer at the start of `place`, and returns its length. `place` has room for the longest integer.
#[inline]
pub(super) fn put_integer(place: &mut [u8], value: i64) -> usize {
    let mut buffer = itoa::Buffer::new();
    put_text(place, buffer.format(value).as_bytes())
}

#[inline]
fn put_text(place: &mut [u8], text: &[u8]) -> usize {
    place[..text.len()].copy_from_slice(text);
    text.len()
}

#[cold]
fn put_any_float(place: &mut [u8], value: f64) -> usize {
    let mut text = Vec::with_capacity(MOST_FLOAT);
    push_any_float(&mut text, value);
    put_text(place, &text)
}

/// Appends a finite float as the shortest text that reads back as the same float, in JavaScript's notation.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    let mut place = [0; MOST_FLOAT];
    let length = put_float(&mut place, value);
    out.extend_from_slice(&place[..length]);
}

fn push_any_float(out: &mut Vec<u8>, value: f64) {
    // Integers are most of the texts that end in `.0` below, and this way is cheaper. The bound keeps the conversion exact.
    #[expect(clippy::cast_possible_truncation, reason = "checked by the conversion back")]
    let whole = value as i64;
    #[expect(clippy::float_cmp, reason = "the same bits, or not a whole number")]
    let is_whole = whole as f64 == value;
    if is_whole && whole.unsigned_abs() <= EXACT_INTEGERS {
        // Zero is written without a sign, as in JavaScript.
        push_integer(out, whole);
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    match text.as_bytes().iter().position(|byte| *byte == b'e') {
        None => out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes()),
        Some(middle) => push_exponential(out, &text[..middle], text[middle + 1..].parse().unwrap_or_default()),
    }
}

/// Appends digits times a power of ten in JavaScript's notation: without exponent from 1e-6 to below 1e21, else with `e`.
fn push_exponential(out: &mut Vec<u8>, mantissa: &str, power: i32) {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let rest = rest.trim_end_matches('0');
    out.extend_from_slice(sign.as_bytes());
    match power {
        0..21 => {
            let places = power.unsigned_abs() as usize;
            out.extend_from_slice(first.as_bytes());
            out.extend_from_slice(&rest.as_bytes()[..rest.len().min(places)]);
            out.resize(out.len() + places.saturating_sub(rest.len()), b'0');
            if rest.len() > places {
                out.push(b'.');
                out.extend_from_slice(&rest.as_bytes()[places..]);
            }
        }
        -6..0 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + power.unsigned_abs() as usize - 1, b'0');
            out.extend_from_slice(first.as_bytes());
            out.extend_from_slice(rest.as_bytes());
        }
        _ => {
            out.extend_from_slice(first.as_bytes());
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest.as_bytes());
            }
            out.push(b'e');
            out.push(if power < 0 { b'-' } else { b'+' });
            push_integer(out, i64::from(power.unsigned_abs()));
        }
    }
}

/// Appends an integer.
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::scan::Scanned;
    use super::*;

    fn text_of(value: f64) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_written_as_javascript_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "100000000000000000000"),
            (1.5e20, "150000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.25e21, "-1.25e+21"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (9.007_199_254_740_994e15, "9007199254740994"),
            (1e16, "10000000000000000"),
            (1e17, "100000000000000000"),
            (1_125_899_906_842.624, "1125899906842.624"),
            (1_125_899_906_842.623, "1125899906842.623"),
            (1e-3, "0.001"),
            (1e-4, "0.0001"),
            (63.999, "63.999"),
            (-0.5, "-0.5"),
            (12.34, "12.34"),
        ] {
            assert_eq!(text_of(value), text);
        }
    }

    proptest! {
        #[test]
        fn a_float_reads_back(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
            let text = text_of(value);
            let scanned = Scanned::of(text.as_bytes()).unwrap();
            prop_assert_eq!(scanned.length, text.len());
            // Zero has no sign in the text.
            prop_assert_eq!(scanned.to_float(text.as_bytes()).to_bits(), (value + 0.0).to_bits());
        }

        #[test]
        fn decimals_are_written_as_they_are(number in -(1_i64 << 52)..1 << 52, places in 0_u32..8) {
            // Rust's own text of a float is also the shortest, and never has an exponent.
            let value = number as f64 / 10_f64.powi(places.cast_signed());
            prop_assume!(value == 0.0 || value.abs() >= 1e-6);
            prop_assert_eq!(text_of(value), format!("{}", value + 0.0));
        }

        #[test]
        fn integers_read_back(value in any::<i64>()) {
            let text = value.to_string();
            prop_assert_eq!(Scanned::of(text.as_bytes()).unwrap().to_integer(text.as_bytes()), Some(value));
        }
    }
}
