//! A client of all shards, each in this process or behind gRPC. It selects the shard of each key, calls several shards at once,
//! and merges their responses.

mod checked;
mod connector;
mod found_rows;
mod frames;
mod populate;
mod remote;
mod scan;

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use boundary_bench_kernel::cancel::{CancelOnDrop, CancelToken};
use boundary_bench_kernel::driver::{Driver, Tokio};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use futures_util::stream::FuturesUnordered;
use tokio::task::spawn_blocking;

use crate::aggregate::{Aggregate, Aggregation};
use crate::block::{Columns, unpack, whole_rows};
use crate::memory::plan::check_rows;
use crate::placing::shard_of;
use crate::row::{ROW_BYTES, Row};
use crate::store::Store;
pub use found_rows::FoundRows;
pub use remote::MOST_ROWS;
use remote::Remote;
pub use scan::Scan;

/// The number of keys above which a multi-get checks the available memory first. The check takes longer than a small multi-get.
const MANY_KEYS: usize = 100_000;

/// The default limit of a message's bytes: 64 times what servers send by default.
const MOST_BYTES: usize = 256 << 20;

/// The location of a shard.
#[derive(Clone)]
pub enum ShardLocation {
    /// A store in this process.
    Direct(Arc<dyn Store>),
    /// A server behind gRPC, at `http[s]://[:key@]host:port[?tls-ca=/file.pem]`.
    Remote(String),
}

/// The options of a client.
#[derive(Clone)]
pub struct ClientOptions {
    /// The time-out of a call. For a scan and a population, it is the time-out of the whole.
    pub deadline: Option<Duration>,
    /// The number of connections to each shard. Calls take turns on them.
    pub connections: usize,
    /// The most bytes that a server may announce as its largest message.
    pub most_bytes: usize,
    /// The driver of the connections.
    pub driver: &'static dyn Driver,
    /// The API key of shards whose URL holds none.
    pub api_key: Option<String>,
    /// A file of CA certificates to trust instead of the system's, for `https` URLs that name none.
    pub tls_ca: Option<PathBuf>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { deadline: None, connections: 1, most_bytes: MOST_BYTES, driver: &Tokio, api_key: None, tls_ca: None }
    }
}

/// The failure of one shard.
#[derive(Debug, Clone)]
pub struct ShardFailure {
    /// The number of the shard.
    pub shard: u32,
    /// The error. Its text names the shard.
    pub error: Error,
}

/// The result of a multi-get.
pub struct MultiGet {
    /// One row for each key, in their order. A missing row has nulls in all columns but the key.
    pub rows: FoundRows,
    /// The shards whose call failed. Their rows are missing.
    pub failures: Vec<ShardFailure>,
}

/// A client of all shards. Many tasks may call it at once. The calls need a tokio runtime with timer and I/O.
#[derive(Clone)]
pub struct ShardClient {
    shards: Arc<[Shard]>,
    deadline: Option<Duration>,
    driver: &'static dyn Driver,
}

/// A shard as the client reaches it.
enum Shard {
    Direct(Arc<dyn Store>),
    Remote(Arc<Remote>),
}

impl Shard {
    fn store(&self) -> Option<&Arc<dyn Store>> {
        match self {
            Self::Direct(store) => Some(store),
            Self::Remote(_) => None,
        }
    }
}

impl ShardClient {
    /// Connects to all shards, given in the order of their numbers, and checks that each server holds the shard expected there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] without shards, for unusable addresses, and for a server of another shard.
    /// [`Error::Connection`] and [`Error::Timeout`], with the name of the shard.
    pub async fn connect(places: Vec<ShardLocation>, options: &ClientOptions) -> Result<Self> {
        if places.is_empty() {
            return Err(Error::InvalidArgument("a client needs the place of one shard at least".to_owned()));
        }
        let count = shard_number(places.len());
        let connecting = (0..count).zip(places).map(|(index, place)| async move {
            Ok(match place {
                ShardLocation::Direct(store) => Shard::Direct(store),
                ShardLocation::Remote(url) => {
                    Shard::Remote(Arc::new(Remote::connect(index, count, &url, options).await?))
                }
            })
        });
        let shards: Result<Arc<[Shard]>> = join_all(connecting).await.into_iter().collect();
        Ok(Self { shards: shards?, deadline: options.deadline, driver: options.driver })
    }

    /// A client of the same shards over its own connections. tokio makes them at their first use and drives them. Call it within a
    /// tokio runtime.
    pub fn apart(&self) -> Self {
        let apart = self.shards.iter().map(|shard| match shard {
            Shard::Direct(store) => Shard::Direct(Arc::clone(store)),
            Shard::Remote(remote) => Shard::Remote(Arc::new(remote.apart())),
        });
        Self { shards: apart.collect(), deadline: self.deadline, driver: &Tokio }
    }

