//! The crate `redis`, as its documentation has it fastest.
//!
//! Its asynchronous connection is the multiplexed one. Here each requester has one, or with the setting `shared` all requesters
//! have one, as it is designed for (<https://docs.rs/redis/latest/redis/aio/struct.MultiplexedConnection.html>). `TCP_NODELAY` is on and
//! calls have no time-out. Both are otherwise by default (<https://docs.rs/redis/latest/redis/io/tcp/struct.TcpSettings.html>,
//! <https://docs.rs/redis/latest/redis/struct.AsyncConnectionConfig.html>). A pipeline is sent whole, and its memory is used again, as
//! `Pipeline::query_async` says. Answers are taken as [`Value`]s, without a conversion.
//!
//! To a cluster it has one multiplexed connection per server. It divides MGET and MSET among the slots itself, and refuses a pipeline of
//! several slots. The commands of such a batch are sent all at once, each by its own handle of the connection
//! (<https://docs.rs/redis/latest/redis/cluster_async/index.html>).

use boundary_bench_kernel::{Error, Result};
use boundary_bench_redis::{Endpoint, Url};
use futures_util::future::try_join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, Pipeline,
    RedisConnectionInfo, RedisError, RedisFuture, Value,
};

use super::connection::Connection;
use super::reader::Reader;

/// The number of times that a command is sent again if a server of a cluster redirects it, or if its server is lost. By the crate's own
/// number it waits for minutes for a lost server, while the other clients report an error.
const RETRIES: u32 = 3;

/// A handle of the connection to a server, or of those to the servers of a cluster.
#[derive(Clone)]
enum Handle {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Handle {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Single(connection) => connection.req_packed_command(command),
            Self::Cluster(connection) => connection.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}

async fn open_cluster(info: ConnectionInfo) -> std::result::Result<ClusterConnection, RedisError> {
    let settings = TcpSettings::default().set_nodelay(true);
    let client = ClusterClient::builder([info]).tcp_settings(settings).retries(RETRIES);
    client.build()?.get_async_connection().await
}

/// A connection of the crate `redis`, with the memory of its commands.
pub(crate) struct RedisCrate {
    connection: Handle,
    command: Cmd,
    pipeline: Pipeline,
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn ours(error: RedisError) -> Error {
    if error.is_timeout() {
        Error::Timeout(error.to_string())
    } else if error.is_unrecoverable_error() {
        Error::Connection(error.to_string())
    } else {
        Error::Engine { engine: "redis", message: error.to_string() }
    }
}

fn add(position: usize, value: &Value, reader: &mut impl Reader) -> Result<()> {
    match value {
        Value::BulkString(bytes) => reader.add(position, Some(bytes)),
        Value::Nil => reader.add(position, None),
        other => {
            return Err(Error::Engine { engine: "redis", message: format!("an answer that is no value: {other:?}") });
        }
    }
    Ok(())
}

fn add_all(values: &[Value], reader: &mut impl Reader) -> Result<()> {
    values.iter().enumerate().try_for_each(|(position, value)| add(position, value, reader))
}

impl RedisCrate {
    fn over(connection: Handle) -> Self {
        Self { connection, command: Cmd::new(), pipeline: Pipeline::new() }
    }

    /// Makes a command of a name and arguments.
    fn command<'a>(&mut self, name: &str, arguments: impl IntoIterator<Item = &'a [u8]>) {
        self.command.clear();
        self.command.arg(name);
        for argument in arguments {
            self.command.arg(argument);
        }
    }

    async fn call(&mut self) -> Result<Value> {
        self.command.query_async(&mut self.connection).await.map_err(ours)
    }

    /// Sends the commands of the pipeline in the crate's way for this connection, and returns their answers in order.
    async fn send_pipeline(&mut self) -> Result<Vec<Value>> {
        let answers = match &self.connection {
            Handle::Single(_) => self.pipeline.query_async(&mut self.connection).await,
            Handle::Cluster(connection) => {
                let sent = self.pipeline.cmd_iter().map(|command| {
                    let mut connection = connection.clone();
                    async move { command.query_async(&mut connection).await }
                });
                try_join_all(sent).await
            }
        };
        answers.map_err(ours)
    }
}

impl Connection for RedisCrate {
    async fn connect(url: &Url) -> Result<Self> {
        let address = match &url.place {
            Endpoint::Tcp { host, port, tls: false } => ConnectionAddr::Tcp(host.clone(), *port),
            Endpoint::Unix(path) => ConnectionAddr::Unix(path.clone()),
            Endpoint::Tcp { tls: true, .. } => {
                return Err(Error::Unsupported("the crate redis is measured without TLS".to_owned()));
            }
        };
        let mut login = RedisConnectionInfo::default().set_db(url.database.into());
        if let Some(user) = &url.user {
            login = login.set_username(user);
        }
        if let Some(password) = &url.password {
            login = login.set_password(password);
        }
        let info = address.into_connection_info().map_err(ours)?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true)).set_redis_settings(login);
        if url.cluster == Some(true) {
            return Ok(Self::over(Handle::Cluster(open_cluster(info).await.map_err(ours)?)));
        }
        let client = Client::open(info).map_err(ours)?;
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        let connection = connection.map_err(ours)?;
        Ok(Self::over(Handle::Single(connection)))
    }

    fn share(&self) -> Result<Self> {
        Ok(Self::over(self.connection.clone()))
    }

    async fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> Result<()> {
        self.command("GET", [key]);
        add(0, &self.call().await?, reader)
    }

    async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.command("SET", [key, value]);
        self.call().await.map(drop)
    }

    async fn get_many(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
        self.pipeline.clear();
        for key in keys {
            self.pipeline.cmd("GET").arg(&**key);
        }
        add_all(&self.send_pipeline().await?, reader)
    }

    async fn set_many(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
        self.pipeline.clear();
        for (key, value) in keys.iter().zip(values) {
            self.pipeline.cmd("SET").arg(&**key).arg(&**value);
        }
        self.send_pipeline().await.map(drop)
    }

    async fn mget(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
        self.command("MGET", keys.iter().map(AsRef::as_ref));
        match self.call().await? {
            Value::Array(values) => add_all(&values, reader),
            other => add(0, &other, reader),
        }
    }

    async fn mset(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
        self.command("MSET", keys.iter().zip(values).flat_map(|(key, value)| [key.as_ref(), value.as_ref()]));
        self.call().await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_over_tls_is_refused_before_it_is_asked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let refused = runtime.block_on(RedisCrate::connect(&"rediss://127.0.0.1:1".parse().unwrap())).err().unwrap();
        assert_eq!(refused.code(), "BB_UNSUPPORTED");
        let lost = runtime.block_on(RedisCrate::connect(&"redis://127.0.0.1:1".parse().unwrap())).err().unwrap();
        assert_eq!(lost.code(), "BB_CONNECTION");
    }
}
