//! The behaviour of a client when a shard in this process fails.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_shards::{
    Aggregate, Aggregation, Blocks, ClientOptions, Column, Columns, MemoryStore, NextBatch, Population, Row,
    ShardClient, ShardLocation, Store, shard_of,
};

/// A store whose disk is gone. Its sums run until they are cancelled, and it reports that.
struct Failing(Sender<()>);

fn failed() -> Error {
    Error::Engine { engine: "disk", message: "it is gone".to_owned() }
}

impl Store for Failing {
    fn rows(&self) -> u64 {
        0
    }

    fn get(&self, _: i64) -> Result<Option<Row>> {
        Err(failed())
    }

    fn put(&self, _: Columns<'_>) -> Result<()> {
        Err(failed())
    }

    fn scan(&self) -> Blocks {
        Box::new(std::iter::once(Err(failed())))
    }

    fn aggregate(&self, _: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        while !cancel.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.send(()).unwrap();
        Err(failed())
    }

    fn populate(&self, _: &Population, _: &mut NextBatch<'_>) -> Result<()> {
        Err(failed())
    }

    fn populated(&self) -> Option<u64> {
        None
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn the_others_get_and_give_their_rows() {
    const KEYS: i64 = 100;
    let (summing, ended) = channel();
    let stores: [Arc<dyn Store>; 3] =
        [Arc::new(MemoryStore::new()), Arc::new(Failing(summing)), Arc::new(MemoryStore::new())];
    let places = stores.iter().map(|store| ShardLocation::Direct(Arc::clone(store))).collect();
    let client = ShardClient::connect(places, &ClientOptions::default()).await.unwrap();
    let is_named = |error: &Error| assert!(error.to_string().contains("shard 1 of 3 in this process"), "{error}");

    let packed: Vec<u8> = (0..KEYS).flat_map(|key| Row::made(key).to_bytes()).collect();
    is_named(&client.put_many(&packed).await.unwrap_err());
    let written = (0..KEYS).filter(|key| shard_of(*key, 3) != 1).count();
    assert_eq!(stores[0].rows() + stores[2].rows(), written as u64);

    let found = client.multi_get(&(0..KEYS).collect::<Vec<_>>()).await.unwrap();
    assert_eq!((found.rows.found(), found.failures.len(), found.failures[0].shard), (written, 1, 1));
    is_named(&found.failures[0].error);

    let (mut rows, mut failures) = (0, Vec::new());
    let mut scan = client.scan();
    while let Some(batch) = scan.next().await {
        match batch {
            Ok(batch) => rows += batch.num_rows(),
            Err(failure) => failures.push(failure),
        }
    }
    assert_eq!((rows, failures.len(), failures[0].shard), (written, 1, 1));
    is_named(&failures[0].error);

    // Sums are cancelled when their caller no longer waits.
    let aggregation = Aggregation { column: Column::Key, filter: None };
    tokio::time::timeout(Duration::from_millis(10), client.aggregate(&aggregation)).await.unwrap_err();
    ended.recv_timeout(Duration::from_secs(10)).unwrap();
}
