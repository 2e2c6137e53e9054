//! The family `hybrid`: rows of 200 bytes in shards that are in this process, behind gRPC, or some of each.
//!
//! The URL of a cell lists the places of the shards in their order, separated by commas. A place is `local:7` for a store of
//! this process ([`boundary_bench_shards::LocalStore`]), else the address of a server. The option `stores` names the places
//! whose shards the cell opens itself. The shards hold the generated rows of
//! the keys below the option `totalRows`. Operation `i` reads or writes the row of the key `hash(i) mod totalRows`. The row's
//! hash has a closed form. A write stores the row that the key had at first. Before each sample another row replaces it, so
//! that a lost write is noticed. Work on all rows is one request. The rows of a population are made once, as the messages that
//! its requests send.

mod check;
mod connection;
mod data;
mod ours;
mod reads;
mod stores;
#[cfg(feature = "all")]
mod tonic_crate;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, LoadOutcome, Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_shards::{Aggregate, LocalStore, MadeRows, ROW_BYTES, Row, check_rows};

use self::check::Check;
use self::connection::{Batches, Connection};
use self::data::{AGGREGATED, Sums, blank, expected_aggregate, expected_rows, expected_scan, family, key_of};
pub(crate) use self::ours::Ours;
use self::reads::Reads;
use self::stores::open_stores;
#[cfg(feature = "all")]
pub(crate) use self::tonic_crate::Tonic;
use crate::requests::{RequestCell, RequestLane, RequestSpec, block_on, runtime};
use crate::sample::CellSample;

/// The work of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    Get,
    MultiGet,
    Put,
    PutMany,
    Populate,
    Scan,
    /// An aggregation that the shards compute.
    PushDown,
    /// An aggregation computed here, over all rows.
    Pull,
}

impl RequestKind {
    fn of(spec: &RequestSpec) -> Result<Self> {
        let is_single = spec.lane == RequestLane::Call && spec.batch == 1;
        Ok(match (spec.workload.as_str(), spec.lane) {
            ("point_lookup" | "multi_get", RequestLane::Call) if is_single => Self::Get,
            ("point_lookup" | "multi_get", RequestLane::Batch) => Self::MultiGet,
            ("write", RequestLane::Call) if is_single => Self::Put,
            ("write", RequestLane::Batch) => Self::PutMany,
            ("populate", RequestLane::Call) if is_single => Self::Populate,
            ("scan", RequestLane::Call) if is_single => Self::Scan,
            ("aggregate.push_down", RequestLane::Call) if is_single => Self::PushDown,
            ("aggregate.pull", RequestLane::Call) if is_single => Self::Pull,
            _ => return Err(spec.unknown("hybrid")),
        })
    }

    fn writes(self) -> bool {
        matches!(self, Self::Put | Self::PutMany | Self::Populate)
    }

    /// Whether the work is on all rows: then a sample is one request.
    fn is_of_all(self) -> bool {
        matches!(self, Self::Populate | Self::Scan | Self::PushDown | Self::Pull)
    }

    /// Whether the work returns an aggregate instead of rows.
    fn aggregates(self) -> bool {
        matches!(self, Self::PushDown | Self::Pull)
    }

    fn sums(self) -> Sums {
        if self.aggregates() { Sums::Aggregate(Aggregate::none(AGGREGATED)) } else { Sums::of_rows() }
    }

    /// The check of what the work reads, or of what is read back after it.
    fn check(self, total_rows: u64) -> Check {
        if matches!(self, Self::Populate | Self::Scan) { Check::of_all(total_rows) } else { Check::by_key() }
    }
}

/// The input of a cell's requests. Made beforehand, since making the input is not measured.
struct Input {
    /// The keys that are read or written, or for a population, the keys of the rows changed before it.
    keys: Vec<i64>,
    /// The rows of single writes.
    rows: Vec<Row>,
    /// The packed rows of writes in batches.
    packed: Vec<u8>,
    /// The rows of populations, for each shard.
    batches: Box<Batches>,
    total_rows: u64,
}

/// A requester: a connection to each shard.
struct HybridRequester<C> {
    client: C,
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: RequestKind,
    reads: Reads,
}

impl<C: Connection> Requester for HybridRequester<C> {
    async fn request(&mut self, index: u64) -> Result<()> {
        let Self { client, spec, input, work, reads } = self;
        let range = spec.places_of(index);
        match work {
            RequestKind::Get => client.get(input.keys[range.start], reads).await,
            RequestKind::MultiGet => client.multi_get(&input.keys[range], reads).await,
            RequestKind::Put => client.put(&input.rows[range.start]).await,
            RequestKind::PutMany => {
                client.put_many(&input.packed[range.start * ROW_BYTES..range.end * ROW_BYTES]).await
            }
            RequestKind::Populate => client.populate(&input.batches).await,
            RequestKind::Scan => client.scan(reads).await,
            RequestKind::PushDown => client.push_down(reads).await,
            RequestKind::Pull => client.pull(reads).await,
        }
    }
}

/// A cell of the family, connected.
struct HybridCell<C> {
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: RequestKind,
    expected: Checksum,
    /// Our own client, for untimed work.
    side: Ours,
    /// The requesters. Empty while a sample runs.
    connections: Mutex<Vec<HybridRequester<C>>>,
    /// The shards that were opened for this cell.
    _stores: Vec<LocalStore>,
}

