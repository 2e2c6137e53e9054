//! Sail, a distributed engine of Spark's SQL, as an engine: over Arrow Flight SQL, with tables in files of Parquet.
//!
//! [`open`] takes an engine's URI. A private server runs in Sail's cluster mode on this machine: a driver and workers, all in one
//! process. They talk to each other over the loopback.

mod server;
mod uri;

use std::fmt::Display;
use std::sync::Arc;

use boundary_bench_engine::{Descriptor, Engine};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

use crate::FlightEngine;

pub use server::{SailServer, executable};
pub use uri::SailUri;

/// The description of the engine `sail`.
pub static SAIL: Descriptor =
    Descriptor { name: "sail", schemes: &["sail", "sail+tls"], sql: true, transports: &[], open };

/// Opens the engine of a `sail:` URI ([`SailUri`]). A private server ends with the engine, and its tables with it.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    let engine = match uri.parse()? {
        SailUri::Server(url) => FlightEngine::open_as(&SAIL, *url, None),
        SailUri::Private { workers } => {
            let server = SailServer::start(&executable()?, workers, &CancelToken::default())?;
            FlightEngine::open_as(&SAIL, server.url()?, Some(Arc::new(server)))
        }
    };
    Ok(Arc::new(engine?))
}

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: SAIL.name, message: message.to_string() }
}
