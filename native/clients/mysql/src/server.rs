//! A private server: `mariadbd` or `mysqld`, in a folder that is removed with it.
//!
//! It listens on a port of the loopback and on a socket in its folder, for a user with a generated password. A commit
//! writes the log but does not wait for the disk (`innodb_flush_log_at_trx_commit=2`), and there is no binary log, so
//! that figures measure the protocol and not the disk. The buffer pool has 512 MiB, and packets up to 64 MiB. `LOAD DATA
//! LOCAL` is allowed. The server's own statistics (`performance_schema`) are off.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::{PrivateServer, ServerFolder, find_program, free_port};
use boundary_bench_kernel::socket::connect_unix_blocking;
use boundary_bench_kernel::{Error, Result, random};

use crate::connection::Connection;
use crate::url::Url;
use crate::{NAME, engine_error, runtime, sql};

/// The time-out of creating the server's system tables. It takes 2 s if nothing else runs.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The time-out of a start. It takes 0.3 s if nothing else runs.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The attempts to start a server when another program has taken its port meanwhile.
const ATTEMPTS: usize = 3;

/// The folders searched for programs besides the folders of `PATH`.
const ELSEWHERE: [&str; 6] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin", "/usr/libexec"];

/// The name of the user with all rights.
const USER: &str = "boundary_bench";

const LOOPBACK: &str = "127.0.0.1";

/// The name of the Unix socket in the server's folder.
const SOCKET: &str = "socket";

/// A private server. Dropping it stops it as [`PrivateServer::stop`] does.
#[derive(Debug)]
pub struct Server {
    process: PrivateServer,
    url: Url,
    socket: PathBuf,
    version: String,
}

/// Starts a server: the program given, or the first of `mariadbd` and `mysqld` that is found.
pub fn start(program: Option<&Path>) -> Result<Server> {
    start_with(program, &[], &CancelToken::default())
}

/// Starts a server as [`start`] does, with further settings (`--name=value`).
pub fn start_with(program: Option<&Path>, settings: &[&str], cancel: &CancelToken) -> Result<Server> {
    let program = executable(program)?;
    let mut attempt = 1;
    loop {
        match start_once(&program, settings, cancel) {
            Err(Error::Engine { message, .. }) if attempt < ATTEMPTS && message.contains("Address already in use") => {
                attempt += 1;
            }
            started => return started,
        }
    }
}

/// The server's program: the one given, or the first of `mariadbd` and `mysqld` that is found.
pub fn executable(given: Option<&Path>) -> Result<PathBuf> {
    let found = match given {
        Some(path) => Some(path.to_owned()).filter(|path| path.is_file()),
        None => find_program(&["mariadbd", "mysqld"], &ELSEWHERE),
    };
    found.ok_or_else(|| {
        let what = given.map_or_else(
            || "neither mariadbd nor mysqld is installed".to_owned(),
            |path| format!("{} is no program", path.display()),
        );
        Error::NotInstalled(format!(
            "{what}; install mariadb-server (Debian, Homebrew: mariadb), or give the URL of a server that runs by \
             --mysql-url or MYSQL_URL"
        ))
    })
}

