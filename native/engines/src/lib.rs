//! All engines, each opened by the scheme of its URI.

use std::sync::Arc;

use boundary_bench_duckdb::EMBEDDED;
use boundary_bench_engine::{Descriptor, Engine, MEMORY};
use boundary_bench_flight::FLIGHT;
use boundary_bench_hyper::HYPER;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::MYSQL;
use boundary_bench_sail::SAIL;

/// Every engine.
pub static ENGINES: [&Descriptor; 6] = [&MEMORY, &EMBEDDED, &HYPER, &MYSQL, &FLIGHT, &SAIL];

/// The engine whose scheme `uri` has.
///
/// # Errors
/// [`boundary_bench_kernel::Error::InvalidArgument`] for another scheme.
pub fn of_uri(uri: &str) -> Result<&'static Descriptor> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let found = ENGINES.into_iter().find(|engine| engine.schemes.iter().any(|known| Some(*known) == scheme));
    found.ok_or_else(|| {
        let schemes = ENGINES.iter().flat_map(|engine| engine.schemes).map(|scheme| format!("{scheme}:"));
        let known = schemes.collect::<Vec<_>>().join(", ");
        Error::InvalidArgument(format!("\"{uri}\" names no engine; a URI begins with one of {known}"))
    })
}

/// Opens the engine that `uri` names: `memory:`, `embedded:` (DuckDB in memory), `embedded::memory:name`, `embedded:/path/to/file.duckdb`, `hyper:`
/// ([`boundary_bench_hyper::open`]), `mysql:` ([`boundary_bench_mysql::open`]), `flight:` ([`boundary_bench_flight::open`]) or `sail:`
/// ([`boundary_bench_sail::open`]).
/// Two opens of one file of DuckDB share one engine; two opens without a file are two engines.
///
/// # Errors
/// The errors of [`of_uri`], and [`boundary_bench_kernel::Error::Engine`] when the engine can't be opened.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    (of_uri(uri)?.open)(uri)
}
