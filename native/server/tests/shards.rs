//! The sharded store over real processes: direct and remote shards agree, and failures name the shard.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};
use boundary_bench_server::ShardProcesses;
use boundary_bench_shards::{
    Aggregation, ClientOptions, Column, Columns, Comparison, Filter, MemoryStore, Number, Place, Row, ShardClient,
    Store, made_checksum, shard_of,
};

const SHARDS: u32 = 3;
const ROWS: u64 = 30_000;

fn start(data_dir: Option<&Path>) -> ShardProcesses {
    let program = Path::new(env!("CARGO_BIN_EXE_boundary-bench-server"));
    ShardProcesses::start(Some(program), &[], SHARDS, data_dir, &CancelToken::default()).unwrap()
}

/// Awaits a call, which must not hang whatever happens to a shard.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it hangs")
}

async fn connect(places: Vec<Place>, deadline: Option<Duration>) -> ShardClient {
    let options = ClientOptions { deadline, ..ClientOptions::default() };
    soon(ShardClient::connect(places, &options)).await.unwrap()
}

fn stores() -> Vec<Place> {
    (0..SHARDS).map(|_| Place::Direct(Arc::new(MemoryStore::new()) as Arc<dyn Store>)).collect()
}

async fn checksum(client: &ShardClient) -> Result<(u64, u32)> {
    let mut scan = client.scan();
    let (mut rows, mut sum) = (0, 0_u32);
    while let Some(batch) = scan.next().await {
        let batch = batch.map_err(|failure| failure.error)?;
        rows += batch.num_rows() as u64;
        sum = sum.wrapping_add(Columns::of_batch(&batch)?.checksum());
    }
    Ok((rows, sum))
}

