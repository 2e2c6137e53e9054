//! Time-series ingest: the codecs of `HyperbyteDB`'s write formats, and the store of a server for the points they carry.
//!
//! - [`line`]: line protocol, read and written.
//! - [`msgpack`]: columns and rows in `MessagePack`, read and written.
//! - [`points`]: the points that every format is decoded to, and their Arrow batch.
//! - [`rules`]: which names and times can be stored, whatever their format was.
//! - [`store`]: databases of points: registered series and fields, a write-ahead log, points in memory, and files of
//!   Parquet.
//!
//! It knows no HTTP and no JavaScript.

pub mod arrow;
pub mod error;
pub mod line;
pub mod msgpack;
pub mod points;
pub mod precision;
pub mod rules;
pub mod store;

pub use error::{Error, Result};
pub use points::{FieldKind, Points};
pub use precision::Precision;
pub use store::{Durability, IngestStore, StoreOptions};

/// The default limit of points in one write.
pub const MOST_POINTS: usize = 500_000;
