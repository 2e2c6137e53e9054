//! The clients of a sharded store in Node, and the transport that drives their connections.

use std::io;
use std::sync::{Arc, Mutex};

use boundary_bench_event_loop::{sent, watch as watch_socket};
use boundary_bench_kernel::{Error, Result, socket};
use boundary_bench_shards::{ClientOptions, Connection, Place, ShardClient, Transport};
use napi::tokio::sync::watch;
use napi::tokio::task::spawn_local;

/// The transport that drives connections by the event loop of the thread that it is used on.
#[derive(Debug)]
pub struct LoopTransport;

type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

impl Transport for LoopTransport {
    fn connect(&self, host: String, port: u16) -> Boxed<io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            let stream = socket::connect(&host, port).await?;
            Ok(Box::new(watch_socket(stream.into_std()?)?) as Box<dyn Connection>)
        })
    }

    fn spawn(&self, task: Boxed<()>) {
        drop(spawn_local(task));
    }

    fn sent(&self) -> Boxed<()> {
        Box::pin(sent())
    }
}

/// The clients; `None` once they are closed, so that nothing here keeps their stores.
pub type Shared = Arc<Mutex<Option<Clients>>>;

/// The clients of a store. On the event loop, small calls are answered soonest; but calls that move many rows, or wait for a
/// disk, would block it.
#[derive(Clone)]
pub struct Clients {
    /// The client for calls on few rows; the event loop drives it if `is_driven`.
    pub few: ShardClient,
    /// Whether the event loop drives `few`.
    pub is_driven: bool,
    /// The client for calls on any number of rows, driven by tokio's threads.
    pub bulk: ShardClient,
}

impl Clients {
    /// Connects to the shards, on the event loop if the options have a transport and no shard is on disk.
    pub async fn connect(places: Vec<Place>, mut options: ClientOptions) -> Result<Self> {
        if places.iter().any(|place| matches!(place, Place::Direct(store) if store.is_persistent())) {
            options.transport = None;
        }
        let few = ShardClient::connect(places, &options).await?;
        let is_driven = options.transport.is_some();
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
