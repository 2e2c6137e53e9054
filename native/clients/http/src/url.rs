//! The base URL of a server.

use std::fmt;
use std::str::FromStr;

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
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default_port(self.tls) { host } else { format!("{host}:{}", self.port) }
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

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// An error that does not repeat the URL, which may hold a secret.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!("unusable URL of a server: {problem}; use http://host[:port][/path] or https://..."))
}

impl FromStr for Url {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid("there is no scheme"))?;
        let tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(invalid("the scheme is unknown")),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(invalid("it has a login; give the header authorization"));
        }
        if rest.contains(['?', '#']) {
            return Err(invalid("it has a query"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(|| invalid("the address has no ]"))?;
                let port = match after {
                    "" => None,
                    after => Some(after.strip_prefix(':').ok_or_else(|| invalid("the port is no port"))?),
                };
                (host, port)
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:%".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_name) {
            return Err(invalid("the host is no name and no address"));
        }
        let port =
            port.map_or(Ok(default_port(tls)), |port| port.parse().map_err(|_| invalid("the port is no port")))?;
        let path = path.trim_end_matches('/');
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid("the path has characters that must be percent-encoded"));
        }
        Ok(Self { tls, host: host.to_owned(), port, path: path.to_owned() })
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
