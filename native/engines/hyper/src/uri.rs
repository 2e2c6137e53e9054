//! The engine's URIs.

use std::path::PathBuf;
use std::str::FromStr;

use boundary_bench_kernel::url::{Authority, UrlOptions, UrlParts};
use boundary_bench_kernel::{Error, Result};

use crate::copy_in::COPY_BYTES;

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
    pub fn name(self) -> &'static str {
        // Every transport is in the list. The first is the default.
        TRANSPORTS.iter().find(|(_, transport)| *transport == self).map_or(TRANSPORTS[0].0, |(name, _)| name)
    }

    /// Whether queries go over gRPC. All else then goes over TCP, since gRPC is for queries alone.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::GrpcSync | Self::GrpcAdaptive | Self::GrpcAsync)
    }
}

/// The address of a database: `hyper:` (a private server and a new database), `hyper:/path/file.hyper` (a private server), or
/// `hyper://user:password@host:port/database` (a running server). `?transport=` is one of `tcp` (the default), `ipc`,
/// `grpc-sync`, `grpc-adaptive`, `grpc-async`. `max-response-bytes=` is the maximum length of one message from the server.
/// `copy-bytes=` is the length of one COPY of an insert. `socket-buffer-bytes=` is the size of the buffers of a socket. In user
/// and password, `/`, `?` and `%` are written `%2F`, `%3F` and `%25`.
#[derive(Clone, PartialEq, Eq)]
pub struct Uri {
    /// The server and its database.
    pub place: ServerDatabase,
    /// The transport of queries.
    pub transport: Transport,
    /// Maximum length of a message from the server, in bytes.
    pub most_bytes: usize,
    /// Length of one COPY of an insert, in bytes.
    pub copy_bytes: usize,
    /// Size of each of a socket's buffers, in bytes, 0 for the system's. `None` for the size that suits the transport.
    pub socket_buffer: Option<i32>,
}

/// Default maximum length of a message from the server, in bytes: a row is never split, so there is no natural limit.
const MOST_BYTES: usize = 1 << 30;

/// A server and a database.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerDatabase {
    /// The private server, and a new database that is removed with the engine.
    Fresh,
    /// The private server, and the database in this file. The file is created if it does not exist.
    File(PathBuf),
    /// A running server.
    Server {
        /// The server's host.
        host: String,
        /// The port of the server's TCP or gRPC endpoint.
        port: u16,
        /// The user, or `None` for the server's default user.
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
            ServerDatabase::Fresh => String::new(),
            ServerDatabase::File(path) => path.display().to_string(),
            ServerDatabase::Server { host, port, database, .. } => format!("//{host}:{port}/{database}"),
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
                 and ?max-response-bytes=N if needed"
            ))
        };
        let UrlParts { scheme, authority, path, mut options } = UrlParts::parse(text).map_err(invalid)?;
        if scheme != "hyper" {
            return Err(invalid("it does not begin with \"hyper:\""));
        }
        let place = match authority {
            Some(server) => server_of(server, path).ok_or_else(|| invalid("the server needs host:port/database"))?,
            None if path.is_empty() => ServerDatabase::Fresh,
            None if path.starts_with('/') => ServerDatabase::File(PathBuf::from(path)),
            None => return Err(invalid("the path of a file must be absolute")),
        };
        let transport = options.take("transport").map(|found| {
            let known = TRANSPORTS.iter().find(|(name, _)| *name == found);
            known.map(|(_, transport)| *transport).ok_or_else(|| invalid("there is no such transport"))
        });
        let transport = transport.transpose()?.unwrap_or_default();
        let most_bytes = options.take_response_limit(MOST_BYTES).map_err(invalid)?;
        let copy_bytes = size_of(&mut options, "copy-bytes", 1).map_err(invalid)?.unwrap_or(COPY_BYTES);
        let socket_buffer = size_of(&mut options, "socket-buffer-bytes", 0).map_err(invalid)?;
        options.end().map_err(invalid)?;
        if matches!(place, ServerDatabase::Server { .. }) && transport == Transport::Ipc {
            return Err(invalid("a server of host and port is reached by tcp or gRPC"));
        }
        Ok(Self { place, transport, most_bytes, copy_bytes, socket_buffer })
    }
}

/// Takes a size in bytes, `least` or more, from the options.
fn size_of<T: FromStr + PartialOrd + Copy>(
    options: &mut UrlOptions<'_>,
    name: &str,
    least: T,
) -> std::result::Result<Option<T>, &'static str> {
    let parsed = options.take(name).map(|value| value.parse().ok().filter(|size| *size >= least));
    parsed.map(|size| size.ok_or("a size must be a number of bytes, copy-bytes above 0")).transpose()
}

/// The database at a path of a running server.
fn server_of(authority: Authority<'_>, path: &str) -> Option<ServerDatabase> {
    let Authority { user, password, host, port } = authority;
    let database = path.strip_prefix('/').filter(|database| !database.is_empty() && !host.is_empty())?.to_owned();
    Some(ServerDatabase::Server { host: host.to_owned(), port: port?, user, password, database })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn uris_name_a_server_a_database_and_a_transport() {
        let fresh = Uri {
            place: ServerDatabase::Fresh,
            transport: Transport::Tcp,
            most_bytes: MOST_BYTES,
            copy_bytes: COPY_BYTES,
            socket_buffer: None,
        };
        assert!(parsed("hyper:") == fresh);
        let place = ServerDatabase::File("/a b.hyper".into());
        let file = Uri { place, transport: Transport::GrpcAsync, most_bytes: 70, ..fresh.clone() };
        assert!(parsed("hyper:/a b.hyper?transport=grpc-async&max-response-bytes=70") == file);
        let sized = Uri { copy_bytes: 80, socket_buffer: Some(0), ..fresh };
        assert!(parsed("hyper:?copy-bytes=80&socket-buffer-bytes=0") == sized);
        let ServerDatabase::Server { host, port, user, password, database } =
            parsed("hyper://me:s3cr@t@[::1]:7483//data/x.hyper").place
        else {
            panic!()
        };
        assert_eq!((host.as_str(), port, database.as_str()), ("::1", 7483, "/data/x.hyper"));
        assert_eq!((user.as_deref(), password.as_deref()), (Some("me"), Some("s3cr@t")));
        let ServerDatabase::Server { password, .. } = parsed("hyper://me:a%2Fb%3f%25@host:1/x").place else { panic!() };
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
            "hyper:?copy-bytes=x",
            "hyper:?copy-bytes=0",
            "hyper:?socket-buffer-bytes=-1",
            "hyper:?socket-buffer-bytes=1e6",
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
