//! Databases of points on disk.
//!
//! A write takes three steps. Its series and fields are registered ([`Registry`]): a cache in memory over an embedded key-value
//! store (fjall). It is appended to a write-ahead log ([`Wal`]) as one entry. Then it is kept in memory, as the arrays it was
//! decoded to. From time to time the points in memory are flushed to Parquet files, and the log begins anew.
//!
//! Names and times that can't be stored are refused before they are logged ([`crate::rules`], [`Limits`]). Points that turn out
//! later to be unstorable, since an older version accepted them or the disk damaged them, are set aside in a file beside the
//! log, and reported.
//!
//! The log is our own file format, with a length and checksums before each entry: the embedded store takes 64 µs for an entry
//! of 18 kB where a plain append takes 14.5, and syncing costs both what the disk takes. An entry holds the names of its series
//! and fields, so that reading it needs no other file. The Parquet files are written by the embedded DuckDB that is a
//! dependency already; the crate `parquet` would add a minute to the build.

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
