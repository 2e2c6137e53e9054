//! The URL of a server and its login: `mysql://user:password@host:port/database?socket=...&tls=...`.
//!
//! Options: `socket`, the options of TLS ([`Trust::of_words`]), `max-response-bytes`, `extensions=off`, and `collation`, the name of a
//! [`Collation`]. `server-public-key=/file.pem` is a key to encrypt the password with, for a server that asks for it over a connection that
//! others may read. `allow-public-key-retrieval=on` asks the server for that key, and tells the password to a server whose certificate is
//! not verified (`tls=required`). The options of [`ValueForms`] are `date-strings=on`, `decimal-numbers=on`, `big-number-strings=on` and
//! `tiny-int-1-is-bit=off`. `time-zone` is the time zone of each session, in the server's words: [`UTC`] unless it is given.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::percent::{self, encoded};
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::url::{Authority, UrlParts, bracketed};
use boundary_bench_kernel::{Error, Result, response_limit};

/// The default port of MySQL.
const DEFAULT_PORT: u16 = 3306;

/// The most bytes of a packet, and of the rows gathered in one call, unless the URL sets them: the limit of the protocol for one
/// packet.
const MOST_BYTES: usize = 1 << 30;

/// The time zone of sessions unless the URL names another one. In it, a server reads and writes `TIMESTAMP`s as dates and times of UTC.
pub(crate) const UTC: &str = "+00:00";

/// A collation of the character set `utf8mb4`. A client tells it to a server at its login. Servers differ in their collations: servers of
/// `MariaDB` lack `utf8mb4_0900_ai_ci`, and others may lack `utf8mb4_unicode_ci`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collation {
    /// `utf8mb4_general_ci`. Every server knows it.
    #[default]
    General,
    /// `utf8mb4_bin`.
    Binary,
    /// `utf8mb4_unicode_ci`.
    Unicode,
    /// `utf8mb4_0900_ai_ci`, the default of `MySQL` 8.
    Unicode9,
}

impl Collation {
    const ALL: [Self; 4] = [Self::General, Self::Binary, Self::Unicode, Self::Unicode9];

    /// The names of all collations.
    pub(crate) fn names() -> [&'static str; 4] {
        Self::ALL.map(Self::name)
    }

    /// The name of the collation in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "utf8mb4_general_ci",
            Self::Binary => "utf8mb4_bin",
            Self::Unicode => "utf8mb4_unicode_ci",
            Self::Unicode9 => "utf8mb4_0900_ai_ci",
        }
    }

    /// The number of the collation in the protocol.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::General => 45,
            Self::Binary => 46,
            Self::Unicode => 224,
            Self::Unicode9 => 255,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|collation| collation.name() == name)
    }
}

/// The forms in which results return the values of types that have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
pub struct ValueForms {
    /// Whether `DATE`, `DATETIME` and `TIMESTAMP` are returned as the texts that the server writes, `0000-00-00` among them.
    pub date_strings: bool,
    /// Whether `DECIMAL` is returned as the nearest double.
    pub decimal_numbers: bool,
    /// Whether `BIGINT` is returned as text.
    pub big_number_strings: bool,
    /// Whether `TINYINT(1)` is returned as a boolean, and not as a number.
    pub booleans: bool,
}

impl Default for ValueForms {
    fn default() -> Self {
        Self { date_strings: false, decimal_numbers: false, big_number_strings: false, booleans: true }
    }
}

/// A server and its login. Neither the display nor the debug form shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The user's name, empty for the server's anonymous user.
    pub user: String,
    /// The password, if any.
    pub password: Option<String>,
    /// The name or address of the host.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// The path of the Unix socket. It is used instead of host and port.
    pub socket: Option<PathBuf>,
    /// The database that the session uses at first.
    pub database: Option<String>,
    /// The certificates to trust over TLS, or `None` for no TLS.
    pub tls: Option<Trust>,
    /// The path of the server's RSA key, in PEM. The password is encrypted with it if the server asks for it over a connection without
    /// TLS. In TLS servers take the password as it is.
    pub server_public_key: Option<PathBuf>,
    /// Whether the server may send that key itself, or in TLS that is not verified may get the password: anybody who answers in its place
    /// can then get it.
    pub allow_public_key_retrieval: bool,
    /// The most bytes of a packet, and of the rows gathered in one call.
    pub most_bytes: usize,
    /// Whether features of newer servers and of `MariaDB` are used if the server offers them.
    pub extensions: bool,
    /// The collation that the client tells the server at its login.
    pub collation: Collation,
    /// The forms in which results return values.
    pub forms: ValueForms,
    /// The time zone of sessions, as `+02:00`, `Europe/Berlin` or `SYSTEM`. `None` is UTC.
    pub time_zone: Option<String>,
}

