//! The engine over one database of a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use boundary_bench_engine::catalog::{Row, TablePath, table_names};
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::table::{SqlType, TableDefinition};
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement, not_a_query,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};

use crate::catalog;
use crate::codec::{CommandResult, Failure};
use crate::ingest::MysqlIngest;
use crate::pool::{Lease, Pool};
use crate::prepared::{PreparedStatement, Running, changed_rows, start_query};
use crate::server::{self, Server};
use crate::session_state::admit;
use crate::sql::{Mysql, identifier, returns_changed_rows};
use crate::url::Url;
use crate::{MYSQL, runtime};

/// The time-out of the check that the server answers.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The most sessions open at a time.
const MAX_SESSIONS: usize = 256;

/// The statement that sets up each session: SQL as in the other engines, and time-outs of a day. With these, no result or insert
/// ends while its reader or writer pauses.
const SETUP: &str = "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES', \
                     net_read_timeout = 86400, net_write_timeout = 86400, wait_timeout = 86400, autocommit = 1";

/// The prefix of the names of databases that the engine creates.
const DATABASE_PREFIX: &str = "boundary_bench";

/// Error numbers of the server.
const SYNTAX: u16 = 1064;
const TABLE_EXISTS: u16 = 1050;
const UNKNOWN_TABLE: u16 = 1051;

/// The private server of this process, while an engine uses it.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// The number of the next database of this process.
static NEXT_DATABASE: AtomicU64 = AtomicU64::new(0);

/// Opens the engine of `mysql:` (a new database of the private server of this process) or `mysql://...` ([`Url`]). If the
/// URL names no database, the database `boundary_bench` is created and used.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(MysqlEngine::open(uri)?))
}

/// An engine over one database of a server. All methods may run at once. Each takes a session of its own.
pub struct MysqlEngine {
    pool: Arc<Pool>,
    url: Url,
    version: String,
    ordered: bool,
    /// The name of the database to drop at the end.
    temporary: Option<String>,
    /// The private server. It must outlive the sessions.
    server: Option<Arc<Server>>,
}

impl MysqlEngine {
    /// Opens the engine of a URI, for [`open`].
    pub fn open(uri: &str) -> Result<Self> {
        if uri == "mysql:" {
            let server = shared_server()?;
            let number = NEXT_DATABASE.fetch_add(1, Ordering::Relaxed);
            let name = format!("{DATABASE_PREFIX}_{}_{number}", std::process::id());
            return Self::attach(server.url().clone(), Some(&name), Some(server));
        }
        let url: Url = uri.parse()?;
        let new = url.database.is_none().then_some(DATABASE_PREFIX);
        Self::attach(url, new, None)
    }

    /// Connects. The database `new` is created if it does not exist, and dropped at the end if the server is private.
    fn attach(mut url: Url, new: Option<&str>, server: Option<Arc<Server>>) -> Result<Self> {
        if let Some(name) = new {
            let create = format!("CREATE DATABASE IF NOT EXISTS {}", identifier(name));
            let pool = Pool::new(url.clone(), Vec::new(), 1);
            runtime().block_on(async {
                let mut session = pool.lease().await?;
                match session.connection.run(&format!("{create} CHARACTER SET utf8mb4")).await {
                    Err(failure) if failure.code() == Some(SYNTAX) => session.connection.run(&create).await,
                    done => done,
                }
            })?;
            url.database = Some(name.to_owned());
        }
        let pool = Pool::new(url.clone(), vec![SETUP.to_owned()], MAX_SESSIONS);
        let (version, ordered) = runtime().block_on(async {
            let mut session = pool.lease().await?;
            let engine = session.connection.texts("SELECT @@default_storage_engine").await.unwrap_or_default();
            // InnoDB keeps the rows of a table without a key in the order of their insertion.
            let ordered = engine.into_iter().flatten().flatten().any(|name| name.eq_ignore_ascii_case("InnoDB"));
            Ok::<_, Failure>((session.connection.version().to_owned(), ordered))
        })?;
        let temporary = server.is_some().then(|| url.database.clone()).flatten();
        Ok(Self { pool, url, version, ordered, temporary, server })
    }

    /// The URL of the database.
    pub fn url(&self) -> &Url {
        &self.url
    }

    fn session(&self) -> Result<Lease> {
        Ok(runtime().block_on(self.pool.lease())?)
    }

    /// The rows of a catalog query.
    fn rows(&self, sql: &str) -> Result<Vec<Row>> {
        let mut session = self.session()?;
        Ok(runtime().block_on(session.connection.texts(sql))?)
    }

    fn place(&self, name: &str) -> Result<TablePath> {
        let is_table = |path: &TablePath| Ok(!self.rows(&catalog::columns_query(path))?.is_empty());
        TablePath::find(name, is_table, |schema| Ok(!self.rows(&catalog::schema_query(schema))?.is_empty()))
    }

    fn run(&self, sql: &str) -> CommandResult<()> {
        let mut session = self.session()?;
        runtime().block_on(session.connection.run(sql)).map(drop)
    }
}

