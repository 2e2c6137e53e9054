//! The family `hybrid`: rows of 200 bytes in shards that are in this process, behind gRPC, or some of each.
//!
//! The URL of a cell lists the places of the shards in their order, separated by commas: `local:7` for a store of this process
//! ([`boundary_bench_shards::LocalStore`]), else the address of a server. The shards hold the generated rows of the keys below the option `totalRows`.
//! Operation `i` reads or writes the row of the key `hash(i) mod totalRows`; the row's hash has a closed form. A write stores
//! the row that the key had at first; before each sample another row replaces it, so that a lost write is noticed. Work on all
//! rows is one request.

mod data;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_shards::{Aggregate, ClientOptions, Columns, Place, Row, ShardClient, place_of};

use crate::requests::{RequestCell, RequestLane, RequestSpec, runtime};
use crate::sample::CellSample;
use data::{AGGREGATED, Sums, aggregation, blank, expected_aggregate, expected_rows, expected_scan, family, key_of};

/// The work of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
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

impl Work {
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
            _ => {
                return Err(Error::InvalidArgument(format!(
                    "the family hybrid has no workload {} on the lane {:?} with batches of {}",
                    spec.workload, spec.lane, spec.batch
                )));
            }
        })
    }

    fn writes(self) -> bool {
        matches!(self, Self::Put | Self::PutMany | Self::Populate)
    }

    /// Whether the work is on all rows: then a sample is one request.
    fn is_of_all(self) -> bool {
        matches!(self, Self::Populate | Self::Scan | Self::PushDown | Self::Pull)
    }

    fn sums(self) -> Sums {
        match self {
            Self::PushDown | Self::Pull => Sums::Aggregate(Aggregate::none(AGGREGATED)),
            _ => Sums::of_rows(),
        }
    }
}

/// The input of a cell's requests. Made beforehand, since making the input is not measured.
struct Input {
    /// The keys that are read or written; for a population, the keys of the rows changed before it.
    keys: Vec<i64>,
    /// The rows of single writes.
    rows: Vec<Row>,
    /// The packed rows of writes in batches.
    packed: Vec<u8>,
    total_rows: u64,
}

/// One thread of a load, with a connection to each shard.
struct HybridRequester {
    client: ShardClient,
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: Work,
    sums: Sums,
}

impl Requester for HybridRequester {
    async fn request(&mut self, index: u64) -> Result<()> {
        let Self { client, spec, input, work, sums } = self;
        let operations = spec.operations_of(index);
        let at = |operation: u64| usize::try_from(operation).unwrap_or(usize::MAX);
        let range = at(operations.start)..at(operations.end);
        match work {
            Work::Get => sums.add_row(client.get(input.keys[range.start]).await?.as_ref()),
            Work::MultiGet => sums.add_found(client.multi_get(&input.keys[range]).await?)?,
            Work::Put => client.put(&input.rows[range.start]).await?,
            Work::PutMany => {
                let bytes = boundary_bench_shards::ROW_BYTES;
                client.put_many(&input.packed[range.start * bytes..range.end * bytes]).await?;
            }
            Work::Populate => client.populate(input.total_rows, true).await?,
            Work::Scan => add_scan(client, sums).await?,
            Work::PushDown => sums.merge(&Sums::Aggregate(client.aggregate(&aggregation()?).await?)),
            Work::Pull => sums.merge(&Sums::Aggregate(client.aggregate_here(&aggregation()?).await?)),
        }
        Ok(())
    }
}

/// Reads all rows and adds their hashes.
async fn add_scan(client: &ShardClient, sums: &mut Sums) -> Result<()> {
    let mut scan = client.scan();
    while let Some(batch) = scan.next().await {
        let batch = batch.map_err(|failure| failure.error)?;
        let rows = Columns::of_batch(&batch)?;
        sums.add_hash(rows.len() as u64, rows.checksum());
    }
    Ok(())
}

/// A cell of the family, connected.
struct HybridCell {
    spec: Arc<RequestSpec>,
    input: Arc<Input>,
    work: Work,
    expected: Checksum,
    /// The client for untimed work.
    side: ShardClient,
    /// The clients of the threads; empty while a sample runs.
    connections: Mutex<Vec<HybridRequester>>,
}

pub(crate) fn open(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let work = Work::of(spec)?;
    let total_rows: u64 = spec
        .option("totalRows")?
        .filter(|rows| *rows > 0)
        .ok_or_else(|| Error::InvalidArgument("a cell of hybrid needs the option totalRows".to_owned()))?;
    let expected = match work {
        Work::Populate | Work::Scan => expected_scan(total_rows),
        Work::PushDown | Work::Pull => expected_aggregate(total_rows)?,
        _ => expected_rows(spec.operations, total_rows),
    };
    cancel.check()?;
    let operations = match work {
        Work::Populate => family()?.changed_rows,
        _ if work.is_of_all() => 0,
        _ => spec.operations,
    };
    let keys: Vec<i64> = (0..operations).map(|operation| key_of(operation, total_rows)).collect();
    let rows = keys.iter().filter(|_| work == Work::Put).map(|key| Row::made(*key)).collect();
    let packed = keys.iter().filter(|_| work == Work::PutMany).flat_map(|key| Row::made(*key).to_bytes()).collect();
    let side = runtime()?.block_on(connect(spec))?;
    let cell = HybridCell {
        spec: Arc::new(spec.clone()),
        input: Arc::new(Input { keys, rows, packed, total_rows }),
        work,
        expected,
        side,
        connections: Mutex::default(),
    };
    let connections = cell.connect()?;
    *lock(&cell.connections) = connections;
    Ok(Box::new(cell))
}

async fn connect(spec: &RequestSpec) -> Result<ShardClient> {
    let places = spec.url.split(',').map(place_of).collect::<Result<Vec<Place>>>()?;
    ShardClient::connect(places, &ClientOptions::default()).await
}

impl HybridCell {
    fn connect(&self) -> Result<Vec<HybridRequester>> {
        runtime()?.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..self.spec.threads {
                connections.push(HybridRequester {
                    client: connect(&self.spec).await?,
                    spec: Arc::clone(&self.spec),
                    input: Arc::clone(&self.input),
                    work: self.work,
                    sums: self.work.sums(),
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

    /// Reads back the written rows after a sample of writes, or all rows after a population.
    async fn read_back(&self, cancel: &CancelToken) -> Result<Sums> {
        let mut sums = Sums::of_rows();
        if self.work == Work::Populate {
            add_scan(&self.side, &mut sums).await?;
            return Ok(sums);
        }
        for keys in self.input.keys.chunks(family()?.keys_at_once) {
            cancel.check()?;
            sums.add_found(self.side.multi_get(keys).await?)?;
        }
        Ok(sums)
    }
}

impl RequestCell for HybridCell {
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        if self.work.writes() {
            runtime()?.block_on(self.blank(cancel))?;
        }
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() {
            connections = self.connect()?;
        }
        for connection in &mut connections {
            connection.sums = self.work.sums();
        }
        let mut load = self.spec.load();
        if self.work.is_of_all() {
            load.requests = 1;
        }
        let (connections, outcome) = runtime()?.block_on(run_load(connections, &load, cancel))?;
        let mut sums = self.work.sums();
        connections.iter().for_each(|connection| sums.merge(&connection.sums));
        *lock(&self.connections) = connections;
        if self.work.writes() {
            sums = runtime()?.block_on(self.read_back(cancel))?;
        }
        CellSample::of_load(&outcome, sums.checksum())
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        Ok(())
    }
}
