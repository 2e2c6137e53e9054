//! The address of a server as users write it: its URL, with options such as a file of certificates. The URL may hold a secret.

use std::fmt;
use std::str::FromStr;

use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::url::UrlParts;
use boundary_bench_kernel::{Error, Result};

use crate::limits::MOST_BYTES;
use crate::origin::HttpOptions;
use crate::url::Url;

/// `http[s]://[[user]:secret@]host[:port][/path][?tls-ca=/file.pem&max-response-bytes=N]`. Characters that would end a part
/// are percent-encoded in it. The options of TLS are as in [`Trust::of_words`].
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
         ?max-response-bytes=N if needed"
    ))
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = UrlParts::parse(text).map_err(invalid)?;
        let url = Url::of(&parts)?;
        let secret = parts.authority.take().and_then(|authority| authority.password);
        let mut options = parts.options;
        let most_bytes = options.take_response_limit(MOST_BYTES).map_err(invalid)?;
        let trust = options.take_trust(Some(url.tls)).map_err(invalid)?.unwrap_or_default();
        options.end().map_err(invalid)?;
        Ok(Self { url, secret: secret.filter(|secret| !secret.is_empty()), trust, most_bytes })
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
