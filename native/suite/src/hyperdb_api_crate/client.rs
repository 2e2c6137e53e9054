//! The crate `hyperdb-api`, as its own benchmark guide uses it: the baseline of our engine.
//!
//! Each function is the work of one variant of the guide over rows of measurements, on an open connection. None of them
//! reads a clock: an insert requests its input piece by piece, so that its caller can stop a clock meanwhile.

mod insert;
mod query;

use boundary_bench_hyper::{ServerAddress, Transport};
use boundary_bench_kernel::{Error, Result};
use hyperdb_api::grpc::{GrpcClient, GrpcConfig, GrpcConnectionAsync, TransferMode};
use hyperdb_api::{AsyncConnection, Connection, CreateMode};

pub use insert::{ROWS_OF_A_SEND, insert_chunks, insert_chunks_of_threads, insert_ipc, insert_rows};
pub use query::{
    aggregate, each_batch, each_chunk, each_chunk_async, measurement, read_arrow, read_columns, read_rows,
    read_rows_async,
};

/// A database on a `hyperd`, to which `hyperdb-api` connects.
#[derive(Debug, Clone)]
pub struct Endpoint(pub ServerAddress);

impl Endpoint {
    /// Opens a connection for blocking calls.
    pub fn connect(&self) -> Result<Session> {
        let ServerAddress { endpoint, database, credentials, .. } = self.without_grpc()?;
        let mode = CreateMode::DoNotCreate;
        let connection = match credentials {
            None => Connection::connect(endpoint, database, mode),
            Some((user, password)) => Connection::connect_with_auth(endpoint, database, mode, user, password),
        };
        Ok(Session { connection: Some(connection.map_err(refused)?) })
    }

    /// Opens a connection for tasks of a runtime with I/O and timers enabled.
    pub async fn connect_async(&self) -> Result<AsyncConnection> {
        let ServerAddress { endpoint, database, credentials, .. } = self.without_grpc()?;
        let mode = CreateMode::DoNotCreate;
        let connection = match credentials {
            None => AsyncConnection::connect(endpoint, database, mode).await,
            Some((user, password)) => {
                AsyncConnection::connect_with_auth(endpoint, database, mode, user, password).await
            }
        };
        connection.map_err(refused)
    }

    /// Opens a gRPC connection that returns each result as a whole.
    pub async fn connect_grpc(&self) -> Result<GrpcConnectionAsync> {
        GrpcConnectionAsync::connect_with_config(self.grpc()?).await.map_err(refused)
    }

    /// Opens a gRPC connection that returns each result part by part.
    pub async fn connect_grpc_stream(&self) -> Result<GrpcClient> {
        GrpcClient::connect(self.grpc()?).await.map_err(refused)
    }

    fn without_grpc(&self) -> Result<&ServerAddress> {
        if self.0.transport.is_grpc() {
            return Err(Error::Unsupported("gRPC has no rows: it is for queries of Arrow batches".to_owned()));
        }
        Ok(&self.0)
    }

    fn grpc(&self) -> Result<GrpcConfig> {
        let mode = match self.0.transport {
            Transport::GrpcSync => TransferMode::Sync,
            Transport::GrpcAdaptive => TransferMode::Adaptive,
            Transport::GrpcAsync => TransferMode::Async,
            Transport::Tcp | Transport::Ipc => {
                return Err(Error::Unsupported("this lane needs a gRPC transport".to_owned()));
            }
        };
        Ok(GrpcConfig::new(&*self.0.endpoint).database(&*self.0.database).transfer_mode(mode))
    }
}

/// A blocking connection.
///
/// Dropping it closes the connection in order. That ends a COPY that an error left open. Without that the table would be locked
/// for minutes: neither the inserters of `hyperdb-api` nor its connection end a COPY when they are dropped.
pub struct Session {
    /// `None` only while the session is dropped.
    connection: Option<Connection>,
}

impl Session {
    /// The connection.
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
pub async fn close_async(connection: AsyncConnection) -> Result<()> {
    connection.close().await.map_err(refused)
}

/// An error of the client library or the server as an engine error.
fn refused(error: impl std::fmt::Display) -> Error {
    Error::Engine { engine: "hyper", message: error.to_string() }
}
