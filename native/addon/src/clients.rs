//! Clients of HTTP, Redis, SQL and shards, and the formats of time series.

pub(crate) mod http;
pub(crate) mod http_loop;
pub(crate) mod ingest;
pub(crate) mod kv;
pub(crate) mod kv_loop;
pub(crate) mod shard_answers;
pub(crate) mod shard_calls;
pub(crate) mod shard_clients;
pub(crate) mod shard_filling;
pub(crate) mod shards;
pub(crate) mod socket_loop;
pub(crate) mod sql;
pub(crate) mod sql_loop;
