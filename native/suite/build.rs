//! Lets the program and the tests of this crate find libduckdb when they run.

include!("../link_program.rs");

fn main() {
    link_program();
}
