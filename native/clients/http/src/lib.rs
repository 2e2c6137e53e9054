//! Boundary Bench's HTTP/1.1 and HTTP/2 client for small requests.
//!
//! HTTP/1.1 is implemented here, over a socket that the async runtime or an event loop drives. HTTP/2 is hyper's.

mod address;
mod answers;
mod chunks;
mod client;
mod connection;
mod dispatch;
#[doc(hidden)]
#[cfg(unix)]
pub mod fuzzing;
mod head;
mod http2;
mod limits;
mod origin;
mod request;
mod response;
mod session;
mod shared;
mod stream;
mod streamed;
mod submission;
mod url;

use std::time::Duration;

use boundary_bench_kernel::Error;

pub use address::Address;
pub use answers::RequestOutcome;
pub use boundary_bench_kernel::frame::Frame;
pub use client::HttpClient;
pub use dispatch::{Dispatch, DrivenSession, Sessions};
pub use http2::{DriverExecutor, Watched, guarded};
pub use limits::MOST_BYTES;
pub use origin::{HttpOptions, Origin};
pub use request::{Method, Request};
pub use response::Response;
pub use shared::SharedClient;
pub use stream::{Version, open_stream, tls_connector};
pub use streamed::StreamedResponse;
pub use submission::{Group, NO_BODY, groups, layout};
pub use url::Url;

/// The name of the client in errors.
pub const NAME: &str = "http";

/// The error of a server that took longer than `time`.
pub(crate) fn no_answer(time: Duration) -> Error {
    Error::Timeout(format!("the server did not answer within {} ms", time.as_millis()))
}

pub(crate) fn http_error(message: String) -> Error {
    Error::Engine { engine: NAME, message }
}
