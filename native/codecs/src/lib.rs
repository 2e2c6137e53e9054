//! Codecs: pure functions over bytes, without files, sockets and JavaScript.
//!
//! Of the write formats of `HyperbyteDB`:
//! - [`line`]: line protocol, read and written.
//! - [`msgpack`]: columns and rows in `MessagePack`, read and written.
//! - [`points`]: the points that every format is decoded to, and [`arrow`], their Arrow batch.
//! - [`rules`]: the names and times that can be stored, from any format.
//!
//! Of JSON, [`json`]: values picked out by paths, without a tree.

pub mod arrow;
pub mod error;
pub mod json;
pub mod line;
pub mod msgpack;
pub mod points;
pub mod precision;
mod read_options;
pub mod rules;

pub use error::{Error, Result};
pub use points::{FieldKind, Points};
pub use precision::Precision;
pub use read_options::ReadOptions;

/// The default limit of points in one write.
pub const MOST_POINTS: usize = 500_000;
