//! A sharded store, exported to JavaScript. `shard_calls.rs` tells how rows and keys cross, `shard_answers.rs` how answers do.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{blocking, js, promise};
use boundary_bench_node::host::fast_call::function;
use boundary_bench_node::host::loop_runtime::LoopRuntime;
use boundary_bench_node::values::numbers::count;
use boundary_bench_shards::{
    ClientOptions, LocalStore, MemoryStore, PersistentStore, ROW_BYTES, Row, ShardClient, Store, check_rows, place_of,
};
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue, Unknown};
use napi::tokio::sync::watch;
use napi::{Env, JsValue};
use napi_derive::napi;

use crate::clients::shard_answers::{
    RawAggregate, RawComparison, RawShardColumn, RawShardRows, RawShardScan, aggregation_of, multi_get, multi_get_now,
};
use crate::clients::shard_calls::{Calls, MOST_ROWS, ReadRow, WriteRow, key_of, keys_of, packed_of, row_of};
use crate::clients::shard_clients::{Clients, Shared, unless_closed};
use crate::clients::shard_filling::RawShardFilling;
use crate::engine::reader::Cancel;
use boundary_bench_node::host::in_flight::unless_cancelled;
use boundary_bench_node::memory::buffers::Handover;

/// The rows of one shard in this process.
#[napi]
pub struct RawShardStore {
    local: Mutex<Option<LocalStore>>,
}

#[napi]
impl RawShardStore {
    /// An empty store in memory.
    #[napi(factory, catch_unwind)]
    pub fn in_memory() -> Self {
        Self::of(Arc::new(MemoryStore::new()))
    }

    /// Opens the persistent store in a folder, or creates it.
    #[napi(catch_unwind)]
    pub fn open(env: Env, folder: String, shard: u32, shards: u32) -> napi::Result<AsyncBlock<RawShardStore>> {
        promise(
            env,
            blocking(move || Ok(Self::of(Arc::new(PersistentStore::open(Path::new(&folder), shard, shards)?)))),
        )
    }

    /// The text that names this store to a client's `connect`, instead of a server's address.
    #[napi(getter)]
    pub fn place(&self) -> napi::Result<String> {
        self.with(LocalStore::place)
    }

    /// The number of rows in the store.
    #[napi(getter)]
    pub fn rows(&self) -> napi::Result<f64> {
        self.with(|local| local.store().rows() as f64)
    }

    /// Closes this handle of the store. Clients that are connected to the store keep it. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        let closed = lock(&self.local).take();
        drop(closed);
    }
}

impl RawShardStore {
    fn of(store: Arc<dyn Store>) -> Self {
        Self { local: Mutex::new(Some(LocalStore::new(store))) }
    }

    fn with<T>(&self, work: impl FnOnce(&LocalStore) -> T) -> napi::Result<T> {
        let local = lock(&self.local);
        local.as_ref().map(work).ok_or(Error::Closed("the store")).map_err(js)
    }
}

/// The contents of a shard.
#[napi(object, object_from_js = false)]
pub struct RawShardState {
    /// The number of rows of the shard.
    pub rows: f64,
    /// The number of rows that all shards together got from the last population, absent if none was completed.
    pub populated: Option<f64>,
}

/// The most rows of one call on the event loop's thread: the work on more would block the thread for longer than going through
/// another thread takes.
const MOST_DRIVEN_ROWS: usize = 4096;

/// A client of all shards.
#[napi]
pub struct RawShardClient {
    clients: Shared,
    /// Set to true when the client is closed. That ends the calls under way. Dropping this sender with the object ends them too.
    closed: watch::Sender<bool>,
}

