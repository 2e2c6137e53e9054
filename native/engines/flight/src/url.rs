//! The URL of a service: its address, its login and its options.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use boundary_bench_http::Url;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::url::{Authority, UrlParts, bracketed};
use boundary_bench_kernel::{Error, Result};

use crate::dialect::Dialect;

/// Default maximum length of a message, in bytes: a row is never split, so there is no natural limit.
const MOST_BYTES: usize = 1 << 30;

/// A service of Flight SQL: `flight://user:password@host:port`, or `flight+tls://...` with encryption. `?tls-ca=/path.pem` names the
/// authority to trust instead of the system's ([`Trust::of_words`]). `?timeout=30` is the number of seconds that the server may take
/// to answer a call and to send the next part of a result. `?max-response-bytes=` is the maximum length of one message. `?dialect=` is
/// the SQL of the server (`duckdb`, `spark` or `plain`). Without it, the dialect is found by trying. User, password and path are
/// written with `%XX` if needed. Neither its text nor its debug form shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct FlightUrl {
    /// The host, the port, and whether TLS protects the connection.
    pub place: Url,
    /// The user and the password, or `None` without a login.
    pub login: Option<(String, String)>,
    /// The certificates to trust over TLS.
    pub trust: Trust,
    /// Maximum length of a message, in bytes.
    pub most_bytes: usize,
    /// The time that the server may take to answer a call and to send the next part of a result, or `None` for no limit.
    pub timeout: Option<Duration>,
    /// The dialect of the server, or `None` to find it.
    pub dialect: Option<Dialect>,
}

impl fmt::Display for FlightUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.place.tls { "flight+tls" } else { "flight" };
        write!(formatter, "{scheme}://{}:{}", bracketed(&self.place.host), self.place.port)
    }
}

impl fmt::Debug for FlightUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FlightUrl({self})")
    }
}

impl FromStr for FlightUrl {
    type Err = Error;

    /// The error repeats nothing of the text, since the text may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URL of a Flight SQL server: {problem}; use flight://user:password@host:port, or flight+tls://..., \
                 with ?tls-ca=/path.pem, ?timeout=SECONDS, ?max-response-bytes=N and ?dialect=NAME if needed"
            ))
        };
        let UrlParts { scheme, authority, path, mut options } = UrlParts::parse(text).map_err(invalid)?;
        let Authority { user, password, host, port } = authority.ok_or_else(|| invalid("it has no ://"))?;
        let tls = match scheme {
            "flight" => false,
            "flight+tls" => true,
            _ => return Err(invalid("the scheme is neither flight nor flight+tls")),
        };
        let port = port.filter(|port| *port > 0).ok_or_else(|| invalid("it names no port"))?;
        if host.is_empty() || host.contains(['[', ']']) || !matches!(path, "" | "/") {
            return Err(invalid("host:port is not understood"));
        }
        let seconds = |value: String| {
            let time = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            time.filter(|time| !time.is_zero()).ok_or_else(|| invalid("the timeout is no number of seconds"))
        };
        let dialect = |name: String| {
            Dialect::named(&name).ok_or_else(|| invalid(&format!("the dialect is none of {}", Dialect::names())))
        };
        let url = Self {
            place: Url { tls, host: host.to_owned(), port, path: String::new() },
            login: user.map(|user| (user, password.unwrap_or_default())),
            trust: options.take_trust(Some(tls)).map_err(invalid)?.unwrap_or_default(),
            most_bytes: options.take_response_limit(MOST_BYTES).map_err(invalid)?,
            timeout: options.take("timeout").map(seconds).transpose()?,
            dialect: options.take("dialect").map(dialect).transpose()?,
        };
        options.end().map_err(invalid)?;
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_name_a_server_and_a_login() {
        let url: FlightUrl = "flight+tls://me:s3c%3Ar%40t@[::1]:31337?tls-ca=/a%20b.pem&timeout=0.5".parse().unwrap();
        assert_eq!(url.login, Some(("me".to_owned(), "s3c:r@t".to_owned())));
        assert_eq!((url.place.host.as_str(), url.place.port, url.place.tls), ("::1", 31_337, true));
        assert_eq!((url.trust, url.timeout), (Trust::Authorities("/a b.pem".into()), Some(Duration::from_millis(500))));
        let url: FlightUrl = "flight://localhost:31337/?dialect=spark".parse().unwrap();
        assert_eq!((url.login.is_none(), url.to_string().as_str()), (true, "flight://localhost:31337"));
        assert_eq!(url.dialect, Some(Dialect::Spark));
    }

    #[test]
    fn unusable_urls_are_refused_and_passwords_not_shown() {
        for text in [
            "flight:",
            "flight://u:secret@host",
            "flight://u:secret@:1",
            "flight://u:secret@host:0",
            "flight://u:secret@host:1/path",
            "flight://u:secret@host:1?x=1",
            "flight://u:secret@host:1?timeout=-1",
            "flight://u:secret@host:1?timeout=0",
            "flight://u:secret@host:1?tls-ca=/x",
            "flight+tls://u:secret@host:1?tls=off",
            "flight://u:secret@host:1?max-response-bytes=x",
            "flight://u:secret@host:1?dialect=latin",
            "flight://u:secret%FF@host:1",
            "flight://u:secret%+1@host:1",
            "grpc://u:secret@host:1",
        ] {
            let error = text.parse::<FlightUrl>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let url: FlightUrl = "flight://u:secret@host:1".parse().unwrap();
        assert!(!format!("{url} {url:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = text.parse::<FlightUrl>();
            let _ = format!("flight://{text}").parse::<FlightUrl>();
            let _ = format!("flight://u:p@host:1?{text}").parse::<FlightUrl>();
        }
    }
}
