//! The crate `hyperdb-api` used directly, as its own benchmark guide uses it: what our engine is compared with.
//!
//! Each function is the work of one variant of the guide over rows of measurements, on a connection that is there.
//! None of them looks at a clock: inserts ask for their input piece by piece, and whoever makes it may stop one.

mod insert;
mod query;

use boundary_bench_kernel::{Error, Result};
use hyperdb_api::grpc::{GrpcClient, GrpcConfig, GrpcConnectionAsync};
use hyperdb_api::{AsyncConnection, Connection, CreateMode};

use crate::uri::Transport;

pub use hyperdb_api::grpc::TransferMode;
pub use insert::{ROWS_OF_A_SEND, insert_chunks, insert_chunks_of_threads, insert_ipc, insert_rows};
pub use query::{RowShape, read_arrow, read_columns, read_rows, read_rows_async};

/// Where to connect, as `hyperdb-api` takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `host:port`, the path or descriptor of a Unix socket, or the `http://` URL of gRPC.
    pub endpoint: String,
    /// The path of the database, which exists.
    pub database: String,
    /// How results come over gRPC; absent elsewhere.
    pub transfer_mode: Option<TransferMode>,
    /// The user and the password; the server's own user without one where they are absent.
    pub credentials: Option<(String, String)>,
}

impl std::fmt::Debug for Endpoint {
    /// Without the password.
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
    /// [`Error::Unsupported`] for gRPC, [`Error::Engine`].
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

    /// Opens a connection for tasks of a runtime that has I/O and time.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
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

    /// Opens a gRPC connection that gives each result as a whole.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the endpoint is not of gRPC, [`Error::Engine`].
    pub async fn connect_grpc(&self) -> Result<GrpcConnectionAsync> {
        GrpcConnectionAsync::connect_with_config(self.grpc()?).await.map_err(refused)
    }

    /// Opens a gRPC connection that gives each result part by part.
    ///
    /// # Errors
    /// As [`Endpoint::connect_grpc`].
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
/// Its drop says goodbye to the server, which ends a COPY that an error left open. Without that the table would be locked
/// for minutes: neither the inserters of `hyperdb-api` nor its connection end one when they are dropped.
pub struct Session {
    /// Absent only while it is dropped.
    connection: Option<Connection>,
}

impl Session {
    /// The connection.
    ///
    /// # Errors
    /// [`Error::Closed`].
    fn get(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or(Error::Closed("the connection"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // After an error nothing more can be done about another one.
            drop(connection.close());
        }
    }
}

/// Closes a connection of [`Endpoint::connect_async`].
///
/// # Errors
/// [`Error::Engine`].
pub async fn close_async(connection: AsyncConnection) -> Result<()> {
    connection.close().await.map_err(refused)
}

/// The error for what the client or the server says.
fn refused(error: impl std::fmt::Display) -> Error {
    Error::Engine { engine: "hyper", message: error.to_string() }
}
