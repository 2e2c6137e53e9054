//! All engines, each opened by the scheme of its URI.

use std::sync::Arc;

use boundary_bench_duckdb::EMBEDDED;
pub use boundary_bench_duckdb::find_library_at as find_libduckdb_at;
use boundary_bench_engine::{Descriptor, Engine, MEMORY};
#[cfg(feature = "all")]
use boundary_bench_flight::{FLIGHT, sail::SAIL};
#[cfg(feature = "all")]
use boundary_bench_hyper::HYPER;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::MYSQL;

/// Every engine of this build.
pub static ENGINES: &[&Descriptor] = &[
    &MEMORY,
    &EMBEDDED,
    #[cfg(feature = "all")]
    &HYPER,
    &MYSQL,
    #[cfg(feature = "all")]
    &FLIGHT,
    #[cfg(feature = "all")]
    &SAIL,
];

/// The beginnings of schemes whose engines are not in every build.
const OPTIONAL: [&str; 3] = ["flight", "hyper", "sail"];

/// The engine whose scheme `uri` has.
pub fn of_uri(uri: &str) -> Result<&'static Descriptor> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let found = ENGINES.iter().find(|engine| engine.schemes.iter().any(|known| Some(*known) == scheme));
    found.copied().ok_or_else(|| {
        let name = scheme.map_or("", |scheme| scheme.split('+').next().unwrap_or(scheme));
        if cfg!(not(feature = "all")) && OPTIONAL.contains(&name) {
            return Error::NotInstalled(format!("the engine {name} is not in this build"));
        }
        let schemes = ENGINES.iter().flat_map(|engine| engine.schemes).map(|scheme| format!("{scheme}:"));
        let known = schemes.collect::<Vec<_>>().join(", ");
        Error::InvalidArgument(format!("\"{uri}\" names no engine; a URI begins with one of {known}"))
    })
}

/// Opens the engine that `uri` names: `memory:`, `embedded:` (DuckDB in memory), `embedded::memory:name`,
/// `embedded:/path/to/file.duckdb`, `mysql:` ([`boundary_bench_mysql::open`]), and with the feature `all`, `hyper:`, `flight:` or `sail:`.
/// Two opens of one file of DuckDB share one engine. Two opens without a file are two engines.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    (of_uri(uri)?.open)(uri)
}
