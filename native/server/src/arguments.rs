//! The arguments of the server's program.

use std::path::PathBuf;
use std::time::Duration;

use boundary_bench_core::bind::ALLOW_INSECURE_BIND;
use boundary_bench_flight::Login;
use boundary_bench_shards::{ShardOptions, TlsFiles};

use crate::delay::{self, DelayOptions};
use crate::options::{DEFAULT_FLIGHT_PORT, FlightOptions, Options, TLS_OPTIONS};
use crate::shard;

/// What the arguments tell the program to do.
#[derive(Debug)]
pub enum Parsed {
    /// Print [`HELP`].
    Help,
    /// Run the server.
    Serve(Box<Options>),
    /// Run the server of one shard.
    Shard(Box<ShardOptions>),
    /// Run the proxy that delays what it passes on.
    Delay(Box<DelayOptions>),
}

/// The text for `--help`.
pub const HELP: &str = r#"Serves the REST contract of RonDB and the ingest contract of HyperbyteDB, from an embedded store; or Arrow Flight SQL,
over a database of DuckDB; or one shard of a sharded store, by gRPC; or passes on what is sent to another server, later.

Usage: boundary-bench serve [OPTIONS]
       boundary-bench serve flight [OPTIONS]
       boundary-bench serve shard [OPTIONS]
       boundary-bench serve delay [OPTIONS]
       boundary-bench-server ...            the same without Node, built by cargo build -p boundary-bench-server

  --listen <address>         where to listen (127.0.0.1:4406, flight: 127.0.0.1:31337; port 0: a free one)
  --dir <directory>          keep the rows there (a new directory, removed at the end)
  --durable                  acknowledge a write when it is on the disk
  --api-key <key>            the key that requests must carry, but for pings and healths, as X-API-KEY: <key> or
                             Authorization: Token <key>; also from BOUNDARY_BENCH_API_KEY
  --tls-cert <file>          speak TLS with this certificate (PEM) ...
  --tls-key <file>           ... and this key (PEM)
  --allow-insecure-bind      listen where other machines reach it without a key or login, or without TLS
  --scale-factor <n>         the size of TPC-H's lineitem, 0.01 to 1: 60,000 to 6,000,000 rows (0: none)
  --threads <n>              threads that serve connections (one for two cores)
  --max-connections <n>      further ones wait (20000)
  --max-batch <n>            operations of a batch; more are refused (no limit)
  --max-rate <n>             REST requests a second; more are answered 429 (no limit)
  --max-body <bytes>         of a REST request (4194304)
  --max-ingest-body <bytes>  of a write, as sent and decompressed (26214400)
  --max-points <n>           of a write (500000)
  --header-timeout <s>       from the first byte of a request to the end of its header (10)
  --body-timeout <s>         from there to the end of its body (30)
  --idle-timeout <s>         of a connection without a request (120)
  --query-timeout <s>        of one SQL query (120)
  --stall-timeout <s>        of a client that reads nothing of a scan (30)
  --keep-alive <s>           how often HTTP/2 asks for a sign of life, and waits for it (30)
  --max-open <n>             scans that are open at a time; more are refused (1024)
  --stop-timeout <s>         for requests in flight at the end (10)

Flight SQL takes --listen, --tls-*, --allow-insecure-bind, --threads, --max-connections, --idle-timeout, --query-timeout, --keep-alive and
--stop-timeout of these; --stall-timeout, also of a client that sends nothing of a call; --max-open, of results and of inserts; and
  --database <file>          the database, made if it is not there (one in memory)
  --user <name>              ask for this name and the password of BOUNDARY_BENCH_PASSWORD
  --max-message <bytes>      of a message, such as a batch of rows to insert (67108864)

A shard, one of a sharded store's servers of gRPC (proto/boundary_bench/shards/v1/shards.proto), takes instead
  --shard <n>                its number, from 0 (0)
  --shards <n>               the number of shards (3)
  --listen <address>         where to listen (127.0.0.1, port 4410 plus the number of the shard; port 0: a free one)
  --data-dir <directory>     keep the rows on disk there, in shard_<n>: acknowledge a write when it is on the disk (in memory)
  --threads <n>              threads of the network (one for two cores)
  --max-message <bytes>      the largest message, either way (4194304)
  --max-streams <n>          calls of one connection at a time; the next ones wait (1024)
  --max-open <n>             scans that are open at a time; more are refused (1024)
  --stall-timeout <s>        of a client that reads nothing of a scan, or sends nothing of a population (30)
  --keep-alive <s>           how often a connection is asked for a sign of life, and how long for it (30)
