//! A `hyperd` of our own: found, started on every transport at once, and stopped with its last user.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use boundary_bench_kernel::folder::create_private;
use boundary_bench_kernel::private_server::cache_folder;
use boundary_bench_kernel::socket::connect_unix_blocking;
use boundary_bench_kernel::{Error, Result, lock};

use crate::engine_error;

/// How long a server may take until it listens: 0.1 s where nothing else runs.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to end by itself before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server with database files may take to end before it is killed: it writes the committed rows as it ends.
const WRITE_TIMEOUT: Duration = Duration::from_secs(300);

/// Interval between two checks of a server that starts or stops.
const POLL: Duration = Duration::from_millis(5);

/// Maximum number of lines of a server's output in the error of a failed start.
const MAX_LINES: usize = 20;

/// The beginning of the names of the servers' folders; the id of the process that started the server follows.
const FOLDER_PREFIX: &str = "boundary-bench-hyperd-";

/// The name of the Unix socket in a server's folder.
const SOCKET_NAME: &str = "socket";

/// Maximum length of the path of a server's folder, in bytes: the path of the socket in it must fit the 104 bytes of a
/// Unix socket address.
const MAX_FOLDER_PATH: usize = 80;

/// The one server of this process, kept alive by its users.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// The number of the next server folder of this process.
static NEXT_FOLDER: AtomicU64 = AtomicU64::new(0);

/// A running `hyperd`. It listens on TCP, on a Unix socket and for gRPC, so that all are measured on the same server.
/// Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Server {
    process: Mutex<Child>,
    /// The server's callback connection. The server ends when it closes, also when this process is killed.
    switch: TcpStream,
    tcp_port: u16,
    grpc_port: u16,
    folder: PathBuf,
    next_database: AtomicU64,
    /// Whether a database in a file outside of the server's folder was opened.
    has_files: AtomicBool,
}

