//! The family `kv`: keys and values over the Redis wire.
//!
//! Key `i` is `prefix:i`. Its value is the digits of `i`, filled up with zeros at the front. So every value identifies its key,
//! and the sum of the values of all keys has a closed form. A reader adds up its values within the timed part. A writer's keys
//! hold zeros before each sample, and are read back after it, untimed.

mod connection;
mod ours;
mod reader;
#[cfg(feature = "all")]
mod redis_crate;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_redis::{Commands, KvClient, KvOptions, Url};
use serde::Deserialize;

use crate::matrix::FamilyPart;
use crate::requests::{RequestCell, RequestLane, RequestSpec, block_on};
use crate::sample::CellSample;
use connection::Connection;
use ours::{Ours, OursShared};
use reader::{Keys, Reader, Sums, ValueCheck, expected};
#[cfg(feature = "all")]
pub(crate) use redis_crate::RedisCrate;

/// The family `kv` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    /// The default size of a value in bytes. The cell's option `valueBytes` sets another.
    value_bytes: usize,
    /// The number of keys in one request of loading, reading back and deleting.
    keys_at_once: u64,
}

fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("kv");
    FAMILY.get()
}

/// The value sizes in bytes that the option `valueBytes` may set: the digits of the largest key must fit.
const VALUE_BYTES_RANGE: std::ops::RangeInclusive<usize> = 16..=(64 << 20);

/// The most bytes of all values of a cell that writes, since they are made beforehand.
const MOST_INPUT_BYTES: u64 = 1 << 30;

/// The commands of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    /// One GET or a pipeline of them.
    Get,
    /// One SET or a pipeline of them.
    Set,
    Mget,
    Mset,
}

impl RequestKind {
    fn of(spec: &RequestSpec) -> Result<Self> {
        Ok(match (spec.workload.as_str(), spec.lane) {
            ("get", RequestLane::Call) if spec.batch == 1 => Self::Get,
            ("set", RequestLane::Call) if spec.batch == 1 => Self::Set,
            ("get", RequestLane::Batch) => Self::Get,
            ("set", RequestLane::Batch) => Self::Set,
            ("mget", RequestLane::Batch) => Self::Mget,
            ("mset", RequestLane::Batch) => Self::Mset,
            _ => return Err(spec.unknown("kv")),
        })
    }

    fn writes(self) -> bool {
        matches!(self, Self::Set | Self::Mset)
    }

    /// The command that the server must support.
    fn command(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
            Self::Mget => "MGET",
            Self::Mset => "MSET",
        }
    }
}

/// The keys of a cell and, if it writes, their values. Made beforehand, since making the input is not measured.
struct Input {
    keys: Vec<Box<[u8]>>,
    values: Vec<Box<[u8]>>,
}

impl Input {
    fn of(keys: &Keys, operations: u64, writes: bool) -> Self {
        let made = |write: &dyn Fn(&mut Vec<u8>, u64)| {
            let mut bytes = Vec::new();
            let make = |number| {
                write(&mut bytes, number);
                bytes.as_slice().into()
            };
            (0..operations).map(make).collect()
        };
        let values = if writes { made(&|value, number| keys.write_value(value, number)) } else { Vec::new() };
        Self { keys: made(&|key, number| keys.write_key(key, number)), values }
    }
}

/// A requester: a connection, or a share of one.
struct KvRequester<C, R> {
    connection: C,
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: RequestKind,
    reader: R,
}

impl<C, R> KvRequester<C, R> {
    /// The same requester with another reader, and the reader that it had.
    fn with<S>(self, reader: S) -> (KvRequester<C, S>, R) {
        let Self { connection, spec, input, work, reader: before } = self;
        (KvRequester { connection, spec, input, work, reader }, before)
    }
}

