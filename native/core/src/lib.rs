//! The core of Boundary Bench: tables, engines, lanes, loads of requests, checksums and clocks. It knows nothing of JavaScript.
//!
//! Rows live in an [`engine::Engine`]. A *lane* ([`lanes`]) is a way in which rows go in or come out; every lane is
//! written once, over the engine trait, so an engine gets all lanes and a lane works on all engines.

pub mod api_key;
pub mod arriving;
pub mod bind;
pub mod checksum;
pub mod decimal;
pub mod engine;
pub mod error;
pub mod frame;
pub mod lanes;
pub mod latency;
pub mod load;
pub mod measurements;
pub mod outbox;
pub mod percent;
pub mod private_server;
pub mod resources;
pub mod response_limit;
pub mod slab;
pub mod socket;
pub mod sql_text;
pub mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
pub mod workers;

pub use error::{Error, Result};
