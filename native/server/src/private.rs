//! A reference server of our own, as a process of its own: its CPU time is told apart from the client's.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
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

/// What runs a server: a program and the arguments before our own. `node` with the package's entry is one, where there is
/// only the addon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// The server's program: beside the running one, or in a folder of `PATH`.
///
/// # Errors
/// [`Error::NotInstalled`] saying what to do.
pub fn executable() -> Result<Command> {
    let own = std::env::current_exe().ok();
    let folders = own.iter().flat_map(|path| path.ancestors().skip(1).take(2));
    let beside = folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file());
    let program = beside.or_else(|| find_program(&[PROGRAM], &[])).ok_or_else(|| {
        Error::NotInstalled(format!(
            "{PROGRAM} is not beside this program and not in PATH; build it with cargo build -p {PROGRAM}, or give the URL \
             of a server that runs"
        ))
    })?;
    Ok(Command { program, arguments: Vec::new() })
}

/// A running server in a folder of its own. Dropping it stops it and removes the folder.
#[derive(Debug)]
pub struct PrivateServer {
    process: private_server::PrivateServer,
    port: u16,
}

impl PrivateServer {
    /// Starts a server with arguments beside ours.
    ///
    /// # Errors
    /// [`Error::Engine`] with its own words when it does not start, [`Error::Cancelled`].
    pub fn start(command: &Command, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let folder = ServerFolder::new(NAME)?;
        let port = free_port()?;
        let mut process = std::process::Command::new(&command.program);
        process
            .args(&command.arguments)
            .arg("--listen")
            .arg(format!("127.0.0.1:{port}"))
            .arg("--dir")
            .arg(folder.path().join("data"))
            .args(arguments);
        let process = folder.serve(&process, START_TIMEOUT, cancel, |_| answers(port))?;
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
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.write_all(b"GET /0.1.0/ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        stream.read(&mut [0; 16])
    };
    ask().is_ok_and(|bytes| bytes > 0)
}
