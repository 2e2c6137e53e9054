//! The URL of a server: its place and its login.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::tls::{TlsWords, Trust};
use boundary_bench_kernel::{Error, Result, percent, response_limit};

/// The default port of Redis.
const DEFAULT_PORT: u16 = 6379;

/// The most bytes of a reply, unless the URL sets them: the limit of Redis for one value.
pub const MOST_BYTES: usize = 512 << 20;

/// A server's URL: `redis://[[user]:password@]host[:port][/database]`, `rediss://...` over TLS, and `redis+unix:///path` or
/// `unix:///path` with `?db=`, `&user=`, `&password=`. With `?cluster=true` the server is one of a cluster, with
/// `?cluster=false` it is used alone; otherwise the server is asked. `?tls-ca=/file.pem` names the certificate authorities to
/// trust in place of the system's ([`TlsWords`]), `?max-response-bytes=` the most bytes of a reply. Passwords are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The place of the server.
    pub place: Place,
    /// The user of the server's access list.
    pub user: Option<String>,
    /// The password of the login.
    pub password: Option<String>,
    /// The number of the database.
    pub database: u32,
    /// Whether the server is one of a cluster; `None` means that it is asked.
    pub cluster: Option<bool>,
    /// The certificates to trust over TLS.
    pub trust: Trust,
    /// The most bytes of a reply.
    pub most_bytes: usize,
}

/// The network address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A host and port, by TCP.
    Tcp {
        /// The host's name or address.
        host: String,
        /// The port of the server.
        port: u16,
        /// Whether the connection uses TLS.
        tls: bool,
    },
    /// The path of a Unix domain socket.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp { host, port, .. } => write!(formatter, "{host}:{port}"),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl fmt::Display for Url {
    /// Shows the URL without its user and password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp { tls, .. } => {
                write!(formatter, "{}://{}/{}", if *tls { "rediss" } else { "redis" }, self.place, self.database)
            }
            Place::Unix(path) => write!(formatter, "redis+unix://{}?db={}", path.display(), self.database),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An error that does not repeat the URL, which may hold a password.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!(
        "unusable URL of a Redis server: {problem}; use redis://[[user]:password@]host[:port][/database], rediss://... \
         for TLS, or redis+unix:///path[?db=0], with ?cluster=true or false, ?tls-ca=/file.pem and ?max-response-bytes=N where needed"
    ))
}

impl FromStr for Url {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid("there is no scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = match scheme {
            "redis" | "valkey" => parse_tcp(rest, false)?,
            "rediss" | "valkeys" => parse_tcp(rest, true)?,
            "unix" | "redis+unix" | "valkey+unix" => parse_unix(rest)?,
            _ => return Err(invalid("the scheme is unknown")),
        };
        let mut words = TlsWords::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| invalid("an option has no value"))?;
            let value = decode(value)?;
            if words.take(name, &value).map_err(invalid)? {
                continue;
            }
            match name {
                "db" => url.database = value.parse().map_err(|_| invalid("the database must be a number"))?,
                "user" => url.user = Some(value),
                "password" => url.password = Some(value),
                response_limit::OPTION => url.most_bytes = response_limit::parse(&value).map_err(invalid)?,
                "cluster" => {
                    let known = value.parse().map_err(|_| invalid("cluster must be true or false"))?;
                    url.cluster = Some(known);
                }
                _ => return Err(invalid("it has an unknown option")),
            }
        }
        let tls = matches!(url.place, Place::Tcp { tls: true, .. });
        url.trust = words.trust(Some(tls)).map_err(invalid)?.unwrap_or_default();
        if url.user.is_some() && url.password.is_none() {
            return Err(invalid("a user needs a password (redis://user:password@host)"));
        }
        if url.cluster == Some(true) && url.database != 0 {
            return Err(invalid("a cluster has the database 0 only"));
        }
        Ok(url)
    }
}

