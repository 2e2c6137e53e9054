//! Boundary Bench's client of servers that speak the MySQL protocol: a target of small requests, and an engine.
//!
//! [`open`] takes an engine's URI, [`SqlSession`] sends requests one at a time, [`DrivenSession`] many in one go,
//! [`server::start`] starts a private server.

mod batch;
mod calendar;
mod catalog;
mod cells;
mod codec;
mod connection;
mod decoder;
mod driven;
mod effect;
mod engine;
#[doc(hidden)]
#[cfg(unix)]
pub mod fuzzing;
mod ingest;
mod insert;
mod kind;
mod login;
mod outcome;
mod pool;
mod prepared;
mod rows;
pub mod server;
mod session;
mod session_state;
mod settings;
mod sql;
mod submission;
mod temporal;
#[doc(hidden)]
pub mod testing;
mod transport;
mod unfit;
mod url;

use std::fmt::Display;

use boundary_bench_engine::Descriptor;
use boundary_bench_kernel::Error;
pub(crate) use boundary_bench_kernel::runtime::runtime;

pub use batch::{Batch, StatementLists};
pub use cells::{Cell, CellLists};
pub use codec::{Done, Failure, Field, ServerError};
pub use connection::{Connection, Ended, Prepared, Started};
pub use driven::DrivenSession;
pub use effect::is_plain_read;
pub use engine::{MysqlEngine, open};
pub use insert::Rows;
pub use outcome::{Outcome, Results, StatementRows};
pub use rows::{Form, RowBuilder, RowShape};
pub use session::{RowView, SqlSession};
pub use submission::{Shapes, Submission, layout};
pub use url::{Collation, Url, ValueForms};

const NAME: &str = "mysql";

/// The description of the engine `mysql`.
pub static MYSQL: Descriptor = Descriptor { name: NAME, schemes: &["mysql"], sql: true, transports: &[], open };

fn engine_error(message: impl Display) -> Error {
    Error::Engine { engine: NAME, message: message.to_string() }
}
