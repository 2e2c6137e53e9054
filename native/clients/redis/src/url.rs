//! The URL of a server: its place and its login.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::url::{Authority, UrlParts, bracketed};
use boundary_bench_kernel::{Error, Result, percent};

/// The default port of Redis.
const DEFAULT_PORT: u16 = 6379;

/// The most bytes of a reply without its framing, unless the URL sets them: the limit of Redis for one value.
pub const MOST_BYTES: usize = 512 << 20;

/// A server's URL: `redis://[[user]:password@]host[:port][,host[:port]...][/database]`, `rediss://...` over TLS, and
/// `redis+unix:///path` or `unix:///path` with `?db=`, `&user=`, `&password=`. With `?cluster=true` the server is one of a cluster,
/// with `?cluster=false` it is used alone. Otherwise the server is asked. Several hosts are servers of a cluster: any of them that
/// answers tells the others. `?tls-ca=/file.pem` names the certificate authorities to trust instead of the system's
/// ([`Trust::of_words`]). `?max-response-bytes=` is the most bytes of a reply. Passwords are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The place of the server, the first one if there are several.
    pub place: Endpoint,
    /// The places of further servers of the cluster.
    pub others: Vec<Endpoint>,
    /// The user of the server's access list.
    pub user: Option<String>,
    /// The password of the login.
    pub password: Option<String>,
    /// The number of the database.
    pub database: u32,
    /// Whether the server is one of a cluster. `None` means that it is asked.
    pub cluster: Option<bool>,
    /// The certificates to trust over TLS.
    pub trust: Trust,
    /// The most bytes of a reply.
    pub most_bytes: usize,
}

/// The network address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
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

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => write!(formatter, "{}:{port}", bracketed(host)),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl fmt::Display for Url {
    /// Shows the URL without its user and password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Endpoint::Tcp { tls, .. } => {
                write!(formatter, "{}://{}", if *tls { "rediss" } else { "redis" }, self.place)?;
                self.others.iter().try_for_each(|other| write!(formatter, ",{other}"))?;
                write!(formatter, "/{}", self.database)
            }
            Endpoint::Unix(path) => write!(formatter, "redis+unix://{}?db={}", path.display(), self.database),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An error that does not repeat the URL, since the URL may hold a password.
fn invalid(problem: &str) -> Error {
    Error::InvalidArgument(format!(
        "unusable URL of a Redis server: {problem}; use redis://[[user]:password@]host[:port][/database], with several host:port,host:port of a cluster, rediss://... \
         for TLS, or redis+unix:///path[?db=0], with ?cluster=true or false, ?tls-ca=/file.pem and ?max-response-bytes=N if needed"
    ))
}