#[napi]
impl RawShardClient {
    /// Connects to the shards at `places`, in the order of the shards: the addresses of servers, or the `place` of stores.
    /// `apiKey` and `tlsCa`, a file of certificates, apply to addresses that hold none.
    #[napi(catch_unwind, ts_return_type = "Promise<RawShardClient>")]
    pub fn connect(
        env: Env,
        places: Vec<String>,
        timeout_ms: Option<u32>,
        connections: Option<u32>,
        api_key: Option<String>,
        tls_ca: Option<String>,
    ) -> napi::Result<Unknown<'static>> {
        let options = ClientOptions {
            deadline: timeout_ms.map(|time| Duration::from_millis(time.into())),
            connections: connections.unwrap_or(1) as usize,
            api_key,
            tls_ca: tls_ca.map(Into::into),
            ..ClientOptions::default()
        };
        let places = places.iter().map(|place| place_of(place)).collect::<Result<Vec<_>>>().map_err(js)?;
        LoopRuntime::of_thread(env)?.promise(env, async move {
            let clients = Clients::connect(places, options).await?;
            Ok(Self { clients: Arc::new(Mutex::new(Some(clients))), closed: watch::Sender::new(false) })
        })
    }

    /// The number of shards.
    #[napi(getter)]
    pub fn shards(&self) -> napi::Result<u32> {
        Ok(self.clients()?.few.shards())
    }

    /// Returns a function that reads the row of a key into the first 200 bytes of `into`, if its shard is in the memory of this
    /// process. The function returns 1, 0 if there is no such row, or -1 if the shard is elsewhere.
    #[napi(catch_unwind, ts_return_type = "(key: number | bigint, into: Uint8Array) => number")]
    pub fn row_reader<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "readRow", ReadRow(self.calls()))
    }

    /// Returns a function that writes the packed row in the first 200 bytes of `from`. The function returns 1, or -1 if the row's
    /// shard is not in the memory of this process.
    #[napi(catch_unwind, ts_return_type = "(from: Uint8Array) => number")]
    pub fn row_writer<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "writeRow", WriteRow(self.calls()))
    }

    /// Reads the row of a key, and resolves to the packed row, or to null if there is none.
    #[napi(
        catch_unwind,
        ts_args_type = "key: number | bigint, cancel?: Cancel",
        ts_return_type = "Promise<ArrayBuffer | null>"
    )]
    pub fn get(&self, env: Env, key: Unknown<'_>, cancel: Option<&Cancel>) -> napi::Result<Unknown<'static>> {
        let key = key_of(env, key.raw())?;
        self.run(env, cancel, 1, move |client| async move {
            Ok(client.get(key).await?.map(|row: Row| Handover(row.to_bytes().to_vec())))
        })
    }

    /// Reads the rows of keys.
    #[napi(
        catch_unwind,
        ts_args_type = "keys: BigInt64Array | Int32Array | Float64Array, cancel?: Cancel",
        ts_return_type = "Promise<RawShardRows>"
    )]
    pub fn multi_get(&self, env: Env, keys: Unknown<'_>, cancel: Option<&Cancel>) -> napi::Result<Unknown<'static>> {
        let keys = keys_of(env, keys.raw())?;
        self.run(env, cancel, keys.len(), move |client| async move { multi_get(&client, &keys).await })
    }

    /// Reads the rows of keys without a promise. Returns null if a shard is not in the memory of this process.
    #[napi(catch_unwind, ts_args_type = "keys: BigInt64Array | Int32Array | Float64Array")]
    pub fn multi_get_now(&self, env: Env, keys: Unknown<'_>) -> napi::Result<Option<RawShardRows>> {
        let keys = keys_of(env, keys.raw())?;
        multi_get_now(&self.clients()?.few, &keys).map_err(js)
    }

    /// Writes a packed row.
    #[napi(catch_unwind, ts_args_type = "row: Uint8Array, cancel?: Cancel", ts_return_type = "Promise<void>")]
    pub fn put(&self, env: Env, row: Unknown<'_>, cancel: Option<&Cancel>) -> napi::Result<Unknown<'static>> {
        let row = row_of(env, row.raw())?;
        self.run(env, cancel, 1, move |client| async move { client.put(&row).await })
    }

    /// Writes packed rows.
    #[napi(catch_unwind, ts_args_type = "rows: Uint8Array, cancel?: Cancel", ts_return_type = "Promise<void>")]
    pub fn put_many(&self, env: Env, rows: Unknown<'_>, cancel: Option<&Cancel>) -> napi::Result<Unknown<'static>> {
        let packed = packed_of(env, rows.raw())?;
        self.run(env, cancel, packed.len() / ROW_BYTES, move |client| async move { client.put_many(&packed).await })
    }

    /// Starts a scan of all rows.
    #[napi(catch_unwind)]
    pub fn scan(&self) -> napi::Result<RawShardScan> {
        Ok(RawShardScan::start(self.clients()?.bulk, self.closed.subscribe()))
    }

    /// Aggregates a column over the rows that pass the filter. The shards compute.
    #[napi(
        catch_unwind,
        ts_args_type = "column: RawShardColumn, filter?: RawShardColumn, comparison?: RawComparison, value?: number | bigint, cancel?: Cancel",
        ts_return_type = "Promise<RawAggregate>"
    )]
    pub fn aggregate(
        &self,
        env: Env,
        column: RawShardColumn,
        filter: Option<RawShardColumn>,
        comparison: Option<RawComparison>,
        value: Unknown<'_>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<Unknown<'static>> {
        let aggregation = aggregation_of(env, column, filter, comparison, &value)?;
        self.run_bulk(env, cancel, move |client| async move {
            Ok(RawAggregate::from(&client.aggregate(&aggregation).await?))
        })
    }

    /// Aggregates a column over the rows that pass the filter. All rows are read, and the client computes.
    #[napi(
        catch_unwind,
        ts_args_type = "column: RawShardColumn, filter?: RawShardColumn, comparison?: RawComparison, value?: number | bigint, cancel?: Cancel",
        ts_return_type = "Promise<RawAggregate>"
    )]
    pub fn aggregate_here(
        &self,
        env: Env,
        column: RawShardColumn,
        filter: Option<RawShardColumn>,
        comparison: Option<RawComparison>,
        value: Unknown<'_>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<Unknown<'static>> {
        let aggregation = aggregation_of(env, column, filter, comparison, &value)?;
        self.run_bulk(env, cancel, move |client| async move {
            Ok(RawAggregate::from(&client.aggregate_here(&aggregation).await?))
        })
    }

    /// Fills all shards with the generated rows of the keys 0 to `rows` - 1.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn populate(
        &self,
        env: Env,
        rows: f64,
        replace: bool,
        cancel: Option<&Cancel>,
    ) -> napi::Result<Unknown<'static>> {
        let rows = count(rows, "the number of rows", MOST_ROWS)?;
        self.run_bulk(env, cancel, move |client| async move { client.populate(rows as u64, replace).await })
    }

    /// Fills all shards with the messages that are added to `filling`.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn populate_from(
        &self,
        env: Env,
        filling: &RawShardFilling,
        replace: bool,
        cancel: Option<&Cancel>,
    ) -> napi::Result<Unknown<'static>> {
        let shards = filling.take()?;
        self.run_bulk(env, cancel, move |client| async move { client.populate_from(shards, replace).await })
    }

    /// Resolves to the contents of each shard.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<RawShardState>>")]
    pub fn describe(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<Unknown<'static>> {
        self.run_bulk(env, cancel, |client| async move {
            let states = client.describe().await?.into_iter();
            let state = |(rows, populated): (u64, Option<u64>)| RawShardState {
                rows: rows as f64,
                populated: populated.map(|rows| rows as f64),
            };
            Ok(states.map(state).collect::<Vec<_>>())
        })
    }

    /// Closes the client: calls under way end with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.closed.send_replace(true);
        let closed = lock(&self.clients).take();
        drop(closed);
    }
}

