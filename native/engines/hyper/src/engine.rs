//! The engine: it chooses the server, the session and the statement for each call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_engine::catalog::{Row, TablePath, table_names};
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement, canonical_file,
    not_a_query,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::url::bracketed;
use boundary_bench_kernel::{Error, Result, lock};

use crate::address::ServerAddress;
use crate::copy_in::CopyIn;
use crate::grpc::Grpc;
use crate::pool::{Lease, NO_SUCH_TABLE, Pool, TABLE_EXISTS};
use crate::prepared::PreparedStatement;
use crate::server::Server;
use crate::sql::{Hyperd, is_display, made_by_query};
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

/// A database of a `hyperd`. All methods may run at once. Each takes a session of its own.
pub struct HyperEngine {
    live: Mutex<Arc<Live>>,
    /// The database to open again once the server of this process has ended: its file, if it has one, and its user. `None` on a server of
    /// another process.
    own: Option<(Option<PathBuf>, Login)>,
    transport: Transport,
    /// Bytes of one COPY of an insert.
    copy_bytes: usize,
}

/// The connections to a database.
struct Live {
    address: ServerAddress,
    // Dropped before the sessions, with which a new database is removed.
    grpc: Option<Arc<Grpc>>,
    /// The sessions, or `None` if only the gRPC endpoint of the server is known.
    pool: Option<Arc<Pool>>,
    /// A server of our own. It must outlive the sessions.
    server: Option<Arc<Server>>,
}

impl HyperEngine {
    /// Opens a database, and starts the server of this process if the place needs it.
    pub fn open(uri: Uri) -> Result<Self> {
        let Uri { place, transport, most_bytes, copy_bytes, socket_buffer } = uri;
        let login = Login { user: DEFAULT_USER.to_owned(), password: None, most_bytes, socket_buffer };
        let (live, own) = match place {
            ServerDatabase::Fresh => (Live::own(transport, None, login.clone())?, Some((None, login))),
            ServerDatabase::File(path) => {
                let file = canonical_file(&path)
                    .map_err(|problem| engine_error(format!("can't open \"{}\": {problem}", path.display())))?;
                (Live::own(transport, Some(file.clone()), login.clone())?, Some((Some(file), login)))
            }
            ServerDatabase::Server { host, port, user, password, database } => {
                let login = Login { user: user.unwrap_or(login.user), password, ..login };
                (Live::attached(transport, (host, port), login, database)?, None)
            }
        };
        Ok(Self { live: Mutex::new(Arc::new(live)), own, transport, copy_bytes })
    }

    /// The place of the database, for other clients of its server.
    pub fn address(&self) -> ServerAddress {
        lock(&self.live).address.clone()
    }

    /// The connections. If the server of this process has ended, the connections to a new one. A database without a file has ended with
    /// its server. The call that finds this out fails, so that no caller takes the new database for the old one.
    fn live(&self) -> Result<Arc<Live>> {
        let mut live = lock(&self.live);
        if let Some((file, login)) = &self.own
            && live.server.as_ref().is_some_and(|server| !server.is_running())
        {
            *live = Arc::new(Live::own(self.transport, file.clone(), login.clone())?);
            if file.is_none() {
                return Err(Error::Connection(
                    "hyperd has ended, and its database without a file with it; the next call finds an empty database on a new hyperd"
                        .to_owned(),
                ));
            }
        }
        Ok(Arc::clone(&live))
    }

    fn session(&self) -> Result<Lease> {
        match &self.live()?.pool {
            Some(pool) => pool.lease(),
            None => Err(Error::Unsupported(
                "gRPC is for queries only; open the server by the transport tcp to change something".to_owned(),
            )),
        }
    }

    /// The rows of a query of the engine's own.
    fn rows(&self, sql: &str) -> Result<Vec<Row>> {
        match &*self.live()? {
            Live { pool: None, grpc: Some(grpc), .. } => grpc.rows(sql),
            _ => Ok(self.session()?.rows(sql)?),
        }
    }

