//! Texts: UTF-8 and base64.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use boundary_bench_kernel::{Error, Result};

/// Whether bytes are UTF-8.
#[must_use]
pub fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Bytes as base64.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Writes bytes as base64 over the beginning of `into`, and returns the number of characters.
///
/// # Errors
/// [`Error::TooLarge`] if there is too little room.
pub fn encode_base64_into(bytes: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64_STANDARD
        .encode_slice(bytes, into)
        .map_err(|_| Error::TooLarge("the base64 needs more memory than the array has".to_owned()))
}

/// The bytes of a text in base64.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64.
pub fn decode_base64(text: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(text).map_err(no_base64)
}

/// Writes the bytes of a text in base64 over the beginning of `into`, and returns their number.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64, [`Error::TooLarge`] if there is too little room.
pub fn decode_base64_into(text: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64_STANDARD.decode_slice(text, into).map_err(|error| match error {
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
    use proptest::prelude::*;

    use super::super::inputs::{BYTES, inputs};
    use super::*;

    proptest! {
        #[test]
        fn base64_is_decoded_to_what_was_encoded(bytes: Vec<u8>) {
            let text = encode_base64(&bytes);
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
