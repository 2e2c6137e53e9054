//! The cells of the family `hybrid` on shards of this process, behind gRPC, and some of each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_shards::{
    Aggregate, Aggregation, Blocks, ClientOptions, Columns, LocalStore, MemoryStore, NextBatch, Place, Population, Row,
    ShardClient, ShardOptions, ShardServer, Store,
};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::{RequestLane, RequestSpec};

const ROWS: u64 = 5000;

/// Three shards in this process, three behind gRPC, all filled.
struct Shards {
    locals: Vec<LocalStore>,
    servers: Vec<ShardServer>,
}

impl Shards {
    fn start() -> Self {
        let locals = (0..3).map(|_| LocalStore::new(Arc::new(MemoryStore::new()) as Arc<dyn Store>)).collect();
        let serve = |shard| ShardServer::start(&ShardOptions { shard, shards: 3, ..ShardOptions::default() }).unwrap();
        let shards = Self { locals, servers: (0..3).map(serve).collect() };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let direct = shards.locals.iter().map(|local| Place::Direct(Arc::clone(local.store()))).collect();
        let remote = shards.servers.iter().map(|server| Place::Remote(server.url())).collect();
        for places in [direct, remote] {
            runtime.block_on(async {
                let client = ShardClient::connect(places, &ClientOptions::default()).await.unwrap();
                client.populate(ROWS, false).await.unwrap();
            });
        }
        shards
    }

    /// The name and URL of each setting: all shards direct, all behind gRPC, and mixed.
    fn settings(&self) -> [(&'static str, String); 3] {
        let direct: Vec<String> = self.locals.iter().map(LocalStore::place).collect();
        let remote: Vec<String> = self.servers.iter().map(|server| server.url()).collect();
        let hybrid = [&direct[..1], &remote[1..]].concat();
        [("direct", direct.join(",")), ("grpc", remote.join(",")), ("hybrid", hybrid.join(","))]
    }
}

fn spec(workload: &str, batch: u32, threads: u32, url: &str) -> FamilySpec {
    let lane = if batch == 1 { RequestLane::Call } else { RequestLane::Batch };
    let requests = RequestSpec {
        workload: workload.to_owned(),
        lane,
        setting: None,
        client: None,
        url: url.to_owned(),
        threads,
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
fn every_cell_does_its_work_on_every_setting() {
    let shards = Shards::start();
    let cells = [
        ("point_lookup", 1, 3),
        ("multi_get", 1, 1),
        ("multi_get", 7, 2),
        ("multi_get", 1024, 1),
        ("write", 1, 2),
        ("write", 64, 1),
        ("scan", 1, 1),
        ("aggregate.push_down", 1, 1),
        ("aggregate.pull", 1, 1),
        ("populate", 1, 1),
    ];
    for (setting, url) in shards.settings() {
        for (workload, batch, threads) in cells {
            let cell = open_request_cell(&spec(workload, batch, threads, &url), &CancelToken::default()).unwrap();
            for _ in 0..2 {
                let sample = cell.sample(&CancelToken::default()).unwrap();
                let difference = sample.checksum.difference(cell.expected(), FLOAT_TOLERANCE);
                assert_eq!(difference, None, "{workload} of {batch} by {threads} on {setting}");
            }
            cell.close().unwrap();
        }
    }
}

#[test]
fn a_wrong_row_is_seen() {
    let shards = Shards::start();
    let [(_, url), ..] = shards.settings();
    let mut wrong = boundary_bench_shards::Row::made(0);
    wrong.payload[171] ^= 1;
    let shard = boundary_bench_shards::shard_of(0, 3) as usize;
    shards.locals[shard].store().put(boundary_bench_shards::Columns::of_row(&wrong)).unwrap();
    let cell = open_request_cell(&spec("scan", 1, 1, &url), &CancelToken::default()).unwrap();
    assert_ne!(cell.sample(&CancelToken::default()).unwrap().checksum, *cell.expected());
}

/// A store in memory whose first population fills it, and whose later ones do nothing.
struct Lazy {
    rows: MemoryStore,
    is_filled: AtomicBool,
}

impl Store for Lazy {
    fn rows(&self) -> u64 {
        self.rows.rows()
    }

    fn get(&self, key: i64) -> Result<Option<Row>> {
        self.rows.get(key)
    }

    fn put(&self, rows: Columns<'_>) -> Result<()> {
        self.rows.put(rows)
    }

    fn scan(&self) -> Blocks {
        self.rows.scan()
    }

    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        self.rows.aggregate(aggregation, cancel)
    }

    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()> {
        if self.is_filled.swap(true, Ordering::Relaxed) { Ok(()) } else { self.rows.populate(population, next) }
    }

    fn populated(&self) -> Option<u64> {
        self.rows.populated()
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

#[test]
fn a_population_that_does_nothing_is_seen() {
    let store: Arc<dyn Store> = Arc::new(Lazy { rows: MemoryStore::new(), is_filled: AtomicBool::new(false) });
    let local = LocalStore::new(store);
    let cell = open_request_cell(&spec("populate", 1, 1, &local.place()), &CancelToken::default()).unwrap();
    assert_eq!(cell.sample(&CancelToken::default()).unwrap().checksum, *cell.expected());
    assert_ne!(cell.sample(&CancelToken::default()).unwrap().checksum, *cell.expected());
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