impl RawShardClient {
    fn clients(&self) -> napi::Result<Clients> {
        let clients = lock(&self.clients).clone();
        clients.ok_or(Error::Closed("the client")).map_err(js)
    }

    fn calls(&self) -> Calls {
        Calls(Arc::clone(&self.clients))
    }

    /// Runs work on `rows` rows: on the event loop if they are few, else on tokio's threads.
    fn run<T, F>(
        &self,
        env: Env,
        cancel: Option<&Cancel>,
        rows: usize,
        work: impl FnOnce(ShardClient) -> F + Send + 'static,
    ) -> napi::Result<Unknown<'static>>
    where
        T: ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        match self.clients() {
            Ok(clients) if clients.is_driven && rows <= MOST_DRIVEN_ROWS => {
                LoopRuntime::of_thread(env)?.promise(env, self.until_ended(cancel, work(clients.few)))
            }
            _ => self.run_bulk(env, cancel, work),
        }
    }

    /// Runs work on any number of rows, on tokio's threads.
    fn run_bulk<T, F>(
        &self,
        env: Env,
        cancel: Option<&Cancel>,
        work: impl FnOnce(ShardClient) -> F + Send + 'static,
    ) -> napi::Result<Unknown<'static>>
    where
        T: ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let clients = self.clients().ok();
        let work = async move { work(clients.ok_or(Error::Closed("the client"))?.bulk).await };
        let work = self.until_ended(cancel, work);
        let block = promise(env, async { work.await.map_err(js) })?;
        // SAFETY: the environment belongs to the call under way, from which the value is returned.
        unsafe { Ok(Unknown::from_raw_unchecked(env.raw(), ToNapiValue::to_napi_value(env.raw(), block)?)) }
    }

    /// Runs work until it ends, the client is closed or dropped, or the work is cancelled.
    fn until_ended<T, W: Future<Output = Result<T>>>(
        &self,
        cancel: Option<&Cancel>,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, W> {
        let cancel = cancel.map(|cancel| cancel.token.clone());
        let work = unless_closed(self.closed.subscribe(), work);
        async move {
            match cancel {
                Some(cancel) => unless_cancelled(&cancel, work).await,
                None => work.await,
            }
        }
    }
}

/// Throws `BB_NOT_ENOUGH_MEMORY` if the machine, or the limit set for this process, has too little memory for `rows` rows.
#[napi(catch_unwind)]
pub fn check_shard_memory(rows: f64) -> napi::Result<()> {
    check_rows(count(rows, "the number of rows", MOST_ROWS)? as u64).map_err(js)
}
