//! The family `kv`: keys and values over the Redis wire.
//!
//! Key `i` is `prefix:i`; its value is the digits of `i`, filled up with zeros at the front. So every value identifies its key,
//! and the sum of the values of all keys has a closed form. A reader adds up its values within the timed part; a writer's keys
//! hold zeros before each sample, and are read back after it, untimed.

mod connection;
mod ours;
mod redis_crate;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_redis::{Commands, KvClient, KvOptions, Url};
use serde::Deserialize;

use crate::matrix::FamilyPart;
use crate::requests::{RequestCell, RequestLane, RequestSpec};
use crate::sample::CellSample;
use connection::Connection;
pub(crate) use ours::Ours;
pub(crate) use redis_crate::RedisCrate;

/// The family `kv` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    /// The default size of a value in bytes; the cell's option `valueBytes` sets another.
    value_bytes: usize,
    /// The number of keys in one request of loading, reading back and deleting.
    keys_at_once: u64,
}

fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("kv", |part| Family::deserialize(part));
    FAMILY.get()
}

/// The value sizes in bytes that the option `valueBytes` may set: the digits of the largest key must fit.
const VALUE_BYTES_RANGE: std::ops::RangeInclusive<usize> = 16..=(64 << 20);

/// The most bytes of all values of a cell that writes, since they are made beforehand.
const MOST_INPUT_BYTES: u64 = 1 << 30;

/// The commands of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// One GET or a pipeline of them.
    Get,
    /// One SET or a pipeline of them.
    Set,
    Mget,
    Mset,
}

