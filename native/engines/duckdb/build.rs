//! Lets this crate's tests find libduckdb when they run.

include!("../../link_duckdb.rs");

fn main() {
    link_duckdb();
}
