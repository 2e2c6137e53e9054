//! The sessions with one database: opened as they are needed, and reused when they are idle and intact.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use boundary_bench_engine::sql_text::identifier;
use boundary_bench_kernel::{Error, Result, lock};

use crate::server::Server;
use crate::wire::{Address, Connection, Failure, Login, Status};

/// Maximum number of idle sessions that are kept.
const MAX_IDLE: usize = 16;

/// How long the server may take to write a database after its last session.
const UNLOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause between two attempts to open a database that is still being written.
const UNLOAD_PAUSE: Duration = Duration::from_millis(5);

/// The SQLSTATE of a `CREATE TABLE` whose table exists.
pub(crate) const TABLE_EXISTS: &str = "42P07";

/// The SQLSTATE of a statement on a table that does not exist.
pub(crate) const NO_SUCH_TABLE: &str = "42P01";

/// A database and the sessions with it.
#[derive(Debug)]
pub(crate) struct Pool {
    address: Address,
    login: Login,
    database: String,
    idle: Mutex<Vec<Connection>>,
    /// A session that is always open, since the server unloads a database with its last session.
    keeper: Option<Connection>,
    /// Whether the database is removed with the pool.
    temporary: bool,
    /// A server of our own. It must outlive the sessions.
    _server: Option<Arc<Server>>,
}

impl Pool {
    /// The sessions with a database of our own server. The database is created if it does not exist.
    pub(crate) fn own(server: Arc<Server>, address: Address, file: Option<PathBuf>, login: Login) -> Result<Self> {
        let temporary = file.is_none();
        if !temporary {
            server.opens_file();
        }
        let path = file.unwrap_or_else(|| server.new_database());
        let database = path
            .into_os_string()
            .into_string()
            .map_err(|path| Error::InvalidArgument(format!("the path {} is not UTF-8", path.display())))?;
        let keeper = open_or_create(&address, &login, &database)?;
        let idle = Mutex::default();
        Ok(Self { address, login, database, idle, keeper: Some(keeper), temporary, _server: Some(server) })
    }

    /// The sessions with a database of a running server.
    pub(crate) fn attached(address: Address, login: Login, database: String) -> Result<Self> {
        let keeper = Connection::open(&address, &login, Some(&database))?;
        let idle = Mutex::default();
        Ok(Self { address, login, database, idle, keeper: Some(keeper), temporary: false, _server: None })
    }

    /// The database's path.
    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    /// The version of the server.
    pub(crate) fn version(&self) -> &str {
        self.keeper.as_ref().map_or("unknown", Connection::version)
    }

    /// A session that nobody else uses.
    pub(crate) fn lease(self: &Arc<Self>) -> Result<Lease> {
        let idle = || lock(&self.idle).pop();
        while let Some(mut connection) = idle() {
            if connection.is_reusable() {
                return Ok(Lease { connection: Some(connection), pool: Arc::clone(self) });
            }
        }
        let connection = Connection::open(&self.address, &self.login, Some(&self.database))?;
        Ok(Lease { connection: Some(connection), pool: Arc::clone(self) })
    }

    fn give_back(&self, mut connection: Connection) {
        if connection.status() == Some(Status::Idle) && connection.canceller().settle() && connection.is_reusable() {
            let mut idle = lock(&self.idle);
            if idle.len() < MAX_IDLE {
                idle.push(connection);
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.keeper = None;
        if self.temporary {
            // Not by DROP DATABASE, because it makes hyperd crash while other sessions work. Files that the server still
            // writes are removed with its folder.
            let _ = std::fs::remove_file(&self.database);
        }
    }
}

/// Opens a session with a database, and creates the database if it does not exist.
fn open_or_create(address: &Address, login: &Login, database: &str) -> Result<Connection> {
    let deadline = Instant::now() + UNLOAD_TIMEOUT;
    loop {
        let opened = Connection::open(address, login, None).and_then(|mut connection| {
            connection.command(&format!("CREATE DATABASE IF NOT EXISTS {}", identifier(database)))?;
            Connection::open(address, login, Some(database))
        });
        match opened {
            // The last session of the database has just closed, and the server still writes the file.
            Err(Failure::Refused(error)) if error.is_unloading() && Instant::now() < deadline => {
                std::thread::sleep(UNLOAD_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

/// A session leased from the pool. Dropping the lease returns the session if it is idle, and closes it otherwise.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The session. `None` only while the lease is dropped.
    connection: Option<Connection>,
    // Dropped after the connection, so that the last session is closed before the pool is dropped.
    pool: Arc<Pool>,
}

impl Lease {
    /// Whether no table has this name, as SQL writes it.
    pub(crate) fn lacks(&mut self, table: &str) -> bool {
        let found = self.command(&format!("SELECT 1 FROM {table} LIMIT 0"));
        found.is_err_and(|failure| failure.code() == Some(NO_SUCH_TABLE))
    }

    /// Drops a table that was not there before a statement, if the statement has failed and the server has said so.
    pub(crate) fn remove_left(&mut self, table: &str, failure: &Error) {
        // Somebody else may have made it.
        let is_ours = !failure.to_string().ends_with(&format!("({TABLE_EXISTS})"));
        if is_ours && self.status() == Some(Status::Idle) && self.canceller().settle() {
            // A failure leaves the table.
            let _ = self.command(&format!("DROP TABLE IF EXISTS {table}"));
        }
    }

    /// Closes the session, so that it is not reused.
    pub(crate) fn close(mut self) {
        self.connection = None;
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has its session until it is dropped")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a lease has its session until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection);
        }
    }
}