impl Work {
    fn of(spec: &RequestSpec) -> Result<Self> {
        let work = match (spec.workload.as_str(), spec.lane) {
            ("get", RequestLane::Call) if spec.batch == 1 => Self::Get,
            ("set", RequestLane::Call) if spec.batch == 1 => Self::Set,
            ("get", RequestLane::Batch) => Self::Get,
            ("set", RequestLane::Batch) => Self::Set,
            ("mget", RequestLane::Batch) => Self::Mget,
            ("mset", RequestLane::Batch) => Self::Mset,
            _ => {
                return Err(Error::InvalidArgument(format!(
                    "the family kv has no workload {} on the lane {:?} with batches of {}",
                    spec.workload, spec.lane, spec.batch
                )));
            }
        };
        Ok(work)
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

/// The keys and values of a cell.
#[derive(Debug, Clone)]
struct Keys {
    prefix: String,
    value_bytes: usize,
}

impl Keys {
    fn write_key(&self, key: &mut Vec<u8>, number: u64) {
        use std::io::Write;
        key.clear();
        // Writing to a vector does not fail.
        let _ = write!(key, "{}:{number}", self.prefix);
    }

    fn write_value(&self, value: &mut Vec<u8>, mut number: u64) {
        value.clear();
        value.resize(self.value_bytes, b'0');
        for place in value.iter_mut().rev() {
            if number == 0 {
                break;
            }
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

/// The index of an operation's key and value in the input.
fn index_of(operation: u64) -> usize {
    usize::try_from(operation).unwrap_or(usize::MAX)
}

/// The number that a value's digits spell. A byte that is no digit yields another number than the key's.
fn number_of(value: &[u8]) -> i128 {
    let digit = |number: i128, byte: &u8| number.wrapping_mul(10).wrapping_add(i128::from(*byte) - i128::from(b'0'));
    // Up to 18 digits fit an `i64`: short values are read in the faster way.
    if value.len() <= 18 {
        let short = value.iter().fold(0_i64, |number, byte| number * 10 + i64::from(*byte) - i64::from(b'0'));
        return short.into();
    }
    value.iter().fold(0, digit)
}

/// The sums of the values that were read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    values: i128,
    bytes: i128,
    count: u64,
}

impl Sums {
    fn add(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.values = self.values.wrapping_add(number_of(value));
            self.bytes += value.len() as i128;
            self.count += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.values = self.values.wrapping_add(other.values);
        self.bytes += other.bytes;
        self.count += other.count;
    }

    fn checksum(self) -> Checksum {
        let sums = [("value", ChecksumSum::Int(self.values)), ("bytes", ChecksumSum::Int(self.bytes))];
        Checksum::from_sums(self.count, sums)
    }
}

/// The checksum of the values of the keys below `operations`.
fn expected(operations: u64, value_bytes: usize) -> Checksum {
    let count = i128::from(operations);
    Sums { values: count * (count - 1) / 2, bytes: count * value_bytes as i128, count: operations }.checksum()
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

/// One thread of a load, with its connection.
struct KvRequester<C> {
    connection: C,
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: Work,
    sums: Sums,
}

impl<C: Connection> Requester for KvRequester<C> {
    async fn request(&mut self, index: u64) -> Result<()> {
        let operations = self.spec.operations_of(index);
        let range = index_of(operations.start)..index_of(operations.end);
        let keys = &self.input.keys[range.clone()];
        let values = if self.work.writes() { &self.input.values[range] } else { &[] };
        let Self { connection, sums, .. } = self;
        match (self.work, self.spec.lane) {
            (Work::Get, RequestLane::Call) => connection.get(&keys[0], sums).await,
            (Work::Set, RequestLane::Call) => connection.set(&keys[0], &values[0]).await,
            (Work::Get, RequestLane::Batch) => connection.get_many(keys, sums).await,
            (Work::Set, RequestLane::Batch) => connection.set_many(keys, values).await,
            (Work::Mget, _) => connection.mget(keys, sums).await,
            (Work::Mset, _) => connection.mset(keys, values).await,
        }
    }
}

/// A cell of the family, connected and loaded.
struct KvCell<C> {
    spec: Arc<RequestSpec>,
    url: Url,
    keys: Keys,
    input: Arc<Input>,
    work: Work,
    expected: Checksum,
    /// The connections of the threads; empty while a sample runs.
    connections: Mutex<Vec<KvRequester<C>>>,
    /// The connection for untimed work, made at its first use.
    side: Mutex<Option<KvClient>>,
}

pub(crate) fn open<C: Connection>(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let work = Work::of(spec)?;
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
    let cell = KvCell::<C> {
        url: spec.url.parse()?,
        input: Arc::new(Input::of(&keys, spec.operations, work.writes())),
        keys,
        work,
        expected: expected(spec.operations, value_bytes),
        spec: Arc::new(spec.clone()),
        connections: Mutex::default(),
        side: Mutex::default(),
    };
    cell.aside(async |client| cell.check_server(client).await)?;
    // Before any key is written, since a client may not be able to reach the server.
    let connections = cell.connect()?;
    cell.aside(async |client| cell.write_all(client, cancel, Keys::write_value).await)?;
    *lock(&cell.connections) = connections;
    Ok(Box::new(cell))
}

impl<C: Connection> KvCell<C> {
    fn connect(&self) -> Result<Vec<KvRequester<C>>> {
        self.spec.runtime()?.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..self.spec.threads {
                connections.push(KvRequester {
                    connection: C::connect(&self.url).await?,
                    spec: Arc::clone(&self.spec),
                    input: Arc::clone(&self.input),
                    work: self.work,
                    sums: Sums::default(),
                });
            }
            Ok(connections)
        })
    }

    /// Runs untimed work on the side connection.
    fn aside<T>(&self, work: impl AsyncFnOnce(&mut KvClient) -> Result<T>) -> Result<T> {
        let mut side = lock(&self.side);
        self.spec.runtime()?.block_on(async {
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
            Err(error @ (Error::Connection(_) | Error::Timeout(_))) => Err(error),
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

    /// Reads all keys and sums their values.
    async fn read_all(&self, client: &mut KvClient, cancel: &CancelToken) -> Result<Sums> {
        let (mut sums, mut commands) = (Sums::default(), Commands::new());
        self.for_all(cancel, async |range| {
            commands.clear();
            for number in range {
                commands.get(&self.key(number));
            }
            ours::read_all(client, &commands, &mut sums).await
        })
        .await?;
        Ok(sums)
    }
}

/// Runs commands; returns an error if one fails.
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
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        if self.work.writes() {
            self.aside(async |client| {
                self.write_all(client, cancel, |keys, value, _| keys.write_value(value, 0)).await
            })?;
        }
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() {
            connections = self.connect()?;
        }
        for connection in &mut connections {
            connection.sums = Sums::default();
        }
        let (connections, outcome) = self.spec.runtime()?.block_on(run_load(connections, &self.spec.load(), cancel))?;
        let mut sums = Sums::default();
        for connection in &connections {
            sums.merge(connection.sums);
        }
        *lock(&self.connections) = connections;
        if self.work.writes() {
            sums = self.aside(async |client| self.read_all(client, cancel).await)?;
        }
        CellSample::of_load(&outcome, sums.checksum())
    }

    fn expected(&self) -> &Checksum {
        &self.expected
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
    use super::*;

    #[test]
    fn values_are_the_numbers_of_their_keys_and_sums_have_a_closed_form() {
        for value_bytes in [16, 18, 19, 1000] {
            let keys = Keys { prefix: "bb:t".to_owned(), value_bytes };
            let mut sums = Sums::default();
            let mut value = Vec::new();
            for number in 0..1234 {
                keys.write_value(&mut value, number);
                assert_eq!((value.len(), number_of(&value)), (value_bytes, i128::from(number)));
                sums.add(Some(&value));
            }
            assert_eq!(sums.checksum(), expected(1234, value_bytes));
        }
        assert_ne!(number_of(b"0000000000000a12"), 12);
    }
}
