//! Servers that speak the MySQL wire, as targets of small requests and as an engine of Boundary Bench.

mod codec;
mod connection;
mod login;
mod transport;
mod url;

use boundary_bench_core::Error;

pub use codec::{Done, Failure, Field, ServerError};
pub use connection::{Connection, Prepared, Started};
pub use url::{Tls, Url};

const NAME: &str = "mysql";

fn engine_error(message: impl Into<String>) -> Error {
    Error::Engine { engine: NAME, message: message.into() }
}
