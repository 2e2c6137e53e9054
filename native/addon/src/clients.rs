//! Clients of HTTP, Redis, SQL and shards, and the formats of time series.

pub(crate) mod http;
pub(crate) mod http_loop;
pub(crate) mod ingest;
pub(crate) mod kv;
pub(crate) mod kv_loop;
#[cfg(feature = "all")]
pub(crate) mod shard_answers;
#[cfg(feature = "all")]
pub(crate) mod shard_calls;
#[cfg(feature = "all")]
pub(crate) mod shard_clients;
#[cfg(feature = "all")]
pub(crate) mod shard_filling;
#[cfg(feature = "all")]
pub(crate) mod shards;
pub(crate) mod socket_loop;
pub(crate) mod sql;
pub(crate) mod sql_loop;
