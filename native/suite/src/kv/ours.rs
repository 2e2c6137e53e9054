//! Our own client: a connection for each caller, or one for all.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_redis::{Commands, KvClient, KvOptions, Reply, SharedKvClient, Url};

use super::all_done;
use super::connection::Connection;
use super::reader::Reader;

/// [`KvClient`], with the memory of its pipelines.
pub(crate) struct Ours {
    client: KvClient,
    commands: Commands,
}

impl Connection for Ours {
    async fn connect(url: &Url) -> Result<Self> {
        let client = KvClient::connect(url.clone(), KvOptions::default()).await?;
        Ok(Self { client, commands: Commands::new() })
    }

    async fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> Result<()> {
        self.client.get(key, |value| reader.add(0, value)).await
    }

    async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.client.set(key, value).await
    }

    async fn get_many(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
        self.commands.clear();
        for key in keys {
            self.commands.get(key);
        }
        read_all(&mut self.client, &self.commands, reader).await
    }

    async fn set_many(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
        self.commands.clear();
        for (key, value) in keys.iter().zip(values) {
            self.commands.set(key, value);
        }
        all_done(&mut self.client, &self.commands).await
    }

    async fn mget(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> Result<()> {
        let mut failure = None;
        let take = |position, value: std::result::Result<Option<&[u8]>, &Error>| match value {
            Ok(value) => reader.add(position, value),
            Err(error) => failure = Some(error.clone()),
        };
        self.client.mget(keys.iter().map(AsRef::as_ref), take).await;
        failure.map_or(Ok(()), Err)
    }

    async fn mset(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> Result<()> {
        let entries = keys.iter().zip(values).map(|(key, value)| (key.as_ref(), value.as_ref()));
        self.client.mset(entries).await
    }
}

/// [`SharedKvClient`], which is measured with single commands alone.
pub(crate) struct OursShared(SharedKvClient);

fn single_alone() -> Error {
    Error::Unsupported("callers that share a client send single commands".to_owned())
}

impl Connection for OursShared {
    async fn connect(url: &Url) -> Result<Self> {
        SharedKvClient::connect(url.clone(), KvOptions::default()).await.map(Self)
    }

    fn share(&self) -> Result<Self> {
        Ok(Self(self.0.clone()))
    }

    async fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> Result<()> {
        self.0.get(key, |value| reader.add(0, value)).await
    }

    async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.set(key, value).await
    }

    async fn get_many(&mut self, _: &[Box<[u8]>], _: &mut impl Reader) -> Result<()> {
        Err(single_alone())
    }

    async fn set_many(&mut self, _: &[Box<[u8]>], _: &[Box<[u8]>]) -> Result<()> {
        Err(single_alone())
    }

    async fn mget(&mut self, _: &[Box<[u8]>], _: &mut impl Reader) -> Result<()> {
        Err(single_alone())
    }

    async fn mset(&mut self, _: &[Box<[u8]>], _: &[Box<[u8]>]) -> Result<()> {
        Err(single_alone())
    }
}

/// Runs commands that read. Returns an error if one fails.
pub(super) async fn read_all(client: &mut KvClient, commands: &Commands, reader: &mut impl Reader) -> Result<()> {
    let mut failure = None;
    client
        .execute(commands, |position, answer| {
            let value = answer.map_err(Clone::clone).and_then(Reply::value);
            match value.map(|value| reader.add(position, value)) {
                Ok(()) => {}
                Err(error) => failure = Some(error),
            }
        })
        .await;
    failure.map_or(Ok(()), Err)
}
