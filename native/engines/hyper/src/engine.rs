//! The engine: it chooses the server, the session and the statement for each call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_engine::catalog::{Row, table_names};
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement, canonical_file,
    not_a_query,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::url::bracketed;
use boundary_bench_kernel::{Error, Result};

use crate::address::ServerAddress;
use crate::copy_in::CopyIn;
use crate::grpc::Grpc;
use crate::pool::{Lease, Pool};
use crate::prepared::PreparedStatement;
use crate::server::Server;
use crate::sql::{Hyperd, is_display};
use crate::uri::{ServerDatabase, Transport, Uri};
use crate::wire::{Address, DEFAULT_USER, Login, StatementResult, rows_changed};
use crate::{HYPER, catalog, copy_out, engine_error};

/// How long a session may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The host of a server of our own.
const LOOPBACK: &str = "127.0.0.1";

/// Maximum attempts of a command that conflicts with another one on the same table.
const ATTEMPTS: u32 = 5;

/// The SQLSTATE of a command that conflicts with another one on the same table.
const CONFLICT: &str = "40001";

/// The SQLSTATE of a `CREATE TABLE` whose table exists.
const TABLE_EXISTS: &str = "42P07";

/// The SQLSTATE of a `DROP TABLE` whose table does not exist.
const NO_SUCH_TABLE: &str = "42P01";

/// A database of a `hyperd`. All methods may run at once. Each takes a session of its own.
pub struct HyperEngine {
    address: ServerAddress,
    /// Bytes of one COPY of an insert.
    copy_bytes: usize,
    // Dropped before the sessions, with which a new database is removed.
    grpc: Option<Arc<Grpc>>,
    /// The sessions, or `None` if only the gRPC endpoint of the server is known.
    pool: Option<Arc<Pool>>,
}

impl HyperEngine {
    /// Opens a database, and starts the server of this process if the place needs it.
    pub fn open(uri: Uri) -> Result<Self> {
        let Uri { place, transport, most_bytes, copy_bytes, socket_buffer } = uri;
        let login = Login { user: DEFAULT_USER.to_owned(), password: None, most_bytes, socket_buffer };
        match place {
            ServerDatabase::Fresh => Self::own(transport, None, login, copy_bytes),
            ServerDatabase::File(path) => {
                let file = canonical_file(&path)
                    .map_err(|problem| engine_error(format!("can't open \"{}\": {problem}", path.display())))?;
                Self::own(transport, Some(file), login, copy_bytes)
            }
            ServerDatabase::Server { host, port, user, password, database } => {
                let login = Login { user: user.unwrap_or(login.user), password, ..login };
                Self::attached(transport, (host, port), login, database, copy_bytes)
            }
        }
    }

    /// A database of the server of this process.
    fn own(transport: Transport, file: Option<PathBuf>, login: Login, copy_bytes: usize) -> Result<Self> {
        let server = Server::shared()?;
        let address = match transport {
            Transport::Ipc => Address::Unix(server.socket()),
            _ => Address::Tcp(LOOPBACK.to_owned(), server.tcp_port()),
        };
        let most_bytes = login.most_bytes;
        let pool = Pool::own(Arc::clone(&server), address, file, login)?;
        let database = pool.database().to_owned();
        let (endpoint, grpc) = if transport.is_grpc() {
            let address = format!("{LOOPBACK}:{}", server.grpc_port());
            let grpc = Grpc::connect(&address, &database, transport, most_bytes, Some(server))?;
            (format!("http://{address}"), Some(grpc))
        } else if transport == Transport::Ipc {
            (server.socket_descriptor(), None)
        } else {
            (format!("{LOOPBACK}:{}", server.tcp_port()), None)
        };
        let address = ServerAddress { endpoint, database, transport, credentials: None };
        Ok(Self { address, copy_bytes, grpc, pool: Some(Arc::new(pool)) })
    }

    /// A database of a running server.
    fn attached(
        transport: Transport,
        (host, port): (String, u16),
        login: Login,
        database: String,
        copy_bytes: usize,
    ) -> Result<Self> {
        let address = format!("{}:{port}", bracketed(&host));
        if !transport.is_grpc() {
            let credentials = login.password.clone().map(|password| (login.user.clone(), password));
            let pool = Pool::attached(Address::Tcp(host, port), login, database.clone())?;
            let address = ServerAddress { endpoint: address, database, transport, credentials };
            return Ok(Self { address, copy_bytes, grpc: None, pool: Some(Arc::new(pool)) });
        }
        if login.password.is_some() {
            return Err(Error::Unsupported("no password can be given over gRPC; use the transport tcp".to_owned()));
        }
        let grpc = Grpc::connect(&address, &database, transport, login.most_bytes, None)?;
        let endpoint = format!("http://{address}");
        let address = ServerAddress { endpoint, database, transport, credentials: None };
        Ok(Self { address, copy_bytes, grpc: Some(grpc), pool: None })
    }

