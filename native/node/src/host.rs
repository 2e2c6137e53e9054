//! The foundations of every export: errors, calls, the event loop, and the runtime.

pub mod attachment;
pub mod errors;
pub mod fast_call;
pub mod handle_scope;
pub mod host_loop;
pub mod in_flight;
pub mod loop_runtime;
pub mod runtime;
