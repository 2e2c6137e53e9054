//! The base URL of a server.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use boundary_bench_kernel::url::{UrlParts, bracketed};
use boundary_bench_kernel::{Error, Result};

/// A server's base URL: `http://host[:port][/path]` or `https://...`. The paths of requests are appended to its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether connections use TLS.
    pub tls: bool,
    /// The name or address of the host.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// The prefix of every request's path, without a slash at its end.
    pub path: String,
}

impl Url {
    /// The server as the header `host` names it.
    pub fn authority(&self) -> String {
        let host = bracketed(&self.host);
        if self.port == default_port(self.tls) { host.into_owned() } else { format!("{host}:{}", self.port) }
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}{}", self.scheme(), self.authority(), self.path)
    }
}

/// A path as it is sent. Characters that no URL has are percent-encoded, as the parser of URLs in browsers does: http 1.5 refuses them over
/// HTTP/2, in a path or in a query.
pub(crate) fn sent_path(path: &str) -> Cow<'_, str> {
    let is_encoded = |byte| matches!(byte, b'"' | b'<' | b'>' | b'`');
    if !path.bytes().any(is_encoded) {
        return Cow::Borrowed(path);
    }
    let encode =
        |c: char| if u8::try_from(c).is_ok_and(is_encoded) { format!("%{:02X}", u32::from(c)) } else { c.into() };
    path.chars().map(encode).collect::<String>().into()
}

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// An error that does not repeat the URL, since the URL may hold a secret.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!("unusable URL of a server: {problem}; use http://host[:port][/path] or https://..."))
}

impl FromStr for Url {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let url = UrlParts::parse(text).map_err(invalid)?;
        if url.authority.as_ref().is_some_and(|authority| authority.user.is_some()) {
            return Err(invalid("it has a login; give the header authorization"));
        }
        url.options.end().map_err(|_| invalid("it has a query"))?;
        Self::of(&url)
    }
}

impl Url {
    /// The URL in these parts, without their login and options.
    pub(crate) fn of(url: &UrlParts<'_>) -> Result<Self> {
        let authority = url.authority.as_ref().ok_or_else(|| invalid("no // follows the scheme"))?;
        let tls = match url.scheme {
            "http" => false,
            "https" => true,
            _ => return Err(invalid("the scheme is unknown")),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:%".contains(&byte);
        if authority.host.is_empty() || !authority.host.bytes().all(is_name) {
            return Err(invalid("the host is no name and no address"));
        }
        let path = url.path.trim_end_matches('/');
        if !path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(invalid("the path has characters that must be percent-encoded"));
        }
        let port = authority.port.unwrap_or(default_port(tls));
        Ok(Self { tls, host: authority.host.to_owned(), port, path: sent_path(path).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_server_and_a_path() {
        for (text, authority, path, shown) in [
            ("http://localhost", "localhost", "", "http://localhost"),
            ("http://localhost:80/", "localhost", "", "http://localhost"),
            ("https://h:443/a/b/", "h", "/a/b", "https://h/a/b"),
            ("http://[::1]:4406/0.1.0", "[::1]:4406", "/0.1.0", "http://[::1]:4406/0.1.0"),
            ("https://127.0.0.1", "127.0.0.1", "", "https://127.0.0.1"),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.authority().as_str(), url.path.as_str()), (authority, path));
            assert_eq!(url.to_string(), shown);
        }
    }

    #[test]
    fn unusable_urls_are_refused_and_not_repeated() {
        for text in [
            "secret",
            "ftp://secret",
            "http://user:secret@h",
            "http://",
            "http://h:secret",
            "http://h/?a=secret",
            "http://h/a#secret",
            "http://h/a b",
            "http://[::1",
            "http://[::1]80",
            "http://a\r\nb",
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
