//! The URL of a server and its login: `mysql://user:password@host:port/database?socket=...&tls=...`.
//!
//! Options: `socket`; those of TLS ([`TlsWords`]); `server-public-key=/file.pem`, a key to encrypt the password with for a server
//! that asks for it over a connection that others may read, and `allow-public-key-retrieval=on`, to ask the server for that key;
//! `max-response-bytes`; `extensions=off`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::tls::{TlsWords, Trust};
use boundary_bench_kernel::{Error, Result, percent, response_limit};

/// The default port of MySQL.
const DEFAULT_PORT: u16 = 3306;

/// The most bytes of a packet, and of the rows gathered in one call, unless the URL sets them: the limit of the protocol for one
/// packet.
const MOST_BYTES: usize = 1 << 30;

/// A server and its login. Neither the display nor the debug form shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The user's name; empty for the server's anonymous user.
    pub user: String,
    /// The password, if any.
    pub password: Option<String>,
    /// The name or address of the host.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// The path of the Unix socket, which is used in place of host and port.
    pub socket: Option<PathBuf>,
    /// The database that the session uses at first.
    pub database: Option<String>,
    /// The certificates to trust over TLS; `None` for no TLS.
    pub tls: Option<Trust>,
    /// The path of the server's RSA key, in PEM. The password is encrypted with it where the server asks for it over a connection
    /// that others may read.
    pub server_public_key: Option<PathBuf>,
    /// Whether the server may send that key itself: anybody who answers in its place can then get the password.
    pub allow_public_key_retrieval: bool,
    /// The most bytes of a packet, and of the rows gathered in one call.
    pub most_bytes: usize,
    /// Whether features of newer servers and of `MariaDB` are used where the server offers them.
    pub extensions: bool,
}

impl fmt::Display for Url {
    /// Shows the URL without the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(formatter, "{}", socket.display())?,
            None if self.host.contains(':') => write!(formatter, "[{}]:{}", self.host, self.port)?,
            None => write!(formatter, "{}:{}", self.host, self.port)?,
        }
        self.database.as_ref().map_or(Ok(()), |database| write!(formatter, "/{database}"))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Url({self})")
    }
}

impl Url {
    /// The URL as a text that [`Url::from_str`] reads, with the password: for this process only.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let password = self.password.as_deref().map(|password| format!(":{}", encoded(password))).unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let database = self.database.as_deref().map(encoded).unwrap_or_default();
        let text = format!("mysql://{}{password}@{host}:{}/{database}", encoded(&self.user), self.port);
        let mut options = Vec::new();
        if let Some(socket) = &self.socket {
            options.push(format!("socket={}", encoded(&socket.display().to_string())));
        }
        match &self.tls {
            None => {}
            Some(Trust::Anyone) => options.push("tls=required".to_owned()),
            Some(Trust::System) => options.push("tls=verify".to_owned()),
            Some(Trust::Authorities(file)) => {
                options.push(format!("tls=verify&tls-ca={}", encoded(&file.display().to_string())));
            }
        }
        if let Some(file) = &self.server_public_key {
            options.push(format!("server-public-key={}", encoded(&file.display().to_string())));
        }
        if self.allow_public_key_retrieval {
            options.push("allow-public-key-retrieval=on".to_owned());
        }
        if self.most_bytes != MOST_BYTES {
            options.push(format!("{}={}", response_limit::OPTION, self.most_bytes));
        }
        if !self.extensions {
            options.push("extensions=off".to_owned());
        }
        if options.is_empty() { text } else { text + "?" + &options.join("&") }
    }
}

impl FromStr for Url {
    type Err = Error;

