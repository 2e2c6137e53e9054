//! The limit of one response that a client accepts: a broken or hostile server must not exhaust the memory.

use crate::Error;

/// The name of the option in URLs. In JavaScript it is `maxResponseBytes`.
pub const OPTION: &str = "max-response-bytes";

/// Parses the option's value, a number of bytes.
pub fn parse(value: &str) -> Result<usize, &'static str> {
    let bytes = value.parse().ok().filter(|bytes| *bytes > 0);
    bytes.ok_or("max-response-bytes is no number of bytes above 0")
}

/// The error for a response beyond the limit. `what` names it.
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
