//! The functions of the family `codec`. `boundary_bench_suite::codec` and `boundary_bench_codecs` have their work.

mod filter;
mod formats;
mod parser;
mod rows;
mod tree;