    /// The error repeats nothing of the text, which may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URL of a MySQL server: {problem}; use mysql://user:password@host:port/database, with \
                 ?socket=/path, ?tls=required or ?tls=verify&tls-ca=/path.pem, ?server-public-key=/path.pem or \
                 ?allow-public-key-retrieval=on, ?max-response-bytes=N where needed"
            ))
        };
        let rest = text.strip_prefix("mysql://").ok_or_else(|| invalid("it does not begin with mysql://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let decode = |text: &str| percent::decoded(text).map_err(invalid);
        let (host, port) = parse_address(address).ok_or_else(|| invalid("host:port is not understood"))?;
        let mut url = Self {
            user: decode(user)?,
            password: password.map(decode).transpose()?,
            host: host.to_owned(),
            port,
            socket: None,
            database: (!database.is_empty()).then(|| decode(database)).transpose()?,
            tls: None,
            server_public_key: None,
            allow_public_key_retrieval: false,
            most_bytes: MOST_BYTES,
            extensions: true,
        };
        let mut words = TlsWords::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            if words.take(name, &value).map_err(invalid)? {
                continue;
            }
            match (name, value.as_str()) {
                ("socket", path) if path.starts_with('/') => url.socket = Some(PathBuf::from(path)),
                ("socket", _) => return Err(invalid("the path of a socket must be absolute")),
                ("server-public-key", "") => return Err(invalid("server-public-key names no file")),
                ("server-public-key", path) => url.server_public_key = Some(PathBuf::from(path)),
                ("allow-public-key-retrieval", "on") => url.allow_public_key_retrieval = true,
                ("allow-public-key-retrieval", "off") => url.allow_public_key_retrieval = false,
                ("allow-public-key-retrieval", _) => return Err(invalid("allow-public-key-retrieval is on or off")),
                (response_limit::OPTION, value) => url.most_bytes = response_limit::parse(value).map_err(invalid)?,
                ("extensions", "on") => url.extensions = true,
                ("extensions", "off") => url.extensions = false,
                _ => return Err(invalid("it has an unknown option")),
            }
        }
        url.tls = words.trust(None).map_err(invalid)?;
        if url.socket.is_some() && url.tls.is_some() {
            return Err(invalid("there is no TLS over a socket"));
        }
        if url.socket.is_none() && url.host.is_empty() {
            return Err(invalid("it names no host"));
        }
        Ok(url)
    }
}

fn parse_address(text: &str) -> Option<(&str, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, port.parse().ok()?)),
            None if rest.is_empty() => Some((host, DEFAULT_PORT)),
            None => None,
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((text, DEFAULT_PORT)),
    }
}

/// Percent-encodes all bytes but letters, digits and a few more.
fn encoded(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(byte.into());
        } else {
            written.push('%');
            written.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_name_a_server_and_a_login() {
        let url: Url = "mysql://me:s3c%3Ar%40t@[::1]:3307/d%20b?tls=verify&tls-ca=/ca.pem".parse().unwrap();
        assert_eq!((url.user.as_str(), url.password.as_deref()), ("me", Some("s3c:r@t")));
        assert_eq!((url.host.as_str(), url.port, url.database.as_deref()), ("::1", 3307, Some("d b")));
        assert_eq!(url.tls, Some(Trust::Authorities("/ca.pem".into())));
        assert_eq!((url.allow_public_key_retrieval, url.server_public_key, url.most_bytes), (false, None, MOST_BYTES));
        let url: Url = "mysql://root@localhost".parse().unwrap();
        assert_eq!((url.port, url.database, url.password), (3306, None, None));
        let url: Url = "mysql://root@/db?socket=/run/my.sock".parse().unwrap();
        assert_eq!(url.socket, Some("/run/my.sock".into()));
    }

    #[test]
    fn unusable_urls_are_refused_and_passwords_not_shown() {
        for text in [
            "postgres://u:secret@h/",
            "mysql://u:secret@",
            "mysql://u:secret@h:x/",
            "mysql://u:secret@h:70000/",
            "mysql://u:secret@[::1/",
            "mysql://u:secret@h/?x=1",
            "mysql://u:secret@h/?tls=maybe",
            "mysql://u:secret@h/?tls-ca=/x",
            "mysql://u:secret@h/?allow-public-key-retrieval=perhaps",
            "mysql://u:secret@h/?server-public-key=",
            "mysql://u:secret@h/?max-response-bytes=-1",
            "mysql://u:secret@h/?socket=x",
            "mysql://u:secret%FF@h/",
            "mysql://u:secret%+1@h/",
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let shown = "mysql://u:secret@h/db".parse::<Url>().unwrap();
        assert_eq!((format!("{shown}"), format!("{shown:?}")), ("h:3306/db".into(), "Url(h:3306/db)".into()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            user in "\\PC*",
            password in prop::option::of("\\PC*"),
            database in "\\PC+",
            tls in prop_oneof![Just(Trust::System), Just(Trust::Anyone), Just(Trust::Authorities("/a&b".into()))],
            most_bytes in 1_usize..,
        ) {
            let url = Url {
                user,
                password,
                host: "h".into(),
                port: 1,
                socket: None,
                database: Some(database),
                tls: Some(tls),
                server_public_key: Some("/k=e y".into()),
                allow_public_key_retrieval: true,
                most_bytes,
                extensions: false,
            };
            prop_assert_eq!(url.secret_text().parse::<Url>().unwrap(), url.clone());
            let url = Url { tls: None, socket: Some("/a b".into()), ..url };
            prop_assert_eq!(url.secret_text().parse::<Url>().unwrap(), url);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = text.parse::<Url>();
            let _ = format!("mysql://{text}").parse::<Url>();
        }
    }
}
