//! Tells the linker where this crate's tests, whose server uses DuckDB, find libduckdb when they run.

include!("../../link_duckdb.rs");

fn main() {
    link_duckdb();
}
