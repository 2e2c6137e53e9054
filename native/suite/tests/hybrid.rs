//! The cells of the family `hybrid` on shards of this process, behind gRPC, and some of each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_shards::{
    Aggregate, Aggregation, Blocks, ClientOptions, Columns, LocalStore, MemoryStore, NextBatch, Population, Row,
    ShardClient, ShardLocation, ShardOptions, ShardServer, Store, Sum, place_of,
};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::{RequestLane, RequestSpec};

const ROWS: u64 = 5000;

fn spec(workload: &str, batch: u32, connections: u32, url: &str) -> FamilySpec {
    let lane = if batch == 1 { RequestLane::Call } else { RequestLane::Batch };
    let requests = RequestSpec {
        workload: workload.to_owned(),
        lane,
        setting: None,
        driver: None,
        client: None,
        url: url.to_owned(),
        connections,
        batch,
        operations: 300,
        rate: None,
        prefix: "bb".to_owned(),
        server_processes: Vec::new(),
        options: BTreeMap::from([("totalRows".to_owned(), ROWS.into())]),
    };
    FamilySpec { family: "hybrid".to_owned(), requests }
}

#[test]
fn a_wrong_row_is_seen() {
    let store = || LocalStore::new(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let locals = [store(), store(), store()];
    let places = locals.iter().map(|local| ShardLocation::Direct(Arc::clone(local.store()))).collect();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = ShardClient::connect(places, &ClientOptions::default()).await.unwrap();
        client.populate(ROWS, false).await.unwrap();
    });
    let url = locals.each_ref().map(LocalStore::place).join(",");
    let mut wrong = boundary_bench_shards::Row::made(0);
    wrong.payload[171] ^= 1;
    let shard = boundary_bench_shards::shard_of(0, 3) as usize;
    locals[shard].store().put(boundary_bench_shards::Columns::of_row(&wrong)).unwrap();
    let cell = open_request_cell(&spec("scan", 1, 1, &url), &CancelToken::default()).unwrap();
    assert_ne!(cell.sample(&CancelToken::default()).unwrap().checksum, *cell.expected());
}

/// The fault of a store once it is filled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// The rows of the first two keys that are read, exchanged.
    Exchanged,
    /// A scan with the prices of its first two rows exchanged.
    Columns,
    /// A scan with its second row instead of its first.
    Twice,
    /// Writes of the first key, lost.
    Lost,
    /// Populations that do nothing.
    Unfilled,
    /// An aggregate that is off by less than the tolerance of sums.
    Inexact,
}

/// The keys of the first two operations.
fn first_keys() -> [i64; 2] {
    [0, 1].map(|operation| i64::from(boundary_bench_shards::key_hash(operation)) % ROWS.cast_signed())
}

/// A store in memory with a fault.
struct Faulty {
    rows: MemoryStore,
    fault: Fault,
    is_filled: AtomicBool,
}

impl Faulty {
    fn key(&self, key: i64) -> i64 {
        let [first, second] = first_keys();
        match key {
            key if self.fault != Fault::Exchanged => key,
            key if key == first => second,
            key if key == second => first,
            key => key,
        }
    }
}

impl Store for Faulty {
    fn rows(&self) -> u64 {
        self.rows.rows()
    }

    fn get(&self, key: i64) -> Result<Option<Row>> {
        self.rows.get(self.key(key))
    }

    fn put(&self, rows: Columns<'_>) -> Result<()> {
        for index in 0..rows.len() {
            let row = rows.row(index);
            // The blank rows that come before are stored.
            if self.fault != Fault::Lost || row.key != first_keys()[0] || row.quantity < 0 {
                self.rows.put(Columns::of_row(&row))?;
            }
        }
        Ok(())
    }

