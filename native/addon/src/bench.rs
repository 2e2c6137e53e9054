//! The exports that only the benchmark calls.

pub(crate) mod boundary;
pub(crate) mod calls;
pub(crate) mod codec;
pub(crate) mod in_process;
pub(crate) mod ingest_stages;
pub(crate) mod requests;
pub(crate) mod shard_servers;
pub(crate) mod suite;
