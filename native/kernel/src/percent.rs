//! Percent-encoding of URLs.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All characters but letters, digits and `-._~`.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Decodes `%XX` to bytes of UTF-8.
///
/// # Errors
/// The problem of the text: a `%` without two hexadecimal digits, or bytes that are no UTF-8. It repeats nothing of the
/// text, since the text may be a secret.
pub fn decoded(text: &str) -> Result<String, &'static str> {
    let is_escape = |digits: &[u8]| digits.len() > 1 && digits[..2].iter().all(u8::is_ascii_hexdigit);
    if !text.split('%').skip(1).all(|behind| is_escape(behind.as_bytes())) {
        return Err("a % is not followed by two digits");
    }
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| "a %XX in it is no UTF-8")
}

/// Decodes each `%XX` and keeps other percent signs, as servers do. A text whose bytes are no UTF-8 is unchanged.
pub fn decoded_leniently(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

/// Encodes a text as a part of a URL: all characters but letters, digits and `-._~` as `%XX`.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_hexadecimal_digits_are_a_byte() {
        for (text, expected) in [("", ""), ("a b+", "a b+"), ("p%40ss%3a%25", "p@ss:%"), ("%C3%a4%2541", "\u{e4}%41")] {
            assert_eq!(decoded(text).as_deref(), Ok(expected));
            assert_eq!(decoded_leniently(text), expected);
        }
        for text in ["%", "a%4", "%4%41", "%zz", "%+1", "%-1", "%\u{e4}", "%4\u{e4}"] {
            assert_eq!(decoded(text), Err("a % is not followed by two digits"), "{text}");
        }
        assert_eq!(decoded("%FF"), Err("a %XX in it is no UTF-8"));
        for (text, expected) in [("%ff", "%ff"), ("%4", "%4"), ("%zz%", "%zz%"), ("%4%41", "%4A")] {
            assert_eq!(decoded_leniently(text), expected);
        }
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
