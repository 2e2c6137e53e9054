//! A server as users name it: its URL with a secret in it, and a file of certificates beside it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_core::{Error, Result, percent};

use crate::client::HttpOptions;
use crate::url::Url;

/// `http[s]://[[user]:secret@]host[:port][/path][?cacert=/file.pem]`. Its parts percent-encode what else would end them.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where requests go.
    pub url: Url,
    /// What stands in the place of a password. It goes into a header, never into a message.
    pub secret: Option<String>,
    /// A file of certificates to trust in place of the system's.
    pub cacert: Option<PathBuf>,
}

impl Address {
    /// The options of a client of it.
    #[must_use]
    pub fn options(&self) -> HttpOptions {
        HttpOptions { cacert: self.cacert.clone(), ..HttpOptions::default() }
    }
}

impl fmt::Debug for Address {
    /// Without the secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Address").field("url", &self.url).field("cacert", &self.cacert).finish_non_exhaustive()
    }
}

/// An error that does not repeat the address.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!(
        "unusable URL of a server: {problem}; use http[s]://[:key@]host[:port][/path][?cacert=/file.pem]"
    ))
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = place.split_once("://").ok_or_else(|| invalid("there is no scheme"))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let secret = login.split_once(':').map_or("", |(_, secret)| secret);
        let secret = percent::decoded(secret).map_err(|_| invalid("its key is not percent-encoded"))?;
        let mut cacert = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, percent::decoded(value)) {
                ("cacert", Ok(file)) if !file.is_empty() => cacert = Some(file.into()),
                ("cacert", _) => return Err(invalid("cacert names no file")),
                _ => return Err(invalid("it has an unknown option")),
            }
        }
        let url: Url = format!("{scheme}://{host}{path}").parse()?;
        if cacert.is_some() && !url.tls {
            return Err(invalid("cacert is for https alone"));
        }
        Ok(Self { url, secret: (!secret.is_empty()).then_some(secret), cacert })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_parts() {
        for (text, url, secret, cacert) in [
            ("http://h:4406/x", "http://h:4406/x", None, None),
            ("http://:a%2Fb.c@h", "http://h", Some("a/b.c"), None),
            ("https://user:k@[::1]:1/?cacert=/a%20b.pem", "https://[::1]:1", Some("k"), Some("/a b.pem")),
            ("https://h?cacert=rel.pem", "https://h", None, Some("rel.pem")),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.url.to_string(), url);
            assert_eq!(address.secret.as_deref(), secret, "{text}");
            assert_eq!(address.cacert, cacert.map(PathBuf::from), "{text}");
        }
    }

    #[test]
    fn unusable_ones_are_refused_and_their_secret_is_not_shown() {
        for text in [
            "geheim",
            "http://:geheim%x@h",
            "http://:geheim%+1@h",
            "http://:geheim@",
            "http://:geheim@h?cacert=/a.pem",
            "https://:geheim@h?cacert=",
            "https://h?geheim=1",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("geheim"), "{error}");
        }
        let address: Address = "http://:geheim@h".parse().unwrap();
        assert!(!format!("{address:?}").contains("geheim"));
    }
}
