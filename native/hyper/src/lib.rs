//! Tableau's `hyperd`, a real database server, as an engine: behind every lane, over every transport it has.
//!
//! [`open`] takes an engine's URI ([`Uri`]). A private server is started once a process and stopped with its last user.

pub mod direct;
mod uri;

use std::sync::Arc;

use boundary_bench_core::engine::Engine;
use boundary_bench_core::{Error, Result};

pub use uri::{Transport, Uri};

/// Opens the engine of a `hyper:` URI.
///
/// # Errors
/// [`Error::InvalidArgument`] for an unusable URI, [`Error::NotInstalled`] where `hyperd` is not found,
/// [`Error::Engine`] when the server does not start or refuses.
pub fn open(uri: &str) -> Result<Arc<dyn Engine>> {
    let uri = uri.parse::<Uri>()?;
    Err(Error::Unsupported(format!("not there yet: {uri:?}")))
}
