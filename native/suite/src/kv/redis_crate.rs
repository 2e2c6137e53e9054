//! The crate `redis`, as its documentation has it fastest.
//!
//! Its asynchronous connection is the multiplexed one, here one for each thread of the load, or with the setting `shared` one for all of
//! them, which it is made for (<https://docs.rs/redis/latest/redis/aio/struct.MultiplexedConnection.html>). `TCP_NODELAY` is on and calls have no time-out,
//! which are both otherwise by default
//! (<https://docs.rs/redis/latest/redis/io/tcp/struct.TcpSettings.html>,
//! <https://docs.rs/redis/latest/redis/struct.AsyncConnectionConfig.html>). A pipeline is sent whole, and its memory is used again, as
//! `Pipeline::query_async` says; answers are taken as [`Value`]s, without a conversion.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_redis::{Place, Url};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline, RedisConnectionInfo, RedisError,
    Value,
};

use super::connection::Connection;
use super::reader::Reader;

/// A connection of the crate `redis`, with the memory of its commands.
pub(crate) struct RedisCrate {
    connection: MultiplexedConnection,
    command: Cmd,
    pipeline: Pipeline,
}

fn ours(error: &RedisError) -> Error {
    if error.is_timeout() {
        Error::Timeout(error.to_string())
    } else if error.is_unrecoverable_error() {
        Error::Connection(error.to_string())
    } else {
        Error::Engine { engine: "redis", message: error.to_string() }
    }
}

fn add(value: &Value, reader: &mut impl Reader) -> Result<()> {
    match value {
        Value::BulkString(bytes) => reader.add(Some(bytes)),
        Value::Nil => reader.add(None),
        other => {
            return Err(Error::Engine { engine: "redis", message: format!("an answer that is no value: {other:?}") });
        }
    }
    Ok(())
}

impl RedisCrate {
    fn over(connection: MultiplexedConnection) -> Self {
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
        self.command.query_async(&mut self.connection).await.map_err(|error| ours(&error))
    }
}

impl Connection for RedisCrate {
    async fn connect(url: &Url) -> Result<Self> {
        let address = match &url.place {
            Place::Tcp { host, port, tls: false } => ConnectionAddr::Tcp(host.clone(), *port),
            Place::Unix(path) => ConnectionAddr::Unix(path.clone()),
            Place::Tcp { tls: true, .. } => {
                return Err(Error::Unsupported("the crate redis is measured without TLS".to_owned()));
            }
        };
        if url.cluster == Some(true) {
            return Err(Error::Unsupported("the crate redis is measured on one server, not on a cluster".to_owned()));
        }
        let mut login = RedisConnectionInfo::default().set_db(url.database.into());
        if let Some(user) = &url.user {
            login = login.set_username(user);
        }
        if let Some(password) = &url.password {
            login = login.set_password(password);
        }
        let info = address.into_connection_info().map_err(|error| ours(&error))?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true)).set_redis_settings(login);
        let client = Client::open(info).map_err(|error| ours(&error))?;
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        let connection = connection.map_err(|error| ours(&error))?;
        Ok(Self::over(connection))
    }

    fn share(&self) -> Result<Self> {
        Ok(Self::over(self.connection.clone()))
    }

    async fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> Result<()> {
        self.command("GET", [key]);
        add(&self.call().await?, reader)
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
        let values: Vec<Value> = self.pipeline.query_async(&mut self.connection).await.map_err(|error| ours(&error))?;
        values.iter().try_for_each(|value| add(value, reader))
    }

    async fn set_many(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
        self.pipeline.clear();
        for (key, value) in keys.iter().zip(values) {
            self.pipeline.cmd("SET").arg(&**key).arg(&**value);
        }
        self.pipeline.exec_async(&mut self.connection).await.map_err(|error| ours(&error))
    }

    async fn mget(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
        self.command("MGET", keys.iter().map(AsRef::as_ref));
        match self.call().await? {
            Value::Array(values) => values.iter().try_for_each(|value| add(value, reader)),
            other => add(&other, reader),
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
    fn servers_that_the_crate_can_not_reach_are_refused_before_any_is_asked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for url in ["rediss://127.0.0.1:1", "redis://127.0.0.1:1?cluster=true"] {
            let refused = runtime.block_on(RedisCrate::connect(&url.parse().unwrap())).err().unwrap();
            assert_eq!(refused.code(), "BB_UNSUPPORTED", "{url}");
        }
        let lost = runtime.block_on(RedisCrate::connect(&"redis://127.0.0.1:1".parse().unwrap())).err().unwrap();
        assert_eq!(lost.code(), "BB_CONNECTION");
    }
}
