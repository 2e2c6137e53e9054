//! Shards whose network the kernel slows down, where it can: root, `ip`, `tc` and a kernel with netem are required.

use std::path::Path;
use std::time::{Duration, Instant};

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::needs;
use boundary_bench_server::{NetworkOptions, ShardNetwork, ShardProcess, ShardProcesses, why_no_kernel_delay};
use boundary_bench_shards::{ClientOptions, Row, ShardClient};

const SHARDS: u32 = 3;

fn start(network: ShardNetwork) -> boundary_bench_core::Result<ShardProcesses> {
    let program = Path::new(env!("CARGO_BIN_EXE_boundary-bench-server"));
    ShardProcesses::start_in(network, Some(program), &[], SHARDS, None, &CancelToken::default())
}

/// Our network interfaces in this namespace.
fn cards() -> Vec<String> {
    let names = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("bb-net")).collect()
}

#[test]
fn a_shard_on_the_loopback_is_slowed_down_by_no_kernel() {
    let shards = start(ShardNetwork::Loopback).unwrap();
    let network = NetworkOptions { delay: Duration::from_millis(1), megabits: None };
    let refused = shards.processes()[0].slow_down(&network).unwrap_err();
    assert_eq!(refused.code(), "BB_UNSUPPORTED");
}

#[tokio::test]
async fn the_kernel_delays_shards_in_namespaces_that_end_with_them() {
    needs!("netem", why_no_kernel_delay().map_or(Ok(()), Err));
    let before = cards().len();
    let shards = start(ShardNetwork::OwnNamespace).unwrap();
    assert_eq!(cards().len(), before + SHARDS as usize);
    let client = ShardClient::connect(shards.places(), &ClientOptions::default()).await.unwrap();
    client.populate(1000, true).await.unwrap();
    // The second delay replaces the first one, and does not add to it.
    for delay in [Duration::from_millis(1), Duration::from_millis(20)] {
        let network = NetworkOptions { delay, megabits: Some(100.0) };
        shards.processes().iter().try_for_each(|shard| shard.slow_down(&network)).unwrap();
        let started = Instant::now();
        assert_eq!(client.get(7).await.unwrap(), Some(Row::made(7)));
        assert!(started.elapsed() >= delay * 2);
    }
    // Each shard sends 12.5 MB a second, at 200 bytes a row: all of them take 16 ms for each thousand.
    let keys: Vec<i64> = (0..30_000).map(|key| key % 1000).collect();
    let started = Instant::now();
    assert_eq!(client.multi_get(&keys).await.unwrap().rows.found(), keys.len());
    assert!(started.elapsed() >= Duration::from_millis(100), "{:?}", started.elapsed());

    shards.processes().iter().for_each(ShardProcess::stop);
    let deadline = Instant::now() + Duration::from_secs(10);
    // The kernel removes the interfaces after the end of the process.
    while cards().len() > before {
        assert!(Instant::now() < deadline, "{:?} are left", cards());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