impl fmt::Display for Url {
    /// Shows the URL without the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(formatter, "{}", socket.display())?,
            None => write!(formatter, "{}:{}", bracketed(&self.host), self.port)?,
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
    pub fn secret_text(&self) -> String {
        let password = self.password.as_deref().map(|password| format!(":{}", encoded(password))).unwrap_or_default();
        let host = bracketed(&self.host);
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
        if self.collation != Collation::default() {
            options.push(format!("collation={}", self.collation.name()));
        }
        if let Some(zone) = &self.time_zone {
            options.push(format!("time-zone={}", encoded(zone)));
        }
        let ValueForms { date_strings, decimal_numbers, big_number_strings, booleans } = self.forms;
        for (is_set, option) in [
            (date_strings, "date-strings=on"),
            (decimal_numbers, "decimal-numbers=on"),
            (big_number_strings, "big-number-strings=on"),
            (!booleans, "tiny-int-1-is-bit=off"),
        ] {
            if is_set {
                options.push(option.to_owned());
            }
        }
        if options.is_empty() { text } else { text + "?" + &options.join("&") }
    }
}

impl FromStr for Url {
    type Err = Error;

    /// The error repeats nothing of the text, since the text may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URL of a MySQL server: {problem}; use mysql://user:password@host:port/database, with \
                 ?socket=/path, ?tls=required or ?tls=verify&tls-ca=/path.pem, ?server-public-key=/path.pem or \
                 ?allow-public-key-retrieval=on, ?max-response-bytes=N, ?collation=utf8mb4_bin, ?time-zone=+02:00 if needed"
            ))
        };
        let UrlParts { scheme, authority, path, mut options } = UrlParts::parse(text).map_err(invalid)?;
        let authority = authority.filter(|_| scheme == "mysql");
        let Authority { user, password, host, port } =
            authority.ok_or_else(|| invalid("it does not begin with mysql://"))?;
        let database = percent::decoded(path.strip_prefix('/').unwrap_or(path)).map_err(invalid)?;
        let mut is_on = |name, problem, default| match options.take(name).as_deref() {
            None => Ok(default),
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            Some(_) => Err(invalid(problem)),
        };
        let allow_public_key_retrieval =
            is_on("allow-public-key-retrieval", "allow-public-key-retrieval is on or off", false)?;
        let extensions = is_on("extensions", "extensions is on or off", true)?;
        let forms = ValueForms {
            date_strings: is_on("date-strings", "date-strings is on or off", false)?,
            decimal_numbers: is_on("decimal-numbers", "decimal-numbers is on or off", false)?,
            big_number_strings: is_on("big-number-strings", "big-number-strings is on or off", false)?,
            booleans: is_on("tiny-int-1-is-bit", "tiny-int-1-is-bit is on or off", true)?,
        };
        let collation = match options.take("collation") {
            None => Collation::default(),
            Some(name) => Collation::named(&name).ok_or_else(|| {
                invalid("collation is utf8mb4_general_ci, utf8mb4_bin, utf8mb4_unicode_ci or utf8mb4_0900_ai_ci")
            })?,
        };
        let is_zone = |byte: u8| byte.is_ascii_alphanumeric() || b"+-:/_".contains(&byte);
        let time_zone = options.take("time-zone");
        if time_zone.as_ref().is_some_and(|zone| zone.is_empty() || !zone.bytes().all(is_zone)) {
            return Err(invalid("time-zone is an offset such as +02:00, a name such as Europe/Berlin, or SYSTEM"));
        }
        let mut path = |name, is_path: fn(&str) -> bool, problem| match options.take(name) {
            Some(path) if !is_path(&path) => Err(invalid(problem)),
            path => Ok(path.map(PathBuf::from)),
        };
        let url = Self {
            user: user.unwrap_or_default(),
            password,
            host: host.to_owned(),
            port: port.unwrap_or(DEFAULT_PORT),
            socket: path("socket", |path| path.starts_with('/'), "the path of a socket must be absolute")?,
            database: (!database.is_empty()).then_some(database),
            server_public_key: path("server-public-key", |path| !path.is_empty(), "server-public-key names no file")?,
            tls: options.take_trust(None).map_err(invalid)?,
            allow_public_key_retrieval,
            most_bytes: options.take_response_limit(MOST_BYTES).map_err(invalid)?,
            extensions,
            collation,
            forms,
            time_zone,
        };
        options.end().map_err(invalid)?;
        if url.socket.is_some() && url.tls.is_some() {
            return Err(invalid("there is no TLS over a socket"));
        }
        if url.socket.is_none() && url.host.is_empty() {
            return Err(invalid("it names no host"));
        }
        Ok(url)
    }
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
            "mysql://u:secret@h/?collation=latin1_swedish_ci",
            "mysql://u:secret@h/?date-strings=yes",
            "mysql://u:secret@h/?time-zone='",
            "mysql://u:p@secret/secret@h/d",
            "mysql://u:1234/secret@h/d",
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
            collation in prop::sample::select(Collation::ALL.as_slice()),
            [date_strings, decimal_numbers, big_number_strings, booleans] in any::<[bool; 4]>(),
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
                collation,
                forms: ValueForms { date_strings, decimal_numbers, big_number_strings, booleans },
                time_zone: Some("+02:00".into()),
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
