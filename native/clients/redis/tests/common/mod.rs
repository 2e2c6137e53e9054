//! Helpers that the client's tests share.

use boundary_bench_redis::{KvClient, KvOptions};

pub async fn client(url: &str) -> KvClient {
    KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap()
}
