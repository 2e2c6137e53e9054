//! The connections of a sharded store's client in Node, and what drives them.

use std::io;
use std::sync::{Arc, Mutex};

use boundary_bench_kernel::{Error, Result, socket};
use boundary_bench_shards::{ClientOptions, Connection, Place, ShardClient, Transport};
use napi::tokio::sync::watch;
use napi::tokio::task::spawn_local;

use crate::loop_runtime;

/// What it takes to be driven by the event loop of the thread that it is used on.
#[derive(Debug)]
pub struct LoopTransport;

type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

impl Transport for LoopTransport {
    fn connect(&self, host: String, port: u16) -> Boxed<io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            let stream = socket::connect(&host, port).await?;
            Ok(Box::new(loop_runtime::watch(stream.into_std()?)?) as Box<dyn Connection>)
        })
    }

    fn spawn(&self, task: Boxed<()>) {
        drop(spawn_local(task));
    }

    fn sent(&self) -> Boxed<()> {
        Box::pin(loop_runtime::sent())
    }
}

/// Clients until they are closed: then nothing here keeps their stores.
pub type Shared = Arc<Mutex<Option<Clients>>>;

/// The clients of a store: on the event loop, small calls are answered soonest; but what moves many rows, or waits for a disk, would
/// keep it from all else.
#[derive(Clone)]
pub struct Clients {
    /// For few rows, where `is_driven` by the event loop.
    pub few: ShardClient,
    /// Whether `few` may be used so.
    pub is_driven: bool,
    /// For any number of rows, by the threads of tokio.
    pub bulk: ShardClient,
}

impl Clients {
    /// Connects, on the event loop where the options have a transport.
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

/// Works until the client is closed, or nobody is left to read the answer.
pub async fn unless_closed<T>(mut closed: watch::Receiver<bool>, work: impl Future<Output = Result<T>>) -> Result<T> {
    let closed = async { drop(closed.wait_for(|closed| *closed).await) };
    napi::tokio::select! {
        biased;
        () = closed => Err(Error::Closed("the client")),
        answer = work => answer,
    }
}
