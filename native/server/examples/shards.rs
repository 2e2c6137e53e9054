//! Measures the cost of calls to a sharded store whose shards are in this process, behind gRPC, or mixed:
//! `cargo run --release -p boundary-bench-server --example shards -- [ROWS] [DATA_DIR]`, after a build of the server.
#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};
use boundary_bench_server::ShardProcesses;
use boundary_bench_shards::{
    Aggregation, ClientOptions, Column, Columns, Comparison, Filter, MemoryStore, Number, Place, ROW_BYTES, Row,
    ShardClient, Store, made_checksum, shard_of,
};
use tokio::runtime::{Builder, Runtime};

const SHARDS: u32 = 3;

/// Rounds of the loops of small calls.
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(1_500_000), |rows| rows.parse());
    let rows: u64 = rows.map_err(|error| Error::InvalidArgument(format!("rows: {error}")))?;
    let data_dir = arguments.next().map(std::path::PathBuf::from);
    let processes = ShardProcesses::start(None, &[], SHARDS, data_dir.as_deref(), &CancelToken::default())?;
    let stores: Vec<Arc<dyn Store>> = (0..SHARDS).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn Store>).collect();
    for (name, mut builder) in
        [("one thread", Builder::new_current_thread()), ("two threads", Builder::new_multi_thread())]
    {
        println!("-- the client's runtime: {name}");
        let runtime = builder.worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(error.to_string()))?;
        measure(&runtime, rows, &processes, &stores)?;
    }
    Ok(())
}

fn measure(runtime: &Runtime, rows: u64, processes: &ShardProcesses, stores: &[Arc<dyn Store>]) -> Result<()> {
    let direct: Vec<Place> = stores.iter().map(|store| Place::Direct(Arc::clone(store))).collect();
    let mut hybrid = processes.places();
    hybrid[0] = direct[0].clone();
    let connect = |places| runtime.block_on(ShardClient::connect(places, &ClientOptions::default()));
    let (direct, grpc, hybrid) = (connect(direct)?, connect(processes.places())?, connect(hybrid)?);
    for (name, client) in [("direct", &direct), ("grpc", &grpc)] {
        let start = Instant::now();
        runtime.block_on(client.populate(rows, true))?;
        println!("populate {name}: {:.2} M rows/s", rate(rows, start.elapsed()));
    }
    let keys = random_keys(rows);
    let local = keys.iter().filter(|key| shard_of(**key, SHARDS) == 0).count();
    let direct_get = fastest(ROUNDS * 10, || {
        let found =
            keys.iter().filter(|key| direct.direct(**key).is_some_and(|store| matches!(store.get(**key), Ok(Some(_)))));
        assert_eq!(found.count(), keys.len());
        Ok(())
    })?;
    println!("get direct: {:.0} ns", direct_get.as_secs_f64() * 1e9 / keys.len() as f64);
    let get_all = |client: &ShardClient| {
        fastest(ROUNDS, || {
            runtime.block_on(async {
                for key in &keys {
                    assert_eq!(client.get(*key).await?.map(|row| row.key), Some(*key));
                }
                Ok(())
            })
        })
    };
    let (grpc_get, hybrid_get) = (get_all(&grpc)?, get_all(&hybrid)?);
    let micros = |time: Duration, count: usize| time.as_secs_f64() * 1e6 / count as f64;
    println!("get grpc: {:.1} us", micros(grpc_get, keys.len()));
    println!(
        "get hybrid ({local} of {} local): {:.1} us, {:.2}x",
        keys.len(),
        micros(hybrid_get, keys.len()),
        grpc_get.as_secs_f64() / hybrid_get.as_secs_f64()
    );
    for batch in [10, 100, 1000] {
        let get_many = |client: &ShardClient| {
            fastest(ROUNDS, || {
                runtime.block_on(async {
                    for keys in keys.chunks(batch) {
                        assert_eq!(client.multi_get(keys).await?.rows.found(), keys.len());
                    }
                    Ok(())
                })
            })
        };
        for (name, client) in [("direct", &direct), ("grpc", &grpc), ("hybrid", &hybrid)] {
            let many = get_many(client)?;
            println!(
                "multi_get {batch} {name}: {:.1} us, {:.1}x single grpc calls, {:.0} ns a key",
                micros(many, keys.len() / batch),
                grpc_get.as_secs_f64() / many.as_secs_f64(),
                many.as_secs_f64() * 1e9 / keys.len() as f64
            );
        }
    }
    for (name, client) in [("direct", &direct), ("grpc", &grpc), ("hybrid", &hybrid)] {
        let put = fastest(1, || {
            runtime.block_on(async {
                for key in &keys {
                    client.put(&Row::made(*key)).await?;
                }
                Ok(())
            })
        })?;
        let packed: Vec<u8> = keys.iter().flat_map(|key| Row::made(*key).to_bytes()).collect();
        let put_many = fastest(ROUNDS, || runtime.block_on(client.put_many(&packed)))?;
        assert_eq!(packed.len(), keys.len() * ROW_BYTES);
        println!(
            "put {name}: {:.1} us; put_many {}: {:.1} us",
            micros(put, keys.len()),
            keys.len(),
            micros(put_many, 1)
        );
    }
    scans(runtime, rows, &direct, &grpc)?;
    aggregates(runtime, rows, &direct, &grpc)
}

