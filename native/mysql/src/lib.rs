//! Servers that speak the MySQL wire, as targets of small requests and as an engine of Boundary Bench.
//!
//! [`open`] takes an engine's URI, [`SqlClient`] sends requests, one by one or many in one go, [`server::start`] starts a
//! private server.

mod calendar;
mod catalog;
mod cells;
mod client;
mod codec;
mod connection;
mod driven;
mod engine;
mod ingest;
mod insert;
mod login;
mod pool;
mod prepared;
mod rows;
pub mod server;
mod session;
mod sql;
mod submission;
mod transport;
mod url;

use std::sync::LazyLock;

use arrow_schema::ArrowError;
use boundary_bench_core::Error;
use tokio::runtime::{Builder, Runtime};

pub use cells::{Cell, CellLists, put_cell};
pub use client::{Batch, ClientOptions, Outcome, Results, SqlClient, StatementLists};
pub use codec::{Done, Failure, Field, ServerError};
pub use connection::{Connection, Prepared, Started};
pub use driven::DrivenSession;
pub use engine::{MysqlEngine, open};
pub use insert::Rows;
pub use rows::{Form, RowBuilder, RowShape};
pub use session::{RowView, SqlSession};
pub use submission::{Shapes, Submission};
pub use url::{Tls, Url};

const NAME: &str = "mysql";

/// Threads that the connections of engines are served by; their callers do most of the work.
const RUNTIME_THREADS: usize = 2;

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
            Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).thread_name("bb-mysql").enable_all().build();
        builder.expect("a process that has no threads left can do nothing")
    });
    &RUNTIME
}