async fn contract(client: &ShardClient) {
    client.populate(ROWS, true).await.unwrap();
    let described = client.describe().await.unwrap();
    assert_eq!(described.iter().map(|(rows, _)| rows).sum::<u64>(), ROWS);
    assert!(described.iter().all(|(_, populated)| *populated == Some(ROWS)));
    assert_eq!(checksum(client).await.unwrap(), (ROWS, made_checksum(ROWS)));
    let refused = client.populate(ROWS, false).await.unwrap_err();
    assert!(refused.to_string().contains("rows already"), "{refused}");
    assert_eq!(client.get(17).await.unwrap(), Some(Row::made(17)));
    assert_eq!(client.get(-17).await.unwrap(), None);

    let new = Row { quantity: -1, ..Row::made(-17) };
    client.put(&new).await.unwrap();
    assert_eq!(client.get(-17).await.unwrap(), Some(new));
    let changed: Vec<Row> = (0..100).map(|key| Row { quantity: 7, ..Row::made(key * 11) }).collect();
    let packed: Vec<u8> = changed.iter().flat_map(Row::to_bytes).collect();
    client.put_many(&packed).await.unwrap();
    assert_eq!(client.put_many(&packed[1..]).await.unwrap_err().code(), "BB_INVALID_ARGUMENT");

    // Keys in any order, twice, and missing ones.
    let keys = [990, 5, -17, 99_999_999, 5, 11, -1];
    let got = client.multi_get(&keys).await.unwrap();
    assert!(got.failures.is_empty());
    assert_eq!(got.rows.found(), 5);
    let rows = got.rows.into_batch().unwrap();
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &keys);
    let quantities: Vec<_> = rows.column(1).as_primitive::<arrow_array::types::Int32Type>().iter().collect();
    let made = Some(Row::made(5).quantity);
    assert_eq!(quantities, [Some(7), made, Some(-1), None, made, Some(7), None]);
    assert!(rows.column(4).is_null(3));
    assert_eq!(client.multi_get(&[]).await.unwrap().rows.len(), 0);
    // More rows than fit into one message.
    let many: Vec<i64> = (0..ROWS.cast_signed()).chain(0..20_000).collect();
    assert_eq!(client.multi_get(&many).await.unwrap().rows.found(), many.len());

    for (column, value) in
        [(Column::Price, Number::Real(4000.5)), (Column::UpdatedAt, Number::Integer(1_700_000_009_000_000))]
    {
        let filter = Filter { column, comparison: Comparison::Less, value };
        for column in [Column::Key, Column::Quantity, Column::Price, Column::UpdatedAt] {
            let aggregation = Aggregation { column, filter: Some(filter) };
            let pushed = client.aggregate(&aggregation).await.unwrap();
            assert_eq!(pushed, client.aggregate_here(&aggregation).await.unwrap());
            assert!(pushed.count > 0 && pushed.count < ROWS && pushed.average().is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_arm_does_the_same() {
    let processes = start(None);
    let mut hybrid = stores();
    hybrid[1..].clone_from_slice(&processes.places()[1..]);
    for places in [stores(), processes.places(), hybrid] {
        soon(contract(&connect(places, None).await)).await;
    }
    let mut swapped = processes.places();
    swapped.swap(0, 2);
    let error = ShardClient::connect(swapped, &ClientOptions::default()).await.err().unwrap();
    assert!(error.to_string().contains("it is shard 2 of 3"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_on_disk_do_the_same() {
    let folder = Folder::new("contract");
    let processes = start(Some(&folder.0));
    soon(contract(&connect(processes.places(), None).await)).await;
}

fn assert_names(error: &Error, shard: u32) {
    let text = error.to_string();
    assert!(text.contains(&format!("shard {shard} of {SHARDS} at http://")), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_is_gone_is_named_and_the_others_answer() {
    let processes = start(None);
    let client = connect(processes.places(), None).await;
    soon(client.populate(ROWS, false)).await.unwrap();
    let keys: Vec<i64> = (0..3000).collect();
    let before = client.multi_get(&keys).await.unwrap();
    assert_eq!(before.rows.found(), keys.len());

    // While calls run: each gets all rows, or names the failed shard and gets the rows of the others.
    let running = {
        let (client, keys) = (client.clone(), keys.clone());
        tokio::spawn(async move {
            for _ in 0..100_000 {
                let got = client.multi_get(&keys).await.unwrap();
                if !got.failures.is_empty() {
                    return got;
                }
                assert_eq!(got.rows.found(), keys.len());
            }
            panic!("the end of the shard does not show");
        })
    };
    tokio::time::sleep(Duration::from_millis(30)).await;
    processes.processes()[1].stop();
    let got = soon(running).await.unwrap();
    let lost = keys.iter().filter(|key| shard_of(**key, SHARDS) == 1).count();
    assert_eq!(got.rows.found(), keys.len() - lost);
    assert_eq!(got.failures.len(), 1);
    assert_eq!(got.failures[0].shard, 1);
    assert_names(&got.failures[0].error, 1);

    let key = keys.iter().copied().find(|key| shard_of(*key, SHARDS) == 1).unwrap();
    let error = soon(client.get(key)).await.unwrap_err();
    assert_names(&error, 1);
    assert_eq!(error.code(), "BB_CONNECTION");
    assert_names(&soon(client.put(&Row::made(key))).await.unwrap_err(), 1);
    let everything = Aggregation { column: Column::Key, filter: None };
    assert_names(&soon(client.aggregate(&everything)).await.unwrap_err(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_ends_under_a_scan_is_named_and_the_others_come_whole() {
    const MANY: u64 = 300_000;
    let processes = start(None);
    let client = connect(processes.places(), None).await;
    soon(client.populate(MANY, false)).await.unwrap();
    let others = soon(client.describe()).await.unwrap();
    let others = others[0].0 + others[1].0;
    let mut scan = client.scan();
    let mut failures = Vec::new();
    let (mut rows, mut of_two) = (0, 0);
    soon(async {
        while let Some(batch) = scan.next().await {
            match batch {
                Ok(batch) => {
                    if rows == 0 {
                        processes.processes()[2].stop();
                    }
                    rows += batch.num_rows() as u64;
                    let key = batch.column(0).as_primitive::<Int64Type>().value(0);
                    if shard_of(key, SHARDS) == 2 {
                        of_two += batch.num_rows() as u64;
                    }
                }
                Err(failure) => failures.push(failure),
            }
        }
    })
    .await;
    assert_eq!(rows - of_two, others);
    assert!(of_two < MANY - others, "the shard gave all its rows before it ended");
    assert_eq!(failures.iter().map(|failure| failure.shard).collect::<Vec<_>>(), [2]);
    assert_names(&failures[0].error, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_ends_under_a_population_is_named() {
    let processes = start(None);
    let client = connect(processes.places(), None).await;
    let filling = {
        let client = client.clone();
        tokio::spawn(async move { client.populate(6_000_000, false).await })
    };
    // The shard is stopped once it has received some rows, which no reader sees yet.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(soon(client.describe()).await.unwrap()[0], (0, None));
    processes.processes()[0].stop();
    let error = soon(filling).await.unwrap().unwrap_err();
    assert_names(&error, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_hangs_is_named_when_the_deadline_is_over() {
    let processes = start(None);
    let client = connect(processes.places(), Some(Duration::from_millis(300))).await;
    soon(client.populate(300, false)).await.unwrap();
    let key = (0..300).find(|key| shard_of(*key, SHARDS) == 1).unwrap();
    let signal = |signal| {
        let id = i32::try_from(processes.processes()[1].process_id()).unwrap();
        // SAFETY: it sends a signal to a process that this test started and has not waited for.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    // The signal takes effect after a while.
    let error = soon(async {
        loop {
            if let Err(error) = client.get(key).await {
                break error;
            }
        }
    })
    .await;
    assert_eq!(error.code(), "BB_TIMEOUT");
    assert_names(&error, 1);
    let keys: Vec<i64> = (0..300).collect();
    let got = soon(client.multi_get(&keys)).await.unwrap();
    assert_eq!(got.failures.len(), 1);
    assert_eq!(got.failures[0].error.code(), "BB_TIMEOUT");
    assert_eq!(got.rows.found(), keys.iter().filter(|key| shard_of(**key, SHARDS) != 1).count());
    let mut scan = client.scan();
    let mut failures = Vec::new();
    while let Some(batch) = soon(scan.next()).await {
        failures.extend(batch.err());
    }
    assert_eq!(
        failures.iter().map(|failure| (failure.shard, failure.error.code())).collect::<Vec<_>>(),
        [(1, "BB_TIMEOUT")]
    );
    signal(libc::SIGCONT);
    // The shard may still be busy with calls from the time when it was stopped.
    soon(async {
        while client.get(key).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(client.get(key).await.unwrap(), Some(Row::made(key)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_kills_lose_no_acknowledged_write() {
    const KILLS: i64 = 10;
    let folder = Folder::new("kill");
    let mut processes = start(Some(&folder.0));
    soon(connect(processes.places(), None).await.populate(ROWS, false)).await.unwrap();
    let mut acknowledged = Vec::new();
    for kill in 0..KILLS {
        let client = connect(processes.places(), None).await;
        let writers: Vec<_> = (0..4_i64)
            .map(|writer| {
                let client = client.clone();
                tokio::spawn(async move {
                    let mut written = Vec::new();
                    for number in 0.. {
                        let key = 1_000_000 + (kill * 4 + writer) * 1_000_000 + number * 2;
                        let rows = [Row::made(key), Row::made(key + 1)];
                        let done = if number % 2 == 0 {
                            client.put(&rows[0]).await.map(|()| vec![key])
                        } else {
                            let packed: Vec<u8> = rows.iter().flat_map(Row::to_bytes).collect();
                            client.put_many(&packed).await.map(|()| vec![key, key + 1])
                        };
                        match done {
                            Ok(keys) => written.extend(keys),
                            Err(_) => break,
                        }
                    }
                    written
                })
            })
            .collect();
        // Each round kills at another moment.
        tokio::time::sleep(Duration::from_millis(50 + kill.unsigned_abs() * 9)).await;
        processes.processes().iter().for_each(boundary_bench_server::ShardProcess::stop);
        for writer in writers {
            acknowledged.extend(soon(writer).await.unwrap());
        }
        processes = start(Some(&folder.0));
    }
    assert!(acknowledged.len() > 20, "{} writes", acknowledged.len());
    let client = connect(processes.places(), None).await;
    // The population is found again, and need not be repeated.
    assert!(client.describe().await.unwrap().iter().all(|(_, populated)| *populated == Some(ROWS)));
    for keys in acknowledged.chunks(1000) {
        let got = soon(client.multi_get(keys)).await.unwrap();
        assert_eq!((got.rows.found(), got.failures.len()), (keys.len(), 0));
        let rows = got.rows.into_batch().unwrap();
        let rows = rows.column(4).as_fixed_size_binary();
        assert!(keys.iter().enumerate().all(|(place, key)| rows.value(place) == Row::made(*key).payload));
    }
    let filter = Filter { column: Column::Key, comparison: Comparison::Less, value: Number::Integer(1_000_000) };
    let populated = soon(client.aggregate(&Aggregation { column: Column::Key, filter: Some(filter) })).await.unwrap();
    assert_eq!(populated.count, ROWS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_under_populations_leave_the_rows_before_or_the_rows_after() {
    let folder = Folder::new("replaced");
    let program = Path::new(env!("CARGO_BIN_EXE_boundary-bench-server"));
    let start = || ShardProcesses::start(Some(program), &[], 1, Some(&folder.0), &CancelToken::default()).unwrap();
    let mut processes = start();
    soon(connect(processes.places(), None).await.populate(ROWS, false)).await.unwrap();
    let mut whole = ROWS;
    let mut survived = 0;
    for kill in 0..8 {
        let client = connect(processes.places(), None).await;
        let next = ROWS + 1 + kill;
        let filling = tokio::spawn(async move { client.populate(next, true).await });
        // Each round kills at another moment.
        tokio::time::sleep(Duration::from_millis(kill * 20)).await;
        processes.processes()[0].stop();
        let is_filled = soon(filling).await.unwrap().is_ok();
        processes = start();
        let client = connect(processes.places(), None).await;
        let found = soon(checksum(&client)).await.unwrap();
        let (rows, populated) = soon(client.describe()).await.unwrap()[0];
        assert_eq!((rows, populated), (found.0, Some(found.0)));
        assert_eq!(found, (found.0, made_checksum(found.0)));
        assert!(found.0 == next || (found.0 == whole && !is_filled), "{} rows of {whole} or {next}", found.0);
        survived += u64::from(found.0 == whole);
        whole = found.0;
    }
    assert!(survived > 0, "no kill came in time");
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bb-shard-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
