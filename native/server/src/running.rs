//! A server of any kind.

use boundary_bench_core::Result;
use boundary_bench_shards::{ShardOptions, ShardServer};

use crate::delay::{Delay, DelayOptions};
use crate::options::Options;
use crate::server::Server;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Running(Kind);

#[derive(Debug)]
enum Kind {
    Reference(Server),
    Shard(ShardServer),
    Delay(Delay),
}

impl Running {
    /// Starts the reference server.
    ///
    /// # Errors
    /// The errors of [`Server::start`].
    pub fn reference(options: &Options) -> Result<Self> {
        Server::start(options).map(Kind::Reference).map(Self)
    }

    /// Starts the server of one shard.
    ///
    /// # Errors
    /// The errors of [`ShardServer::start`].
    pub fn shard(options: &ShardOptions) -> Result<Self> {
        ShardServer::start(options).map(Kind::Shard).map(Self)
    }

    /// Starts a proxy that delays what it passes on.
    ///
    /// # Errors
    /// The errors of [`Delay::start`].
    pub fn delay(options: &DelayOptions) -> Result<Self> {
        Delay::start(options).map(Kind::Delay).map(Self)
    }

    /// The base of the server's URLs.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.0 {
            Kind::Reference(server) => server.url(),
            Kind::Shard(server) => server.url(),
            Kind::Delay(proxy) => proxy.url(),
        }
    }

    /// Stops accepting requests and returns once those in flight are answered; a second call does nothing.
    pub fn stop(&self) {
        match &self.0 {
            Kind::Reference(server) => server.stop(),
            Kind::Shard(server) => server.stop(),
            Kind::Delay(proxy) => proxy.stop(),
        }
    }
}
