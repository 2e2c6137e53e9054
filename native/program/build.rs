//! Lets the program find libduckdb when it runs.

include!("../link_duckdb.rs");

fn main() {
    link_duckdb();
}
