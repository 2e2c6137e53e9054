//! Lets the program find libduckdb when it runs.

include!("../link_program.rs");

fn main() {
    link_program();
}
