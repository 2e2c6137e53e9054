//! Memory that JavaScript and Rust share: views, loans, and their release.

pub(crate) mod array_buffer;
pub(crate) mod buffers;
pub(crate) mod frame_release;
pub(crate) mod json;
pub(crate) mod layouts;
pub(crate) mod loans;
pub(crate) mod shared_memory;