    /// The place of the database, for other clients of its server.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    fn session(&self) -> Result<Lease> {
        match &self.pool {
            Some(pool) => pool.lease(),
            None => Err(Error::Unsupported(
                "gRPC is for queries only; open the server by the transport tcp to change something".to_owned(),
            )),
        }
    }

    /// The rows of a query of the engine's own.
    fn rows(&self, sql: &str) -> Result<Vec<Row>> {
        match (&self.pool, &self.grpc) {
            (None, Some(grpc)) => grpc.rows(sql),
            _ => Ok(self.session()?.rows(sql)?),
        }
    }

    /// Runs a command on a table, and repeats it if it conflicts with another one.
    fn define(&self, sql: &str) -> StatementResult<()> {
        let mut session = self.session()?;
        let mut attempt = 1;
        loop {
            match session.command(sql) {
                Err(failure) if failure.code() == Some(CONFLICT) && attempt < ATTEMPTS => attempt += 1,
                result => return result.map(drop),
            }
        }
    }
}

impl Engine for HyperEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &HYPER
    }

    fn transport(&self) -> Option<&'static str> {
        Some(self.address.transport.name())
    }

    fn version(&self) -> String {
        self.pool.as_ref().map_or("unknown", |pool| pool.version()).to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        // The server stores the batches of one insert in parallel.
        Capabilities { sql: HYPER.sql, ordered: false, all_floats: true, some_columns: false }
    }

    /// The server's commands on tables are not transactional: a table to be replaced is gone for a moment, and stays
    /// gone if the new one can't be created.
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let (drop_old, create) = Hyperd::create_table(table, mode);
        drop_old.map_or(Ok(()), |drop_old| self.define(&drop_old))?;
        self.define(&create).map_err(|failure| match failure.code() {
            Some(TABLE_EXISTS) => Error::TableExists(table.name.clone()),
            _ => failure.into(),
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        catalog::definition(name, self.rows(&catalog::columns_query(name))?)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        Ok(table_names(self.rows(catalog::TABLES)?))
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        match self.define(&format!("DROP TABLE {}", identifier(name))) {
            Ok(()) => Ok(true),
            Err(failure) if failure.code() == Some(NO_SUCH_TABLE) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        Ok(Box::new(CopyIn::begin(self.session()?, table, self.copy_bytes)?))
    }

    /// Takes one statement that reads: `SELECT`, `WITH`, `VALUES`, `TABLE`, and `EXPLAIN` or `SHOW`, whose results are
    /// text. While the result is read, writers of its tables wait, except over gRPC.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        without_nul(sql)?;
        let statement = Hyperd::query(sql)?;
        if let Some(grpc) = &self.grpc
            && Hyperd::is_query(&statement)
        {
            grpc.query(&statement, options)
        } else if Hyperd::is_query(&statement) {
            copy_out::start(self.session()?, &statement, options)
        } else if is_display(&statement) {
            copy_out::display(self.session()?, &statement, options)
        } else {
            Err(not_a_query())
        }
    }

    /// Several statements are one transaction, so `BEGIN`, `COMMIT` and `ROLLBACK` are refused, and so are those that
    /// the server can't undo, such as `CREATE TABLE`, unless they come alone. `SET` lasts for this call only, and is
    /// refused alone.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        without_nul(sql)?;
        let statements = Hyperd::command(sql)?;
        let together = statements.len() > 1;
        let mut session = self.session()?;
        let guard = copy_out::guard(&session, cancel);
        let mut run = || {
            let mut changed = 0;
            if together {
                session.command("BEGIN")?;
            }
            for statement in &statements {
                cancel.check()?;
                changed += rows_changed(&session.command(statement.text)?);
            }
            Ok(changed)
        };
        let result: Result<u64> = run();
        // The changes are now committed or rolled back as a whole. A cancellation must not interrupt that.
        drop(guard);
        let settled = session.canceller().settle();
        let is_answered = session.status().is_some();
        let ended = match (&result, together && is_answered) {
            (_, false) => Ok(()),
            (Ok(_), true) => session.command("COMMIT").map(drop),
            (Err(_), true) => session.command("ROLLBACK").map(drop),
        };
        if !settled || !statements.iter().all(Hyperd::keeps_session) {
            session.close();
        }
        match result {
            Ok(changed) => ended.map(|()| changed).map_err(Error::from),
            // Of several statements nothing is published before their end.
            Err(_) if cancel.is_cancelled() => Err(Error::cancelled(together || is_answered)),
            Err(error) => Err(error),
        }
    }

    /// The types of parameters are unknown until they have values: hyperd does not report them.
    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        without_nul(sql)?;
        let statement = Hyperd::the_only_statement(sql)?;
        if self.address.transport.is_grpc() {
            return Err(Error::Unsupported(
                "parameters and prepared statements don't go over gRPC; use the transport tcp or ipc".to_owned(),
            ));
        }
        Ok(Box::new(PreparedStatement::prepare(self.session()?, &statement, cancel)?))
    }

    fn check(&self) -> Result<()> {
        match (&self.pool, &self.grpc) {
            (None, Some(grpc)) => grpc.rows("SELECT 1").map(drop),
            _ => self.session()?.ping(PING_TIMEOUT),
        }
    }
}

fn without_nul(sql: &str) -> Result<()> {
    if sql.contains('\0') {
        return Err(Error::InvalidArgument("SQL text can't hold a NUL character".to_owned()));
    }
    Ok(())
}
