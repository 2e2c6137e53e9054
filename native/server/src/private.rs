//! A reference server of our own, as a process of its own: its CPU time is told apart from the client's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::{self, ServerFolder, find_program, printed};
use boundary_bench_core::{Error, Result};

use crate::namespace::{self, NetworkOptions, our_card};
use crate::server::NAME;

/// The name of its program.
const PROGRAM: &str = "boundary-bench-server";

/// How long a server may take until it answers, beside making `lineitem`.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The arguments by which a server chooses its port itself.
pub(crate) const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// What a server prints before its URL when it answers.
pub const ANNOUNCEMENT: &str = "listening on ";

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
    url: String,
    /// Our end of its network, where it is in a network namespace of its own.
    card: Option<String>,
}

impl PrivateServer {
    /// Starts a server: the program, or the one of [`executable`], with arguments before ours. A program that runs others,
    /// such as `node`, gets what it is to run that way.
    ///
    /// # Errors
    /// As [`executable`], [`Error::Engine`] with the server's own words when it does not start, [`Error::Cancelled`].
    pub fn start(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let folder = ServerFolder::new(NAME)?;
        let mut command = command(program, arguments)?;
        command.args(LISTEN).arg("--dir").arg(folder.path().join("data"));
        Self::announced(folder, &command, START_TIMEOUT, cancel)
    }

    /// Starts a server of Flight SQL, over a database in memory; `arguments` as in [`PrivateServer::start`], with the words
    /// that ask for this kind at their end.
    ///
    /// # Errors
    /// As [`PrivateServer::start`].
    pub fn start_flight(program: Option<&Path>, arguments: &[&str], cancel: &CancelToken) -> Result<Self> {
        let mut command = command(program, arguments)?;
        command.args(LISTEN);
        Self::announced(ServerFolder::new(NAME)?, &command, START_TIMEOUT, cancel)
    }

    /// Runs a server of ours until it says where it listens. It chooses the port itself: one that was free before could be
    /// another's by then, who would answer in its place.
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

    /// The same server, whose command was made by [`namespace::in_namespace`].
    pub(crate) fn with_card(self) -> Result<Self> {
        let card = self.process.folder().map(|folder| our_card(&folder)).transpose()?;
        Ok(Self { card, ..self })
    }

    /// Lets the kernel slow down what goes to the server and comes from it; done again, it replaces what was.
    ///
    /// # Errors
    /// [`Error::Unsupported`] without a namespace of its own, [`Error::Engine`] with the words of `tc`.
    pub fn slow_down(&self, network: &NetworkOptions) -> Result<()> {
        let card = self.card.as_ref();
        let card = card.ok_or_else(|| Error::Unsupported("the kernel slows no loopback down".to_owned()))?;
        namespace::slow_down(card, self.process_id(), network)
    }

    /// The beginning of its URLs.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
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

/// The command of a program of ours, or of the one of [`executable`], with arguments before ours.
pub(crate) fn command(program: Option<&Path>, arguments: &[&str]) -> Result<Command> {
    let program = program.map_or_else(executable, |program| Ok(program.to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}
