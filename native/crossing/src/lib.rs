//! The addon that only the benchmark loads: functions that measure what a crossing costs, clients to compare the library's with, and
//! private servers. It converts between JavaScript's values and the suite's, and holds no algorithms.
#![expect(clippy::needless_pass_by_value, reason = "napi hands over owned values")]

mod boundary;
mod calls;
mod codec;
#[cfg(feature = "all")]
mod ingest_stages;
mod private_servers;
mod shard_servers;
