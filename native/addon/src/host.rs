//! The foundations of every export: errors, calls, the event loop, and the runtime.

pub(crate) mod caller;
pub(crate) mod errors;
pub(crate) mod fast_call;
pub(crate) mod handle_scope;
pub(crate) mod host_loop;
pub(crate) mod in_flight;
pub(crate) mod info;
pub(crate) mod runtime;
