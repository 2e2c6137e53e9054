//! Engines, exported to JavaScript.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use boundary_bench_engine::lanes::ipc;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_engine::slab::GrowingBytes;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{CreateMode as CoreCreateMode, Engine as CoreEngine};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{blocking, invalid, js, promise, promise_of_end};
use boundary_bench_node::values::numbers::count;
use boundary_bench_node::values::parameters::Parameters;
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue};
use napi_derive::napi;

use crate::engine::inserter::{NaiveInserter, RawInserter};
use crate::engine::reader::{Cancel, FrameReader, NaiveReader, query_options};
use crate::engine::statement::Statement;
use crate::engine::table::TableSpec;
use boundary_bench_node::host::in_flight::InFlight;
use boundary_bench_node::memory::buffers::Handover;

/// The shared engines, by the handles with which other threads of this process attach to them.
static SHARED: LazyLock<Mutex<HashMap<u64, Weak<dyn CoreEngine>>>> = LazyLock::new(Mutex::default);

/// The next handle. None is given twice, so that one of a closed engine never opens another.
static NEXT_HANDLE: AtomicU64 = AtomicU64::new(1);

/// The action if the table to create exists.
#[napi(string_enum = "camelCase")]
pub enum CreateMode {
    /// Fail with `BB_TABLE_EXISTS`.
    Create,
    /// Drop the existing table with its rows, then create the new one.
    Replace,
    /// Leave the existing table as it is.
    IfNotExists,
}

/// A place for rows, and a session there. Every call is a transaction of its own.
#[napi]
pub struct Engine {
    opened: Mutex<Option<Opened>>,
    /// The queries and commands of this object that are still running.
    in_flight: Arc<InFlight>,
}

/// An engine until it is closed.
#[derive(Clone)]
struct Opened {
    /// The engine that other threads attach to.
    shared: Arc<dyn CoreEngine>,
    /// The same with a session of this object's own, if the engine has sessions.
    session: Arc<dyn CoreEngine>,
}

impl Engine {
    fn of(shared: Arc<dyn CoreEngine>) -> Self {
        let session = shared.session().unwrap_or_else(|| Arc::clone(&shared));
        Self { opened: Mutex::new(Some(Opened { shared, session })), in_flight: Arc::default() }
    }

    fn opened(&self) -> napi::Result<Opened> {
        let opened = lock(&self.opened);
        opened.clone().ok_or(Error::Closed("the connection")).map_err(js)
    }

    pub(crate) fn get(&self) -> napi::Result<Arc<dyn CoreEngine>> {
        self.opened().map(|opened| opened.session)
    }

    /// The engine for one call. It takes its place among the calls of the session now.
    fn in_turn(&self) -> napi::Result<Arc<dyn CoreEngine>> {
        self.get().map(|engine| engine.in_turn().unwrap_or(engine))
    }

    /// Runs blocking work on the engine, off the event loop.
    fn run<T: ToNapiValue + Send + 'static>(
        &self,
        env: Env,
        work: impl FnOnce(&Arc<dyn CoreEngine>) -> Result<T> + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>> {
        let done = self.in_turn().map(|engine| blocking(move || work(&engine)));
        promise(env, async move { done?.await })
    }
}

#[napi]
impl Engine {
    /// Opens the engine of a URI: `memory:`, `embedded:`, `embedded:/path/to/file.duckdb`, `hyper:...`, `mysql:...`,
    /// `flight:...` or `sail:...`. Two opens of one file share one engine. `libduckdb` is the path of the library that `embedded:` loads.
    #[napi(factory)]
    pub async fn open(uri: String, libduckdb: Option<String>) -> napi::Result<Self> {
        if let Some(path) = libduckdb {
            boundary_bench_engines::find_libduckdb_at(path.into());
        }
        blocking(move || boundary_bench_engines::open(&uri)).await.map(Self::of)
    }

    /// The engine that another thread of this process shared, with a session of its own. This object keeps it open. Throws `BB_CLOSED` if
    /// it was closed in all threads, and `BB_INVALID_ARGUMENT` if the text is no handle of this process.
    #[napi(factory, catch_unwind)]
    pub fn attach(handle: String) -> napi::Result<Self> {
        let shared = lock(&SHARED);
        let key = handle.parse::<u64>().ok().filter(|key| (1..NEXT_HANDLE.load(Ordering::Relaxed)).contains(key));
        let key = key.ok_or_else(|| invalid(format!("\"{handle}\" is no handle of an engine of this process")))?;
        shared.get(&key).and_then(Weak::upgrade).map(Self::of).ok_or_else(|| js(Error::Closed("the shared engine")))
    }

