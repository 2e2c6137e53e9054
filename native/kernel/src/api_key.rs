//! The API key that requests to a server of ours must carry, if the server was given one.

/// The header that holds the key alone, as `RonDB`'s REST server takes it. In gRPC, it is metadata.
pub const HEADER: &str = "x-api-key";

/// The header that holds a key behind a scheme, as clients of `InfluxDB` send it.
const AUTHORIZATION: &str = "authorization";

/// The schemes of `Authorization` whose credentials are a key.
const SCHEMES: [&str; 2] = ["Token", "Bearer"];

/// The number of characters of a key before and after its point.
const PARTS: (usize, usize) = (16, 64);

/// The description of a key's form, for errors. They must not repeat the key itself.
pub fn form() -> String {
    format!("an API key is {} characters, a point, and {} characters", PARTS.0, PARTS.1)
}

/// Whether a text has the form of a key.
pub fn is_api_key(text: &str) -> bool {
    text.is_ascii() && text.split_once('.').is_some_and(|(left, right)| (left.len(), right.len()) == PARTS)
}

/// The key that a server requires of requests. `None` accepts all requests.
#[derive(Clone, Default)]
pub struct ApiKey(pub Option<String>);

impl ApiKey {
    /// Checks the key in a request's headers. The headers are not read if no key is required.
    pub fn check<'headers>(&self, header: impl Fn(&'static str) -> Option<&'headers [u8]>) -> Result<(), &'static str> {
        let Some(key) = &self.0 else { return Ok(()) };
        let given = header(HEADER).or_else(|| of_authorization(header(AUTHORIZATION)?));
        let given = given.ok_or("the header X-API-KEY is missing")?;
        let is_key = std::str::from_utf8(given).is_ok_and(is_api_key);
        if is_key && is_equal(given, key.as_bytes()) { Ok(()) } else { Err("bad API key") }
    }
}

/// The key in the value of `Authorization`, such as `Token KEY`.
fn of_authorization(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(value.iter().position(|byte| *byte == b' ')?)?;
    SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes())).then(|| key.trim_ascii())
}

/// Compares in a time that does not depend on the contents.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_two_parts() {
        let key = format!("{}.{}", "p".repeat(16), "s".repeat(64));
        assert!(is_api_key(&key));
        assert!(!is_api_key(&key[1..]) && !is_api_key("") && !is_api_key(&key.replace('.', "-")));
    }

    #[test]
    fn a_key_comes_in_either_header() {
        let key = format!("{}.{}", "p".repeat(16), "s".repeat(64));
        let other = key.replace('s', "t");
        let guarded = ApiKey(Some(key.clone()));
        let check = |header: Option<&str>, authorization: Option<&str>| {
            guarded.check(|name| if name == HEADER { header } else { authorization }.map(str::as_bytes))
        };
        let (token, bearer, basic) = (format!("Token {key}"), format!("bearer  {key}"), format!("Basic {key}"));
        for (header, authorization) in
            [(Some(&key), None), (None, Some(&token)), (None, Some(&bearer)), (Some(&key), Some(&basic))]
        {
            assert_eq!(check(header.map(String::as_str), authorization.map(String::as_str)), Ok(()));
        }
        let wrong = format!("Token {other}");
        // The header `x-api-key` has precedence.
        for (header, authorization) in [
            (Some(other.as_str()), None),
            (Some(""), None),
            (None, Some(wrong.as_str())),
            (Some("x"), Some(token.as_str())),
        ] {
            assert_eq!(check(header, authorization), Err("bad API key"));
        }
        for authorization in [None, Some(key.as_str()), Some(basic.as_str()), Some("")] {
            assert_eq!(check(None, authorization), Err("the header X-API-KEY is missing"));
            assert_eq!(ApiKey(None).check(|_| None), Ok(()));
        }
        assert_eq!(guarded.check(|name| (name == HEADER).then_some(&b"\xff"[..])), Err("bad API key"));
    }
}