fn start_once(program: &Path, settings: &[&str], cancel: &CancelToken) -> Result<Server> {
    let mut folder = ServerFolder::new(NAME)?;
    let data = folder.path().join("data");
    let socket = folder.path().join(SOCKET);
    let mut installation = installation(program, &data)?;
    // A server that starts removes apparent leftovers in its folder of temporary files, so no two servers may share
    // one.
    installation.env("TMPDIR", folder.path());
    folder.run(&installation, INSTALL_TIMEOUT, cancel)?;
    let port = free_port()?;
    let mut command = Command::new(program);
    command.args(own_arguments(&data)).args([
        format!("--socket={}", socket.display()),
        format!("--port={port}"),
        format!("--bind-address={LOOPBACK}"),
        format!("--pid-file={}", folder.path().join("pid").display()),
        format!("--tmpdir={}", folder.path().display()),
    ]);
    command.args([
        "--skip-log-bin",
        "--skip-name-resolve",
        "--character-set-server=utf8mb4",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-buffer-pool-size=512M",
        "--innodb-log-file-size=256M",
        "--max-allowed-packet=64M",
        "--max-connections=512",
        "--thread-cache-size=128",
        "--local-infile=1",
        "--performance-schema=OFF",
    ]);
    command.args(settings);
    let ready = |_: &Path| connect_unix_blocking(&socket).is_ok();
    let process = folder.serve(&command, START_TIMEOUT, cancel, ready)?;
    let mut url: Url = format!("mysql://{USER}@{LOOPBACK}:{port}/").parse()?;
    url.password = Some(new_password()?);
    // MySQL creates this key at its first start, and requires the password encrypted with it if there is no TLS.
    url.server_public_key = Some(data.join("public_key.pem")).filter(|file| file.is_file());
    let version = runtime().block_on(set_up(&socket, &url))?;
    Ok(Server { process, url, socket, version })
}

/// Creates the user, and gives root a password that nobody knows, since it had none. Returns the server's version.
async fn set_up(socket: &Path, url: &Url) -> Result<String> {
    let root = Url { user: "root".to_owned(), password: None, socket: Some(socket.to_owned()), ..url.clone() };
    let mut connection = Connection::open(&root).await?;
    let password = sql::literal(url.password.as_deref().unwrap_or_default());
    connection.run(&format!("CREATE USER {USER}@'%' IDENTIFIED BY {password}")).await?;
    connection.run(&format!("GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION")).await?;
    connection.run(&format!("ALTER USER root@localhost IDENTIFIED BY {}", sql::literal(&new_password()?))).await?;
    Ok(connection.version().to_owned())
}

/// A random password of 128 bits from the system.
fn new_password() -> Result<String> {
    Ok(format!("{:032x}", u128::from_le_bytes(random::secret()?)))
}

/// The command that creates the server's system tables.
fn installation(program: &Path, data: &Path) -> Result<Command> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|error| engine_error(format!("can't run {}: {error}", program.display())))?;
    if !String::from_utf8_lossy(&output.stdout).contains("MariaDB") {
        let mut command = Command::new(program);
        command.args(own_arguments(data)).arg("--initialize-insecure");
        return Ok(command);
    }
    let beside = [program.parent(), program.parent().and_then(Path::parent)];
    let beside: Vec<String> = beside
        .into_iter()
        .flatten()
        .flat_map(|folder| [folder.to_owned(), folder.join("bin"), folder.join("scripts")])
        .map(|folder| folder.display().to_string())
        .collect();
    let places: Vec<&str> = beside.iter().map(String::as_str).chain(ELSEWHERE).collect();
    let script = find_program(&["mariadb-install-db", "mysql_install_db"], &places).ok_or_else(|| {
        Error::NotInstalled(format!(
            "mariadb-install-db, which belongs to {}, is not found; install the whole of mariadb-server",
            program.display()
        ))
    })?;
    let mut command = Command::new(script);
    command.args(own_arguments(data)).args([
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
        "--innodb-log-file-size=256M",
    ]);
    Ok(command)
}

/// The arguments that both the server and its installation take.
fn own_arguments(data: &Path) -> Vec<String> {
    // SAFETY: it only asks for a number.
    #[cfg(unix)]
    let is_root = unsafe { libc::geteuid() } == 0;
    #[cfg(not(unix))]
    let is_root = false;
    // The server refuses to run as root without this option.
    let user = is_root.then(|| "--user=root".to_owned());
    ["--no-defaults".to_owned(), format!("--datadir={}", data.display())].into_iter().chain(user).collect()
}

impl Server {
    /// The URL of the server over TCP, for the user with all rights.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The URL of the server over its Unix socket.
    pub fn socket_url(&self) -> Url {
        Url { socket: Some(self.socket.clone()), ..self.url.clone() }
    }

    /// The name and version of the server.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl Deref for Server {
    type Target = PrivateServer;

    fn deref(&self) -> &PrivateServer {
        &self.process
    }
}
