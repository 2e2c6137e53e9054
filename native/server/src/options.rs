//! The options of a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use boundary_bench_core::bind::{Protection, check_bind};
use boundary_bench_core::{Error, Result, api_key};
use boundary_bench_flight::Login;
use boundary_bench_shards::TlsFiles;

/// The default port, that of `RonDB`'s REST server.
pub const DEFAULT_PORT: u16 = 4406;

/// The names of the options that turn on TLS.
pub(crate) const TLS_OPTIONS: &str = "--tls-cert and --tls-key";

/// The default port of Flight SQL, the one most servers use.
pub const DEFAULT_FLIGHT_PORT: u16 = 31_337;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The options of Flight SQL; with them, the server serves nothing else.
    pub flight: Option<FlightOptions>,
    /// The address that the server listens on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder of the tables and points. `None`: a new folder, removed at the end.
    pub folder: Option<PathBuf>,
    /// Whether a write is on the disk before it is acknowledged.
    pub durable: bool,
    /// The API key that a request must carry, in `X-API-KEY` or as `Authorization: Token`.
    pub api_key: Option<String>,
    /// The certificate and key files of TLS; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether the server may listen where other machines reach it without a key or login, or without TLS.
    pub allow_insecure_bind: bool,
    /// The limits on what a client may ask for.
    pub limits: Limits,
    /// The number of threads that serve connections. `None`: one for two cores, since the client has the others.
    pub threads: Option<usize>,
    /// The scale factor of TPC-H's `lineitem`: 1 is six million rows, 0 no table.
    pub scale_factor: f64,
}

/// The database of Flight SQL and the login it asks for.
#[derive(Debug, Clone, Default)]
pub struct FlightOptions {
    /// The file of the database. `None`: a database in memory.
    pub database: Option<PathBuf>,
    /// The user and password that a client must give. `None`: no login.
    pub login: Option<Login>,
}

/// The limits on what a client may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections, at most; further ones wait to be accepted.
    pub connections: usize,
    /// Bytes of the body of a REST request, at most.
    pub rest_body: usize,
    /// Bytes of the body of a `/write`, at most; the same limit holds for the sent and for the decompressed bytes.
    pub ingest_body: usize,
    /// Points of one `/write`, at most.
    pub points: usize,
    /// Bytes of one Flight SQL message, such as a batch of rows to insert, at most.
    pub message: usize,
    /// Operations of a REST batch, at most. `None`: as many as the body holds.
    pub batch: Option<usize>,
    /// REST requests a second; more are answered 429. `None`: unlimited.
    pub rate: Option<u32>,
    /// Time-out of a request's header, from its first byte to its end.
    pub header_time: Duration,
    /// Time-out of a request's body, from the end of the header to the end of the body.
    pub body_time: Duration,
    /// Time-out of a connection without a request, and of a client that does not read its response.
    pub idle_time: Duration,
    /// Time-out of one SQL query.
    pub query_time: Duration,
    /// Time-out of a client that takes nothing of a streamed response, or sends nothing of a call.
    pub stall_time: Duration,
    /// The interval of HTTP/2 pings, and the time-out of their replies.
    pub keep_alive: Duration,
    /// Open scans, at most; for Flight SQL, open results and open inserts, each. Further ones are refused.
    pub open: usize,
    /// How long the requests in flight may take to finish when the server is stopped.
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
            // HyperbyteDB's defaults for the next two.
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
    /// Checks the options as far as possible without starting a server.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the option that is not usable.
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
