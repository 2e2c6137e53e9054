//! The base of every other crate of Boundary Bench: errors, cancellation, clocks, loads of requests, URLs, sockets, TLS and private
//! processes. It knows no database and nothing about JavaScript.

pub mod api_key;
pub mod bind;
pub mod cancel;
pub mod driven_stream;
pub mod driver;
pub mod error;
pub mod exchange;
pub mod folder;
pub mod frame;
pub mod grpc;
pub mod latency;
pub mod load;
mod locked;
pub mod outbox;
pub mod percent;
pub mod private_server;
pub mod random;
pub mod resources;
pub mod response_limit;
pub mod runtime;
pub mod serving;
pub mod socket;
pub mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timeout;
pub mod tls;
pub mod url;
pub mod used;
pub mod workers;

pub use error::{Error, Result};
pub use locked::lock;