impl Drop for MysqlEngine {
    fn drop(&mut self) {
        let pool = Arc::clone(&self.pool);
        let temporary = self.temporary.take();
        let server = self.server.take();
        // The drop does not wait for the end: it may happen on any thread.
        runtime().spawn(async move {
            if let Some(name) = temporary
                && let Ok(mut session) = pool.lease().await
            {
                // A failure leaves the database until its server is removed.
                let _ = session.connection.run(&format!("DROP DATABASE IF EXISTS {}", identifier(&name))).await;
            }
            pool.close().await;
            // Stopping a server blocks until it has ended.
            tokio::task::spawn_blocking(move || drop(server));
        });
    }
}

/// The clause of a new table that names the character set, for its texts. Not every server has such a clause.
fn charset_of(table: &TableDefinition) -> &'static str {
    let has_texts = table.columns.iter().any(|column| column.sql_type == SqlType::Text);
    if has_texts { " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" } else { "" }
}

/// The private server of this process, started if none runs.
fn shared_server() -> Result<Arc<Server>> {
    // The lock is held during the start, so that two callers do not start two servers.
    let mut shared = lock(&SHARED);
    if let Some(server) = shared.upgrade()
        && server.is_running()
    {
        return Ok(server);
    }
    let server = Arc::new(server::start(None)?);
    *shared = Arc::downgrade(&server);
    Ok(server)
}

impl Engine for MysqlEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &MYSQL
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: MYSQL.sql, ordered: self.ordered, all_floats: false, some_columns: false }
    }

    /// Table definitions are not transactional in the server: a table to be replaced is missing for a moment, and stays
    /// missing if the new one can't be created.
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let (drop_old, create) = Mysql::create_table(&self.place(&table.name)?, table, mode);
        drop_old.map_or(Ok(()), |drop_old| self.run(&drop_old))?;
        self.run(&(create + charset_of(table))).map_err(|failure| match failure.code() {
            Some(TABLE_EXISTS) => Error::TableExists(table.name.clone()),
            _ => failure.into(),
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        let path = self.place(name)?;
        catalog::definition(name, &path, self.rows(&catalog::columns_query(&path))?)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        Ok(table_names(self.rows(catalog::TABLES)?))
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        match self.run(&format!("DROP TABLE {}", self.place(name)?.to_sql(identifier))) {
            Ok(()) => Ok(true),
            Err(failure) if failure.code() == Some(UNKNOWN_TABLE) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        let path = self.place(&table.name)?;
        let columns = self.rows(&catalog::columns_query(&path))?;
        let takes_bytes = catalog::takes_bytes(&columns);
        catalog::definition(&table.name, &path, columns)?.check_columns(table, Mysql::column)?;
        Ok(Box::new(MysqlIngest::begin(self.session()?, table, path.to_sql(identifier), takes_bytes)?))
    }

    /// Takes one statement that reads (`SELECT`, `WITH`, `VALUES`, `TABLE`, `SHOW`, `DESCRIBE` or `EXPLAIN`), or one that changes rows
    /// and returns them.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        let statement = Mysql::query(sql)?;
        let returns_changed = returns_changed_rows(&statement);
        if !Mysql::is_query(&statement) && !returns_changed {
            return Err(not_a_query());
        }
        options.cancel.check()?;
        start_query(self.session()?, statement.text, returns_changed, options)
    }

    /// Several statements are one transaction, so `BEGIN`, `COMMIT` and `ROLLBACK` are refused, and so are statements
    /// that the server can't undo, such as `CREATE TABLE`, unless they come alone. `SET` lasts for this call only, and is refused alone.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        let statements = Mysql::command(sql)?;
        statements.iter().try_for_each(|statement| admit(statement.text).map(drop))?;
        let together = statements.len() > 1;
        let mut session = self.session()?;
        let running = Running::new(&session, cancel);
        let ran: CommandResult<u64> = runtime().block_on(async {
            let mut changed = 0;
            if together {
                session.connection.run("BEGIN").await?;
            }
            for statement in &statements {
                cancel.check()?;
                let ended = session.connection.run(statement.text).await?;
                changed += changed_rows(statement.text, ended)?;
            }
            Ok(changed)
        });
        // From here on the work is either published as a whole or not at all. A cancellation must not interrupt that.
        let was_cancelled = running.end(cancel);
        let ended = match (&ran, together) {
            (Ok(_), true) => runtime().block_on(session.connection.run("COMMIT")).map(drop),
            _ => Ok(()),
        };
        if ran.is_err() || was_cancelled || !statements.iter().all(Mysql::keeps_session) {
            // Closing the session rolls the transaction back.
            session.close();
        }
        match ran {
            Ok(changed) => ended.map(|()| changed).map_err(Error::from),
            // Of several statements nothing is published before their end.
            Err(failure) if was_cancelled => Err(Error::cancelled(together || failure.is_answered())),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The types of parameters are open until there are values: the server does not tell them.
    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        let statement = Mysql::the_only_statement(sql)?;
        Mysql::check_prepared(&statement)?;
        cancel.check()?;
        Ok(Box::new(PreparedStatement::prepare(self.session()?, &statement)?))
    }

    fn check(&self) -> Result<()> {
        runtime().block_on(async {
            let ping = async { self.pool.lease().await?.connection.ping().await };
            match tokio::time::timeout(PING_TIMEOUT, ping).await {
                Ok(answer) => answer.map_err(Error::from),
                Err(_) => Err(Error::Timeout(format!("the server did not answer for {} s", PING_TIMEOUT.as_secs()))),
            }
        })
    }
}
