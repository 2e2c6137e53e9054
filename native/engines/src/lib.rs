//! All engines, each opened by the scheme of its URI.

use std::sync::Arc;

use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::{Engine, MemoryEngine};
use boundary_bench_kernel::{Error, Result};

/// Opens the engine that `uri` names: `memory:`, `embedded:` (DuckDB in memory), `embedded:/path/to/file.duckdb`, `hyper:`
/// ([`boundary_bench_hyper::open`]), `mysql:` ([`boundary_bench_mysql::open`]) or `flight:` ([`boundary_bench_flight::open`]).
/// Two opens of one file of DuckDB share one engine; two opens without a file are two engines.
///
/// # Errors
/// [`Error::InvalidArgument`] for another scheme, [`Error::Engine`] when the engine can't be opened.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    match uri.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryEngine::new())),
        Some(("embedded", path)) => Ok(EmbeddedEngine::open(path)?),
        Some(("hyper", _)) => boundary_bench_hyper::open(uri),
        Some(("flight" | "flight+tls", _)) => boundary_bench_flight::open(uri),
        Some(("mysql", _)) => boundary_bench_mysql::open(uri),
        _ => Err(Error::InvalidArgument(format!(
            "\"{uri}\" names no engine; use \"memory:\", \"embedded:\" or \"embedded:/path/to/file.duckdb\""
        ))),
    }
}
