//! Lets this crate's program and tests find libduckdb when they run.

include!("../link_duckdb.rs");

fn main() {
    link_duckdb();
}