impl Server {
    /// The server of this process, started if none runs.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] if `hyperd` is not found, [`Error::Engine`] with the server's output if it does not start.
    pub fn shared() -> Result<Arc<Self>> {
        // The lock is held during the start, so that two callers do not start two servers.
        let mut shared = lock(&SHARED);
        if let Some(server) = shared.upgrade()
            && server.is_running()
        {
            return Ok(server);
        }
        let server = Arc::new(Self::start(&executable()?, &[])?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// Starts a new server, with further settings (`--name=value`) after ours.
    ///
    /// # Errors
    /// The same errors as [`Server::shared`].
    pub fn start(executable: &Path, settings: &[&str]) -> Result<Self> {
        let parent = folder_of_folders();
        sweep(&parent);
        let folder = new_folder(&parent)?;
        Self::start_in(executable, settings, &folder).inspect_err(|_| remove(&folder))
    }

    fn start_in(executable: &Path, settings: &[&str], folder: &Path) -> Result<Self> {
        let failed = |problem: &dyn std::fmt::Display| engine_error(format!("hyperd does not start: {problem}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| failed(&error))?;
        listener.set_nonblocking(true).map_err(|error| failed(&error))?;
        let callback = listener.local_addr().map_err(|error| failed(&error))?;
        let mut command = Command::new(executable);
        command
            .arg("run")
            .args(arguments(folder, callback.port()))
            .args(settings)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A process group of its own: Ctrl-C then signals only this process, which stops the server in order.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let spawned = command.spawn();
        let mut process =
            spawned.map_err(|error| engine_error(format!("can't run {}: {error}", executable.display())))?;
        let started = listen_to(&mut process).and_then(|lines| await_start(&mut process, &listener, &lines, folder));
        match started {
            Ok((switch, ports)) => Ok(Self {
                process: Mutex::new(process),
                switch,
                tcp_port: ports.tcp,
                grpc_port: ports.grpc,
                folder: folder.to_owned(),
                next_database: AtomicU64::new(0),
                has_files: AtomicBool::new(false),
            }),
            Err(problem) => {
                // Fails if the process has ended already.
                let _ = process.kill();
                let _ = process.wait();
                Err(failed(&problem))
            }
        }
    }

    /// The port of `PostgreSQL`'s protocol on the loopback.
    #[must_use]
    pub fn tcp_port(&self) -> u16 {
        self.tcp_port
    }

    /// The port of gRPC on the loopback.
    #[must_use]
    pub fn grpc_port(&self) -> u16 {
        self.grpc_port
    }

    /// The Unix socket of `PostgreSQL`'s protocol.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET_NAME)
    }

    /// The descriptor of the Unix socket in the notation of the server's own clients.
    pub(crate) fn socket_descriptor(&self) -> String {
        socket_descriptor(&self.folder)
    }

    /// The server's folder, removed with it: its socket, its log, and databases without a file of their own.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The id of the server's process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        lock(&self.process).id()
    }

    /// A path for a new database that is removed with the server.
    pub(crate) fn new_database(&self) -> PathBuf {
        self.folder.join(format!("{}.hyper", self.next_database.fetch_add(1, Ordering::Relaxed)))
    }

    /// Records that a database in a file outside of the server's folder is opened.
    pub(crate) fn opens_file(&self) {
        self.has_files.store(true, Ordering::Relaxed);
    }

    fn is_running(&self) -> bool {
        matches!(lock(&self.process).try_wait(), Ok(None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if the server has ended.
        let _ = self.switch.shutdown(Shutdown::Both);
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + if *self.has_files.get_mut() { WRITE_TIMEOUT } else { STOP_TIMEOUT };
        while Instant::now() < deadline && matches!(process.try_wait(), Ok(None)) {
            std::thread::sleep(POLL);
        }
        let _ = process.kill();
        let _ = process.wait();
        remove(&self.folder);
    }
}

/// The path of `hyperd`: the one in `HYPERD_PATH` (the file, or the folder that holds it), else the copy that
/// `boundary-bench setup hyperd` has put into the cache folder.
///
/// # Errors
/// [`Error::NotInstalled`], whose message says what to do.
pub fn executable() -> Result<PathBuf> {
    if cfg!(windows) {
        let advice = "give the URL of a server that runs: hyper://host:port/database";
        return Err(Error::NotInstalled(format!("no private hyperd can be started on Windows; {advice}")));
    }
    let advice = "set HYPERD_PATH, or run `boundary-bench setup hyperd`";
    if let Some(given) = std::env::var_os("HYPERD_PATH").filter(|value| !value.is_empty()) {
        let given = PathBuf::from(given);
        let path = if given.is_dir() { given.join("hyperd") } else { given };
        return if path.is_file() {
            Ok(path)
        } else {
            Err(Error::NotInstalled(format!("HYPERD_PATH names {}, which is no file; {advice}", path.display())))
        };
    }
    let path = cache_folder().map(|cache| cache.join("hyperd/hyperd"));
    path.filter(|path| path.is_file()).ok_or_else(|| Error::NotInstalled(format!("hyperd is not installed; {advice}")))
}

/// The arguments of `hyperd run`.
fn arguments(folder: &Path, callback_port: u16) -> Vec<OsString> {
    let socket = socket_descriptor(folder);
    let folder = folder.display();
    [
        format!("--callback-connection=tab.tcp://127.0.0.1:{callback_port}"),
        format!("--listen-connection={socket},tab.tcp://127.0.0.1:0,tcp.grpc://127.0.0.1:0"),
        format!("--log-dir={folder}"),
        format!("--hyper-temp-directory-override={folder}"),
        "--log-config=file,json,error,hyperd,0".to_owned(),
        // By default the server logs a line every second.
        "--log-resource-usage-interval=0s".to_owned(),
        "--init-user=tableau_internal_user".to_owned(),
        "--no-password".to_owned(),
        "--skip-license".to_owned(),
        "--language=en_US".to_owned(),
        "--date-style=MDY".to_owned(),
        "--date-style-lenient=false".to_owned(),
        // The first version of the database format that has both REAL and decimals of 38 digits.
        "--default-database-version=4".to_owned(),
        // Every open result and insert holds a thread; with the default of 150 % a few of them make all others wait for
        // five seconds. The threads of one query stay as many as there are cores.
        "--hard-concurrent-query-thread-limit=1000%".to_owned(),
        "--grpc-threads=4".to_owned(),
        "--grpc-persist-results=true".to_owned(),
        // Queries are ended by their users, not by a clock.
        "--grpc-request-timeout=1440min".to_owned(),
        // Without a user no database can be opened over gRPC.
        r#"--grpc-service-roles={"default":{"user":"tableau_internal_user","authorizations":[]}}"#.to_owned(),
    ]
    .map(OsString::from)
    .into()
}

/// The descriptor of a server's Unix socket. The path of the socket itself leaves out the `domain`.
fn socket_descriptor(folder: &Path) -> String {
    format!("tab.domain://{}/domain/{SOCKET_NAME}", folder.display())
}

struct Ports {
    tcp: u16,
    grpc: u16,
}

/// Reads the process's output until it ends, since a full pipe would block the process. Returns the lines.
fn listen_to(process: &mut Child) -> std::result::Result<Receiver<String>, String> {
    let (sender, lines) = channel();
    let outputs: [Option<Box<dyn Read + Send>>; 2] =
        [process.stdout.take().map(|pipe| Box::new(pipe) as _), process.stderr.take().map(|pipe| Box::new(pipe) as _)];
    for pipe in outputs.into_iter().flatten() {
        let sender: Sender<String> = sender.clone();
        std::thread::Builder::new()
            .name("hyperd output".to_owned())
            .spawn(move || {
                for line in BufReader::new(pipe).split(b'\n').map_while(std::io::Result::ok) {
                    // Fails once the server has started: the receiver is dropped then.
                    let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
                }
            })
            .map_err(|error| error.to_string())?;
    }
    Ok(lines)
}

/// Waits until the server has connected to `listener`, printed its ports and made its Unix socket.
fn await_start(
    process: &mut Child,
    listener: &TcpListener,
    lines: &Receiver<String>,
    folder: &Path,
) -> std::result::Result<(TcpStream, Ports), String> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut said = Vec::new();
    let (mut switch, mut tcp, mut grpc) = (None, None, None);
    loop {
        let mut ended = false;
        match lines.recv_timeout(POLL) {
            Ok(line) => {
                if let Some(port) = line.strip_prefix("gRPC listening on ").and_then(port_of) {
                    grpc = Some(port);
                } else if let Some(port) = line.strip_prefix("listening to 127.0.0.1").and_then(port_of) {
                    tcp = Some(port);
                }
                said.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(POLL);
                ended = true;
            }
        }
        if switch.is_none()
            && let Ok((stream, _)) = listener.accept()
        {
            switch = Some(stream);
        }
        if let (Some(tcp), Some(grpc), true) = (tcp, grpc, switch.is_some() && folder.join(SOCKET_NAME).exists())
            && let Some(switch) = switch.take()
        {
            return Ok((switch, Ports { tcp, grpc }));
        }
        if let (true, Ok(Some(status))) = (ended, process.try_wait()) {
            return Err(format!("{status}: {}", last_words(&said)));
        }
        if Instant::now() > deadline {
            return Err(format!("it does not listen after {} s: {}", START_TIMEOUT.as_secs(), last_words(&said)));
        }
    }
}

/// The port in an address that a line begins with: `:37673 using ipv4`, `127.0.0.1:43639`.
fn port_of(line: &str) -> Option<u16> {
    let digits = line.split_once(':')?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn last_words(lines: &[String]) -> String {
    let lines = &lines[lines.len().saturating_sub(MAX_LINES)..];
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("\n") }
}

/// The parent of the servers' folders: the folder for temporary files, or `/tmp` if the path of that is too long.
fn folder_of_folders() -> PathBuf {
    let usual = std::env::temp_dir();
    let length = usual.as_os_str().len() + 1 + FOLDER_PREFIX.len() + "4294967295-99".len();
    if length <= MAX_FOLDER_PATH { usual } else { PathBuf::from("/tmp") }
}

/// Removes the server folders of processes that ended without running their destructors.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process_id = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX))
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(process_id, _)| process_id.parse::<i32>().ok());
        // The folder may belong to a process of another container, which has process ids of its own: its server
        // answers.
        if let Some(process_id) = process_id
            && !exists(process_id)
            && connect_unix_blocking(&entry.path().join(SOCKET_NAME)).is_err()
        {
            remove(&entry.path());
        }
    }
}

