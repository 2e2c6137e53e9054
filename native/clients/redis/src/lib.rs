//! Boundary Bench's client of servers that speak the Redis protocol: a target of small requests.

mod client;
mod cluster;
mod cluster_calls;
mod connection;
mod gather;
mod groups;
mod keys;
mod lane;
mod map;
mod order;
mod plan;
mod private_cluster;
mod redirect;
mod remote;
mod resp;
mod routing;
mod server;
mod session;
mod shared;
mod slots;
mod state;
mod submission;
mod trip;
mod url;

use std::time::Duration;

use boundary_bench_kernel::Error;

pub use boundary_bench_kernel::frame::Frame;
pub use client::{KvClient, KvOptions};
pub use cluster_calls::ClusterCalls;
pub use connection::Connection;
pub use private_cluster::PrivateCluster;
pub use resp::{Commands, Items, Reply, ReplyBuffer};
pub use server::{Server, executable};
pub use session::Session;
pub use shared::SharedKvClient;
pub use state::{STATEFUL, refusal};
pub use submission::{Request, layout, pieces, requests};
pub use url::{Endpoint, Url};

/// The name of the target in the matrix, the results and the errors.
pub const NAME: &str = "redis";

fn engine_error(message: String) -> Error {
    Error::Engine { engine: NAME, message }
}

/// The error of a server that took longer than `time`.
fn no_answer(time: Duration) -> Error {
    Error::Timeout(format!(
        "the Redis server did not answer within {} ms; what was sent may have been executed or not",
        time.as_millis()
    ))
}

/// The error for an error reply of the server.
pub fn server_error(text: &[u8]) -> Error {
    engine_error(String::from_utf8_lossy(text).into_owned())
}