impl<C: Connection, R: Reader> Requester for KvRequester<C, R> {
    async fn request(&mut self, index: u64) -> Result<()> {
        let range = self.spec.places_of(index);
        let keys = &self.input.keys[range.clone()];
        let values = if self.work.writes() { &self.input.values[range] } else { &[] };
        let Self { connection, spec, reader, .. } = self;
        reader.begin(spec.operations_of(index));
        match (self.work, spec.lane) {
            (RequestKind::Get, RequestLane::Call) => connection.get(&keys[0], reader).await,
            (RequestKind::Set, RequestLane::Call) => connection.set(&keys[0], &values[0]).await,
            (RequestKind::Get, RequestLane::Batch) => connection.get_many(keys, reader).await,
            (RequestKind::Set, RequestLane::Batch) => connection.set_many(keys, values).await,
            (RequestKind::Mget, _) => connection.mget(keys, reader).await,
            (RequestKind::Mset, _) => connection.mset(keys, values).await,
        }
    }
}

/// A cell of the family, connected and loaded.
struct KvCell<C> {
    spec: Arc<RequestSpec>,
    url: Url,
    keys: Keys,
    input: Arc<Input>,
    work: RequestKind,
    expected: Checksum,
    /// The requesters. Empty while a sample runs.
    connections: Mutex<Vec<KvRequester<C, Sums>>>,
    /// The connection for untimed work, made at its first use.
    side: Mutex<Option<KvClient>>,
    /// Whether the values of the keys were made zeros ahead of the next load.
    is_blank: AtomicBool,
}

/// Opens a cell of our own client.
pub(crate) fn open_ours(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    match (is_shared(spec), spec.lane) {
        (true, RequestLane::Call) => open::<OursShared>(spec, cancel),
        (true, RequestLane::Batch) => Err(spec.unknown("kv")),
        (false, _) => open::<Ours>(spec, cancel),
    }
}

/// Whether all requesters share one connection.
fn is_shared(spec: &RequestSpec) -> bool {
    spec.setting.as_deref() == Some("shared")
}

pub(crate) fn open<C: Connection>(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let work = RequestKind::of(spec)?;
    let value_bytes = spec.option("valueBytes")?.unwrap_or(family()?.value_bytes);
    if !VALUE_BYTES_RANGE.contains(&value_bytes) {
        return Err(Error::InvalidArgument(format!(
            "values of {value_bytes} bytes; they may have {} to {}",
            VALUE_BYTES_RANGE.start(),
            VALUE_BYTES_RANGE.end()
        )));
    }
    if work.writes() && spec.operations.saturating_mul(value_bytes as u64) > MOST_INPUT_BYTES {
        return Err(Error::InvalidArgument(format!(
            "{} values of {value_bytes} bytes, which are made beforehand, take more than a gigabyte",
            spec.operations
        )));
    }
    let keys = Keys { prefix: spec.prefix.clone(), value_bytes };
    let mut cell = KvCell::<C> {
        url: spec.url.parse()?,
        input: Arc::new(Input::of(&keys, spec.operations, work.writes())),
        keys,
        work,
        expected: expected(spec.operations, value_bytes),
        spec: Arc::new(spec.clone()),
        connections: Mutex::default(),
        side: Mutex::default(),
        is_blank: AtomicBool::new(false),
    };
    let is_cluster = cell.aside(async |client| {
        cell.check_server(client).await?;
        Ok(client.is_cluster())
    })?;
    // Not every client finds out by itself.
    cell.url.cluster = Some(is_cluster);
    // Before any key is written, since a client may not be able to reach the server.
    let connections = cell.connect()?;
    cell.aside(async |client| cell.write_all(client, cancel, Keys::write_value).await)?;
    *lock(&cell.connections) = connections;
    Ok(Box::new(cell))
}

impl<C: Connection> KvCell<C> {
    fn connect(&self) -> Result<Vec<KvRequester<C, Sums>>> {
        block_on(self.spec.runtime()?, async {
            let mut connections: Vec<KvRequester<C, Sums>> = Vec::new();
            for _ in 0..self.spec.connections {
                let connection = match connections.first() {
                    Some(first) if is_shared(&self.spec) => first.connection.share()?,
                    _ => C::connect(&self.url).await?,
                };
                connections.push(KvRequester {
                    connection,
                    spec: Arc::clone(&self.spec),
                    input: Arc::clone(&self.input),
                    work: self.work,
                    reader: Sums::default(),
                });
            }
            Ok(connections)
        })
    }