#[cfg(unix)]
fn exists(process_id: i32) -> bool {
    // SAFETY: signal 0 is not sent, only its permission checked.
    let answer = unsafe { libc::kill(process_id, 0) };
    answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(not(unix))]
fn exists(_: i32) -> bool {
    true
}

/// Makes a folder that only this user can look into.
fn new_folder(parent: &Path) -> Result<PathBuf> {
    loop {
        let number = NEXT_FOLDER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
        match create_private(&folder) {
            Ok(()) => return Ok(folder),
            // A folder left by a process with the same id, which is common in containers.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(io_error(&folder, source)),
        }
    }
}

/// Removes a folder; what can't be removed now is swept by a later start.
fn remove(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
}

fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source: Arc::new(source) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use boundary_bench_kernel::needs;

    use super::*;

    #[test]
    fn ports_are_read_from_what_the_server_says() {
        assert_eq!(port_of(":37673 using ipv4 on the loopback"), Some(37_673));
        assert_eq!(port_of("127.0.0.1:43639"), Some(43_639));
        assert_eq!(port_of("nothing"), None);
    }

    #[test]
    fn folders_of_dead_processes_are_swept_and_no_others() {
        let parent = std::env::temp_dir().join(format!("boundary-bench-sweep-{}", std::process::id()));
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let stale = parent.join(format!("{FOLDER_PREFIX}{}-0", ended.id()));
        let kept = [parent.join(format!("{FOLDER_PREFIX}{}-0", std::process::id())), parent.join("other-1-0")];
        for folder in kept.iter().chain([&stale]) {
            std::fs::create_dir_all(folder.join("log")).unwrap();
        }
        sweep(&parent);
        assert!(!stale.exists());
        assert!(kept.iter().all(|folder| folder.exists()));
        std::fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn folders_left_by_a_process_of_the_same_id_are_passed_over() {
        let parent = std::env::temp_dir().join(format!("boundary-bench-folders-{}", std::process::id()));
        std::fs::create_dir(&parent).unwrap();
        let next = NEXT_FOLDER.load(Ordering::Relaxed);
        for number in next..next + 20 {
            std::fs::create_dir(parent.join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()))).unwrap();
        }
        let made = new_folder(&parent).unwrap();
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_words() {
        needs!("hyperd", executable());
        let begun = Instant::now();
        let error = Server::start(&executable().unwrap(), &["--no-such-setting=1"]).unwrap_err();
        assert_eq!(error.code(), "BB_ENGINE");
        assert!(error.to_string().contains("no_such_setting"), "{error}");
        assert!(begun.elapsed() < START_TIMEOUT, "the end was not noticed");
    }
}
