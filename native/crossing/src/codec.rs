//! The functions of the family `codec`. `boundary_bench_suite::codec` has their work.

mod filter;
mod formats;
mod parser;
mod rows;
mod tree;
