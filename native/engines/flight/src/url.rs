//! The URL of a service: its address, its login and its options.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use boundary_bench_http::Url;
use boundary_bench_kernel::tls::{TlsWords, Trust};
use boundary_bench_kernel::{Error, Result, percent, response_limit};

/// Default maximum length of a message, in bytes: a row is never split, so there is no natural limit.
const MOST_BYTES: usize = 1 << 30;

/// A service of Flight SQL: `flight://user:password@host:port`, or `flight+tls://...` with encryption.
/// `?tls-ca=/path.pem` names the authority to trust in place of the system's ([`TlsWords`]), `?timeout=30` the seconds that the
/// server may take to answer a call and to send the next part of a result, `?max-response-bytes=` the maximum length of one
/// message.
/// User, password and path are written with `%XX` where needed. Neither its text nor its debug form shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct FlightUrl {
    /// The host, the port, and whether TLS protects the connection.
    pub place: Url,
    /// The user and the password; `None` without a login.
    pub login: Option<(String, String)>,
    /// The certificates to trust over TLS.
    pub trust: Trust,
    /// Maximum length of a message, in bytes.
    pub most_bytes: usize,
    /// How long the server may take to answer a call and to send the next part of a result; `None` for no limit.
    pub timeout: Option<Duration>,
}

impl fmt::Display for FlightUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.place.tls { "flight+tls" } else { "flight" };
        let Url { host, port, .. } = &self.place;
        if host.contains(':') {
            write!(formatter, "{scheme}://[{host}]:{port}")
        } else {
            write!(formatter, "{scheme}://{host}:{port}")
        }
    }
}

impl fmt::Debug for FlightUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FlightUrl({self})")
    }
}

impl FromStr for FlightUrl {
    type Err = Error;

    /// The error repeats nothing of the text, which may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URL of a Flight SQL server: {problem}; use flight://user:password@host:port, or flight+tls://..., \
                 with ?tls-ca=/path.pem, ?timeout=SECONDS and ?max-response-bytes=N where needed"
            ))
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid("it has no ://"))?;
        let tls = match scheme {
            "flight" => false,
            "flight+tls" => true,
            _ => return Err(invalid("the scheme is neither flight nor flight+tls")),
        };
        let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (login, address) = match authority.rsplit_once('@') {
            Some((login, address)) => (Some(login), address),
            None => (None, authority),
        };
        let decode = |text: &str| percent::decoded(text).map_err(invalid);
        let login = login.map(|login| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            Ok::<_, Error>((decode(user)?, decode(password)?))
        });
        let (host, port) = address.rsplit_once(':').ok_or_else(|| invalid("it names no port"))?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| invalid("the port is no port"))?;
        if host.is_empty() || host.contains(['/', '[', ']']) {
            return Err(invalid("host:port is not understood"));
        }
        let mut url = Self {
            place: Url { tls, host: host.to_owned(), port, path: String::new() },
            login: login.transpose()?,
            trust: Trust::default(),
            most_bytes: MOST_BYTES,
            timeout: None,
        };
        let mut words = TlsWords::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            if words.take(name, &value).map_err(invalid)? {
                continue;
            }
            match name {
                response_limit::OPTION => url.most_bytes = response_limit::parse(&value).map_err(invalid)?,
                "timeout" => {
                    let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    let seconds = seconds.filter(|seconds| !seconds.is_zero());
                    url.timeout = Some(seconds.ok_or_else(|| invalid("the timeout is no number of seconds"))?);
                }
                _ => return Err(invalid("it has an unknown option")),
            }
        }
        url.trust = words.trust(Some(tls)).map_err(invalid)?.unwrap_or_default();
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
        let url: FlightUrl = "flight://localhost:31337/".parse().unwrap();
        assert_eq!((url.login.is_none(), url.to_string().as_str()), (true, "flight://localhost:31337"));
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
