//! The engine: tables by SQL and by the service's metadata, queries and inserts as Arrow.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, RecordBatch, UnionArray};
use arrow_flight::sql::{
    CommandGetSqlInfo, CommandGetTables, CommandStatementQuery, CommandStatementUpdate, ProstMessageExt, SqlInfo,
};
use boundary_bench_engine::dialect::create_table;
use boundary_bench_engine::sql_text::identifier;
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
use crate::ingest::FlightIngest;
use crate::prepared::PreparedStatement;
use crate::stream::{Endpoints, FlightStream};
use crate::url::FlightUrl;
use crate::values::columns_of;
use crate::{FLIGHT, engine_error, runtime};

/// How long a server may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The types of tables that take rows, under the names of different servers.
const TABLE_KINDS: [&str; 3] = ["TABLE", "BASE TABLE", "table"];

/// Opens the engine of a running service, or with `flight:` of a private server over a database in memory, which ends with the
/// engine.
///
/// # Errors
/// [`Error::InvalidArgument`] for an unusable URL, [`Error::Engine`] if the service is unreachable or refuses the
/// calls; the errors of the start of the private server.
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
    channel: Arc<Channel>,
    version: String,
    ordered: bool,
}

impl FlightEngine {
    /// Connects to a service; a server of our own is kept for as long as any part of the engine lives.
    ///
    /// # Errors
    /// The same errors as [`open`].
    pub fn open(url: FlightUrl, server: Option<Arc<dyn Any + Send + Sync>>) -> Result<Self> {
        runtime().block_on(async {
            let channel = Channel::connect(url, server).await?;
            let version = match about(&channel).await {
                Ok(version) => version,
                // A service need not report its name and version.
                Err(Error::Unsupported(_)) => "unknown".to_owned(),
                Err(error) => return Err(error),
            };
            let probe = CommandStatementQuery { query: "SELECT 1".to_owned(), transaction_id: None };
            // A server that does not state the order may return rows in any order.
            let ordered = channel.flight_info(&probe).await.is_ok_and(|info| info.ordered);
            Ok(Self { channel, version, ordered })
        })
    }

    /// The URL of the service.
    #[must_use]
    pub fn url(&self) -> &FlightUrl {
        self.channel.url()
    }

    fn update(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        let update = CommandStatementUpdate { query: sql.to_owned(), transaction_id: None };
        rows_changed(Waiter::new(cancel).wait(self.channel.put(&update, None))?)
    }

    /// Runs a command of the engine's own.
    fn command(&self, sql: &str) -> Result<()> {
        self.update(sql, &CancelToken::default()).map(drop)
    }

    /// The tables of the server, those of a name or all, with their schemas if `with_columns` is set.
    fn tables(&self, name: Option<&str>, with_columns: bool) -> Result<Vec<(String, Bytes)>> {
        let command = CommandGetTables {
            // As a pattern, a name matches itself, and perhaps others. A name with a backslash, the escape character of
            // some servers, is not sent as a pattern.
            table_name_filter_pattern: name.filter(|name| !name.contains('\\')).map(ToOwned::to_owned),
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
            for row in 0..batch.num_rows() {
                if TABLE_KINDS.contains(&kinds.value(row)) && name.is_none_or(|name| name == names.value(row)) {
                    let schema = schemas.map(|schemas| Bytes::copy_from_slice(schemas.value(row)));
                    tables.push((names.value(row).to_owned(), schema.unwrap_or_default()));
                }
            }
        }
        Ok(tables)
    }
}

/// All batches of a command's result.
async fn fetch(channel: &Arc<Channel>, command: &impl ProstMessageExt) -> Result<Vec<RecordBatch>> {
    let info = channel.flight_info(command).await?;
    let mut endpoints = Endpoints::new(Arc::clone(channel), info);
    let mut batches = Vec::new();
    while let Some(batch) = endpoints.next().await? {
        batches.push(batch);
    }
    Ok(batches)
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a arrow_array::StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>()
}

/// The name and the version of a server.
async fn about(channel: &Arc<Channel>) -> Result<String> {
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
    Ok(if said.is_empty() { "unknown".to_owned() } else { said })
}

impl Engine for FlightEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &FLIGHT
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: FLIGHT.sql, ordered: self.ordered, all_floats: true }
    }

    /// A table to be replaced is gone for a moment, and stays gone if the new one can't be created.
    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let (drop_old, create) = create_table(table, mode, identifier, Column::to_sql);
        drop_old.map_or(Ok(()), |drop_old| self.command(&drop_old))?;
        self.command(&create).map_err(|error| {
            let exists = mode == CreateMode::Create
                && self.tables(Some(&table.name), false).is_ok_and(|tables| !tables.is_empty());
            if exists { Error::TableExists(table.name.clone()) } else { error }
        })
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        let mut tables = self.tables(Some(name), true)?;
        match (tables.len(), tables.pop()) {
            (1, Some((_, schema))) => {
                let schema = schema_of(schema)?.unwrap_or_else(arrow_schema::Schema::empty);
                let columns = columns_of(&schema)?;
                if columns.is_empty() {
                    return Err(Error::Unsupported(format!("the server does not tell the columns of \"{name}\"")));
                }
                Ok(TableDefinition { name: name.to_owned(), columns })
            }
            (0, _) => Err(Error::TableNotFound(name.to_owned())),
            (count, _) => Err(engine_error(format!("there are {count} tables \"{name}\", in several schemas"))),
        }
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        let mut names: Vec<String> = self.tables(None, false)?.into_iter().map(|(name, _)| name).collect();
        names.sort();
        Ok(names)
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        let exists = !self.tables(Some(name), false)?.is_empty();
        if exists {
            self.command(&format!("DROP TABLE IF EXISTS {}", identifier(name)))?;
        }
        Ok(exists)
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        table.validate()?;
        self.describe_table(&table.name)?.check_columns(table, Column::to_sql)?;
        Ok(Box::new(FlightIngest::begin(&self.channel, table)?))
    }

    /// Takes one statement that reads.
    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        let query = CommandStatementQuery { query: sql.to_owned(), transaction_id: None };
        FlightStream::start(&self.channel, Waiter::new(&options.cancel), options, self.channel.flight_info(&query))
    }

    /// Several statements are one command of the server, which decides whether they are one transaction.
    fn execute(&self, sql: &str, cancel: &CancelToken) -> Result<u64> {
        self.update(sql, cancel)
    }

    fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<Box<dyn Statement>> {
        Ok(Box::new(PreparedStatement::prepare(&self.channel, sql, cancel)?))
    }

    fn check(&self) -> Result<()> {
        runtime().block_on(async {
            match tokio::time::timeout(PING_TIMEOUT, about(&self.channel)).await {
                Ok(Err(error)) if !matches!(error, Error::Unsupported(_)) => Err(error),
                Ok(_) => Ok(()),
                Err(_) => Err(engine_error(format!("the server did not answer for {} s", PING_TIMEOUT.as_secs()))),
            }
        })
    }
}
