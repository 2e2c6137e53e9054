//! A reference server of our own, as a process of its own: its CPU time is told apart from the client's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::{self, ServerFolder, find_program, free_port};
use boundary_bench_core::{Error, Result};

use crate::server::NAME;

/// The name of its program.
const PROGRAM: &str = "boundary-bench-server";

/// How long a server may take until it answers, beside making `lineitem`.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How long one question whether it answers may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The bytes of an answer that are read, at most.
const MAX_PROBE: u64 = 4096;

/// The server's program: beside the running one, or in a folder of `PATH`.
///
/// # Errors
/// [`Error::NotInstalled`] saying what to do.
pub fn executable() -> Result<PathBuf> {
    let own = std::env::current_exe().ok();
    // Cargo has tests and examples one folder below programs.
    let folders = own.iter().flat_map(|path| path.ancestors().skip(1).take(2));
    let beside = folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file());
    beside.or_else(|| find_program(&[PROGRAM], &[])).ok_or_else(|| {
        Error::NotInstalled(format!(
            "{PROGRAM} is not beside this program and not in PATH; build it with cargo build -p {PROGRAM}, or give the URL \
             of a server that runs"
        ))
    })
}

/// A running server in a folder of its own. Dropping it stops it and removes the folder.
#[derive(Debug)]
pub struct PrivateServer {
    process: private_server::PrivateServer,
    scheme: &'static str,
    port: u16,
}

impl PrivateServer {
    /// Starts a server: the program, or the one of [`executable`], with arguments before ours. A program that runs others,
    /// such as `node`, gets what it is to run that way.
    ///
    /// # Errors
    /// As [`executable`], [`Error::Engine`] with the server's own words when it does not start, [`Error::Cancelled`].
    pub fn start(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let folder = ServerFolder::new(NAME)?;
        let port = free_port()?;
        let mut command = command(program, arguments, port)?;
        command.arg("--dir").arg(folder.path().join("data"));
        let process = folder.serve(&command, START_TIMEOUT, cancel, |_| answers(port))?;
        Ok(Self { process, scheme: "http", port })
    }

    /// Starts a server of Flight SQL, over a database in memory; `arguments` as in [`PrivateServer::start`], with the words
    /// that ask for this kind at their end.
    ///
    /// # Errors
    /// As [`PrivateServer::start`].
    pub fn start_flight(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let port = free_port()?;
        let command = command(program, arguments, port)?;
        // The port is bound when the database is there.
        let is_ready = |_: &Path| TcpStream::connect(("127.0.0.1", port)).is_ok();
        let process = ServerFolder::new(NAME)?.serve(&command, START_TIMEOUT, cancel, is_ready)?;
        Ok(Self { process, scheme: "flight", port })
    }

    /// The beginning of its URLs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// Its process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    /// How it ended by itself; `None` while it runs and once it was stopped.
    #[must_use]
    pub fn ending(&self) -> Option<String> {
        self.process.ending()
    }

    /// Kills it and removes its folder; does nothing the second time.
    pub fn stop(&self) {
        self.process.stop();
    }
}

fn command(program: Option<&Path>, arguments: &[&str], port: u16) -> Result<Command> {
    let program = program.map_or_else(executable, |program| Ok(program.to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).arg("--listen").arg(format!("127.0.0.1:{port}"));
    Ok(command)
}

fn answers(port: u16) -> bool {
    ask("127.0.0.1", port, "/0.1.0/ping").is_ok_and(|answer| !answer.is_empty())
}

/// What a server says of itself in the header `server`; `None` where it says nothing.
///
/// # Errors
/// [`Error::InvalidArgument`] for no URL of HTTP, [`Error::Connection`] where it does not answer with success.
pub fn server_of(url: &str, path: &str) -> Result<Option<String>> {
    let shown = || url.rsplit_once('@').map_or(url, |(_, place)| place);
    let (host, port) = place(url)
        .ok_or_else(|| Error::InvalidArgument(format!("{}: it must look like http://localhost:4406", shown())))?;
    let answer = ask(host, port, path).map_err(|error| Error::Connection(format!("{}: {error}", shown())))?;
    let mut lines = answer.lines();
    let status = lines.next().unwrap_or_default();
    if !status.split(' ').nth(1).is_some_and(|code| code.starts_with('2')) {
        return Err(Error::Connection(format!("{}: GET {path} is answered with {status:?}", shown())));
    }
    let mut headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    let server = headers.find(|(name, _)| name.eq_ignore_ascii_case("server"));
    Ok(server.map(|(_, value)| value.trim().replace('/', " ")))
}

/// The host and the port of a URL.
fn place(url: &str) -> Option<(&str, u16)> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, 80),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some((host, port))
}

/// The beginning of the answer to one request.
fn ask(host: &str, port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_PROBE).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_url_is_found() {
        assert_eq!(place("http://localhost:4406"), Some(("localhost", 4406)));
        assert_eq!(place("http://:key@[::1]:8086/?a=b"), Some(("::1", 8086)));
        assert_eq!(place("http://example.org/x"), Some(("example.org", 80)));
        for none in ["", "redis://localhost", "http://", "http://:80", "http://host:port", "https://localhost"] {
            assert_eq!(place(none), None, "{none}");
        }
    }

    #[test]
    fn no_key_is_in_an_error() {
        let error = server_of("http://:geheim@127.0.0.1:1", "/ping").unwrap_err();
        assert!(!error.to_string().contains("geheim") && error.to_string().contains("127.0.0.1:1"), "{error}");
    }
}
