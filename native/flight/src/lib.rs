//! Arrow Flight SQL: a service over an engine ([`FlightService`]), and an engine over any such service ([`FlightEngine`]).

mod channel;
mod client;
mod data;
mod engine;
mod grpc;
mod ingest;
mod prepared;
mod service;
mod status;
mod stream;
mod url;
mod values;

use std::sync::LazyLock;

use arrow_schema::ArrowError;
use boundary_bench_core::Error;
use tokio::runtime::{Builder, Runtime};

pub use engine::{FlightEngine, open};
pub use grpc::{CutOff, MessageBody};
pub use service::{FlightService, Login, ServiceLimits};
pub use url::FlightUrl;

const NAME: &str = "flight";

/// Threads that the connections of engines are served by; their callers do most of the work.
const RUNTIME_THREADS: usize = 2;

/// Bytes of one stream that may be on their way: some batches, so that neither side waits for the other's last word.
pub const STREAM_WINDOW: u32 = 4 << 20;

/// Bytes of one connection that may be on their way; no stream shall wait because another one is not read.
pub const CONNECTION_WINDOW: u32 = 1 << 30;

/// Bytes of one frame: the fewer there are, the less is done for each. A scan reaches 56 M rows/s with 16 KiB, 76 with 64 KiB, and
/// no more than 84 with 256 KiB or 1 MiB.
pub const FRAME_SIZE: u32 = 256 << 10;

fn engine_error(message: impl Into<String>) -> Error {
    Error::Engine { engine: NAME, message: message.into() }
}

/// The error for bytes or values that Arrow refuses.
#[expect(clippy::needless_pass_by_value, reason = "to be given to map_err")]
fn unusable(error: ArrowError) -> Error {
    engine_error(error.to_string())
}

/// The runtime of the engines' connections. It is never ended, so that a connection may be dropped anywhere.
fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let builder =
            Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).thread_name("bb-flight").enable_all().build();
        builder.expect("a process that has no threads left can do nothing")
    });
    &RUNTIME
}
