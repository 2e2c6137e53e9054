//! Measures the speed of this client, and of the crate `redis`, as `redis-benchmark -c CONNECTIONS -P BATCH -t get,set`
//! does. `bench/lab/kv-ceiling.mjs` runs it next to that program:
//!
//! `cargo run --release -p boundary-bench-redis --example speed -- URL ours|redis-crate get|set|mget|mset CONNECTIONS BATCH
//! OPERATIONS [WORKER_THREADS]`
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use boundary_bench_redis::{Commands, KvClient, KvOptions, Url};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, IntoConnectionInfo};
use tokio::sync::Barrier;

/// The number of keys that are read and written.
const KEYS: usize = 100_000;

const VALUE: &[u8; 16] = b"0123456789abcdef";

type Failure = Box<dyn Error + Send + Sync>;

fn key(key: &mut Vec<u8>, number: usize) {
    use std::io::Write;
    key.clear();
    // Writing into a `Vec` does not fail.
    let _ = write!(key, "bb:speed:{:012}", number % KEYS);
}

enum Client {
    Ours(Box<KvClient>),
    Crate(MultiplexedConnection),
}

impl Client {
    async fn open(name: &str, url: &str) -> Result<Self, Failure> {
        Ok(match name {
            "ours" => Self::Ours(Box::new(KvClient::connect(url.parse::<Url>()?, KvOptions::default()).await?)),
            "redis-crate" => {
                // As the suite has it: `native/suite/src/kv/redis_crate.rs`.
                let info = url.into_connection_info()?.set_tcp_settings(TcpSettings::default().set_nodelay(true));
                let config = AsyncConnectionConfig::new().set_response_timeout(None);
                Self::Crate(redis::Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await?)
            }
            _ => return Err(format!("no such client: {name}").into()),
        })
    }

    /// Sends one request of `batch` operations, the first of which has the number `first`.
    async fn request(
        &mut self,
        operation: &str,
        first: usize,
        batch: usize,
        keys: &mut [Vec<u8>],
    ) -> Result<(), Failure> {
        for (offset, name) in keys[..batch].iter_mut().enumerate() {
            key(name, (first + offset).wrapping_mul(7919));
        }
        let keys = &keys[..batch];
        let mut bad = 0;
        match self {
            Self::Ours(client) => match (operation, batch) {
                ("get", 1) => client.get(&keys[0], |value| bad += usize::from(value != Some(VALUE))).await?,
                ("set", 1) => client.set(&keys[0], VALUE).await?,
                ("get" | "set", _) => {
                    let mut commands = Commands::new();
                    for key in keys {
                        if operation == "get" { commands.get(key) } else { commands.set(key, VALUE) }
                    }
                    client.execute(&commands, |_, answer| bad += usize::from(answer.is_err())).await;
                }
                ("mget", _) => {
                    let take =
                        |_, value: Result<Option<&[u8]>, &_>| bad += usize::from(value.ok() != Some(Some(VALUE)));
                    client.mget(keys.iter().map(Vec::as_slice), take).await;
                }
                ("mset", _) => client.mset(keys.iter().map(|key| (key.as_slice(), VALUE.as_slice()))).await?,
                _ => return Err("no such operation".into()),
            },
            Self::Crate(connection) => match (operation, batch) {
                ("get", 1) => {
                    let value: Vec<u8> = redis::cmd("GET").arg(&keys[0]).query_async(connection).await?;
                    bad += usize::from(value != VALUE);
                }
                ("set", 1) => redis::cmd("SET").arg(&keys[0]).arg(VALUE).query_async(connection).await?,
                ("get", _) => {
                    let mut pipeline = redis::pipe();
                    for key in keys {
                        _ = pipeline.cmd("GET").arg(key);
                    }
                    let values: Vec<Vec<u8>> = pipeline.query_async(connection).await?;
                    bad += values.iter().filter(|value| *value != VALUE).count();
                }
                ("set", _) => {
                    let mut pipeline = redis::pipe();
                    for key in keys {
                        _ = pipeline.cmd("SET").arg(key).arg(VALUE).ignore();
                    }
                    pipeline.query_async::<()>(connection).await?;
                }
                ("mget", _) => {
                    let values: Vec<Vec<u8>> = redis::cmd("MGET").arg(keys).query_async(connection).await?;
                    bad += values.iter().filter(|value| *value != VALUE).count();
                }
                ("mset", _) => {
                    let mut command = redis::cmd("MSET");
                    for key in keys {
                        _ = command.arg(key).arg(VALUE);
                    }
                    command.query_async::<()>(connection).await?;
                }
                _ => return Err("no such operation".into()),
            },
        }
        if bad == 0 { Ok(()) } else { Err(format!("{bad} wrong answers").into()) }
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, client, operation, connections, batch, operations, rest @ ..] = arguments.as_slice() else {
        return Err("usage: speed URL ours|redis-crate get|set|mget|mset CONNECTIONS BATCH OPERATIONS [THREADS]".into());
    };
    let (connections, batch, operations): (usize, usize, usize) =
        (connections.parse()?, batch.parse()?, operations.parse()?);
    let threads = rest.first().map_or(Ok(2), |threads| threads.parse::<usize>())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let rate = runtime.block_on(async {
        // All keys are loaded first, whatever is measured.
        let mut loader = Client::open("ours", url).await?;
        let mut names = vec![Vec::new(); 1000];
        for first in (0..KEYS).step_by(1000) {
            loader.request("mset", first, 1000, &mut names).await?;
        }
        let gate = Arc::new(Barrier::new(connections + 1));
        let mut tasks = Vec::new();
        for thread in 0..connections {
            let mut client = Client::open(client, url).await?;
            let (gate, operation) = (Arc::clone(&gate), operation.clone());
            tasks.push(tokio::spawn(async move {
                let mut names = vec![Vec::new(); batch];
                gate.wait().await;
                for request in (thread..operations / batch).step_by(connections) {
                    client.request(&operation, request * batch, batch, &mut names).await?;
                }
                Ok::<(), Failure>(())
            }));
        }
        gate.wait().await;
        let start = Instant::now();
        for task in tasks {
            task.await??;
        }
        Ok::<f64, Failure>(operations as f64 / start.elapsed().as_secs_f64())
    })?;
    println!("{rate:.0}");
    Ok(())
}