and --api-key, --tls-cert, --tls-key and --allow-insecure-bind as above: the key is metadata of the calls.

A delay, which makes the loopback as slow as a network for any server of TCP, takes instead
  --to <address>             the server behind it
  --listen <address>         where to listen (127.0.0.1, a free port)
  --delay-us <n>             how much later everything arrives, in each direction (0)
  --bandwidth-mbps <n>       megabits a second of each direction of a connection (no limit)
  --allow-insecure-bind      listen where other machines reach it

It prints `listening on URL` when it answers. SIGTERM and Ctrl-C stop it: no new connections, requests in flight are
answered.

Examples:
  boundary-bench serve                                        RonDB's benchmark tables on 127.0.0.1:4406
  boundary-bench serve --scale-factor 0.1 --listen [::1]:0    with 600,000 rows of lineitem, on a free port
  boundary-bench serve --durable --dir /var/tmp/points        keeps what is written, also through a crash
  boundary-bench serve flight --database /var/tmp/my.duckdb   a database, for any client of Flight SQL
  boundary-bench serve shard --shard 1 --shards 3             the second of three shards, in memory on 127.0.0.1:4411

  curl -d '{"filters":[{"column":"id0","value":5}]}' http://127.0.0.1:4406/0.1.0/rdrs_bench/table_1/pk-read
  curl -d 'q=CREATE DATABASE "server"' http://127.0.0.1:4406/query
  curl -d 'bench,host=a v=1.5' 'http://127.0.0.1:4406/write?db=server'
"#;

/// The environment variable of the API key; an argument would show the key to everybody on the machine.
const API_KEY_VARIABLE: &str = "BOUNDARY_BENCH_API_KEY";

/// The API key of the environment; `None` where the variable is unset or empty.
pub(crate) fn api_key_of_environment() -> Option<String> {
    std::env::var(API_KEY_VARIABLE).ok().filter(|key| !key.is_empty())
}

/// The environment variable of Flight SQL's password; an argument would show the password to everybody on the machine.
const PASSWORD_VARIABLE: &str = "BOUNDARY_BENCH_PASSWORD";

/// The first argument that selects the Flight SQL server.
const FLIGHT: &str = "flight";

