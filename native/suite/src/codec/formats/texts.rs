//! Texts: UTF-8 and base64.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::Simd;
use base64::engine::general_purpose::PAD;
use boundary_bench_kernel::{Error, Result};

/// Base64 by vectors, if the processor has them.
static BASE64: LazyLock<Simd> = LazyLock::new(|| Simd::standard(PAD));

/// Whether bytes are UTF-8.
#[must_use]
pub fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Bytes as base64.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Writes bytes as base64 over the beginning of `into`, and returns the number of characters.
///
/// # Errors
/// [`Error::TooLarge`] if there is too little room.
pub fn encode_base64_into(bytes: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64
        .encode_slice(bytes, into)
        .map_err(|_| Error::TooLarge("the base64 needs more memory than the array has".to_owned()))
}

/// The bytes of a text in base64.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64.
pub fn decode_base64(text: &str) -> Result<Vec<u8>> {
    BASE64.decode(text).map_err(no_base64)
}

/// Writes the bytes of a text in base64 over the beginning of `into`, and returns their number.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64, [`Error::TooLarge`] if there is too little room.
pub fn decode_base64_into(text: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64.decode_slice(text, into).map_err(|error| match error {
        base64::DecodeSliceError::DecodeError(error) => no_base64(error),
        base64::DecodeSliceError::OutputSliceTooSmall => {
            Error::TooLarge("the bytes need more memory than the array has".to_owned())
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn no_base64(error: base64::DecodeError) -> Error {
    Error::InvalidArgument(format!("the text is no base64: {error}"))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::inputs::{BYTES, inputs};
    use super::*;

    proptest! {
        #[test]
        fn base64_is_decoded_to_what_was_encoded(bytes in vec(any::<u8>(), 0..600)) {
            let text = encode_base64(&bytes);
            prop_assert_eq!(&text, &STANDARD.encode(&bytes));
            let mut into = vec![0; text.len()];
            prop_assert_eq!(encode_base64_into(&bytes, &mut into).unwrap(), text.len());
            prop_assert_eq!(&into, text.as_bytes());
            prop_assert_eq!(decode_base64(&text).unwrap(), bytes.clone());
            let mut into = vec![0; bytes.len()];
            prop_assert_eq!(decode_base64_into(text.as_bytes(), &mut into).unwrap(), bytes.len());
            prop_assert_eq!(&into, &bytes);
            if !bytes.is_empty() {
                let less = into.len() - 1;
                prop_assert_eq!(decode_base64_into(text.as_bytes(), &mut into[..less]).unwrap_err().code(), "BB_TOO_LARGE");
                prop_assert_eq!(encode_base64_into(&bytes, &mut vec![0; text.len() - 1]).unwrap_err().code(), "BB_TOO_LARGE");
            }
        }

        #[test]
        fn what_is_no_base64_is_refused_wherever_it_is(
            bytes in vec(any::<u8>(), 1..600), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut text = encode_base64(&bytes).into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            let mut into = vec![0; bytes.len() + 2];
            match STANDARD.decode(&text) {
                Ok(expected) => {
                    let length = decode_base64_into(&text, &mut into).unwrap();
                    prop_assert_eq!(&into[..length], &expected);
                }
                Err(_) => {
                    prop_assert_eq!(decode_base64_into(&text, &mut into).unwrap_err().code(), "BB_INVALID_ARGUMENT");
                }
            }
        }
    }

    #[test]
    fn a_third_of_each_text_is_not_ascii_and_a_broken_one_is_noticed() {
        for text in &inputs().unwrap().texts {
            assert_eq!(text.len(), BYTES);
            assert_eq!(text.chars().filter(|letter| !letter.is_ascii()).count() * 3, text.chars().count());
            assert!(is_utf8(text.as_bytes()));
            for place in [0, 2, 3, BYTES - 1] {
                let mut broken = text.as_bytes().to_vec();
                broken[place] = 0xff;
                assert!(!is_utf8(&broken), "{place}");
            }
            assert!(!is_utf8(&text.as_bytes()[..BYTES - 1]));
        }
        assert_eq!(decode_base64("AA=A").unwrap_err().code(), "BB_INVALID_ARGUMENT");
        assert_eq!(decode_base64_into(b"\xff", &mut [0; 8]).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }
}
