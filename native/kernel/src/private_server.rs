//! Private servers: a program in a folder made for it, both removed when this process ends, however it ends.

#[cfg(unix)]
mod watchdog;
#[cfg(windows)]
#[path = "private_server/job.rs"]
mod watchdog;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::folder;
use crate::{Error, Result, lock};
use watchdog::Watchdog;

/// The environment variable that limits the search for programs to `PATH`.
const PATH_ONLY: &str = "BOUNDARY_BENCH_PATH_ONLY";

/// The interval at which a starting program is checked.
const POLL: Duration = Duration::from_millis(5);

/// The most lines of a program's output that the error of a failed start repeats.
const MAX_LINES: usize = 60;

/// The bytes at the end of the output in which those lines are searched.
const MAX_OUTPUT: u64 = 16 << 10;

/// The name of the file in the folder that receives the programs' output.
const OUTPUT: &str = "output.log";

/// A free port of the loopback, for a server that can't choose one itself. Another program may take it before the
/// server does.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|source| io_error(&"127.0.0.1:0", source))
}

/// The rest of the first line with this `beginning` that the programs of a server's folder have printed, or `None` until then.
pub fn printed(folder: &Path, beginning: &str) -> Option<String> {
    find_line(folder, |line| line.strip_prefix(beginning))
}

/// The rest of the first line that has `text`, behind it, among the lines that the programs of a server's folder have printed. `None`
/// until then.
pub fn printed_after(folder: &Path, text: &str) -> Option<String> {
    find_line(folder, |line| line.split_once(text).map(|(_, rest)| rest))
}

/// The result of `find` for the first line that it takes, among the complete lines that the programs have printed.
fn find_line(folder: &Path, find: impl FnMut(&str) -> Option<&str>) -> Option<String> {
    let output = std::fs::read(folder.join(OUTPUT)).ok()?;
    let output = String::from_utf8_lossy(&output);
    let lines = output.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    lines.into_iter().find_map(find).map(str::to_owned)
}

/// The folder where `boundary-bench setup` installs programs: `$BOUNDARY_BENCH_CACHE`, else the folder of the system's caches, or
/// `None` if there is none.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("BOUNDARY_BENCH_CACHE").or_else(|| {
        let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        base.map(|base| base.join("boundary-bench"))
    })
}

/// The folders that are searched for programs: the folders of `PATH`, then `elsewhere`, unless the variable
/// `BOUNDARY_BENCH_PATH_ONLY` is set.
pub fn program_folders(elsewhere: &[&str]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path_only = std::env::var_os(PATH_ONLY).is_some_and(|value| !value.is_empty());
    let elsewhere = elsewhere.iter().filter(|_| !path_only).map(PathBuf::from);
    std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).chain(elsewhere).collect()
}

/// The path of the first of these programs that is in one of the [`program_folders`].
pub fn find_program(names: &[&str], elsewhere: &[&str]) -> Option<PathBuf> {
    let folders = program_folders(elsewhere);
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|path| path.is_file())
}

/// A folder for a server, private to this user, that is removed when it is dropped or this process ends.
#[derive(Debug)]
pub struct ServerFolder {
    name: &'static str,
    path: PathBuf,
    watchdog: Watchdog,
}

impl ServerFolder {
    /// Creates a folder for the server `name` in the folder for temporary files, with its watchdog.
    pub fn new(name: &'static str) -> Result<Self> {
        let path =
            folder::create_temporary(name).map_err(|source| io_error(&std::env::temp_dir().display(), source))?;
        let watchdog = Watchdog::start(&path).map_err(|error| {
            let _ = std::fs::remove_dir_all(&path);
            failed(name, &format_args!("no watchdog can be started for it: {error}"))
        })?;
        Ok(Self { name, path, watchdog })
    }

    /// The path of the folder, short enough for a socket of a dozen letters in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a program that prepares the folder, to its end.
    pub fn run(&mut self, command: &Command, timeout: Duration, cancel: &CancelToken) -> Result<()> {
        let mut program = self.launch(command)?;
        let ended = self.await_ready(&mut program, timeout, cancel, |_| false);
        if ended.is_err() {
            self.watchdog.kill(&mut program);
        }
        self.watchdog.forget();
        match ended? {
            Some(status) if !status.success() => {
                Err(failed(self.name, &format_args!("{}: {status}: {}", shown(command), self.last_output())))
            }
            _ => Ok(()),
        }
    }

    /// Starts the server and waits until `is_ready` returns true. It is called every few milliseconds.
    pub fn serve(
        mut self,
        command: &Command,
        timeout: Duration,
        cancel: &CancelToken,
        is_ready: impl FnMut(&Path) -> bool,
    ) -> Result<PrivateServer> {
        let mut process = self.launch(command)?;
        let ready = self.await_ready(&mut process, timeout, cancel, is_ready);
        let id = process.id();
        let failure = match ready {
            Ok(None) => return Ok(PrivateServer { id, running: Mutex::new(Some((process, self))) }),
            Ok(Some(status)) => {
                failed(self.name, &format_args!("{}: {status}: {}", shown(command), self.last_output()))
            }
            Err(error) => error,
        };
        self.watchdog.kill(&mut process);
        Err(failure)
    }

