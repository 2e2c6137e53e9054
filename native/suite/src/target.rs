//! The servers of request work: starting private ones, and asking a server for its version.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::resources::cpu_of_process;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{Cell, SqlSession};
use serde::Serialize;

use crate::requests::{block_on, runtime};

/// A kind of server, by its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// The MySQL wire.
    Mysql,
    /// The Redis wire.
    Redis,
    /// The Redis wire, divided among the masters of a Redis Cluster.
    RedisCluster,
    /// `RonDB`'s REST requests over HTTP.
    Rest,
    /// `HyperbyteDB`'s writes over HTTP.
    Ingest,
}

/// Facts that a server reports about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo {
    /// The server's name and version.
    pub version: String,
    /// The server's process id, if the server reports it, runs on this machine, and is one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// Whether the server is one of a Redis Cluster.
    pub is_cluster: bool,
    /// The places of the servers of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Whether all masters of the cluster answer.
    pub is_whole: bool,
    /// The number of connections that the server takes besides the connections of others, if it tells its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_connections: Option<u64>,
}

/// A private server. Dropping it stops the server.
#[derive(Debug)]
pub enum PrivateTarget {
    /// `mariadbd` or `mysqld`.
    Mysql(Box<boundary_bench_mysql::server::Server>),
    /// `valkey-server` or `redis-server`.
    Redis(boundary_bench_redis::Server),
    /// Three masters, each `valkey-server` or `redis-server`.
    RedisCluster(boundary_bench_redis::PrivateCluster),
    /// The reference server. It answers both kinds of requests over HTTP.
    Http(boundary_bench_processes::PrivateServer),
}

impl TargetKind {
    /// The program that private servers of this kind run.
    pub fn executable(self) -> Result<PathBuf> {
        match self {
            Self::Mysql => boundary_bench_mysql::server::executable(None),
            Self::Redis | Self::RedisCluster => boundary_bench_redis::executable(None),
            Self::Rest | Self::Ingest => boundary_bench_processes::executable(),
        }
    }

    /// Starts a private server, the program of [`TargetKind::executable`] with `arguments` before our own.
    pub fn start(self, arguments: &[&str], cancel: &CancelToken) -> Result<PrivateTarget> {
        Ok(match self {
            Self::Mysql => {
                PrivateTarget::Mysql(Box::new(boundary_bench_mysql::server::start_with(None, arguments, cancel)?))
            }
            Self::Redis => PrivateTarget::Redis(boundary_bench_redis::Server::start_with(None, arguments, cancel)?),
            Self::RedisCluster => {
                let start = boundary_bench_redis::PrivateCluster::start(None, arguments, cancel);
                PrivateTarget::RedisCluster(block_on(runtime()?, start)?)
            }
            Self::Rest | Self::Ingest => {
                PrivateTarget::Http(boundary_bench_processes::PrivateServer::start(arguments, cancel)?)
            }
        })
    }

    /// Asks the server at a URL for its name and version.
    pub fn describe(self, url: &str) -> Result<TargetInfo> {
        match self {
            Self::Mysql => describe_mysql(url),
            Self::Redis => describe_redis(url, false),
            Self::RedisCluster => describe_redis(url, true),
            Self::Rest => describe_http(url, "/0.1.0/ping"),
            Self::Ingest => describe_http(url, "/ping"),
        }
    }
}

impl PrivateTarget {
    /// The URL of the server, with its generated password.
    pub fn url(&self) -> String {
        match self {
            Self::Mysql(server) => server.url().secret_text(),
            Self::Redis(server) => server.url(),
            Self::RedisCluster(cluster) => cluster.url(),
            Self::Http(server) => server.url(),
        }
    }

    /// The ids of the server's processes: one process, or a cluster's masters.
    pub fn process_ids(&self) -> Vec<u32> {
        match self {
            Self::Mysql(server) => vec![server.process_id()],
            Self::Redis(server) => vec![server.process_id()],
            Self::RedisCluster(cluster) => cluster.masters().iter().map(|master| master.process_id()).collect(),
            Self::Http(server) => vec![server.process_id()],
        }
    }

    /// The way in which the server ended by itself, or `None` while it runs, and after [`PrivateTarget::stop`].
    pub fn ending(&self) -> Option<String> {
        match self {
            Self::Mysql(server) => server.ending(),
            Self::Redis(server) => server.ending(),
            Self::RedisCluster(cluster) => cluster.ending(),
            Self::Http(server) => server.ending(),
        }
    }

    /// Stops the server and removes its folder. Does nothing the second time.
    pub fn stop(&self) {
        match self {
            Self::Mysql(server) => server.stop(),
            Self::Redis(server) => server.stop(),
            Self::RedisCluster(cluster) => cluster.stop(),
            Self::Http(server) => server.stop(),
        }
    }
}

