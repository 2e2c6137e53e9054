//! The crate `hyperdb-api` used directly, as its own benchmark guide uses it: the baseline of our engine.
//!
//! Each function is the work of one variant of the guide over rows of measurements, on an open connection. None of them
//! reads a clock: an insert requests its input piece by piece, so that its caller can stop a clock meanwhile.

mod insert;
mod query;

use boundary_bench_kernel::{Error, Result};
use hyperdb_api::grpc::{GrpcClient, GrpcConfig, GrpcConnectionAsync};
use hyperdb_api::{AsyncConnection, Connection, CreateMode};

use crate::uri::Transport;

pub use hyperdb_api::grpc::TransferMode;
pub use insert::{ROWS_OF_A_SEND, insert_chunks, insert_chunks_of_threads, insert_ipc, insert_rows};
pub use query::{RowShape, read_arrow, read_columns, read_rows, read_rows_async};

/// The address of a database and its login, as `hyperdb-api` takes them.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `host:port`, the path or descriptor of a Unix socket, or the `http://` URL of gRPC.
    pub endpoint: String,
    /// The path of the database, which must exist.
    pub database: String,
    /// The transfer mode of results over gRPC; `None` for another transport.
    pub transfer_mode: Option<TransferMode>,
    /// The user and the password; `None` for the server's default user, without a password.
    pub credentials: Option<(String, String)>,
}

impl std::fmt::Debug for Endpoint {
    /// Leaves out the password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {}", self.database, self.endpoint)
    }
}

impl Endpoint {
    pub(crate) fn new(
        endpoint: String,
        database: &str,
        transport: Transport,
        credentials: Option<(String, String)>,
    ) -> Self {
        let transfer_mode = match transport {
            Transport::Tcp | Transport::Ipc => None,
            Transport::GrpcSync => Some(TransferMode::Sync),
            Transport::GrpcAdaptive => Some(TransferMode::Adaptive),
            Transport::GrpcAsync => Some(TransferMode::Async),
        };
        Self { endpoint, database: database.to_owned(), transfer_mode, credentials }
    }

    /// Opens a connection for blocking calls.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for gRPC, [`Error::Engine`] if the connection fails.
    pub fn connect(&self) -> Result<Session> {
        self.refuse_grpc()?;
        let connection = match &self.credentials {
            None => Connection::connect(&self.endpoint, &self.database, CreateMode::DoNotCreate),
            Some((user, password)) => {
                Connection::connect_with_auth(&self.endpoint, &self.database, CreateMode::DoNotCreate, user, password)
            }
        };
        Ok(Session { connection: Some(connection.map_err(refused)?) })
    }

    /// Opens a connection for tasks of a runtime with I/O and timers enabled.
    ///
    /// # Errors
    /// The same errors as [`Endpoint::connect`].
    pub async fn connect_async(&self) -> Result<AsyncConnection> {
        self.refuse_grpc()?;
        let connection = match &self.credentials {
            None => AsyncConnection::connect(&self.endpoint, &self.database, CreateMode::DoNotCreate).await,
            Some((user, password)) => {
                let mode = CreateMode::DoNotCreate;
                AsyncConnection::connect_with_auth(&self.endpoint, &self.database, mode, user, password).await
            }
        };
        connection.map_err(refused)
    }

    /// Opens a gRPC connection that returns each result as a whole.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the endpoint is none of gRPC, [`Error::Engine`] if the connection fails.
    pub async fn connect_grpc(&self) -> Result<GrpcConnectionAsync> {
        GrpcConnectionAsync::connect_with_config(self.grpc()?).await.map_err(refused)
    }

    /// Opens a gRPC connection that returns each result part by part.
    ///
    /// # Errors
    /// The same errors as [`Endpoint::connect_grpc`].
    pub async fn connect_grpc_stream(&self) -> Result<GrpcClient> {
        GrpcClient::connect(self.grpc()?).await.map_err(refused)
    }

    fn refuse_grpc(&self) -> Result<()> {
        match self.transfer_mode {
            None => Ok(()),
            Some(_) => Err(Error::Unsupported("gRPC has no rows: it is for queries of Arrow batches".to_owned())),
        }
    }

    fn grpc(&self) -> Result<GrpcConfig> {
        let Some(mode) = self.transfer_mode else {
            return Err(Error::Unsupported("this lane needs a gRPC transport".to_owned()));
        };
        Ok(GrpcConfig::new(&*self.endpoint).database(&*self.database).transfer_mode(mode))
    }
}

/// A blocking connection.
///
/// Dropping it closes the connection in order, which ends a COPY that an error left open. Without that the table would be
/// locked for minutes: neither the inserters of `hyperdb-api` nor its connection end a COPY when they are dropped.
pub struct Session {
    /// `None` only while the session is dropped.
    connection: Option<Connection>,
}

impl Session {
    /// The connection.
    ///
    /// # Errors
    /// [`Error::Closed`] while the session is dropped.
    fn get(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or(Error::Closed("the connection"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // An error is ignored: nothing can be done about a close that fails.
            drop(connection.close());
        }
    }
}

/// Closes a connection of [`Endpoint::connect_async`].
///
/// # Errors
/// [`Error::Engine`] if the close fails.
pub async fn close_async(connection: AsyncConnection) -> Result<()> {
    connection.close().await.map_err(refused)
}

/// An error of the client library or the server as an engine error.
fn refused(error: impl std::fmt::Display) -> Error {
    Error::Engine { engine: "hyper", message: error.to_string() }
}