    /// Starts a program, and tells the watchdog about it.
    fn launch(&self, command: &Command) -> Result<Child> {
        let unusable = |error: &dyn std::fmt::Display| failed(self.name, &format_args!("{}: {error}", shown(command)));
        let output = File::options().create(true).append(true).open(self.path.join(OUTPUT));
        let output = output.map_err(|error| unusable(&error))?;
        let errors = output.try_clone().map_err(|error| unusable(&error))?;
        let mut launcher = self.watchdog.launcher(command).map_err(|error| unusable(&error))?;
        launcher.current_dir(command.get_current_dir().unwrap_or(&self.path)).stdout(output).stderr(errors);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => launcher.env(name, value),
                None => launcher.env_remove(name),
            };
        }
        let mut program = launcher.spawn().map_err(|error| unusable(&error))?;
        self.watchdog.adopt(&mut program).map_err(|error| unusable(&error))?;
        Ok(program)
    }

    /// Waits until the program is ready, or has ended. Returns its status in the latter case.
    fn await_ready(
        &self,
        program: &mut Child,
        timeout: Duration,
        cancel: &CancelToken,
        mut is_ready: impl FnMut(&Path) -> bool,
    ) -> Result<Option<std::process::ExitStatus>> {
        let deadline = Instant::now() + timeout;
        loop {
            cancel.check()?;
            if let Some(status) = program.try_wait().map_err(|error| failed(self.name, &error))? {
                return Ok(Some(status));
            }
            if is_ready(&self.path) {
                return Ok(None);
            }
            if Instant::now() > deadline {
                let seconds = timeout.as_secs();
                let output = self.last_output();
                return Err(Error::Timeout(format!("{} is not ready after {seconds} s: {output}", self.name)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// The last lines of the programs' output.
    fn last_output(&self) -> String {
        let read = || {
            let mut file = File::open(self.path.join(OUTPUT))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(MAX_OUTPUT)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            std::io::Result::Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
        };
        let output = read().unwrap_or_default();
        let lines: Vec<&str> = output.lines().collect();
        let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
        if last.is_empty() { "it printed nothing".to_owned() } else { last.join("\n") }
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        self.watchdog.end();
        // The folder still exists if the watchdog does not remove it, or was killed.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A running server. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct PrivateServer {
    id: u32,
    running: Mutex<Option<(Child, ServerFolder)>>,
}

impl PrivateServer {
    /// The id of the server's process.
    pub fn process_id(&self) -> u32 {
        self.id
    }

    /// The path of the server's folder, or `None` once it was stopped.
    pub fn folder(&self) -> Option<PathBuf> {
        let running = lock(&self.running);
        running.as_ref().map(|(_, folder)| folder.path.clone())
    }

    /// Whether the server still runs.
    pub fn is_running(&self) -> bool {
        let running = lock(&self.running).is_some();
        running && self.ending().is_none()
    }

    /// The way in which the server ended by itself, with the last lines that it printed, or `None` while it runs and after
    /// [`PrivateServer::stop`].
    pub fn ending(&self) -> Option<String> {
        let mut running = lock(&self.running);
        let (process, folder) = running.as_mut()?;
        let status = match process.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        folder.watchdog.forget();
        Some(format!("the private server {} has ended, {status}: {}", folder.name, folder.last_output()))
    }

    /// Leaves the server to its own end if this process ends without stopping it. This is for a server that notices that and must
    /// write its data first. The folder is removed nevertheless. On Windows the system kills the server then.
    pub fn leave_to_itself(&self) {
        if let Some((_, folder)) = lock(&self.running).as_mut() {
            folder.watchdog.forget();
        }
    }

    /// Kills the server and removes its folder. A second call does nothing. Its data belongs to this process alone, so it
    /// gets no time to save it.
    pub fn stop(&self) {
        let running = lock(&self.running).take();
        if let Some((mut process, mut folder)) = running {
            folder.watchdog.kill(&mut process);
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The program of a command, without its arguments, since they may hold a password.
fn shown(command: &Command) -> String {
    OsString::from(command.get_program()).to_string_lossy().into_owned()
}

fn failed(name: &'static str, problem: &dyn std::fmt::Display) -> Error {
    Error::Engine { engine: name, message: format!("the private server does not start: {problem}") }
}

fn io_error(path: &dyn std::fmt::Display, source: std::io::Error) -> Error {
    Error::Io { path: path.to_string(), source: Arc::new(source) }
}
