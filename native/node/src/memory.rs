//! Memory of JavaScript that Rust reads and writes.

pub mod text_memory;
pub mod typed_memory;
