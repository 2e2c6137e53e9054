//! The dimensions of the matrix: the workload, the lane and the flavor of a cell, and the client of some cells.

use serde::{Deserialize, Serialize};

/// One piece of logical work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workload {
    /// Inserts rows into a new table.
    #[serde(rename = "insert.bulk")]
    InsertBulk,
    /// Reads all rows.
    #[serde(rename = "query.full_scan")]
    QueryFullScan,
    /// Reads the rows of one sensor.
    #[serde(rename = "query.filtered")]
    QueryFiltered,
    /// Aggregates the rows by sensor. The result has one row per sensor.
    #[serde(rename = "query.aggregation")]
    QueryAggregation,
}

impl Workload {
    /// The workload's name in the matrix and the result files.
    pub fn name(self) -> &'static str {
        match self {
            Self::InsertBulk => "insert.bulk",
            Self::QueryFullScan => "query.full_scan",
            Self::QueryFiltered => "query.filtered",
            Self::QueryAggregation => "query.aggregation",
        }
    }
}

/// The form in which the data crosses. On this side nothing crosses, so it is the form in which a Rust program holds the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// In: rows pushed one by one.
    Row,
    /// In: slices of columns, copied once.
    Columns,
    /// In: the bytes of an Arrow IPC stream, decoded. Out: the result written as such bytes and read back.
    ArrowIpc,
    /// Out: all rows collected.
    Objects,
    /// Out: rows handed over one by one, none kept.
    Stream,
    /// Out: slices of columns, batch by batch.
    Columnar,
}

/// How the code around the engine is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    /// Plain calls on the calling thread, or on one thread a worker.
    Sync,
    /// One task per worker on an async runtime. The engine's work runs on threads of its own.
    Async,
}

/// A client library that a lane uses instead of the engine, to compare the engine with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// The crate `hyperdb-api`, a client of the server of the engine `hyper`.
    HyperdbApi,
    /// The crate `arrow-flight`, a client of the servers of the engine `flight`.
    ArrowFlight,
    /// The crate `duckdb`, another binding of the library of the engine `embedded`.
    Duckdb,
}