impl FromStr for Url {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self> {
        let (text, others) = without_others(given);
        let UrlParts { scheme, authority, path, mut options } = UrlParts::parse(&text).map_err(invalid)?;
        let Authority { user, password, host, port } = authority.ok_or_else(|| invalid("no // follows the scheme"))?;
        if user.is_some() && password.is_none() {
            return Err(invalid("the login must be user:password or :password"));
        }
        let number = |text: &str| text.parse().map_err(|_| invalid("the database must be a number"));
        if host.is_empty() && text.len() < given.len() {
            return Err(invalid("a host of several is empty"));
        }
        let (place, database) = match scheme {
            "redis" | "valkey" | "rediss" | "valkeys" => {
                let host = if host.is_empty() { "127.0.0.1".to_owned() } else { decode(host)? };
                let tls = matches!(scheme, "rediss" | "valkeys");
                let database = path.strip_prefix('/').filter(|database| !database.is_empty()).map_or(Ok(0), number)?;
                (Endpoint::Tcp { host, port: port.unwrap_or(DEFAULT_PORT), tls }, database)
            }
            "unix" | "redis+unix" | "valkey+unix" if host.is_empty() && port.is_none() && !path.is_empty() => {
                (Endpoint::Unix(PathBuf::from(decode(path)?)), 0)
            }
            "unix" | "redis+unix" | "valkey+unix" => return Err(invalid("the path of a socket must be absolute")),
            _ => return Err(invalid("the scheme is unknown")),
        };
        let tls = matches!(place, Endpoint::Tcp { tls: true, .. });
        let others = others.map(|other| {
            let other = format!("redis://{other}");
            let host = UrlParts::parse(&other).map_err(invalid)?.authority.filter(|other| !other.host.is_empty());
            let Authority { host, port, .. } = host.ok_or_else(|| invalid("a host of several is empty"))?;
            Ok(Endpoint::Tcp { host: decode(host)?, port: port.unwrap_or(DEFAULT_PORT), tls })
        });
        let others = others.collect::<Result<Vec<_>>>()?;
        let is_bool = |text: String| text.parse().map_err(|_| invalid("cluster must be true or false"));
        let cluster = options.take("cluster").map(is_bool).transpose()?;
        let cluster = cluster.or_else(|| (!others.is_empty()).then_some(true));
        let url = Self {
            others,
            // A server at the path of a socket is not asked whether it is one of a cluster.
            cluster: cluster.or_else(|| matches!(place, Endpoint::Unix(_)).then_some(false)),
            place,
            user: options.take("user").or(user.filter(|user| !user.is_empty())),
            password: options.take("password").or(password),
            database: options.take("db").map_or(Ok(database), |text| number(&text))?,
            trust: options.take_trust(Some(tls)).map_err(invalid)?.unwrap_or_default(),
            most_bytes: options.take_response_limit(MOST_BYTES).map_err(invalid)?,
        };
        options.end().map_err(invalid)?;
        if url.user.is_some() && url.password.is_none() {
            return Err(invalid("a user needs a password (redis://user:password@host)"));
        }
        if !url.others.is_empty() && (url.cluster == Some(false) || matches!(url.place, Endpoint::Unix(_))) {
            return Err(invalid("several hosts must be servers of a cluster"));
        }
        if url.cluster == Some(true) && url.database != 0 {
            return Err(invalid("a cluster has the database 0 only"));
        }
        Ok(url)
    }
}

impl Url {
    /// The places of all servers that the URL names.
    pub fn places(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.place).chain(&self.others)
    }
}

/// A URL without the hosts behind the first one, and these hosts.
fn without_others(text: &str) -> (Cow<'_, str>, impl Iterator<Item = &str>) {
    let start = text.find("://").map_or(text.len(), |colon| colon + 3);
    let end = text[start..].find(['/', '?']).map_or(text.len(), |length| start + length);
    let start = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
    let mut hosts = text[start..end].split(',');
    let first = hosts.next().unwrap_or_default();
    let one = if first.len() == end - start {
        text.into()
    } else {
        format!("{}{first}{}", &text[..start], &text[end..]).into()
    };
    (one, hosts)
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

    fn tcp(host: &str, port: u16, tls: bool) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port, tls }
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
            assert_eq!((url.place, url.database), (Endpoint::Unix("/tmp/s.sock".into()), 2));
            assert_eq!(url.password.as_deref(), Some("x"));
        }
    }

    #[test]
    fn a_url_names_several_servers_of_a_cluster() {
        let url = parsed("rediss://me:p,w@a:1,[::1],b%2dc:7000/0?tls=required");
        let places = url.places().cloned().collect::<Vec<_>>();
        assert_eq!(places, [tcp("a", 1, true), tcp("::1", 6379, true), tcp("b-c", 7000, true)]);
        assert_eq!((url.password.as_deref(), url.cluster), (Some("p,w"), Some(true)));
        assert_eq!(url.to_string(), "rediss://a:1,[::1]:6379,b-c:7000/0");
        assert_eq!(parsed("redis://:a,b@h").others, []);
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
            "redis://a,",
            "redis://,a,b",
            "redis://a:1,b:x",
            "redis://a,b?cluster=false",
            "redis://a,b/1",
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let url = parsed("rediss://me:secret@host:1/2");
        assert_eq!((url.to_string().as_str(), format!("{url:?}").as_str()), ("rediss://host:1/2", "rediss://host:1/2"));
    }
}
