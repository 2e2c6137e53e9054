//! The most that a client takes from a server for one answer: a server that is broken or hostile must not take all memory.

use crate::Error;

/// The name of the option in URLs; `maxResponseBytes` in JavaScript.
pub const OPTION: &str = "max-response-bytes";

/// What the option's value says.
///
/// # Errors
/// What is wrong with it.
pub fn parse(value: &str) -> Result<usize, &'static str> {
    let bytes = value.parse().ok().filter(|bytes| *bytes > 0);
    bytes.ok_or("max-response-bytes is no number of bytes above 0")
}

/// The error for an answer that is longer.
#[must_use]
pub fn exceeded(what: &str, limit: usize) -> Error {
    Error::TooLarge(format!(
        "{what} has more than {limit} bytes, which is the limit; ask for less at once, or raise the limit ({OPTION} in a URL, \
         maxResponseBytes among the options)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_above_zero_are_limits() {
        assert_eq!(parse("1073741824"), Ok(1 << 30));
        for text in ["", "0", "-1", "1e9", "99999999999999999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(exceeded("a reply", 7).code(), "BB_TOO_LARGE");
    }
}
