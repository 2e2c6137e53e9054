//! Databases of points on disk.
//!
//! A write goes through three steps. Its series and fields are registered ([`Registry`]): a cache in memory over an
//! embedded key-value store (fjall). It is appended to a write-ahead log ([`Wal`]), one entry a write. Then it is kept in
//! memory, as the arrays it was decoded to. From time to time what is in memory is written to files of Parquet, and the
//! log begins anew.
//!
//! What can't be stored is refused before it is logged ([`crate::rules`], [`Limits`]). What can't be stored all the same, since an
//! older version accepted it or the disk damaged it, is set aside in a file beside the log, and told.
//!
//! The log is a file of our own, length and checksums before each entry: the embedded store takes 64 µs for an entry of
//! 18 kB where a plain append takes 14.5, and syncing costs both what the disk takes. An entry holds the names of its
//! series and fields, so that what it says needs no other file. The files of Parquet are written by the embedded DuckDB
//! that is here already; the crate `parquet` would cost a minute of building.

mod block;
mod catalog;
mod entry;
mod files;
mod fitting;
mod flush;
mod frame;
mod ingest_store;
mod options;
mod query;
mod registry;
mod replay;
mod storing;
mod table;
mod wal;

pub use catalog::Catalog;
pub use entry::{Entry, EntryValues, read_entry};
pub use files::{Disk, Files, LogFile, create_folders};
pub use ingest_store::IngestStore;
pub use options::{Durability, StoreOptions};
pub use query::{QueryRows, Select, Value};
pub use registry::{Database, Limits, Registry, Resolved};
pub use replay::{read_entries, replay};
pub use storing::StoreStatus;
pub use wal::Wal;
