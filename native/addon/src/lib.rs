//! The addon: converts between JavaScript's values and the core's, and maps errors. It holds no algorithms.
#![expect(clippy::needless_pass_by_value, reason = "napi hands over owned values")]

mod attachment;
mod buffers;
mod engine;
mod errors;
mod fast_call;
mod http;
mod http_loop;
mod in_flight;
mod info;
mod ingest;
mod ingest_stages;
mod inserter;
mod json;
mod kv;
mod kv_loop;
mod naive;
mod parameters;
mod reader;
mod requests;
mod serve;
mod shard_answers;
mod shard_calls;
mod shard_servers;
mod shards;
mod shared_memory;
mod socket_loop;
mod sql;
mod sql_loop;
mod statement;
mod suite;
mod table;
mod typed_memory;
mod uv;
