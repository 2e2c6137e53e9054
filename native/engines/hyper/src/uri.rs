//! The engine's URIs.

use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::{Error, Result, percent, response_limit};

/// How a client talks to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// TCP, to the loopback or to the server's host.
    #[default]
    Tcp,
    /// A Unix domain socket.
    Ipc,
    /// gRPC, the whole result in the answer. Queries only.
    GrpcSync,
    /// gRPC, the first part of the result in the answer, the rest fetched. Queries only.
    GrpcAdaptive,
    /// gRPC, every part of the result fetched. Queries only.
    GrpcAsync,
}

/// Every transport with its name in URIs, the matrix and the results.
const TRANSPORTS: [(&str, Transport); 5] = [
    ("tcp", Transport::Tcp),
    ("ipc", Transport::Ipc),
    ("grpc-sync", Transport::GrpcSync),
    ("grpc-adaptive", Transport::GrpcAdaptive),
    ("grpc-async", Transport::GrpcAsync),
];

/// The names of the transports, the default one first.
pub(crate) const TRANSPORT_NAMES: [&str; TRANSPORTS.len()] =
    [TRANSPORTS[0].0, TRANSPORTS[1].0, TRANSPORTS[2].0, TRANSPORTS[3].0, TRANSPORTS[4].0];

impl Transport {
    /// The transport's name in URIs, the matrix and the results.
    #[must_use]
    pub fn name(self) -> &'static str {
        // Every transport is in the list; the first is the default.
        TRANSPORTS.iter().find(|(_, transport)| *transport == self).map_or(TRANSPORTS[0].0, |(name, _)| name)
    }

    /// Whether queries go over gRPC; all else then goes over TCP, since gRPC is for queries alone.
    #[must_use]
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::GrpcSync | Self::GrpcAdaptive | Self::GrpcAsync)
    }
}

/// The address of a database: `hyper:` (a private server and a new database), `hyper:/path/file.hyper` (a private
/// server), or `hyper://user:password@host:port/database` (a running server). `?transport=` is one of `tcp` (the
/// default), `ipc`, `grpc-sync`, `grpc-adaptive`, `grpc-async`; `max-response-bytes=` is the maximum length of one message from
/// the server. In user and password, `/`, `?` and `%` are written `%2F`, `%3F` and `%25`.
#[derive(Clone, PartialEq, Eq)]
pub struct Uri {
    /// The server and its database.
    pub place: Place,
    /// The transport of queries.
    pub transport: Transport,
    /// Maximum length of a message from the server, in bytes.
    pub most_bytes: usize,
}

/// Default maximum length of a message from the server, in bytes: a row is never split, so there is no natural limit.
const MOST_BYTES: usize = 1 << 30;

/// A server and a database.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// The private server, and a new database that is removed with the engine.
    Fresh,
    /// The private server, and the database in this file, which is created if it does not exist.
    File(PathBuf),
    /// A running server.
    Server {
        /// The server's host.
        host: String,
        /// The port of the server's TCP or gRPC endpoint.
        port: u16,
        /// The user; `None` for the server's default user.
        user: Option<String>,
        /// The password, never shown.
        password: Option<String>,
        /// The path of the database on the server, with a leading `/` if the URI has `//` there.
        database: String,
    },
}

impl std::fmt::Debug for Uri {
    /// Leaves out the password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match &self.place {
            Place::Fresh => String::new(),
            Place::File(path) => path.display().to_string(),
            Place::Server { host, port, database, .. } => format!("//{host}:{port}/{database}"),
        };
        write!(formatter, "hyper:{place} over {:?}", self.transport)
    }
}

impl FromStr for Uri {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable engine URI: {problem}; use \"hyper:\", \"hyper:/path/file.hyper\" or \
                 \"hyper://host:port/database\", with ?transport=tcp, ipc, grpc-sync, grpc-adaptive or grpc-async, \
                 and ?max-response-bytes=N where needed"
            ))
        };
        let rest = text.strip_prefix("hyper:").ok_or_else(|| invalid("it does not begin with \"hyper:\""))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut transport, mut most_bytes) = (Transport::default(), MOST_BYTES);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("transport", found) => {
                    let known = TRANSPORTS.iter().find(|(name, _)| *name == found);
                    transport = known.ok_or_else(|| invalid("there is no such transport"))?.1;
                }
                (response_limit::OPTION, value) => most_bytes = response_limit::parse(value).map_err(invalid)?,
                _ => return Err(invalid("it has another option")),
            }
        }
        let place = match place.strip_prefix("//") {
            Some(server) => parse_server(server).ok_or_else(|| invalid("the server needs host:port/database"))?,
            None if place.is_empty() => Place::Fresh,
            None if place.starts_with('/') => Place::File(PathBuf::from(place)),
            None => return Err(invalid("the path of a file must be absolute")),
        };
        if matches!(place, Place::Server { .. }) && transport == Transport::Ipc {
            return Err(invalid("a server of host and port is reached by tcp or gRPC"));
        }
        Ok(Self { place, transport, most_bytes })
    }
}

fn parse_server(text: &str) -> Option<Place> {
    let (address, database) = text.split_once('/')?;
    let (credentials, address) = match address.rsplit_once('@') {
        Some((credentials, address)) => (Some(credentials), address),
        None => (None, address),
    };
    let (host, port) = address.rsplit_once(':')?;
    let (user, password) = match credentials.map(|credentials| credentials.split_once(':')) {
        None => (None, None),
        Some(None) => (Some(percent::decoded(credentials?).ok()?), None),
        Some(Some((user, password))) => (Some(percent::decoded(user).ok()?), Some(percent::decoded(password).ok()?)),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = port.parse().ok()?;
    (!host.is_empty() && !database.is_empty()).then(|| Place::Server {
        host,
        port,
        user,
        password,
        database: database.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn uris_name_a_server_a_database_and_a_transport() {
        let fresh = Uri { place: Place::Fresh, transport: Transport::Tcp, most_bytes: MOST_BYTES };
        assert!(parsed("hyper:") == fresh);
        let file = Uri { place: Place::File("/a b.hyper".into()), transport: Transport::GrpcAsync, most_bytes: 70 };
        assert!(parsed("hyper:/a b.hyper?transport=grpc-async&max-response-bytes=70") == file);
        let Place::Server { host, port, user, password, database } =
            parsed("hyper://me:s3cr@t@[::1]:7483//data/x.hyper").place
        else {
            panic!()
        };
        assert_eq!((host.as_str(), port, database.as_str()), ("::1", 7483, "/data/x.hyper"));
        assert_eq!((user.as_deref(), password.as_deref()), (Some("me"), Some("s3cr@t")));
        let Place::Server { password, .. } = parsed("hyper://me:a%2Fb%3f%25@host:1/x").place else { panic!() };
        assert_eq!(password.as_deref(), Some("a/b?%"));
    }

    #[test]
    fn unusable_uris_are_refused_and_passwords_not_shown() {
        for text in [
            "hyper://me:%2@host:1/x",
            "hyper://me:%+1@host:1/x",
            "hyper:x",
            "hyper://host/db",
            "hyper://host:1/",
            "hyper:?transport=udp",
            "hyper:?x=1",
            "hyper:?max-response-bytes=0",
            "hyperx:",
        ] {
            assert_eq!(text.parse::<Uri>().unwrap_err().code(), "BB_INVALID_ARGUMENT", "{text}");
        }
        let shown = format!("{:?}", parsed("hyper://me:secret@host:1/db"));
        assert!(!shown.contains("secret"), "{shown}");
        let refused = "hyper://me:secret@host:1/db?transport=ipc".parse::<Uri>().unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }
}