fn parse_tcp(text: &str, tls: bool) -> Result<Url> {
    let (authority, path) = text.split_once('/').unwrap_or((text, ""));
    let (login, address) = match authority.rsplit_once('@') {
        Some((login, address)) => (Some(login), address),
        None => (None, authority),
    };
    let (user, password) = match login {
        None => (None, None),
        Some(login) => {
            let (user, password) =
                login.split_once(':').ok_or_else(|| invalid("the login must be user:password or :password"))?;
            let user = decode(user)?;
            ((!user.is_empty()).then_some(user), Some(decode(password)?))
        }
    };
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(|| invalid("the address has no ]"))?;
            (host, after.strip_prefix(':'))
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| invalid("the port is no port")))?;
    let host = if host.is_empty() { "127.0.0.1".to_owned() } else { decode(host)? };
    let database = if path.is_empty() { Ok(0) } else { path.parse() };
    let database = database.map_err(|_| invalid("the database must be a number"))?;
    Ok(Url { user, password, database, ..at(Place::Tcp { host, port, tls }, None) })
}

fn parse_unix(text: &str) -> Result<Url> {
    let (login, path) = match text.split_once('@') {
        Some((login, path)) if !login.contains('/') => (Some(login), path),
        _ => (None, text),
    };
    let (user, password) = match login.map(|login| login.split_once(':')) {
        None => (None, None),
        Some(None) => return Err(invalid("the login must be user:password or :password")),
        Some(Some((user, password))) => {
            ((!user.is_empty()).then(|| decode(user)).transpose()?, Some(decode(password)?))
        }
    };
    if !path.starts_with('/') {
        return Err(invalid("the path of a socket must be absolute"));
    }
    let path = PathBuf::from(decode(path)?);
    Ok(Url { user, password, ..at(Place::Unix(path), Some(false)) })
}

/// The URL of a server at a place, without a login.
fn at(place: Place, cluster: Option<bool>) -> Url {
    Url { place, user: None, password: None, database: 0, cluster, trust: Trust::default(), most_bytes: MOST_BYTES }
}

/// Decodes percent-encoded text.
fn decode(text: &str) -> Result<String> {
    percent::decoded(text).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn tcp(host: &str, port: u16, tls: bool) -> Place {
        Place::Tcp { host: host.to_owned(), port, tls }
    }

    #[test]
    fn urls_name_a_server_a_login_and_a_database() {
        let url = parsed("redis://localhost");
        assert_eq!((&url.place, url.database, url.cluster), (&tcp("localhost", 6379, false), 0, None));
        let url = parsed("rediss://me:p%40ss%3A@[::1]:7000/3?tls-ca=/a%20b.pem&max-response-bytes=1000");
        assert_eq!((&url.place, url.database), (&tcp("::1", 7000, true), 3));
        assert_eq!((url.user.as_deref(), url.password.as_deref()), (Some("me"), Some("p@ss:")));
        assert_eq!((url.trust, url.most_bytes), (Trust::Authorities("/a b.pem".into()), 1000));
        assert_eq!(parsed("rediss://h?tls=required").trust, Trust::Anyone);
        let url = parsed("redis://:secret@h:1?cluster=true");
        assert_eq!((url.user, url.password.as_deref(), url.cluster), (None, Some("secret"), Some(true)));
        for text in ["redis+unix:///tmp/s.sock?db=2&password=x", "unix://:x@/tmp/s.sock?db=2"] {
            let url = parsed(text);
            assert_eq!((url.place, url.database), (Place::Unix("/tmp/s.sock".into()), 2));
            assert_eq!(url.password.as_deref(), Some("x"));
        }
    }

    #[test]
    fn unusable_urls_are_refused_and_secrets_not_shown() {
        for text in [
            "localhost",
            "http://h",
            "redis://secret@h",
            "redis://h:port",
            "redis://:secret@h/x",
            "redis://h?db",
            "redis://h?x=secret",
            "redis://h?tls=verify",
            "redis://h?tls-ca=/secret.pem",
            "rediss://h?tls=off",
            "redis://h?max-response-bytes=0",
            "redis://u:secret%4@h",
            "redis://u:secret%+1@h",
            "unix://secret",
            "redis://h/1?cluster=true",
            "redis://h?user=me",
            "redis://[::1",
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let url = parsed("rediss://me:secret@host:1/2");
        assert_eq!((url.to_string().as_str(), format!("{url:?}").as_str()), ("rediss://host:1/2", "rediss://host:1/2"));
    }
}
