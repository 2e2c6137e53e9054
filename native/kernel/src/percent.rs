//! Percent-encoding of URLs.

use std::fmt::Write;

/// Decodes `%XX` to bytes of UTF-8.
///
/// # Errors
/// The problem of the text: a `%` without two hexadecimal digits, or bytes that are no UTF-8. It repeats nothing of the
/// text, which may be a secret.
pub fn decoded(text: &str) -> Result<String, &'static str> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = byte_of(part).ok_or("a % is not followed by two digits")?;
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| "a %XX in it is no UTF-8")
}

/// Encodes a text as a part of a URL: all characters but letters, digits and `-._~` as `%XX`.
#[must_use]
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing into a `String` does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// The byte of the two hexadecimal digits at the beginning, and the text behind them.
fn byte_of(text: &str) -> Option<(u8, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    // The standard library accepts a sign as part of a number.
    let byte = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    Some((byte, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_hexadecimal_digits_are_a_byte() {
        for (text, expected) in [("", ""), ("a b+", "a b+"), ("p%40ss%3a%25", "p@ss:%"), ("%C3%a4%2541", "\u{e4}%41")] {
            assert_eq!(decoded(text).as_deref(), Ok(expected));
        }
        for text in ["%", "a%4", "%4%41", "%zz", "%+1", "%-1", "%\u{e4}", "%4\u{e4}"] {
            assert_eq!(decoded(text), Err("a % is not followed by two digits"), "{text}");
        }
        assert_eq!(decoded("%FF"), Err("a %XX in it is no UTF-8"));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(text in "\\PC*") {
            let encoded = encoded(&text);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%-._~".contains(&byte)));
            prop_assert_eq!(decoded(&encoded), Ok(text));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[%0-9a-f+\u{e4}]*") {
            let _ = decoded(&text);
        }
    }
}
