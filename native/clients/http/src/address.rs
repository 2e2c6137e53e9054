//! The address of a server as users write it: its URL, which may hold a secret, with options such as a file of
//! certificates.

use std::fmt;
use std::str::FromStr;

use boundary_bench_kernel::tls::{TlsWords, Trust};
use boundary_bench_kernel::{Error, Result, percent, response_limit};

use crate::limits::MOST_BYTES;
use crate::place::HttpOptions;
use crate::url::Url;

/// `http[s]://[[user]:secret@]host[:port][/path][?tls-ca=/file.pem&max-response-bytes=N]`. Characters that would end a part
/// are percent-encoded in it. The options of TLS are those of [`TlsWords`].
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The URL that requests are sent to.
    pub url: Url,
    /// The password of the URL, percent-decoded. It goes into a header, never into a message.
    pub secret: Option<String>,
    /// The certificates to trust over TLS.
    pub trust: Trust,
    /// The most bytes of a response's body.
    pub most_bytes: usize,
}

impl Address {
    /// The options of a client of this server.
    #[must_use]
    pub fn options(&self) -> HttpOptions {
        HttpOptions { trust: self.trust.clone(), most_bytes: self.most_bytes, ..HttpOptions::default() }
    }
}

impl fmt::Debug for Address {
    /// Shows the address without its secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Address").field("url", &self.url).field("trust", &self.trust).finish_non_exhaustive()
    }
}

/// An error that does not repeat the address.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!(
        "unusable URL of a server: {problem}; use http[s]://[:key@]host[:port][/path], with ?tls-ca=/file.pem and \
         ?max-response-bytes=N where needed"
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
        let (mut words, mut most_bytes) = (TlsWords::default(), MOST_BYTES);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent::decoded(value).map_err(invalid)?;
            if name == response_limit::OPTION {
                most_bytes = response_limit::parse(&value).map_err(invalid)?;
            } else if !words.take(name, &value).map_err(invalid)? {
                return Err(invalid("it has an unknown option"));
            }
        }
        let url: Url = format!("{scheme}://{host}{path}").parse()?;
        let trust = words.trust(Some(url.tls)).map_err(invalid)?.unwrap_or_default();
        Ok(Self { url, secret: (!secret.is_empty()).then_some(secret), trust, most_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_parts() {
        let file = |name: &str| Trust::Authorities(name.into());
        for (text, url, secret, trust) in [
            ("http://h:4406/x", "http://h:4406/x", None, Trust::System),
            ("http://:a%2Fb.c@h", "http://h", Some("a/b.c"), Trust::System),
            ("https://user:k@[::1]:1/?tls-ca=/a%20b.pem", "https://[::1]:1", Some("k"), file("/a b.pem")),
            ("https://h?cacert=rel.pem", "https://h", None, file("rel.pem")),
            ("https://h?tls=required", "https://h", None, Trust::Anyone),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.url.to_string(), url);
            assert_eq!(address.secret.as_deref(), secret, "{text}");
            assert_eq!((address.trust, address.most_bytes), (trust, MOST_BYTES), "{text}");
        }
    }

    #[test]
    fn unusable_ones_are_refused_and_their_secret_is_not_shown() {
        for text in [
            "geheim",
            "http://:geheim%x@h",
            "http://:geheim%+1@h",
            "http://:geheim@",
            "http://:geheim@h?tls-ca=/a.pem",
            "https://:geheim@h?tls-ca=",
            "http://:geheim@h?tls=verify",
            "https://h?max-response-bytes=geheim",
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