/// Reads the arguments after the program's name.
///
/// # Errors
/// The text of the first argument that is unknown, lacks its value or has an unusable one.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Parsed, String> {
    let mut options = Options { api_key: api_key_of_environment(), ..Options::default() };
    let (mut certificate, mut key, mut user) = (None, None, None);
    let mut arguments = arguments.into_iter().peekable();
    if arguments.next_if(|word| word == shard::KIND).is_some() {
        return shard::parse(arguments);
    }
    if arguments.next_if(|word| word == delay::KIND).is_some() {
        return delay::parse(arguments);
    }
    if arguments.next_if(|word| word == FLIGHT).is_some() {
        options.listen.set_port(DEFAULT_FLIGHT_PORT);
        options.flight = Some(FlightOptions::default());
    }
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        match (name.as_str(), &inline) {
            ("--help" | "-h", None) => return Ok(Parsed::Help),
            ("--durable", None) => {
                options.durable = true;
                continue;
            }
            (ALLOW_INSECURE_BIND, None) => {
                options.allow_insecure_bind = true;
                continue;
            }
            _ => {}
        }
        let mut value = || inline.clone().or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--listen" => options.listen = number(&name, &value()?)?,
            "--dir" => options.folder = Some(value()?.into()),
            "--api-key" => options.api_key = Some(value()?),
            "--tls-cert" => certificate = Some(value()?.into()),
            "--tls-key" => key = Some(value()?.into()),
            "--scale-factor" => options.scale_factor = number(&name, &value()?)?,
            "--threads" => options.threads = Some(number(&name, &value()?)?),
            "--max-connections" => options.limits.connections = number(&name, &value()?)?,
            "--max-batch" => options.limits.batch = Some(number(&name, &value()?)?),
            "--max-rate" => options.limits.rate = Some(number(&name, &value()?)?),
            "--max-body" => options.limits.rest_body = number(&name, &value()?)?,
            "--max-ingest-body" => options.limits.ingest_body = number(&name, &value()?)?,
            "--max-points" => options.limits.points = number(&name, &value()?)?,
            "--header-timeout" => options.limits.header_time = seconds(&name, &value()?)?,
            "--body-timeout" => options.limits.body_time = seconds(&name, &value()?)?,
            "--idle-timeout" => options.limits.idle_time = seconds(&name, &value()?)?,
            "--query-timeout" => options.limits.query_time = seconds(&name, &value()?)?,
            "--stall-timeout" => options.limits.stall_time = seconds(&name, &value()?)?,
            "--keep-alive" => options.limits.keep_alive = seconds(&name, &value()?)?,
            "--max-open" => options.limits.open = number(&name, &value()?)?,
            "--stop-timeout" => options.limits.stop_time = seconds(&name, &value()?)?,
            "--max-message" => options.limits.message = number(&name, &value()?)?,
            "--user" => user = Some(value()?),
            "--database" => {
                let database = Some(value()?.into());
                options.flight.as_mut().ok_or("--database needs flight before it")?.database = database;
            }
            _ => return Err(format!("there is no {name}")),
        }
    }
    if let Some(user) = user {
        let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
        let password = password.ok_or_else(|| format!("--user needs the password in {PASSWORD_VARIABLE}"))?;
        options.flight.as_mut().ok_or("--user needs flight before it")?.login = Some(Login { user, password });
    }
    options.tls = tls_files(certificate, key)?;
    Ok(Parsed::Serve(Box::new(options)))
}

/// The files of the certificate and its key: both or neither.
pub(crate) fn tls_files(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, String> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        _ => Err(format!("TLS needs both {TLS_OPTIONS}")),
    }
}

pub(crate) fn number<N: std::str::FromStr>(name: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{name}: {text} is not usable"))
}

pub(crate) fn seconds(name: &str, text: &str) -> Result<Duration, String> {
    let duration = number(name, text).and_then(|seconds: f64| {
        Duration::try_from_secs_f64(seconds).map_err(|_| format!("{name}: {text} is not usable"))
    })?;
    // With a time-out of zero every connection would end before its first byte.
    if duration.is_zero() { Err(format!("{name}: it must be more than 0")) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments_become_options() {
        let given =
            words("--listen 127.0.0.1:0 --durable --max-batch=128 --max-rate 50 --idle-timeout 0.5 --scale-factor 0.1");
        let Ok(Parsed::Serve(options)) = parse(given) else { panic!("these are usable") };
        assert_eq!(options.listen.port(), 0);
        assert!(options.durable);
        assert_eq!((options.limits.batch, options.limits.rate), (Some(128), Some(50)));
        assert_eq!(options.limits.idle_time, Duration::from_millis(500));
        assert!((options.scale_factor - 0.1).abs() < f64::EPSILON);
        assert!(matches!(parse(words("--help")), Ok(Parsed::Help)));
        let Ok(Parsed::Serve(options)) = parse(words("flight --database x.duckdb")) else { panic!("these are usable") };
        assert_eq!(options.listen.port(), DEFAULT_FLIGHT_PORT);
        assert_eq!(options.flight.unwrap().database, Some("x.duckdb".into()));
    }

    #[test]
    fn unusable_arguments_are_told() {
        for (given, said) in [
            ("--listen here", "--listen: here is not usable"),
            ("--threads", "--threads needs a value"),
            ("--tls-cert a.pem", "TLS needs both"),
            ("--what 1", "there is no --what"),
            ("--database x", "needs flight"),
            ("--listen 127.0.0.1:0 flight", "there is no flight"),
            ("--body-timeout -1", "not usable"),
            ("--body-timeout 0", "more than 0"),
        ] {
            let error = parse(words(given)).unwrap_err();
            assert!(error.contains(said), "{given}: {error}");
        }
    }
}