    /// The number of shards.
    pub fn shards(&self) -> u32 {
        shard_number(self.shards.len())
    }

    /// The store of the key's shard if it is in this process, so that it can be called without a task.
    pub fn direct(&self, key: i64) -> Option<&Arc<dyn Store>> {
        self.shard(key).store()
    }

    /// Whether all shards are in the memory of this process: then no call waits for the disk or the network.
    pub fn is_in_memory(&self) -> bool {
        self.shards.iter().all(|shard| shard.store().is_some_and(|store| !store.is_persistent()))
    }

    fn index(&self, key: i64) -> usize {
        shard_of(key, self.shards()) as usize
    }

    fn shard(&self, key: i64) -> &Shard {
        &self.shards[self.index(key)]
    }

    /// The number of rows of each shard, and the `total_rows` of its population if it was populated.
    pub async fn describe(&self) -> Result<Vec<(u64, Option<u64>)>> {
        let described = self.shards.iter().map(|shard| async {
            match shard {
                Shard::Direct(store) => Ok((store.rows(), store.populated())),
                Shard::Remote(remote) => {
                    let answer = remote.describe(self.deadline).await?;
                    Ok((answer.rows, answer.populated.then_some(answer.total_rows)))
                }
            }
        });
        join_all(described).await.into_iter().collect()
    }

    /// The row of a key.
    pub async fn get(&self, key: i64) -> Result<Option<Row>> {
        match self.shard(key) {
            Shard::Direct(store) => store.get(key),
            Shard::Remote(remote) => remote.get(key, self.deadline).await,
        }
    }

    /// The rows of several keys. Their shards are called at the same time. If a shard fails, the rows of the others are still returned.
    pub async fn multi_get(&self, keys: &[i64]) -> Result<MultiGet> {
        if keys.len() > MANY_KEYS {
            check_rows(keys.len() as u64)?;
        }
        let groups = self.groups(keys.iter().copied());
        let mut asked = FuturesUnordered::new();
        for (index, remote, group) in self.remote(&groups) {
            for part in group.chunks(remote.most_keys()) {
                let keys = part.iter().map(|place| keys[*place]).collect();
                asked.push(async move { (index, part, remote.multi_get(keys, self.deadline).await) });
            }
        }
        let mut next = self.begin(&mut asked).await;
        let mut rows = FoundRows::missing(keys)?;
        let mut failures = Vec::new();
        for (index, store, group) in self.direct_shards(&groups) {
            let keys: Vec<i64> = group.iter().map(|place| keys[*place]).collect();
            if let Err(error) = store.multi_get(&keys, &mut |index, row| rows.set(group[index], row)) {
                failures.push(self.failure(index, error));
            }
        }
        // Each response is merged as it arrives, while the others are still awaited.
        while let Some((index, part, answer)) = match next.take() {
            Some(answer) => Some(answer),
            None => asked.next().await,
        } {
            match answer {
                Ok(answer) => rows.set_packed(part, &answer.found, &answer.rows),
                Err(error) => failures.push(self.failure(index, error)),
            }
        }
        failures.sort_by_key(|failure| failure.shard);
        Ok(MultiGet { rows, failures })
    }

    /// Starts the requests, so that the shards work while this task does something else. Returns a response that is there
    /// already.
    async fn begin<F: Future>(&self, asked: &mut FuturesUnordered<F>) -> Option<F::Output> {
        let answer = poll_fn(|context| match asked.poll_next_unpin(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => Poll::Ready(None),
        });
        let answer = answer.await;
        if !asked.is_empty() {
            self.driver.sent().await;
        }
        answer
    }

    /// Writes a row, replacing the one with its key if there is one.
    pub async fn put(&self, row: &Row) -> Result<()> {
        match self.shard(row.key) {
            Shard::Direct(store) => store.put(Columns::of_row(row)),
            Shard::Remote(remote) => remote.put(row, self.deadline).await,
        }
    }

    /// Writes packed rows, each of [`ROW_BYTES`], to all shards at the same time.
    pub async fn put_many(&self, packed: &[u8]) -> Result<()> {
        let rows = whole_rows(packed)?;
        let groups = self.groups(rows.iter().map(|row| i64::from_le_bytes(*row.first_chunk().unwrap_or(&[0; 8]))));
        let mut asked = Vec::new();
        for (_, remote, group) in self.remote(&groups) {
            for part in group.chunks(remote.most_keys()) {
                asked.push(remote.put_many(gathered(rows, part), self.deadline));
            }
        }
        let is_remote = !asked.is_empty();
        let direct = async {
            if is_remote {
                self.driver.sent().await;
            }
            let stores = self.direct_shards(&groups).map(|(index, store, group)| {
                let rows = unpack(&gathered(rows, group))?;
                store.put(rows.columns()).map_err(|error| self.failure(index, error).error)
            });
            // Every store gets its rows, also after one that failed.
            stores.collect::<Vec<Result<()>>>()
        };
        let (written, direct) = join(join_all(asked), direct).await;
        written.into_iter().chain(direct).collect()
    }

