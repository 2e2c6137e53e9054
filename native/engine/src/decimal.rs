//! Decimals as text: `-12.30` for the unscaled value -1230 at scale 2.

/// The unscaled value of a decimal written as digits with an optional sign and point. `None` if the text is no such number, or
/// has more digits in all than `precision`. Also `None` if it has more digits behind the point than `scale`, not counting zeros.
pub fn parse(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty()
        || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    let limit = 10_i128.pow(u32::from(precision));
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', missing)) {
        // With 38 digits, ten times the value may not fit into 128 bits.
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        if value >= limit {
            return None;
        }
    }
    Some(if negative { -value } else { value })
}

/// Writes an unscaled value with exactly `scale` digits behind the point.
pub fn format(value: i128, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_are_no_decimal_of_the_type_are_refused() {
        for text in ["", "-", ".", "1e3", "1.234", "100000", "1,2", " 1", "--1", "NaN", "١"] {
            assert_eq!(parse(text, 5, 2), None, "{text}");
        }
        // Numbers beyond 128 bits, whose lower bits alone could be a number of few enough digits.
        for digits in 39..50 {
            assert_eq!(parse(&"9".repeat(digits), 38, 0), None, "{digits} digits");
        }
        assert_eq!(parse("-12.3", 5, 2), Some(-1230));
        assert_eq!(parse("+.5000", 5, 2), Some(50));
        assert_eq!(parse("999.99", 5, 2), Some(99_999));
        assert_eq!(format(-5, 2), "-0.05");
        assert_eq!(format(7, 0), "7");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in 0_u8..=38) {
            prop_assert_eq!(parse(&format(value, scale), 38, scale), Some(value));
        }
    }
}
