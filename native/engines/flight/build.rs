//! Tells the linker where this crate's tests find libduckdb when they run. Their server uses DuckDB.

include!("../../link_duckdb.rs");

fn main() {
    link_duckdb();
}
