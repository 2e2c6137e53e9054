//! Arrow Flight SQL: a service over an engine ([`FlightService`]), and an engine over any such service ([`FlightEngine`]).

mod channel;
mod client;
mod data;
mod dialect;
mod endpoints;
mod engine;
#[doc(hidden)]
pub mod fuzzing;
mod grpc;
mod ingest;
mod prepared;
pub mod sail;
mod service;
mod stall_guard;
mod status;
mod stream;
mod url;
mod values;

use std::fmt::Display;

use boundary_bench_engine::Descriptor;
use boundary_bench_kernel::Error;
pub(crate) use boundary_bench_kernel::runtime::runtime;

pub use dialect::Dialect;
pub use engine::{FlightEngine, open};
pub use grpc::MessageBody;
pub use ingest::append_to;
pub use service::{FlightService, Login, Quirks};
pub use url::FlightUrl;

/// The description of the engine `flight`.
pub static FLIGHT: Descriptor =
    Descriptor { name: "flight", schemes: &["flight", "flight+tls"], sql: true, transports: &[], open };

/// The flow-control window of one stream, in bytes: some batches, so that the sender need not wait for each
/// acknowledgement.
pub const STREAM_WINDOW: u32 = 4 << 20;

/// The flow-control window of one connection, in bytes: so large that no stream waits because another one is not read.
pub const CONNECTION_WINDOW: u32 = 1 << 30;

/// Maximum size of one frame, in bytes: fewer frames cost less work, and larger ones than this gain nothing more.
pub const FRAME_SIZE: u32 = 256 << 10;

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: FLIGHT.name, message: message.to_string() }
}
