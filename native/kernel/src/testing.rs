//! Helpers that the tests of all crates share.

mod certificate;
mod folder;
mod need;
mod process;

pub use certificate::certificate;
pub use folder::Folder;
pub use need::ask;
pub use process::{Process, processes, runs, signal, stop};
