//! Lets this crate's tests, whose server has DuckDB, find libduckdb when they run.

include!("../../link_duckdb.rs");

fn main() {
    link_duckdb();
}