    /// A handle for `attach` in other threads of this process, valid while the engine is open in any of them.
    #[napi(catch_unwind)]
    pub fn share(&self) -> napi::Result<String> {
        let engine = self.opened()?.shared;
        let mut shared = lock(&SHARED);
        shared.retain(|_, engine| engine.strong_count() > 0);
        let known = shared.iter().find(|(_, other)| std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(&engine)));
        let key = known.map_or_else(|| NEXT_HANDLE.fetch_add(1, Ordering::Relaxed), |(key, _)| *key);
        shared.insert(key, Arc::downgrade(&engine));
        Ok(key.to_string())
    }

    /// Ends the session, so that the next user of this object begins a new one: its settings and temporary tables are gone.
    #[napi(catch_unwind)]
    pub fn end_session(&self) -> napi::Result<()> {
        self.get().map(|engine| engine.end_session())
    }

    /// The engine's name.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> napi::Result<&'static str> {
        Ok(self.get()?.name())
    }

    /// The version of the software that holds the rows.
    #[napi(getter, catch_unwind)]
    pub fn version(&self) -> napi::Result<String> {
        Ok(self.get()?.version())
    }

    /// The URI by which other processes open the same engine while it is open here, or nothing if they can't.
    #[napi(getter, catch_unwind)]
    pub fn address(&self) -> napi::Result<Option<String>> {
        Ok(self.get()?.address())
    }

    /// An item of `FROM` whose only column `i` counts from `start` to `end`, without `end`, as a BIGINT. Null for an engine that takes
    /// rows.
    #[napi(catch_unwind)]
    pub fn numbers(&self, start: f64, end: f64) -> napi::Result<Option<String>> {
        let range = count(start, "start", u32::MAX)? as u64..count(end, "end", u32::MAX)? as u64;
        match self.get()?.numbers(range) {
            Err(Error::Unsupported(_)) => Ok(None),
            numbers => numbers.map(Some).map_err(js),
        }
    }

    /// Whether the engine runs SQL. Otherwise only `SELECT <columns> FROM <table>` works.
    #[napi(getter, catch_unwind)]
    pub fn sql(&self) -> napi::Result<bool> {
        Ok(self.get()?.capabilities().sql)
    }

    /// Creates a table.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn create_table(&self, env: Env, table: TableSpec, mode: CreateMode) -> napi::Result<AsyncBlock<()>> {
        let table = TableDefinition::try_from(table)?;
        let mode = match mode {
            CreateMode::Create => CoreCreateMode::Create,
            CreateMode::Replace => CoreCreateMode::Replace,
            CreateMode::IfNotExists => CoreCreateMode::IfNotExists,
        };
        self.run(env, move |engine| engine.create_table(&table, mode))
    }

    /// The definition of a table.
    #[napi(catch_unwind)]
    pub fn describe_table(&self, env: Env, name: String) -> napi::Result<AsyncBlock<TableSpec>> {
        self.run(env, move |engine| engine.describe_table(&name).map(TableSpec::from))
    }

    /// The names of all tables, sorted.
    #[napi(catch_unwind)]
    pub fn list_tables(&self, env: Env) -> napi::Result<AsyncBlock<Vec<String>>> {
        self.run(env, |engine| engine.list_tables())
    }

    /// Drops a table, and resolves to false if there was none.
    #[napi(catch_unwind)]
    pub fn drop_table(&self, env: Env, name: String) -> napi::Result<AsyncBlock<bool>> {
        self.run(env, move |engine| engine.drop_table(&name))
    }

    /// Runs commands in one transaction, and resolves to the number of rows changed. Rows that they return are dropped.
    /// With parameters, `sql` must be one statement.
    #[napi(
        catch_unwind,
        ts_args_type = "sql: string, cancel?: Cancel | undefined | null, parameters?: unknown[] | undefined | null"
    )]
    pub fn execute(
        &self,
        env: Env,
        sql: String,
        cancel: Option<&Cancel>,
        parameters: Option<Parameters>,
    ) -> napi::Result<AsyncBlock<f64>> {
        let token = Cancel::token_of(cancel);
        let theirs = token.clone();
        let done = self.in_turn().map(|engine| {
            let command = bind(engine, sql, parameters);
            blocking(move || command.execute(&theirs))
        });
        self.in_flight.promise(env, token, async move { done?.await.map(|rows| rows as f64) })
    }

    /// Prepares one statement, whose parameters are `$1`, `$2`, ...
    #[napi(catch_unwind)]
    pub fn prepare(&self, env: Env, sql: String, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<Statement>> {
        let token = Cancel::token_of(cancel);
        let theirs = token.clone();
        let prepared = self.get().map(|engine| {
            let first = engine.in_turn();
            blocking(move || PreparedStatement::prepare_first(engine, first, &sql, &theirs))
        });
        let in_flight = Arc::clone(&self.in_flight);
        self.in_flight.promise(env, token, async move { Ok(Statement::of(prepared?.await?, in_flight)) })
    }

    /// Rejects if the engine can never answer again, for example because its server has ended.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn check(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        self.run(env, |engine| engine.check())
    }

    /// Begins an insert into the table `table.name`, which must have these columns.
    #[napi(catch_unwind)]
    pub fn inserter(&self, table: TableSpec) -> napi::Result<RawInserter> {
        RawInserter::begin(self.in_turn()?, table.try_into()?)
    }

    /// Begins an insert in the naive lane. In all else like `inserter`.
    #[napi(catch_unwind)]
    pub fn naive_inserter(&self, table: TableSpec) -> napi::Result<NaiveInserter> {
        NaiveInserter::begin(self.in_turn()?, table.try_into()?)
    }

    /// Runs a query, and resolves once its columns are known.
    #[napi(
        catch_unwind,
        ts_args_type = "sql: string, batchRows?: number | undefined | null, cancel?: Cancel | undefined | null, parameters?: unknown[] | undefined | null"
    )]
    pub fn query(
        &self,
        env: Env,
        sql: String,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
        parameters: Option<Parameters>,
    ) -> napi::Result<AsyncBlock<FrameReader>> {
        let (engine, options) = (self.in_turn(), query_options(batch_rows, cancel)?);
        self.in_flight.promise(env, options.cancel.clone(), async move {
            FrameReader::start(bind(engine?, sql, parameters), options).await
        })
    }

    /// Runs a query without parameters that does not run ahead of its reader: `tryNext` makes each frame. Else like `query`.
    #[napi(
        catch_unwind,
        ts_args_type = "sql: string, batchRows?: number | undefined | null, cancel?: Cancel | undefined | null"
    )]
    pub fn query_on_demand(
        &self,
        env: Env,
        sql: String,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<FrameReader>> {
        let options = query_options(batch_rows, cancel)?;
        let token = options.cancel.clone();
        let started = self.in_turn().map(|engine| FrameReader::start_on_demand(engine, sql, options));
        self.in_flight.promise(env, token, async move { started?.await })
    }

    /// Runs a query in the naive lane. In all else like `query`.
    #[napi(catch_unwind)]
    pub fn query_naive(
        &self,
        env: Env,
        sql: String,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<NaiveReader>> {
        let (engine, options) = (self.in_turn(), query_options(batch_rows, cancel)?);
        self.in_flight.promise(
            env,
            options.cancel.clone(),
            async move { NaiveReader::start(engine?, sql, options).await },
        )
    }

    /// Runs a query, and resolves to its whole result as one Arrow IPC stream.
    #[napi(
        catch_unwind,
        ts_args_type = "sql: string, batchRows?: number | undefined | null, cancel?: Cancel | undefined | null, parameters?: unknown[] | undefined | null",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn query_to_arrow(
        &self,
        env: Env,
        sql: String,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
        parameters: Option<Parameters>,
    ) -> napi::Result<AsyncBlock<Handover<GrowingBytes>>> {
        let options = query_options(batch_rows, cancel)?;
        let token = options.cancel.clone();
        let result = self.in_turn().map(|engine| {
            let query = bind(engine, sql, parameters);
            blocking(move || query.query(&options, ipc::write_stream))
        });
        self.in_flight.promise(env, token, async move { result?.await.map(Handover) })
    }

    /// Releases the engine, and resolves when that is done. Does nothing the second time. Inserts and queries under way keep the
    /// engine open until they end.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let opened = lock(&self.opened).take();
        // Dropping the last reference closes the database. It may have much to write.
        promise_of_end(env, move || drop(opened))
    }
}

fn bind(engine: Arc<dyn CoreEngine>, sql: String, parameters: Option<Parameters>) -> BoundStatement {
    BoundStatement::Text { engine, sql, parameters: parameters.map(|given| given.0).unwrap_or_default() }
}