    fn place(&self, name: &str) -> Result<TablePath> {
        let is_table = |path: &TablePath| Ok(!self.rows(&catalog::columns_query(path))?.is_empty());
        TablePath::find(name, is_table, |schema| Ok(!self.rows(&catalog::schema_query(schema))?.is_empty()))
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

impl Live {
    /// A database of the server of this process.
    fn own(transport: Transport, file: Option<PathBuf>, login: Login) -> Result<Self> {
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
            let grpc = Grpc::connect(&address, &database, transport, most_bytes, Some(Arc::clone(&server)))?;
            (format!("http://{address}"), Some(grpc))
        } else if transport == Transport::Ipc {
            (server.socket_descriptor(), None)
        } else {
            (format!("{LOOPBACK}:{}", server.tcp_port()), None)
        };
        let address = ServerAddress { endpoint, database, transport, credentials: None };
        Ok(Self { address, grpc, pool: Some(Arc::new(pool)), server: Some(server) })
    }

    /// A database of a running server.
    fn attached(transport: Transport, (host, port): (String, u16), login: Login, database: String) -> Result<Self> {
        let address = format!("{}:{port}", bracketed(&host));
        if !transport.is_grpc() {
            let credentials = login.password.clone().map(|password| (login.user.clone(), password));
            let pool = Pool::attached(Address::Tcp(host, port), login, database.clone())?;
            let address = ServerAddress { endpoint: address, database, transport, credentials };
            return Ok(Self { address, grpc: None, pool: Some(Arc::new(pool)), server: None });
        }
        if login.password.is_some() {
            return Err(Error::Unsupported("no password can be given over gRPC; use the transport tcp".to_owned()));
        }
        let grpc = Grpc::connect(&address, &database, transport, login.most_bytes, None)?;
        let endpoint = format!("http://{address}");
        let address = ServerAddress { endpoint, database, transport, credentials: None };
        Ok(Self { address, grpc: Some(grpc), pool: None, server: None })
    }
}

impl Engine for HyperEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &HYPER
    }

    fn transport(&self) -> Option<&'static str> {
        Some(self.transport.name())
    }

    fn version(&self) -> String {
        lock(&self.live).pool.as_ref().map_or("unknown", |pool| pool.version()).to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        // The server stores the batches of one insert in parallel.
        Capabilities { sql: HYPER.sql, ordered: false, all_floats: true, some_columns: false }
    }

    /// The server's commands on tables are not transactional: a table to be replaced is gone for a moment, and stays
    /// gone if the new one can't be created.
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let (drop_old, create) = Hyperd::create_table(&self.place(&table.name)?, table, mode);
        drop_old.map_or(Ok(()), |drop_old| self.define(&drop_old))?;
        self.define(&create).map_err(|failure| match failure.code() {
            Some(TABLE_EXISTS) => Error::TableExists(table.name.clone()),
            _ => failure.into(),
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        let rows = self.rows(&catalog::columns_query(&self.place(name)?))?;
        catalog::definition(name, rows).map(|(table, _)| table)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        Ok(table_names(self.rows(catalog::TABLES)?))
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        match self.define(&format!("DROP TABLE {}", self.place(name)?.to_sql(identifier))) {
            Ok(()) => Ok(true),
            Err(failure) if failure.code() == Some(NO_SUCH_TABLE) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        Ok(Box::new(CopyIn::begin(self.session()?, &self.place(&table.name)?, table, self.copy_bytes)?))
    }

    /// Takes one statement that reads: `SELECT`, `WITH`, `VALUES`, `TABLE`, and `EXPLAIN` or `SHOW`, whose results are
    /// text. While the result is read, writers of its tables wait, except over gRPC.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        without_nul(sql)?;
        let statement = Hyperd::query(sql)?;
        if let Some(grpc) = &self.live()?.grpc
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
        let made = statements.first().filter(|_| !together).and_then(made_by_query);
        let made = made.filter(|table| session.lacks(table));
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
        if let (Err(error), Some(table)) = (&result, made) {
            session.remove_left(table, error);
        }
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
        if self.transport.is_grpc() {
            return Err(Error::Unsupported(
                "parameters and prepared statements don't go over gRPC; use the transport tcp or ipc".to_owned(),
            ));
        }
        Ok(Box::new(PreparedStatement::prepare(self.session()?, &statement, cancel)?))
    }

    fn check(&self) -> Result<()> {
        match &*self.live()? {
            Live { pool: None, grpc: Some(grpc), .. } => grpc.rows("SELECT 1").map(drop),
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
