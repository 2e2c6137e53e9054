//! Memory of JavaScript and Rust that the other side reads and writes: views, loans, and their release.

pub mod array_buffer;
pub mod buffers;
pub mod loans;
pub mod shared_memory;
pub mod text_memory;
pub mod typed_memory;
