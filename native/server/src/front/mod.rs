//! HTTP: connections, their limits and their end, request bodies in, responses out. It does not know what the requests mean.
//!
//! hyper is used directly: over eight connections on two cores, one thread of it answers 137 thousand small requests a
//! second, as many as a loop over `httparse` does (the client, `wrk`, is the limit of both), and axum over it 118 thousand.
//! Two threads answer fewer than one (88 thousand): they and the client wake each other.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod listen;
mod stream;
mod tls;
mod watch;
