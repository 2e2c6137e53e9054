//! A reference server as a private process, so that its CPU time is told apart from the client's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::{self, ServerFolder, find_program, printed};
use boundary_bench_core::{Error, Result};

use crate::namespace::{self, NetworkOptions, our_card};
use crate::server::NAME;

/// The name of the server's program.
const PROGRAM: &str = "boundary-bench-server";

/// The time-out of a server's start, which includes making `lineitem`.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The arguments that let a server choose its port.
pub(crate) const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The text that a server prints before its URL once it answers.
pub const ANNOUNCEMENT: &str = "listening on ";

/// The path of the server's program: beside the running program, or in a folder of `PATH`.
///
/// # Errors
/// [`Error::NotInstalled`] saying how to get the program.
pub fn executable() -> Result<PathBuf> {
    let own = std::env::current_exe().ok();
    // Cargo puts tests and examples one folder below programs.
    let folders = own.iter().flat_map(|path| path.ancestors().skip(1).take(2));
    let beside = folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file());
    beside.or_else(|| find_program(&[PROGRAM], &[])).ok_or_else(|| {
        Error::NotInstalled(format!(
            "{PROGRAM} is not beside this program and not in PATH; build it with cargo build -p {PROGRAM}, or give the URL \
             of a server that runs"
        ))
    })
}

/// A server process with its own folder. Dropping it stops the process and removes the folder.
#[derive(Debug)]
pub struct PrivateServer {
    process: private_server::PrivateServer,
    url: String,
    /// The name of our interface to its network, where it runs in its own network namespace.
    card: Option<String>,
}

impl PrivateServer {
    /// Starts a server: `program`, or [`executable`] where there is none, with `arguments` before the server's own. A program
    /// that runs others, such as `node`, is told by `arguments` what to run.
    ///
    /// # Errors
    /// The errors of [`executable`]; [`Error::Engine`] with the server's own message when it does not start;
    /// [`Error::Cancelled`].
    pub fn start(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let folder = ServerFolder::new(NAME)?;
        let mut command = command(program, arguments)?;
        command.args(LISTEN).arg("--dir").arg(folder.path().join("data"));
        Self::announced(folder, &command, START_TIMEOUT, cancel)
    }

    /// Starts a Flight SQL server over a database in memory; `arguments` are as in [`PrivateServer::start`], and end with the
    /// words that select this kind of server.
    ///
    /// # Errors
    /// The errors of [`PrivateServer::start`].
    pub fn start_flight(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let mut command = command(program, arguments)?;
        command.args(LISTEN);
        Self::announced(ServerFolder::new(NAME)?, &command, START_TIMEOUT, cancel)
    }

    /// Runs a server until it prints its URL. It chooses its port itself: a port found free beforehand could be taken by then,
    /// and another server would answer in its place.
    pub(crate) fn announced(
        folder: ServerFolder,
        command: &Command,
        timeout: Duration,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let mut url = None;
        let process = folder.serve(command, timeout, cancel, |folder| {
            url = printed(folder, ANNOUNCEMENT);
            url.is_some()
        })?;
        let url = url.ok_or_else(|| Error::Internal("a server that says nothing is ready".to_owned()))?;
        Ok(Self { process, url, card: None })
    }

    /// The same server with the name of our interface, for a command that [`namespace::in_namespace`] made.
    pub(crate) fn with_card(self) -> Result<Self> {
        let card = self.process.folder().map(|folder| our_card(&folder)).transpose()?;
        Ok(Self { card, ..self })
    }

    /// Lets the kernel slow down the packets to and from the server. A second call replaces the first one's settings.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a server outside its own namespace; [`Error::Engine`] with the message of `tc`.
    pub fn slow_down(&self, network: &NetworkOptions) -> Result<()> {
        let card = self.card.as_ref();
        let card = card.ok_or_else(|| Error::Unsupported("the kernel slows no loopback down".to_owned()))?;
        namespace::slow_down(card, self.process_id(), network)
    }

    /// The base of the server's URLs.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The process id of the server.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    /// How the process ended by itself; `None` while it runs and once it was stopped.
    #[must_use]
    pub fn ending(&self) -> Option<String> {
        self.process.ending()
    }

    /// Kills the process and removes its folder; a second call does nothing.
    pub fn stop(&self) {
        self.process.stop();
    }
}

/// The command of `program`, or of [`executable`] where there is none, with `arguments`.
pub(crate) fn command(program: Option<&Path>, arguments: &[&str]) -> Result<Command> {
    let program = program.map_or_else(executable, |program| Ok(program.to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}
