//! The reference server: stands in for `RonDB` and `HyperbyteDB`, so that the client side can be measured on any machine. It
//! knows nothing of JavaScript.
//!
//! One port answers the REST contract of `RonDB` over point tables and TPC-H's `lineitem`, the ingest contract of `HyperbyteDB`
//! over databases of points, and `/metrics`; another kind of server answers Flight SQL over a database of `DuckDB`, and another
//! holds one shard of a sharded store behind gRPC. They bind the loopback unless told otherwise.

mod arguments;
mod arrival;
mod date;
mod delay;
mod flight;
mod front;
mod ingest;
mod lineitem;
mod metrics;
mod namespace;
mod options;
mod private;
mod rest;
mod routes;
mod running;
mod server;
mod shard;
mod tables;

pub use arguments::{HELP, Parsed, parse};
pub use boundary_bench_shards::TlsFiles;
pub use delay::{Delay, DelayOptions, DelayProcess};
pub use namespace::{NetworkOptions, why_no_kernel_delay};
pub use options::{DEFAULT_FLIGHT_PORT, DEFAULT_PORT, FlightOptions, Limits, Options};
pub use private::{ANNOUNCEMENT, PrivateServer, executable};
pub use running::Running;
pub use server::Server;
pub use shard::{ShardNetwork, ShardProcess, ShardProcesses};