fn describe_mysql(url: &str) -> Result<TargetInfo> {
    let url: boundary_bench_mysql::Url = url.parse()?;
    block_on(runtime()?, async {
        let mut session = SqlSession::open(&url).await?;
        let limits = numbers(&mut session, "SELECT @@max_connections, @@max_user_connections").await;
        let open = numbers(&mut session, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").await;
        // An account without a limit of its own has the limit 0.
        let most = limits.into_iter().filter(|limit| *limit > 0).min();
        let most_connections = most.zip(open.first()).map(|(most, open)| most.saturating_sub(open.saturating_sub(1)));
        Ok(TargetInfo { version: session.version().to_owned(), most_connections, ..TargetInfo::default() })
    })
}

/// The numbers that a query returns. None if the server refuses it, as one may that only implements the wire.
async fn numbers(session: &mut SqlSession, sql: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut add = |_, cell: Cell<'_>| match cell {
        Cell::Int(number) => numbers.extend(u64::try_from(number)),
        Cell::Text(text) | Cell::Decimal(text) => numbers.extend(text.parse::<u64>()),
        _ => {}
    };
    let _ = session.execute(sql, &[], |row| drop(row.visit(&mut add))).await;
    numbers
}

fn describe_redis(url: &str, as_cluster: bool) -> Result<TargetInfo> {
    let url: boundary_bench_redis::Url = url.parse()?;
    let options = boundary_bench_redis::KvOptions { timeout: Some(PROBE_TIMEOUT) };
    block_on(runtime()?, async {
        let mut client = boundary_bench_redis::KvClient::connect(url.clone(), options).await?;
        let is_cluster = client.is_cluster();
        if as_cluster && !is_cluster {
            let message = format!("{} is not a server of a cluster; name a single server by --redis-url", url.place);
            return Err(Error::Engine { engine: boundary_bench_redis::NAME, message });
        }
        let mut info = String::new();
        for section in [b"server".as_slice(), b"clients"] {
            let told = client
                .call(&[b"INFO", section], |reply| {
                    if let boundary_bench_redis::Reply::Bulk(text) = reply {
                        info.push_str(&String::from_utf8_lossy(text));
                    }
                    Ok(())
                })
                .await;
            match told {
                // Servers that only implement the wire may lack the command.
                Ok(()) | Err(Error::Engine { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut is_whole = true;
        if is_cluster {
            let mut commands = boundary_bench_redis::Commands::new();
            commands.push([b"DBSIZE".as_slice()].into_iter());
            // A master that refuses the command answers as well.
            client.execute(&commands, |_, answer| is_whole = answer.is_ok()).await;
        }
        let places = client.places().iter().map(ToString::to_string).collect();
        Ok(TargetInfo { places, is_whole, ..of_info(&info, is_cluster) })
    })
}

/// The time-out of asking a server for its version.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The header in which `HyperbyteDB` reports its name and version.
const INFLUXDB_VERSION: &str = "x-influxdb-version";

/// Asks a server over HTTP for its name and version. It may report these in a header of the response.
fn describe_http(url: &str, path: &str) -> Result<TargetInfo> {
    let address: Address = url.parse()?;
    let options = HttpOptions { timeout: Some(PROBE_TIMEOUT), ..address.options() };
    let mut client = HttpClient::new(Arc::new(Origin::new(address.url.clone(), options)?));
    let request = Request::get(path);
    let version = client.call(&request, |response| match response.status {
        200..300 => {
            let header = |name: &str| response.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
            Ok(header(INFLUXDB_VERSION).or_else(|| header("server")))
        }
        status => Err(Error::Connection(format!("{}: GET {path} is answered with {status}", address.url))),
    });
    let version = block_on(runtime()?, version)?;
    let version = version.map_or_else(|| "unknown".to_owned(), |version| spaced(&version));
    Ok(TargetInfo { version, ..TargetInfo::default() })
}

/// Separates name and version by a space: turns `Name-1.2.3` into `Name 1.2.3`, and `name/1.2.3` into `name 1.2.3`.
fn spaced(text: &str) -> String {
    let is_before_digit = |at: &usize| text[at + 1..].starts_with(|next: char| next.is_ascii_digit());
    match text.match_indices(['-', '/']).map(|(at, _)| at).find(is_before_digit) {
        Some(at) => format!("{} {}", &text[..at], &text[at + 1..]),
        None => text.replace('/', " "),
    }
}

/// Parses the replies to `INFO server` and `INFO clients`. The process of one of a cluster's servers says nothing about the others, so it is left out.
fn of_info(info: &str, is_cluster: bool) -> TargetInfo {
    let field = |name: &str| {
        let values = info.lines().filter_map(|line| line.split_once(':'));
        values.into_iter().find(|(field, _)| *field == name).map(|(_, value)| value.trim())
    };
    let version = field("valkey_version")
        .map(|version| format!("Valkey {version}"))
        .or_else(|| field("redis_version").map(|version| format!("Redis {version}")));
    let process_id = field("process_id").and_then(|id| id.parse().ok());
    let process_id = process_id.filter(|id| !is_cluster && is_server_here(*id));
    let version = version.unwrap_or_else(|| "unknown".to_owned());
    let number = |name: &str| field(name).and_then(|number| number.parse::<u64>().ok());
    let open = number("connected_clients").unwrap_or(1).saturating_sub(1);
    let most_connections = number("maxclients").map(|most| most.saturating_sub(open));
    TargetInfo { version, process_id, is_cluster, most_connections, ..TargetInfo::default() }
}

/// Whether a process of this machine is such a server: a server elsewhere, or in a container, may report an id that belongs to
/// another process here.
fn is_server_here(process_id: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process_id}/comm")).unwrap_or_default();
    let is_server = ["redis", "valkey"].iter().any(|server| name.starts_with(server));
    is_server && cpu_of_process(process_id).is_some()
}

#[cfg(test)]
mod tests {
    use boundary_bench_kernel::needs;

    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_tells() {
        let info = "# Server\r\nredis_version:7.0.15\r\nprocess_id:0\r\n";
        let known = TargetInfo { version: "Redis 7.0.15".to_owned(), ..TargetInfo::default() };
        assert_eq!(of_info(info, false), known);
        let info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n";
        assert_eq!(of_info(info, true).version, "Valkey 8.0.1");
        assert_eq!(of_info("", false).version, "unknown");
        let info = "connected_clients:3\r\nmaxclients:100\r\n";
        assert_eq!(of_info(info, false).most_connections, Some(98));
        for (told, version) in [
            ("HyperbyteDB-0.8.5", "HyperbyteDB 0.8.5"),
            ("boundary-bench-1.0.0-rc.5", "boundary-bench 1.0.0-rc.5"),
            ("boundary-bench/0.1.0", "boundary-bench 0.1.0"),
            ("RDRS", "RDRS"),
        ] {
            assert_eq!(spaced(told), version);
        }
        // A process with that id that runs another program is not the server.
        let own = std::process::id();
        assert_eq!(of_info(&format!("process_id:{own}"), false).process_id, None);
    }

    /// Checks that a private server reports its version, and does not answer after it was stopped.
    fn check(kind: TargetKind) {
        let server = kind.start(&[], &CancelToken::default()).unwrap();
        let info = kind.describe(&server.url()).unwrap();
        assert!(info.version.contains('.'), "{info:?}");
        if cfg!(target_os = "linux") && kind == TargetKind::Redis {
            assert_eq!(info.process_id.as_slice(), server.process_ids());
        }
        assert_eq!(info.is_cluster, kind == TargetKind::RedisCluster);
        server.stop();
        assert!(kind.describe(&server.url()).is_err());
        let limited = match kind {
            TargetKind::Mysql => ["--max-connections=40"].as_slice(),
            TargetKind::Redis => &["--maxclients", "40"],
            _ => return,
        };
        let server = kind.start(limited, &CancelToken::default()).unwrap();
        assert_eq!(kind.describe(&server.url()).unwrap().most_connections, Some(40));
    }

    #[test]
    fn a_private_server_of_mysql_tells_what_it_is() {
        needs!("mysql", TargetKind::Mysql.executable());
        check(TargetKind::Mysql);
    }

    #[test]
    fn a_private_server_of_redis_tells_what_it_is() {
        needs!("redis", TargetKind::Redis.executable());
        check(TargetKind::Redis);
    }

    #[test]
    fn a_private_cluster_tells_that_it_is_one_and_a_single_server_is_refused_as_one() {
        needs!("redis", TargetKind::RedisCluster.executable());
        check(TargetKind::RedisCluster);
        let single = TargetKind::Redis.start(&[], &CancelToken::default()).unwrap();
        let refused = TargetKind::RedisCluster.describe(&single.url()).unwrap_err();
        assert!(refused.to_string().contains("--redis-url"), "{refused}");
    }

    #[test]
    fn a_private_reference_server_tells_what_it_is() {
        for kind in [TargetKind::Rest, TargetKind::Ingest] {
            needs!("reference-server", kind.executable());
            check(kind);
        }
    }
}
