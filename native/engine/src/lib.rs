//! Tables, engines and lanes, without JavaScript.
//!
//! Rows live in an [`Engine`]. A *lane* ([`lanes`]) is a way for rows to go in or to come out. Every lane is written once, over the
//! engine trait. So an engine gets all lanes, and a lane works on all engines.

pub mod arriving;
pub mod arrow_in;
pub mod catalog;
pub mod checksum;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod contract;
pub mod decimal;
pub mod dialect;
mod engine;
pub mod frame;
pub mod lanes;
pub mod measurements;
mod memory;
pub mod slab;
pub mod sql_text;
pub mod table;
mod value;

pub use engine::{
    BatchStream, Capabilities, CreateMode, DEFAULT_BATCH_ROWS, Descriptor, Engine, Ingest, QueryOptions, Statement,
    bytes_of, canonical_file, check_batch, not_a_query, take_rows,
};
pub use memory::{MEMORY, MemoryEngine};
pub use value::{Value, check_parameter_count, unusable_parameter};
