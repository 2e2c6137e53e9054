//! The place of a database, for other clients of its server.

use std::fmt::{Debug, Formatter};

use crate::uri::Transport;

/// A database on a running server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// The server's address in the notation of its own clients: `host:port`, the descriptor of a Unix socket
    /// (`tab.domain://...`), or the `http://` URL of gRPC.
    pub endpoint: String,
    /// The path of the database on the server.
    pub database: String,
    /// The transport of queries at that address.
    pub transport: Transport,
    /// The user and the password, or `None` for the server's default user, without a password.
    pub credentials: Option<(String, String)>,
}

impl Debug for ServerAddress {
    /// Leaves out the password.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {} over {:?}", self.database, self.endpoint, self.transport)
    }
}