fn scans(runtime: &Runtime, rows: u64, direct: &ShardClient, grpc: &ShardClient) -> Result<()> {
    let expected = (rows, made_checksum(rows));
    // Rows are also read one by one, as a caller does who needs rows and not columns.
    for (name, reader) in
        [("columns read", Some(read_columns as Reader)), ("rows read", Some(read_rows)), ("delivered", None)]
    {
        let scan = |client: &ShardClient| {
            fastest(3, || {
                runtime.block_on(async {
                    let mut scan = client.scan();
                    let (mut count, mut sum) = (0, 0_u32);
                    while let Some(batch) = scan.next().await {
                        let batch = batch.map_err(|failure| failure.error)?;
                        count += batch.num_rows() as u64;
                        if let Some(reader) = reader {
                            sum = sum.wrapping_add(reader(Columns::of_batch(&batch)?));
                        }
                    }
                    assert_eq!((count, sum), if reader.is_some() { expected } else { (rows, 0) });
                    Ok(())
                })
            })
        };
        let (direct, grpc) = (scan(direct)?, scan(grpc)?);
        println!(
            "scan, {name}: direct {:.1} M rows/s, grpc {:.1} M rows/s, {:.2} of direct",
            rate(rows, direct),
            rate(rows, grpc),
            direct.as_secs_f64() / grpc.as_secs_f64()
        );
    }
    Ok(())
}

type Reader = fn(Columns<'_>) -> u32;

fn read_columns(rows: Columns<'_>) -> u32 {
    rows.checksum()
}

fn read_rows(rows: Columns<'_>) -> u32 {
    (0..rows.len()).fold(0, |sum, place| sum.wrapping_add(rows.row(place).hash()))
}

fn aggregates(runtime: &Runtime, rows: u64, direct: &ShardClient, grpc: &ShardClient) -> Result<()> {
    let value = Number::Integer(50);
    let filter = Filter { column: Column::Quantity, comparison: Comparison::Less, value };
    let aggregation = Aggregation { column: Column::Price, filter: Some(filter) };
    let pushed = fastest(ROUNDS, || runtime.block_on(grpc.aggregate(&aggregation)).map(drop))?;
    let pulled = fastest(3, || runtime.block_on(grpc.aggregate_here(&aggregation)).map(drop))?;
    let local = fastest(ROUNDS, || runtime.block_on(direct.aggregate(&aggregation)).map(drop))?;
    assert_eq!(runtime.block_on(grpc.aggregate(&aggregation))?, runtime.block_on(direct.aggregate_here(&aggregation))?);
    println!(
        "aggregate: push-down {:.2} ms ({:.0} M rows/s), pull {:.1} ms, {:.1}x; direct {:.2} ms",
        pushed.as_secs_f64() * 1e3,
        rate(rows, pushed),
        pulled.as_secs_f64() * 1e3,
        pulled.as_secs_f64() / pushed.as_secs_f64(),
        local.as_secs_f64() * 1e3
    );
    Ok(())
}

fn fastest(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut fastest = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}

/// The rate in millions of rows a second.
fn rate(rows: u64, time: Duration) -> f64 {
    rows as f64 / time.as_secs_f64() / 1e6
}

/// A thousand keys, the same in every run.
fn random_keys(rows: u64) -> Vec<i64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % rows).cast_signed()
    };
    (0..1000).map(|_| next()).collect()
}
