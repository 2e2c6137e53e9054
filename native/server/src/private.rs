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
    port: u16,
}

impl PrivateServer {
    /// Starts a server: the program, or the one of [`executable`], with arguments before ours. A program that runs others,
    /// such as `node`, gets what it is to run that way.
    ///
    /// # Errors
    /// As [`executable`], [`Error::Engine`] with the server's own words when it does not start, [`Error::Cancelled`].
    pub fn start(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let program = program.map_or_else(executable, |program| Ok(program.to_owned()))?;
        let folder = ServerFolder::new(NAME)?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(arguments).arg("--listen").arg(format!("127.0.0.1:{port}"));
        command.arg("--dir").arg(folder.path().join("data"));
        let process = folder.serve(&command, START_TIMEOUT, cancel, |_| answers(port))?;
        Ok(Self { process, port })
    }

    /// The beginning of its URLs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
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

fn answers(port: u16) -> bool {
    ask(port, "/0.1.0/ping").is_ok_and(|answer| !answer.is_empty())
}

/// The beginning of the answer to one request.
fn ask(port: u16, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_PROBE).read_to_end(&mut answer)?;
    Ok(answer)
}
