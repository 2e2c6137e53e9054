//! A sharded store: rows of 200 bytes, spread over shards by a hash of their key. Each shard is in this process or behind gRPC.
//! A client may mix both kinds. The store knows nothing of JavaScript.
//!
//! `proto/boundary_bench/shards/v1/shards.proto` describes the rows, their placement, and the service.

mod aggregate;
mod block;
mod client;
mod convert;
mod framing;
#[doc(hidden)]
pub mod fuzzing;
mod ipc;
mod local_store;
mod made_rows;
mod memory;
mod options;
mod persistent;
mod placing;
mod prefetch;
mod row;
mod scan_body;
mod server;
mod service;
mod shard_batches;
mod status;
mod store;

pub use aggregate::{Aggregate, Aggregation, Column, Comparison, Filter, Number, Sum};
pub use block::{BLOCK_ROWS, Block, Columns, NULLABLE_SCHEMA, SCHEMA};
pub use client::{ClientOptions, FoundRows, MOST_ROWS, MultiGet, Scan, ShardClient, ShardFailure, ShardLocation};
pub use convert::{aggregate as aggregate_of, row as row_of};
pub use framing::with_binary_payloads;
pub use ipc::ArrowMessage;
pub use local_store::{LocalStore, place_of};
pub use made_rows::{MadeRows, made_checksum};
pub use memory::MemoryStore;
pub use memory::plan::{available as available_memory, check_rows, memory_of};
pub use options::ShardOptions;
pub use persistent::PersistentStore;
pub use placing::{key_hash, shard_of};
pub use row::{PAYLOAD_BYTES, ROW_BYTES, Row, SEED, made_hash};
pub use server::{CONNECTION_WINDOW, STREAM_WINDOW, ShardServer};
pub use shard_batches::{SentBatches, ShardBatches};
pub use store::{Blocks, EachRow, NextBatch, Population, Store, checksum};

/// The messages and the service, generated from the proto.
pub mod proto {
    #![expect(clippy::allow_attributes, clippy::pedantic, reason = "it is made by a program that knows no other way")]

    tonic::include_proto!("boundary_bench.shards.v1");

    /// The encoded descriptors of the messages, for gRPC reflection.
    pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("shards");
}