    /// Runs untimed work on the side connection.
    fn aside<T>(&self, work: impl AsyncFnOnce(&mut KvClient) -> Result<T>) -> Result<T> {
        let mut side = lock(&self.side);
        block_on(self.spec.runtime()?, async {
            if side.is_none() {
                *side = Some(KvClient::connect(self.url.clone(), KvOptions::default()).await?);
            }
            let Some(client) = side.as_mut() else { return Err(Error::Closed("the connection")) };
            work(client).await
        })
    }

    /// Checks that the server supports the command of the cell.
    async fn check_server(&self, client: &mut KvClient) -> Result<()> {
        let name = self.work.command();
        // The command is sent without arguments: a server that knows it complains about those, another one about the command.
        let answer = client.call(&[name.as_bytes()], |_| Ok(())).await;
        match answer {
            Err(Error::Engine { message, .. }) if message.to_ascii_lowercase().contains("unknown command") => {
                Err(Error::Unsupported(format!("the server at {} does not know the command {name}", self.url)))
            }
            Err(error @ (Error::Connection(_) | Error::Unreachable(_) | Error::Timeout(_))) => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs work on all keys, many at a time.
    async fn for_all(
        &self,
        cancel: &CancelToken,
        mut work: impl AsyncFnMut(std::ops::Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let at_once = family()?.keys_at_once;
        let mut first = 0;
        while first < self.spec.operations {
            cancel.check()?;
            let end = self.spec.operations.min(first + at_once);
            work(first..end).await?;
            first = end;
        }
        Ok(())
    }

    fn key(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.write_key(&mut key, number);
        key
    }

    /// Writes all keys, by single SET commands: a server without MSET may still support the rest.
    async fn write_all(
        &self,
        client: &mut KvClient,
        cancel: &CancelToken,
        write: impl Fn(&Keys, &mut Vec<u8>, u64),
    ) -> Result<()> {
        let (mut commands, mut value) = (Commands::new(), Vec::new());
        self.for_all(cancel, async |range| {
            commands.clear();
            for number in range {
                write(&self.keys, &mut value, number);
                commands.set(&self.key(number), &value);
            }
            all_done(client, &commands).await
        })
        .await
    }

    /// The requesters of the previous sample, or new ones.
    fn take_connections(&self) -> Result<Vec<KvRequester<C, Sums>>> {
        let connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() { self.connect() } else { Ok(connections) }
    }

    /// Makes the values of the keys zeros, before a load that writes, unless that was done ahead.
    fn blank(&self, cancel: &CancelToken) -> Result<()> {
        if !self.work.writes() || self.is_blank.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.aside(async |client| self.write_all(client, cancel, |keys, value, _| keys.write_value(value, 0)).await)
    }

    /// Reads all keys into a reader, and returns the reader.
    async fn read_all<R: Reader>(&self, client: &mut KvClient, cancel: &CancelToken, mut reader: R) -> Result<R> {
        let mut commands = Commands::new();
        self.for_all(cancel, async |range| {
            commands.clear();
            reader.begin(range.clone());
            for number in range {
                commands.get(&self.key(number));
            }
            ours::read_all(client, &commands, &mut reader).await
        })
        .await?;
        Ok(reader)
    }
}

/// Runs commands. Returns an error if one fails.
async fn all_done(client: &mut KvClient, commands: &Commands) -> Result<()> {
    let mut failure = None;
    client
        .execute(commands, |_, answer| {
            if let Err(error) = answer.map_err(Clone::clone).and_then(|reply| reply.checked().map(|_| ())) {
                failure = Some(error);
            }
        })
        .await;
    failure.map_or(Ok(()), Err)
}

impl<C: Connection> RequestCell for KvCell<C> {
    fn prepare(&self, cancel: &CancelToken) -> Result<()> {
        self.blank(cancel)?;
        self.is_blank.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        self.blank(cancel)?;
        let mut connections = self.take_connections()?;
        for connection in &mut connections {
            connection.reader = Sums::default();
        }
        let (connections, outcome) = block_on(self.spec.runtime()?, run_load(connections, &self.spec.load(), cancel))?;
        let mut sums = Sums::default();
        for connection in &connections {
            sums.merge(connection.reader);
        }
        *lock(&self.connections) = connections;
        if self.work.writes() {
            sums = self.aside(async |client| self.read_all(client, cancel, Sums::default()).await)?;
        }
        CellSample::of_load(&outcome, sums.checksum())
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn verify(&self, cancel: &CancelToken) -> Result<()> {
        self.blank(cancel)?;
        let check = || ValueCheck::new(self.keys.clone());
        let checked = self.take_connections()?.into_iter().map(|connection| connection.with(check()).0).collect();
        let load = Load { requests: self.spec.requests(), ..Load::default() };
        let (checked, _) = block_on(self.spec.runtime()?, run_load(checked, &load, cancel))?;
        let (connections, mut checks): (_, Vec<_>) =
            checked.into_iter().map(|connection| connection.with(Sums::default())).unzip();
        *lock(&self.connections) = connections;
        if self.work.writes() {
            checks = vec![self.aside(async |client| self.read_all(client, cancel, check()).await)?];
        }
        ValueCheck::finish(checks.into_iter(), self.spec.operations)
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        let mut commands = Commands::new();
        let deleted = self.aside(async |client| {
            self.for_all(&CancelToken::default(), async |range| {
                commands.clear();
                for number in range {
                    commands.push([b"DEL".as_slice(), &self.key(number)].into_iter());
                }
                all_done(client, &commands).await
            })
            .await
        });
        *lock(&self.side) = None;
        deleted
    }
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
    use boundary_bench_kernel::needs;
    use boundary_bench_redis::Server;

    use super::*;

    /// Our client with a defect: it exchanges the first two values of each pipeline.
    struct Exchanging(Ours);

    impl Connection for Exchanging {
        async fn connect(url: &Url) -> Result<Self> {
            Ours::connect(url).await.map(Self)
        }

        async fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> Result<()> {
            self.0.get(key, reader).await
        }

        async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
            self.0.set(key, value).await
        }

        async fn get_many(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
            let mut keys = keys.to_vec();
            keys.swap(0, 1);
            self.0.get_many(&keys, reader).await
        }

        async fn set_many(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
            let mut values = values.to_vec();
            values.swap(0, 1);
            self.0.set_many(keys, &values).await
        }

        async fn mget(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
            self.get_many(keys, reader).await
        }

        async fn mset(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
            self.set_many(keys, values).await
        }
    }

    #[test]
    fn a_client_that_exchanges_values_is_seen_where_it_reads_and_where_it_writes() {
        needs!("redis", boundary_bench_redis::executable(None));
        let cancel = CancelToken::default();
        let server = Server::start(None, &cancel).unwrap();
        for workload in ["get", "set", "mget", "mset"] {
            let spec: RequestSpec = serde_json::from_value(serde_json::json!({
                "workload": workload, "lane": "batch", "url": server.url(), "connections": 2, "batch": 8, "operations": 64,
                "prefix": "bb_test"
            }))
            .unwrap();
            let right = open::<Ours>(&spec, &cancel).unwrap();
            right.verify(&cancel).unwrap();
            right.close().unwrap();
            let wrong = open::<Exchanging>(&spec, &cancel).unwrap();
            let sums = wrong.sample(&cancel).unwrap().checksum;
            assert_eq!(sums.difference(wrong.expected(), FLOAT_TOLERANCE), None, "{workload}");
            let error = wrong.verify(&cancel).unwrap_err();
            assert_eq!(error.code(), "BB_CHECKSUM_MISMATCH", "{workload}: {error}");
            // A check leaves the cell as it was.
            let sums = wrong.sample(&cancel).unwrap().checksum;
            assert_eq!(sums.difference(wrong.expected(), FLOAT_TOLERANCE), None, "{workload}");
            wrong.close().unwrap();
        }
    }
}
