//! Glue between JavaScript and Rust that all addons share: errors, promises, the event loop, memory and values.
//!
//! The crate exports nothing to JavaScript itself: napi-rs finds the types of exports only in the crate of an addon.

pub mod host;
pub mod memory;
pub mod values;
