//! Where a server is and how to log in: `mysql://user:password@host:port/database?socket=...&tls=...`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_core::{Error, Result, percent};

/// The port of the MySQL wire.
const DEFAULT_PORT: u16 = 3306;

/// How much of TLS a connection wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tls {
    /// None.
    #[default]
    Off,
    /// Encrypted, whoever the server is.
    Required,
    /// Encrypted, and the server's certificate is that of its host name, signed by one of these authorities: a PEM file,
    /// or those that browsers trust.
    Verified(Option<PathBuf>),
}

/// A server and how to log in. Neither its text nor its debug form shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The user; the server's anonymous one where it is empty.
    pub user: String,
    /// The password, if any.
    pub password: Option<String>,
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The Unix socket, which is used in place of host and port.
    pub socket: Option<PathBuf>,
    /// The database to begin in.
    pub database: Option<String>,
    /// Encryption.
    pub tls: Tls,
    /// Whether what only newer servers and those of `MariaDB` know is used where they offer it.
    pub extensions: bool,
}

impl fmt::Display for Url {
    /// Without the password.
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
    /// The text that [`Url::from_str`] reads as this URL, with the password: for this process only.
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
            Tls::Off => {}
            Tls::Required => options.push("tls=required".to_owned()),
            Tls::Verified(None) => options.push("tls=verify".to_owned()),
            Tls::Verified(Some(file)) => {
                options.push(format!("tls=verify&tls-ca={}", encoded(&file.display().to_string())));
            }
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
                 ?socket=/path, ?tls=required or ?tls=verify&tls-ca=/path.pem where needed"
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
            tls: Tls::Off,
            extensions: true,
        };
        let mut authorities = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            match (name, value.as_str()) {
                ("socket", path) if path.starts_with('/') => url.socket = Some(PathBuf::from(path)),
                ("socket", _) => return Err(invalid("the path of a socket must be absolute")),
                ("tls", "off") => url.tls = Tls::Off,
                ("tls", "required") => url.tls = Tls::Required,
                ("tls", "verify") => url.tls = Tls::Verified(None),
                ("tls", _) => return Err(invalid("tls is off, required or verify")),
                ("tls-ca", path) => authorities = Some(PathBuf::from(path)),
                ("extensions", "on") => url.extensions = true,
                ("extensions", "off") => url.extensions = false,
                _ => return Err(invalid("it has an option that is none of socket, tls, tls-ca and extensions")),
            }
        }
        match (&mut url.tls, authorities) {
            (_, None) => {}
            (Tls::Verified(file), authorities) => *file = authorities,
            _ => return Err(invalid("tls-ca needs tls=verify")),
        }
        if url.socket.is_some() && url.tls != Tls::Off {
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

/// All but letters, digits and a few more written as `%XX`.
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
        assert_eq!(url.tls, Tls::Verified(Some("/ca.pem".into())));
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
        fn what_is_written_is_read_back(user in "\\PC*", password in prop::option::of("\\PC*"), database in "\\PC+") {
            let url = Url {
                user, password, host: "h".into(), port: 1, socket: Some("/a b".into()), database: Some(database),
                tls: Tls::Off, extensions: false,
            };
            prop_assert_eq!(url.secret_text().parse::<Url>().unwrap(), url);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = text.parse::<Url>();
            let _ = format!("mysql://{text}").parse::<Url>();
        }
    }
}
