//! The Node addon: converts between JavaScript's values and the core's, and maps errors. It holds no algorithms.
#![expect(clippy::needless_pass_by_value, reason = "napi hands over owned values")]

mod clients;
mod engine;
mod host;
mod memory;
