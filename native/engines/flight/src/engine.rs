//! The engine: tables by SQL and by the service's metadata, queries and inserts as Arrow.

use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, RecordBatch, StringArray, UnionArray};
use arrow_flight::FlightInfo;
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetSqlInfo, CommandGetTables, CommandStatementQuery, CommandStatementUpdate,
    ProstMessageExt, SqlInfo,
};
use arrow_schema::{DataType, Schema};
use boundary_bench_engine::catalog::TablePath;
use boundary_bench_engine::dialect::create_table;
use boundary_bench_engine::sql_text::{check_not_empty, postgres_token};
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{
    BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, Statement,
};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_processes::PrivateServer;
use bytes::Bytes;

use crate::channel::{Channel, Waiter};
use crate::client::{not_understood, rows_changed, schema_of};
use crate::dialect::{Dialect, PROBE_SUM};
use crate::endpoints::Endpoints;
use crate::grpc::Intent;
use crate::ingest::FlightIngest;
use crate::prepared::PreparedStatement;
use crate::stream::FlightStream;
use crate::url::FlightUrl;
use crate::values::{columns_of, converted};
use crate::{FLIGHT, engine_error, runtime};

/// How long a server may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The types of tables that take rows, under the names of different servers.
const TABLE_KINDS: [&str; 3] = ["TABLE", "BASE TABLE", "table"];

/// Opens the engine of a running service, or with `flight:` of a private server over a database in memory. The private server ends
/// with the engine.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    if uri != "flight:" {
        return Ok(Arc::new(FlightEngine::open(uri.parse()?, None)?));
    }
    let server = PrivateServer::start_flight(&CancelToken::default())?;
    let url = server.url().parse()?;
    Ok(Arc::new(FlightEngine::open(url, Some(Arc::new(server)))?))
}

/// A service of Flight SQL. All methods may run at once.
pub struct FlightEngine {
    descriptor: &'static Descriptor,
    channel: Arc<Channel>,
    version: String,
    ordered: bool,
    /// The dialect of the server, found when it is needed.
    dialect: OnceLock<Dialect>,
    /// Whether the server takes no updates, so that commands are sent as queries.
    commands_are_queries: AtomicBool,
}

impl FlightEngine {
    /// Connects to a service. A server of our own is kept for as long as any part of the engine lives.
    pub fn open(url: FlightUrl, server: Option<Arc<dyn Any + Send + Sync>>) -> Result<Self> {
        Self::open_as(&FLIGHT, url, server)
    }

    /// Connects as [`FlightEngine::open`] does, to the service of an engine with a description of its own.
    pub fn open_as(
        descriptor: &'static Descriptor,
        url: FlightUrl,
        server: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        runtime().block_on(async {
            let dialect = url.dialect;
            let channel = Channel::connect(url, server).await?;
            let probe = async {
                let info = channel.flight_info(&query_of("SELECT 1"), Intent::Read).await?;
                let ordered = info.ordered;
                // Some servers keep a result until it is read.
                all(&channel, info).await.map(|_| ordered)
            };
            // A server that does not state the order may return rows in any order.
            let ordered = match probe.await {
                Err(error @ (Error::Connection(_) | Error::Unreachable(_) | Error::Timeout(_))) => return Err(error),
                probe => probe.unwrap_or(false),
            };
            let told = match about(&channel).await {
                Ok(told) => told,
                // A service need not report its name and version.
                Err(Error::Unsupported(_)) => None,
                Err(error) => return Err(error),
            };
            let dialect = dialect.or_else(|| told.as_deref().and_then(Dialect::of_server));
            let version = match told {
                Some(told) => told,
                None => version_by_sql(&channel).await.unwrap_or_else(|| "unknown".to_owned()),
            };
            let dialect = dialect.map(OnceLock::from).unwrap_or_default();
            Ok(Self { descriptor, channel, version, ordered, dialect, commands_are_queries: AtomicBool::new(false) })
        })
    }

    /// The URL of the service.
    pub fn url(&self) -> &FlightUrl {
        self.channel.url()
    }

    /// The dialect of the server: the one of the URL or of the server's name, else the first that the server understands.
    fn dialect(&self) -> Result<Dialect> {
        if let Some(known) = self.dialect.get() {
            return Ok(*known);
        }
        for dialect in Dialect::all() {
            match runtime().block_on(self.understands(dialect)) {
                Ok(true) => return Ok(*self.dialect.get_or_init(|| dialect)),
                Err(error @ (Error::Connection(_) | Error::Unreachable(_) | Error::Timeout(_))) => return Err(error),
                Ok(false) | Err(_) => {}
            }
        }
        Ok(Dialect::Plain)
    }

