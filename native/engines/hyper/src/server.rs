//! A `hyperd` of our own: found, started on every transport at once, and stopped with its last user.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::{PrivateServer, ServerFolder, cache_folder, printed};
use boundary_bench_kernel::{Error, Result, lock};

use crate::{HYPER, engine_error};

/// The time that a server may take until it listens. It takes 0.1 s if nothing else runs.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to end by itself before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server with database files may take to end before it is killed: it writes the committed rows as it ends.
const WRITE_TIMEOUT: Duration = Duration::from_secs(300);

/// Interval between two checks of a server that stops.
const POLL: Duration = Duration::from_millis(5);

/// The name of the Unix socket in a server's folder.
const SOCKET_NAME: &str = "socket";

/// The beginnings of the lines in which a server says its ports.
const TCP_ANNOUNCEMENT: &str = "listening to 127.0.0.1:";
const GRPC_ANNOUNCEMENT: &str = "gRPC listening on 127.0.0.1:";

/// The one server of this process, kept alive by its users.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running `hyperd`. It listens on TCP, on a Unix socket and for gRPC, so that all are measured on the same server.
/// Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Server {
    process: PrivateServer,
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
    pub fn shared() -> Result<Arc<Self>> {
        // The lock is held during the start, so that two callers do not start two servers.
        let mut shared = lock(&SHARED);
        if let Some(server) = shared.upgrade()
            && server.process.is_running()
        {
            return Ok(server);
        }
        let server = Arc::new(Self::start(&executable()?, &[])?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// Starts a new server, with further settings (`--name=value`) after ours.
    pub fn start(executable: &Path, settings: &[&str]) -> Result<Self> {
        let unheard = |error: std::io::Error| engine_error(format!("hyperd can't call back: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(unheard)?;
        listener.set_nonblocking(true).map_err(unheard)?;
        let callback = listener.local_addr().map_err(unheard)?;
        let server_folder = ServerFolder::new(HYPER.name)?;
        let folder = server_folder.path().to_owned();
        let mut command = Command::new(executable);
        command.arg("run").args(arguments(&folder, callback.port())).args(settings);
        let mut switch = None;
        let mut ports = None;
        let process = server_folder.serve(&command, START_TIMEOUT, &CancelToken::default(), |folder| {
            switch = switch.take().or_else(|| listener.accept().ok());
            ports = port(folder, TCP_ANNOUNCEMENT).zip(port(folder, GRPC_ANNOUNCEMENT));
            switch.is_some() && ports.is_some() && folder.join(SOCKET_NAME).exists()
        })?;
        // It must write the files of its databases, also if this process ends without its destructors.
        process.leave_to_itself();
        let (Some((switch, _)), Some((tcp_port, grpc_port))) = (switch, ports) else {
            return Err(Error::Internal("a server that is not heard is ready".to_owned()));
        };
        let (next_database, has_files) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { process, switch, tcp_port, grpc_port, folder, next_database, has_files })
    }

    /// Whether the server's process has not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// The port of `PostgreSQL`'s protocol on the loopback.
    pub fn tcp_port(&self) -> u16 {
        self.tcp_port
    }

    /// The port of gRPC on the loopback.
    pub fn grpc_port(&self) -> u16 {
        self.grpc_port
    }

    /// The Unix socket of `PostgreSQL`'s protocol.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET_NAME)
    }

    /// The descriptor of the Unix socket in the notation of the server's own clients.
    pub(crate) fn socket_descriptor(&self) -> String {
        socket_descriptor(&self.folder)
    }

    /// The server's folder, removed with it: its socket, its log, and databases without a file of their own.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The id of the server's process.
    pub fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    /// A path for a new database that is removed with the server.
    pub(crate) fn new_database(&self) -> PathBuf {
        self.folder.join(format!("{}.hyper", self.next_database.fetch_add(1, Ordering::Relaxed)))
    }

    /// Records that a database in a file outside of the server's folder is opened.
    pub(crate) fn opens_file(&self) {
        self.has_files.store(true, Ordering::Relaxed);
    }
}

impl Drop for Server {
    /// Gives the server the time to end by itself. The drop of the process then kills it if it still runs.
    fn drop(&mut self) {
        // Fails only if the server has ended.
        let _ = self.switch.shutdown(Shutdown::Both);
        let deadline = Instant::now() + if *self.has_files.get_mut() { WRITE_TIMEOUT } else { STOP_TIMEOUT };
        while Instant::now() < deadline && self.process.is_running() {
            std::thread::sleep(POLL);
        }
    }
}

/// The path of `hyperd`: the one in `HYPERD_PATH` (the file, or the folder that holds it), else the copy that
/// `boundary-bench setup hyperd` has put into the cache folder.
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
        // Every open result and insert holds a thread. With the default of 150 % a few of them make all others wait for
        // five seconds. One query still has one thread per core.
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

/// The port that the server has printed behind this beginning of a line, or `None` until then.
fn port(folder: &Path, beginning: &str) -> Option<u16> {
    // A protocol may follow: `37673 using ipv4 with ...`.
    printed(folder, beginning)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use boundary_bench_kernel::needs;

    use super::*;

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
