//! Helpers that the tests of all crates share.

mod certificate;
mod need;
mod process;

pub use certificate::{Certificate, certificate};
pub use need::ask;
pub use process::{Process, processes, runs, signal};