    async fn understands(&self, dialect: Dialect) -> Result<bool> {
        let batches = fetch(&self.channel, &query_of(&dialect.probe())).await?;
        let sum = batches.first().filter(|batch| batch.num_rows() == 1 && batch.num_columns() == 1);
        let sum = sum.and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>());
        Ok(sum.is_some_and(|sum| sum.is_valid(0) && sum.value(0) == PROBE_SUM))
    }

    /// Runs a command, by `DoPut`, or as a query on a server that takes no updates.
    fn update(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        let waiter = Waiter::new(cancel);
        if self.commands_are_queries.load(Ordering::Relaxed) {
            return waiter.wait(self.update_by_query(sql));
        }
        let update = CommandStatementUpdate { query: sql.to_owned(), transaction_id: None };
        match waiter.wait(self.channel.put(&update, None)) {
            Ok(result) => rows_changed(result),
            Err(Error::Unsupported(refusal)) => {
                let changed = waiter.wait(self.update_by_query(sql)).map_err(|error| match error {
                    // The server takes updates, but not this one.
                    Error::Unsupported(_) | Error::InvalidArgument(_) => Error::Unsupported(refusal),
                    other => other,
                })?;
                self.commands_are_queries.store(true, Ordering::Relaxed);
                Ok(changed)
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a command as a query. Returns the only whole number of its result, the number of changed rows, else 0.
    async fn update_by_query(&self, sql: &str) -> Result<u64> {
        let info = self.channel.flight_info(&query_of(sql), Intent::Change).await?;
        let batches = all(&self.channel, info).await?;
        let [batch] = batches.as_slice() else { return Ok(0) };
        if batch.num_rows() != 1 || batch.num_columns() != 1 || !batch.column(0).data_type().is_integer() {
            return Ok(0);
        }
        let changed = converted(batch.column(0), "changed", &DataType::Int64)?;
        Ok(u64::try_from(changed.as_primitive::<Int64Type>().value(0)).unwrap_or(0))
    }

    /// Runs a command of the engine's own.
    fn command(&self, sql: &str) -> Result<()> {
        self.update(sql, &CancelToken::default()).map(drop)
    }

    /// The place of a table.
    fn place(&self, name: &str) -> Result<TablePath> {
        TablePath::find(name, |path| Ok(!self.names(Some(path))?.is_empty()), |schema| self.has_schema(schema))
    }

    fn has_schema(&self, name: &str) -> Result<bool> {
        let command = CommandGetDbSchemas { catalog: None, db_schema_filter_pattern: pattern(name) };
        let (batches, column) = match runtime().block_on(fetch(&self.channel, &command)) {
            // Flight SQL's own result begins with the names of the catalogs.
            Ok(batches) => (batches, 1),
            Err(Error::Unsupported(_)) => {
                (runtime().block_on(fetch(&self.channel, &query_of(self.dialect()?.schema_names())))?, 0)
            }
            Err(error) => return Err(error),
        };
        let names = batches.iter().filter_map(|batch| batch.columns().get(column));
        let names = names.map(|names| converted(names, "schema", &DataType::Utf8)).collect::<Result<Vec<_>>>()?;
        // Sail quotes a name that needs it.
        let is_it = |found: &str| found == name || found == Dialect::Spark.identifier(name);
        Ok(names.iter().any(|names| names.as_string::<i32>().iter().flatten().any(is_it)))
    }

    /// The server's tables at a place, or all its tables, with their schemas if `with_columns` is set.
    fn tables(&self, path: Option<&TablePath>, with_columns: bool) -> Result<Vec<(String, Bytes)>> {
        let within = path.and_then(|path| path.schema.as_deref());
        let name = path.map(|path| path.table.as_str());
        let command = CommandGetTables {
            db_schema_filter_pattern: within.and_then(pattern),
            table_name_filter_pattern: name.and_then(pattern),
            include_schema: with_columns,
            ..CommandGetTables::default()
        };
        let batches = runtime().block_on(fetch(&self.channel, &command))?;
        let mut tables = Vec::new();
        for batch in batches {
            let (Some(names), Some(kinds)) = (texts(&batch, "table_name"), texts(&batch, "table_type")) else {
                return Err(not_understood(&"its tables have neither names nor types"));
            };
            let schemas = batch.column_by_name("table_schema").and_then(|column| column.as_binary_opt::<i32>());
            let places = texts(&batch, "db_schema_name");
            let is_here = |row| within.is_none_or(|within| places.is_some_and(|places| places.value(row) == within));
            for row in (0..batch.num_rows()).filter(|row| is_here(*row)) {
                if TABLE_KINDS.contains(&kinds.value(row)) && name.is_none_or(|name| name == names.value(row)) {
                    let schema = schemas.map(|schemas| Bytes::copy_from_slice(schemas.value(row)));
                    tables.push((names.value(row).to_owned(), schema.unwrap_or_default()));
                }
            }
        }
        Ok(tables)
    }

    /// The definition of the table `name` at a place, and whether it tells which columns may hold NULL: a result of SQL need not.
    fn described(&self, name: &str, path: &TablePath) -> Result<(TableDefinition, bool)> {
        let (mut tables, by_metadata) = match self.tables(Some(path), true) {
            Ok(tables) => {
                let schemas = tables.into_iter().map(|(_, schema)| schema_of(schema));
                (schemas.collect::<Result<Vec<_>>>()?, true)
            }
            Err(Error::Unsupported(_)) => {
                let names = self.names_by_sql(Some(path))?;
                let schemas = names.iter().map(|_| self.schema_by_sql(path).map(Some));
                (schemas.collect::<Result<Vec<_>>>()?, false)
            }
            Err(error) => return Err(error),
        };
        match (tables.len(), tables.pop()) {
            (1, Some(schema)) => {
                let columns = columns_of(&schema.unwrap_or_else(Schema::empty))?;
                if columns.is_empty() {
                    return Err(Error::Unsupported(format!("the server does not tell the columns of \"{name}\"")));
                }
                Ok((TableDefinition { name: name.to_owned(), columns }, by_metadata))
            }
            (0, _) => Err(Error::TableNotFound(name.to_owned())),
            (count, _) => Err(engine_error(format!("there are {count} tables \"{name}\", in several schemas"))),
        }
    }

    /// The names of the tables of the server, those at a place or all.
    fn names(&self, path: Option<&TablePath>) -> Result<Vec<String>> {
        match self.tables(path, false) {
            Ok(tables) => Ok(tables.into_iter().map(|(name, _)| name).collect()),
            Err(Error::Unsupported(_)) => self.names_by_sql(path),
            Err(error) => Err(error),
        }
    }

    /// Does as [`Self::names`], on a server without metadata of tables.
    fn names_by_sql(&self, path: Option<&TablePath>) -> Result<Vec<String>> {
        let (sql, column) = self.dialect()?.table_names(path.and_then(|path| path.schema.as_deref()));
        let batches = runtime().block_on(fetch(&self.channel, &query_of(&sql)))?;
        let mut names = Vec::new();
        for batch in batches {
            let names_here = batch.column_by_name(column).ok_or_else(|| not_understood(&"its tables have no names"))?;
            let names_here = converted(names_here, column, &DataType::Utf8)?;
            let found = names_here.as_string::<i32>().iter().flatten();
            names.extend(found.filter(|found| path.is_none_or(|path| path.table == *found)).map(str::to_owned));
        }
        Ok(names)
    }

    /// The schema of a table, on a server without metadata of tables.
    fn schema_by_sql(&self, path: &TablePath) -> Result<Schema> {
        let dialect = self.dialect()?;
        let sql = format!("SELECT * FROM {} LIMIT 0", path.to_sql(|name| dialect.identifier(name)));
        runtime().block_on(async {
            let info = self.channel.flight_info(&query_of(&sql), Intent::Read).await?;
            let mut endpoints = Endpoints::new(Arc::clone(&self.channel), info);
            let schema = endpoints.schema().await?.ok_or_else(|| not_understood(&"a result has no schema"))?;
            // Some servers keep a result until it is read.
            while endpoints.next().await?.is_some() {}
            Ok(schema.as_ref().clone())
        })
    }
}

/// A name as a pattern. It matches itself, and perhaps other names. `None` for a name with a backslash, the escape character of some
/// servers.
fn pattern(name: &str) -> Option<String> {
    (!name.contains('\\')).then(|| name.to_owned())
}

fn query_of(sql: &str) -> CommandStatementQuery {
    CommandStatementQuery { query: sql.to_owned(), transaction_id: None }
}

/// All batches of a command's result.
async fn fetch(channel: &Arc<Channel>, command: &impl ProstMessageExt) -> Result<Vec<RecordBatch>> {
    let info = channel.flight_info(command, Intent::Read).await?;
    all(channel, info).await
}

/// All batches of a result.
async fn all(channel: &Arc<Channel>, info: FlightInfo) -> Result<Vec<RecordBatch>> {
    let mut endpoints = Endpoints::new(Arc::clone(channel), info);
    let mut batches = Vec::new();
    while let Some(batch) = endpoints.next().await? {
        batches.push(batch);
    }
    Ok(batches)
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>()
}

/// The name and the version of a server, or `None` if it tells neither.
async fn about(channel: &Arc<Channel>) -> Result<Option<String>> {
    let wanted = [SqlInfo::FlightSqlServerName, SqlInfo::FlightSqlServerVersion];
    let command = CommandGetSqlInfo { info: wanted.iter().map(|info| *info as u32).collect() };
    let batches = fetch(channel, &command).await?;
    let said = wanted.map(|wanted| {
        batches.iter().find_map(|batch| {
            let names = batch.column(0).as_primitive_opt::<UInt32Type>()?;
            let row = names.values().iter().position(|name| *name == wanted as u32)?;
            let value = batch.column(1).as_any().downcast_ref::<UnionArray>()?.value(row);
            Some(value.as_string_opt::<i32>()?.value(0).to_owned())
        })
    });
    let said = said.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    Ok(Some(said).filter(|said| !said.is_empty()))
}

/// The version that a server tells in SQL. Most servers have SQL.
async fn version_by_sql(channel: &Arc<Channel>) -> Option<String> {
    let batches = fetch(channel, &query_of("SELECT version()")).await.ok()?;
    let text = batches.first()?.columns().first()?.as_string_opt::<i32>()?.iter().next()??.to_owned();
    Some(text).filter(|text| !text.is_empty())
}

impl Engine for FlightEngine {
    fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: self.descriptor.sql, ordered: self.ordered, all_floats: true, some_columns: false }
    }

    fn address(&self) -> Option<String> {
        // The scheme of the URL is the protocol's. The schemes of all engines over it end alike.
        self.channel.is_private().then(|| self.url().to_string().replacen(FLIGHT.name, self.descriptor.name, 1))
    }

    fn numbers(&self, range: Range<u64>) -> Result<String> {
        Ok(self.dialect()?.numbers(&range))
    }

    /// A table to be replaced is gone for a moment, and stays gone if the new one can't be created.
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let (path, dialect) = (self.place(&table.name)?, self.dialect()?);
        let name = path.to_sql(|name| dialect.identifier(name));
        let (drop_old, create) = create_table(&name, table, mode, |column| dialect.column(column));
        drop_old.map_or(Ok(()), |drop_old| self.command(&drop_old))?;
        self.command(&create).map_err(|error| {
            let exists = mode == CreateMode::Create && self.names(Some(&path)).is_ok_and(|names| !names.is_empty());
            if exists { Error::TableExists(table.name.clone()) } else { error }
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        self.described(name, &self.place(name)?).map(|(table, _)| table)
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        let mut names = self.names(None)?;
        names.sort();
        Ok(names)
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        let path = self.place(name)?;
        let exists = !self.names(Some(&path))?.is_empty();
        if exists {
            let dialect = self.dialect()?;
            self.command(&format!("DROP TABLE IF EXISTS {}", path.to_sql(|name| dialect.identifier(name))))?;
        }
        Ok(exists)
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        table.validate()?;
        let path = self.place(&table.name)?;
        let (mut stored, tells_nulls) = self.described(&table.name, &path)?;
        if !tells_nulls {
            for (stored, given) in stored.columns.iter_mut().zip(&table.columns) {
                stored.nullable = given.nullable;
            }
        }
        stored.check_columns(table, Column::to_sql)?;
        Ok(Box::new(FlightIngest::begin(&self.channel, path, table)?))
    }

    /// Takes one statement that reads.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        check_not_empty(sql, postgres_token)?;
        let query = query_of(sql);
        let info = self.channel.flight_info(&query, Intent::Read);
        FlightStream::start(&self.channel, Waiter::new(&options.cancel), options, info)
    }

    /// Several statements are one command of the server. The server decides whether they are one transaction.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        self.update(sql, cancel)
    }

    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        check_not_empty(sql, postgres_token)?;
        Ok(Box::new(PreparedStatement::prepare(&self.channel, sql, cancel)?))
    }

    fn check(&self) -> Result<()> {
        runtime().block_on(async {
            match tokio::time::timeout(PING_TIMEOUT, about(&self.channel)).await {
                Ok(Err(error)) if !matches!(error, Error::Unsupported(_)) => Err(error),
                Ok(_) => Ok(()),
                Err(_) => Err(Error::Timeout(format!("the server did not answer for {} s", PING_TIMEOUT.as_secs()))),
            }
        })
    }
}
