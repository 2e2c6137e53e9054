//! The functions of the family `boundary`: the same ones by napi-rs as everyone uses it, and by Node-API called by hand.
//! `boundary_bench_suite::boundary` has their work.

mod by_event_loop;
mod by_ffi;
pub mod by_napi_rs;
mod by_node_api;
mod rows;