    /// Sums over a column, in all shards at the same time. Only the sums are transferred.
    pub async fn aggregate(&self, aggregation: &Aggregation) -> Result<Aggregate> {
        aggregation.validate()?;
        let asked = self.shards.iter().filter_map(|shard| match shard {
            Shard::Remote(remote) => Some(remote.aggregate(aggregation, self.deadline)),
            Shard::Direct(_) => None,
        });
        // If this future is dropped, nobody waits for the sums, and they are cancelled.
        let cancel = CancelToken::default();
        let _ends = CancelOnDrop(cancel.clone());
        let direct = self.shards.iter().enumerate().filter_map(|(index, shard)| {
            let (store, aggregation, cancel) = (Arc::clone(shard.store()?), *aggregation, cancel.clone());
            let sum = spawn_blocking(move || catch_panic(|| store.aggregate(&aggregation, &cancel)));
            Some(async move {
                let sum = sum.await.map_err(|error| Error::Internal(error.to_string())).flatten();
                sum.map_err(|error| self.failure(index, error).error)
            })
        });
        let (answers, direct) = join(join_all(asked), join_all(direct)).await;
        let mut all = Aggregate::none(aggregation.column);
        direct.into_iter().chain(answers).try_for_each(|part| part.map(|part| all.merge(&part)))?;
        Ok(all)
    }

    /// The same sums, computed in this process from a scan of all rows: the comparison that shows what push-down saves.
    pub async fn aggregate_here(&self, aggregation: &Aggregation) -> Result<Aggregate> {
        aggregation.validate()?;
        let mut all = Aggregate::none(aggregation.column);
        let mut scan = self.scan();
        while let Some(batch) = scan.next().await {
            let batch = batch.map_err(|failure| failure.error)?;
            all.add(aggregation, Columns::of_batch(&batch)?);
        }
        Ok(all)
    }

    /// For each shard, the indexes of its keys in `keys`.
    fn groups(&self, keys: impl ExactSizeIterator<Item = i64>) -> Vec<Vec<usize>> {
        let expected = keys.len() / self.shards.len() + 1;
        let mut groups: Vec<Vec<usize>> = self.shards.iter().map(|_| Vec::with_capacity(expected)).collect();
        keys.enumerate().for_each(|(place, key)| groups[self.index(key)].push(place));
        groups
    }

    /// The shards behind gRPC that have keys, each with the indexes of its keys.
    fn remote<'a>(&'a self, groups: &'a [Vec<usize>]) -> impl Iterator<Item = (usize, &'a Remote, &'a Vec<usize>)> {
        let shards = self.shards.iter().zip(groups).enumerate().filter(|(_, (_, group))| !group.is_empty());
        shards.filter_map(|(index, (shard, group))| match shard {
            Shard::Remote(remote) => Some((index, &**remote, group)),
            Shard::Direct(_) => None,
        })
    }

    /// The shards in this process that have keys, each with the indexes of its keys.
    fn direct_shards<'a>(
        &'a self,
        groups: &'a [Vec<usize>],
    ) -> impl Iterator<Item = (usize, &'a Arc<dyn Store>, &'a Vec<usize>)> {
        let shards = self.shards.iter().zip(groups).enumerate().filter(|(_, (_, group))| !group.is_empty());
        shards.filter_map(|(index, (shard, group))| shard.store().map(|store| (index, store, group)))
    }

    /// The failure of a shard. An engine error in this process gets the shard's name.
    fn failure(&self, index: usize, error: Error) -> ShardFailure {
        let error = match (&self.shards[index], error) {
            (Shard::Direct(_), Error::Engine { engine, message }) => {
                let message = format!("shard {index} of {} in this process: {message}", self.shards.len());
                Error::Engine { engine, message }
            }
            (_, error) => error,
        };
        ShardFailure { shard: shard_number(index), error }
    }
}

/// The index of a shard as its number. There are never more than `u32::MAX`.
fn shard_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The packed rows at these indexes, one after another.
fn gathered(rows: &[[u8; ROW_BYTES]], places: &[usize]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(places.len() * ROW_BYTES);
    places.iter().for_each(|place| packed.extend_from_slice(&rows[*place]));
    packed
}
