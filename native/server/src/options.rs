//! How a server is to run.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use boundary_bench_core::bind::{Protection, check_bind};
use boundary_bench_core::{Error, Result, api_key};
use boundary_bench_flight::Login;
use boundary_bench_shards::TlsFiles;

/// The port of `RonDB`'s REST server.
pub const DEFAULT_PORT: u16 = 4406;

/// The options that make a server speak TLS.
pub(crate) const TLS_OPTIONS: &str = "--tls-cert and --tls-key";

/// The port that Flight SQL is most often found at.
pub const DEFAULT_FLIGHT_PORT: u16 = 31_337;

/// How a server is to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Serves Flight SQL, and nothing else.
    pub flight: Option<FlightOptions>,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the tables and the points are kept. `None`: in a new folder, removed at the end.
    pub folder: Option<PathBuf>,
    /// Whether a write is on the disk before it is acknowledged.
    pub durable: bool,
    /// The key that a request must carry, in `X-API-KEY` or as `Authorization: Token`.
    pub api_key: Option<String>,
    /// The files of TLS; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether it may listen where other machines reach it without a key or login, or without TLS.
    pub allow_insecure_bind: bool,
    /// What a client may ask for.
    pub limits: Limits,
    /// Threads that serve connections. `None`: one for two cores, since the client has the others.
    pub threads: Option<usize>,
    /// The size of TPC-H's `lineitem`: 1 is six million rows. 0: there is no such table.
    pub scale_factor: f64,
}

/// What Flight SQL is served over, and to whom.
#[derive(Debug, Clone, Default)]
pub struct FlightOptions {
    /// The file of the database. `None`: one in memory.
    pub database: Option<PathBuf>,
    /// The name and password that are asked for.
    pub login: Option<Login>,
}

/// What a client may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections; the next ones wait to be accepted.
    pub connections: usize,
    /// The bytes of a body of the REST requests.
    pub rest_body: usize,
    /// The bytes of a body of `/write`, as sent and once more when it is decompressed.
    pub ingest_body: usize,
    /// The points of one `/write`.
    pub points: usize,
    /// The bytes of one message of Flight SQL, such as a batch of rows to insert.
    pub message: usize,
    /// The operations of a batch. `None`: as many as the body holds.
    pub batch: Option<usize>,
    /// The REST requests a second; more are answered 429. `None`: as many as come.
    pub rate: Option<u32>,
    /// From the first byte of a request to the end of its header.
    pub header_time: Duration,
    /// From there to the end of its body.
    pub body_time: Duration,
    /// Without a request, and of a client that does not read its answer.
    pub idle_time: Duration,
    /// For one SQL query.
    pub query_time: Duration,
    /// Of a client that takes nothing of an answer which is made while it is read, or sends nothing of a call.
    pub stall_time: Duration,
    /// How often a connection of HTTP/2 is asked for a sign of life, and how long it may take to give one.
    pub keep_alive: Duration,
    /// Scans that are open at a time, and of Flight SQL results and inserts, of each; further ones are refused.
    pub open: usize,
    /// For the requests in flight when the server is stopped.
    pub stop_time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flight: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            folder: None,
            durable: false,
            api_key: None,
            tls: None,
            allow_insecure_bind: false,
            limits: Limits::default(),
            threads: None,
            scale_factor: 0.0,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            rest_body: 4 << 20,
            // HyperbyteDB's own two.
            ingest_body: 26_214_400,
            points: 500_000,
            message: 64 << 20,
            batch: None,
            rate: None,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(120),
            query_time: Duration::from_secs(120),
            stall_time: Duration::from_secs(30),
            keep_alive: Duration::from_secs(30),
            open: 1024,
            stop_time: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// Checks what can be checked without starting.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn validate(&self) -> Result<()> {
        let Limits { connections, rest_body, ingest_body, points, message, open, .. } = self.limits;
        let problem = if self.threads == Some(0) {
            "a server needs a thread".to_owned()
        } else if [connections, rest_body, ingest_body, points, message, open].contains(&0)
            || self.limits.batch == Some(0)
            || self.limits.rate == Some(0)
        {
            "a limit of 0 would refuse everything".to_owned()
        } else if !(0.0..=1.0).contains(&self.scale_factor) {
            format!("a scale factor of {}: it must be 0 (no lineitem) to 1 (six million rows)", self.scale_factor)
        } else if self.api_key.as_deref().is_some_and(|key| !api_key::is_api_key(key)) {
            api_key::form()
        } else {
            return self.check_bind();
        };
        Err(Error::InvalidArgument(problem))
    }

    fn check_bind(&self) -> Result<()> {
        let login = match &self.flight {
            Some(flight) => flight.login.is_none().then_some("--user"),
            None => self.api_key.is_none().then_some("--api-key"),
        };
        let tls = self.tls.is_none().then_some(TLS_OPTIONS);
        check_bind(self.listen, Protection { without_login: login, without_tls: tls }, self.allow_insecure_bind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_make_no_sense_are_refused() {
        assert!(Options::default().validate().is_ok());
        assert!(Options::default().listen.ip().is_loopback());
        for wrong in [
            Options { threads: Some(0), ..Options::default() },
            Options { scale_factor: 1.5, ..Options::default() },
            Options { scale_factor: f64::NAN, ..Options::default() },
            Options { api_key: Some("short.key".to_owned()), ..Options::default() },
            Options { limits: Limits { batch: Some(0), ..Limits::default() }, ..Options::default() },
            Options { limits: Limits { rate: Some(0), ..Limits::default() }, ..Options::default() },
            Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::default() },
        ] {
            let error = wrong.validate().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
            assert!(!error.to_string().contains("short.key"));
        }
    }

    #[test]
    fn a_server_that_others_reach_is_protected_or_allowed_to_be_open() {
        let key = format!("{}.{}", "p".repeat(16), "s".repeat(64));
        let open = Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::default() };
        let tls = Some(TlsFiles { certificate: "c.pem".into(), key: "k.pem".into() });
        let login = Login { user: "me".to_owned(), password: "geheim".to_owned() };
        let flight = |login: Option<&Login>| Some(FlightOptions { login: login.cloned(), ..FlightOptions::default() });
        let flight_without_login =
            Options { flight: flight(None), tls: tls.clone(), api_key: Some(key.clone()), ..open.clone() };
        for (what, missing) in [
            (open.clone(), "(--api-key) and without TLS"),
            (Options { api_key: Some(key.clone()), ..open.clone() }, "without TLS (--tls-cert and --tls-key)"),
            (Options { tls: tls.clone(), ..open.clone() }, "(--api-key)"),
            (flight_without_login, "(--user)"),
        ] {
            let error = what.validate().unwrap_err().to_string();
            assert!(error.contains(missing) && error.contains("--allow-insecure-bind"), "{error}");
            assert!(Options { allow_insecure_bind: true, ..what }.validate().is_ok());
        }
        assert!(Options { api_key: Some(key), tls: tls.clone(), ..open.clone() }.validate().is_ok());
        assert!(Options { flight: flight(Some(&login)), tls, ..open }.validate().is_ok());
    }
}