    fn scan(&self) -> Blocks {
        let fault = self.fault;
        let mut is_first = true;
        Box::new(self.rows.scan().map(move |block| {
            let block = block?;
            let mut rows: Vec<Row> = (0..block.len()).map(|index| block.row(index)).collect();
            match fault {
                Fault::Columns if is_first => (rows[0].price, rows[1].price) = (rows[1].price, rows[0].price),
                Fault::Twice if is_first => rows[0] = rows[1],
                _ => {}
            }
            is_first = false;
            let mut block = boundary_bench_shards::Block::with_capacity(rows.len());
            rows.iter().for_each(|row| block.push(row));
            Ok(Arc::new(block))
        }))
    }

    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        let mut aggregate = self.rows.aggregate(aggregation, cancel)?;
        if let (Fault::Inexact, Sum::Real(sum)) = (self.fault, &mut aggregate.sum) {
            *sum = sum.next_up();
        }
        Ok(aggregate)
    }

    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()> {
        let is_filled = self.is_filled.swap(true, Ordering::Relaxed);
        if is_filled && self.fault == Fault::Unfilled { Ok(()) } else { self.rows.populate(population, next) }
    }

    fn populated(&self) -> Option<u64> {
        self.rows.populated()
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

#[test]
fn every_fault_of_a_store_is_found_though_sums_may_pass() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let none = CancelToken::default();
    // Whether the sums of our own client and of tonic show the fault. Ours puts rows under the keys that it asked for.
    for (fault, workload, batch, is_in_sums) in [
        (Fault::Exchanged, "point_lookup", 1, [false, false]),
        (Fault::Exchanged, "multi_get", 64, [true, false]),
        (Fault::Exchanged, "write", 64, [true, true]),
        (Fault::Columns, "scan", 1, [true, true]),
        (Fault::Columns, "populate", 1, [true, true]),
        (Fault::Twice, "scan", 1, [true, true]),
        (Fault::Twice, "populate", 1, [true, true]),
        (Fault::Lost, "write", 1, [true, true]),
        (Fault::Lost, "write", 64, [true, true]),
        (Fault::Unfilled, "populate", 1, [true, true]),
        (Fault::Inexact, "aggregate.push_down", 1, [false, false]),
    ] {
        let store = || Arc::new(Faulty { rows: MemoryStore::new(), fault, is_filled: AtomicBool::new(false) });
        let local = LocalStore::new(store() as Arc<dyn Store>);
        let server = ShardServer::serve(&ShardOptions { shards: 1, ..ShardOptions::default() }, store()).unwrap();
        for (place, client) in [(local.place(), None), (server.url(), None), (server.url(), Some("tonic"))] {
            runtime.block_on(async {
                let places = vec![place_of(&place).unwrap()];
                let client = ShardClient::connect(places, &ClientOptions::default()).await.unwrap();
                client.populate(ROWS, true).await.unwrap();
            });
            let mut spec = spec(workload, batch, 2, &place);
            spec.requests.client = client.map(str::to_owned);
            let cell = open_request_cell(&spec, &none).unwrap();
            let sums = cell.sample(&none).unwrap().checksum;
            let difference = sums.difference(cell.expected(), FLOAT_TOLERANCE);
            let is_in_sums = is_in_sums[usize::from(client.is_some())];
            assert_eq!(difference.is_some(), is_in_sums, "{fault:?} {workload} {batch} {place} {client:?}");
            let found = cell.verify(&none).err().map(|error| error.code());
            assert_eq!(found, Some("BB_CHECKSUM_MISMATCH"), "{fault:?} {workload} {batch} {place} {client:?}");
        }
    }
}

#[test]
fn what_there_is_not_is_refused() {
    let none = CancelToken::default();
    let refused = |spec: &FamilySpec| open_request_cell(spec, &none).err().map(|error| error.code());
    assert_eq!(refused(&spec("sort", 1, 1, "http://127.0.0.1:1")), Some("BB_INVALID_ARGUMENT"));
    assert_eq!(refused(&spec("scan", 2, 1, "http://127.0.0.1:1")), Some("BB_INVALID_ARGUMENT"));
    assert_eq!(refused(&spec("scan", 1, 1, "local:0")), Some("BB_INVALID_ARGUMENT"));
    assert_eq!(refused(&spec("scan", 1, 1, "http://127.0.0.1:1")), Some("BB_CONNECTION"));
    let mut untold = spec("scan", 1, 1, "local:0");
    untold.requests.options.clear();
    assert_eq!(refused(&untold), Some("BB_INVALID_ARGUMENT"));
}
