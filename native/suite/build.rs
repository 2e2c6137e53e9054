//! The build script: links libduckdb so that this crate's tests find it when they run.

include!("../link_duckdb.rs");

fn main() {
    link_duckdb();
}
