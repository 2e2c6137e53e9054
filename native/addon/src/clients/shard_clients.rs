//! The clients of a sharded store in Node.

use std::sync::{Arc, Mutex};

use boundary_bench_event_loop::LoopDriver;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_shards::{ClientOptions, ShardClient, ShardLocation};
use napi::tokio::sync::watch;

/// The clients, or `None` once they are closed, so that nothing here keeps their stores.
pub type Shared = Arc<Mutex<Option<Clients>>>;

/// The clients of a store. On the event loop, small calls are answered soonest. Calls that move many rows, or wait for a disk,
/// would block it.
#[derive(Clone)]
pub struct Clients {
    /// The client for calls on few rows. The event loop drives it if `is_driven`.
    pub few: ShardClient,
    /// Whether the event loop drives `few`.
    pub is_driven: bool,
    /// The client for calls on any number of rows, driven by tokio's threads.
    pub bulk: ShardClient,
}

impl Clients {
    /// Connects to the shards, on the event loop if no shard is on disk.
    pub async fn connect(places: Vec<ShardLocation>, mut options: ClientOptions) -> Result<Self> {
        let is_persistent =
            |place: &ShardLocation| matches!(place, ShardLocation::Direct(store) if store.is_persistent());
        let is_driven = !places.iter().any(is_persistent);
        if is_driven {
            options.driver = &LoopDriver;
        }
        let few = ShardClient::connect(places, &options).await?;
        let bulk = if is_driven { few.apart() } else { few.clone() };
        Ok(Self { few, is_driven, bulk })
    }
}

/// Runs work until it ends, or until the client is closed or dropped.
pub async fn unless_closed<T>(mut closed: watch::Receiver<bool>, work: impl Future<Output = Result<T>>) -> Result<T> {
    let closed = async { drop(closed.wait_for(|closed| *closed).await) };
    napi::tokio::select! {
        biased;
        () = closed => Err(Error::Closed("the client")),
        answer = work => answer,
    }
}
