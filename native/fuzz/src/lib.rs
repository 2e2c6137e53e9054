//! Harnesses. Each gives arbitrary bytes to a reader of network or file bytes, and panics if a property fails that must hold for
//! all bytes. Bytes read in pieces give the same result as bytes read at once. Memory stays in proportion to the input. Values
//! that were read can be written and read again. Other readers of the same format agree.
//!
//! `npm run fuzz` looks for inputs that break a harness, guided by the code that they reach, and begins with the inputs kept in
//! `corpus/`. The tests run the kept inputs through the same harnesses.

mod arrow;
mod http;
mod hyper;
pub mod ingest;
mod input;
mod json;
mod memory;
mod mysql;
mod redis;
mod shards;
mod sockets;
mod wal;

use std::path::PathBuf;

/// A harness: a reader under test, and the check of its properties.
#[derive(Debug, Clone, Copy)]
pub struct Harness {
    /// The name of the harness and of its folder in the corpus.
    pub name: &'static str,
    /// A description of the bytes that the harness reads, for people.
    pub reads: &'static str,
    /// Gives bytes to the reader, and panics if a property fails that must hold for all bytes.
    pub run: fn(&[u8]),
    /// Maximum length of an input, in bytes.
    pub most_bytes: usize,
}

/// All harnesses.
pub const HARNESSES: [Harness; 18] = [
    harness("resp", "replies of a Redis server", redis::resp, 4 << 10),
    harness("mysql-connection", "the login and the answers of a MySQL server", mysql::connection, 4 << 10),
    harness("mysql-rows", "rows of a MySQL server, binary and as text", mysql::rows, 4 << 10),
    harness("mysql-cells", "lists of values as they come from JavaScript", mysql::cells, 4 << 10),
    harness("http", "responses of HTTP/1.1: heads, lengths, chunks", http::responses, 4 << 10),
    harness("json-paths", "values picked out of JSON", json::paths, 4 << 10),
    harness("json-rows", "rows of JSON that come in pieces", json::rows, 4 << 10),
    harness("lines", "line protocol", ingest::lines, 4 << 10),
    harness("msgpack-rows", "rows of MessagePack", ingest::rows, 8 << 10),
    harness("msgpack-columns", "columns of MessagePack", ingest::columns, 4 << 10),
    harness("wal", "the files of the write-ahead log", wal::log, 4 << 10),
    harness("wal-entry", "an entry of the write-ahead log", wal::entry, 4 << 10),
    harness("flight", "the messages of Arrow Flight over gRPC", arrow::flight, 8 << 10),
    harness("ipc", "Arrow IPC as it comes from JavaScript", arrow::ipc, 8 << 10),
    harness("columns", "columns as they come from JavaScript, and the frames made of them", arrow::columns, 4 << 10),
    harness("hyper-wire", "the messages of hyperd, and rows of HyperBinary", hyper::wire, 4 << 10),
    harness("hyper-arrow", "Arrow IPC as hyperd sends it", hyper::arrow, 8 << 10),
    harness("shards", "packed rows and the messages of a scan of shards", shards::messages, 8 << 10),
];

const fn harness(name: &'static str, reads: &'static str, run: fn(&[u8]), most_bytes: usize) -> Harness {
    Harness { name, reads, run, most_bytes }
}

/// The harness with a name, or `None` if there is none.
pub fn find(name: &str) -> Option<Harness> {
    HARNESSES.into_iter().find(|harness| harness.name == name)
}

/// The kept inputs of a harness, in the order of their names.
pub fn kept(harness: &Harness) -> std::io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(harness.name);
    let mut paths = std::fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(|path| Ok((path.clone(), std::fs::read(path)?))).collect()
}
