//! Tableau's `hyperd`, a real database server, as an engine: behind every lane, over every transport it has.
//!
//! [`open`] takes an engine's URI ([`Uri`]). A private server is started once per process and stopped with its last
//! user.

mod address;
mod arrow_stream;
mod batches;
mod catalog;
mod copy_in;
mod copy_out;
mod engine;
mod grpc;
mod pool;
mod prepared;
mod rows;
mod server;
mod sql;
mod uri;
mod wire;

use std::fmt::Display;
use std::sync::Arc;

use boundary_bench_engine::{Descriptor, Engine};
use boundary_bench_kernel::{Error, Result};

pub use address::ServerAddress;
pub use engine::HyperEngine;
pub use server::{Server, executable};
pub use uri::{ServerDatabase, Transport, Uri};
#[doc(hidden)]
#[cfg(unix)]
pub use wire::fuzzing;

/// The description of the engine `hyper`.
pub static HYPER: Descriptor =
    Descriptor { name: "hyper", schemes: &["hyper"], sql: true, transports: &uri::TRANSPORT_NAMES, open };

/// Opens the engine of a `hyper:` URI.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(HyperEngine::open(uri.parse()?)?))
}

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: HYPER.name, message: message.to_string() }
}