pub(crate) fn open<C: Connection>(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let work = RequestKind::of(spec)?;
    let total_rows: u64 = spec
        .option("totalRows")?
        .filter(|rows| *rows > 0)
        .ok_or_else(|| Error::InvalidArgument("a cell of hybrid needs the option totalRows".to_owned()))?;
    let expected = match work {
        RequestKind::Populate | RequestKind::Scan => expected_scan(total_rows),
        RequestKind::PushDown | RequestKind::Pull => Sums::Aggregate(expected_aggregate(total_rows)?).checksum(),
        _ => expected_rows(spec.operations, total_rows),
    };
    cancel.check()?;
    let (stores, url) = open_stores(spec, total_rows)?;
    let spec = Arc::new(RequestSpec { url, ..spec.clone() });
    let side = block_on(runtime()?, <Ours as Connection>::connect(&spec.url))?;
    let input = Arc::new(Input::new(&spec, work, total_rows, side.shards())?);
    let cell = HybridCell::<C> { spec, input, work, expected, side, connections: Mutex::default(), _stores: stores };
    let connections = cell.connect()?;
    *lock(&cell.connections) = connections;
    Ok(Box::new(cell))
}

impl Input {
    fn new(spec: &RequestSpec, work: RequestKind, total_rows: u64, shards: u32) -> Result<Self> {
        let operations = match work {
            RequestKind::Populate => family()?.changed_rows,
            _ if work.is_of_all() => 0,
            _ => spec.operations,
        };
        let keys: Vec<i64> = (0..operations).map(|operation| key_of(operation, total_rows)).collect();
        let rows = keys.iter().filter(|_| work == RequestKind::Put).map(|key| Row::made(*key)).collect();
        let packed =
            keys.iter().filter(|_| work == RequestKind::PutMany).flat_map(|key| Row::made(*key).to_bytes()).collect();
        let batches = if work == RequestKind::Populate {
            check_rows(total_rows)?;
            (0..shards).map(|shard| MadeRows::new(shard, shards, total_rows).into_batches()).collect()
        } else {
            Box::default()
        };
        Ok(Self { keys, rows, packed, batches, total_rows })
    }
}

impl<C: Connection> HybridCell<C> {
    fn connect(&self) -> Result<Vec<HybridRequester<C>>> {
        block_on(runtime()?, async {
            let mut connections = Vec::new();
            for _ in 0..self.spec.connections {
                connections.push(HybridRequester {
                    client: C::connect(&self.spec.url).await?,
                    spec: Arc::clone(&self.spec),
                    input: Arc::clone(&self.input),
                    work: self.work,
                    reads: Reads::Summed(self.work.sums()),
                });
            }
            Ok(connections)
        })
    }

    /// Replaces the rows that a sample will write by blank ones.
    async fn blank(&self, cancel: &CancelToken) -> Result<()> {
        for keys in self.input.keys.chunks(family()?.keys_at_once) {
            cancel.check()?;
            let packed: Vec<u8> = keys.iter().flat_map(|key| blank(*key).to_bytes()).collect();
            self.side.put_many(&packed).await?;
        }
        Ok(())
    }

    /// Reads back the written rows after a load of writes, or all rows after a population.
    async fn read_back(&self, reads: &mut Reads, cancel: &CancelToken) -> Result<()> {
        let mut side = self.side.clone();
        if self.work == RequestKind::Populate {
            return Connection::scan(&mut side, reads).await;
        }
        for keys in self.input.keys.chunks(family()?.keys_at_once) {
            cancel.check()?;
            Connection::multi_get(&mut side, keys, reads).await?;
        }
        Ok(())
    }

    /// Runs the load once, over the rows that it writes made blank, and returns what each connection has read, or what is read
    /// back once.
    fn run(
        &self,
        load: &Load,
        new_reads: impl Fn() -> Reads,
        cancel: &CancelToken,
    ) -> Result<(LoadOutcome, Vec<Reads>)> {
        if self.work.writes() {
            block_on(runtime()?, self.blank(cancel))?;
        }
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() {
            connections = self.connect()?;
        }
        for connection in &mut connections {
            connection.reads = new_reads();
        }
        let requests = if self.work.is_of_all() { 1 } else { load.requests };
        let load = Load { requests, ..load.clone() };
        let (mut connections, outcome) = block_on(runtime()?, run_load(connections, &load, cancel))?;
        let mut reads: Vec<Reads> =
            connections.iter_mut().map(|connection| std::mem::replace(&mut connection.reads, new_reads())).collect();
        *lock(&self.connections) = connections;
        if self.work.writes() {
            let mut stored = new_reads();
            block_on(runtime()?, self.read_back(&mut stored, cancel))?;
            reads = vec![stored];
        }
        Ok((outcome, reads))
    }
}

impl<C: Connection> RequestCell for HybridCell<C> {
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        let (outcome, reads) = self.run(&self.spec.load(), || Reads::Summed(self.work.sums()), cancel)?;
        let mut sums = self.work.sums();
        for read in &reads {
            if let Reads::Summed(part) = read {
                sums.merge(part);
            }
        }
        CellSample::of_load(&outcome, sums.checksum())
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn verify(&self, cancel: &CancelToken) -> Result<()> {
        let total_rows = self.input.total_rows;
        let new_check = || self.work.check(total_rows);
        let load = Load { requests: self.spec.requests(), ..Load::default() };
        let (_, reads) = self.run(&load, || Reads::Checked(new_check()), cancel)?;
        let mut check = new_check();
        for read in &reads {
            if let Reads::Checked(part) = read {
                check.merge(part)?;
            }
        }
        match self.work {
            RequestKind::PushDown | RequestKind::Pull => check.finish_aggregate(&expected_aggregate(total_rows)?),
            RequestKind::Populate | RequestKind::Scan => check.finish_rows(total_rows),
            _ => check.finish_rows(self.spec.operations),
        }
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        Ok(())
    }
}
