//! A Redis or Valkey server that this process starts for itself.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::{PrivateServer, ServerFolder, find_program, free_port};
use boundary_bench_kernel::socket::connect_unix_blocking;
use boundary_bench_kernel::{Error, Result};

/// The names of the server's program.
const PROGRAMS: [&str; 2] = ["valkey-server", "redis-server"];

/// The folders searched for the program besides the folders of `PATH`.
const ELSEWHERE: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];

/// The time-out of a server's start, long enough for a busy machine.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The time-out of one probe whether the server answers.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The name of the server's Unix socket in its folder.
const SOCKET: &str = "socket";

/// A running server that keeps nothing on disk. It listens on the loopback and on a Unix socket. Dropping it stops it as
/// [`PrivateServer::stop`] does.
#[derive(Debug)]
pub struct Server {
    process: PrivateServer,
    port: u16,
    socket: PathBuf,
}

/// The server's program: the one given, or the first of `valkey-server` and `redis-server` that is found.
pub fn executable(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(program) = given {
        return Ok(program.to_owned());
    }
    find_program(&PROGRAMS, &ELSEWHERE).ok_or_else(|| {
        Error::NotInstalled(
            "neither valkey-server nor redis-server is installed; install redis-server (Debian; Homebrew: valkey or redis), or \
             give the URL of a server that runs by --redis-url or REDIS_URL"
                .to_owned(),
        )
    })
}

impl Server {
    /// Starts a server: the program, or the first of `valkey-server` and `redis-server` that is found.
    pub fn start(program: Option<&Path>, cancel: &CancelToken) -> Result<Self> {
        Self::start_with(program, &[], cancel)
    }

    /// Starts a server as [`Server::start`] does, with further settings (`--name value`).
    pub fn start_with(program: Option<&Path>, settings: &[&str], cancel: &CancelToken) -> Result<Self> {
        let program = executable(program)?;
        let folder = ServerFolder::new(crate::NAME)?;
        let port = free_port()?;
        let socket = folder.path().join(SOCKET);
        let mut command = Command::new(program);
        command
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no", "--port"])
            .arg(port.to_string())
            .arg("--unixsocket")
            .arg(&socket)
            .args(["--unixsocketperm", "700", "--dir"])
            .arg(folder.path())
            .args(settings);
        let needs_port = !settings.windows(2).any(|pair| pair == ["--port", "0"]);
        let process = folder.serve(&command, START_TIMEOUT, cancel, |_| {
            answers(connect_unix_blocking(&socket))
                && (!needs_port || answers(TcpStream::connect((Ipv4Addr::LOCALHOST, port))))
        })?;
        Ok(Self { process, port, socket })
    }

    /// The URL of the server over TCP.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The URL of the server over its Unix socket.
    pub fn unix_url(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    /// The port of the server on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Deref for Server {
    type Target = PrivateServer;

    fn deref(&self) -> &PrivateServer {
        &self.process
    }
}

/// Whether a server answers a PING with anything, even that it requires a password.
fn answers(stream: std::io::Result<TcpStream>) -> bool {
    let ask = |mut stream: TcpStream| {
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        stream.read(&mut [0; 16])
    };
    stream.and_then(ask).is_ok_and(|bytes| bytes > 0)
}
