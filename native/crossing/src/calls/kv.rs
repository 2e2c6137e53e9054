//! Calls of the Redis wire.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_redis::{KvClient, KvOptions};
use napi::Env;
use napi_derive::napi;

use super::{Calls, Promised, Request};

async fn connect(url: String) -> Result<KvClient> {
    KvClient::connect(url.parse()?, KvOptions::default()).await
}

/// A read of a key's value as text.
struct Get(String);

impl Request for Get {
    type Client = KvClient;
    type Output = Option<String>;

    async fn send(self, client: &mut KvClient) -> Result<Option<String>> {
        client.get(self.0.as_bytes(), |value| value.map(text).transpose()).await?
    }
}

/// The text of a value.
fn text(bytes: &[u8]) -> Result<String> {
    let not_text = |_| Error::Unsupported("the value is not valid UTF-8, so it is no text".to_owned());
    std::str::from_utf8(bytes).map(ToOwned::to_owned).map_err(not_text)
}

/// A key to be set to a value.
struct Set(String, String);

impl Request for Set {
    type Client = KvClient;
    type Output = ();

    async fn send(self, client: &mut KvClient) -> Result<()> {
        client.set(self.0.as_bytes(), self.1.as_bytes()).await
    }
}

/// A connection to a server of the Redis wire.
#[napi]
pub struct KvCalls(Calls<KvClient>);

#[napi]
impl KvCalls {
    /// Connects to the server and logs in. The calls block threads of libuv's pool, or are futures on tokio's threads.
    #[napi(catch_unwind, ts_return_type = "Promise<KvCalls>")]
    pub fn open(env: Env, url: String, is_blocking: bool) -> napi::Result<Promised<KvCalls>> {
        Calls::open(env, is_blocking, connect(url), Self)
    }

    /// The value of a key, or null if the key does not exist.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get(&self, env: Env, key: String) -> napi::Result<Promised<Option<String>>> {
        self.0.call(env, Get(key))
    }

    /// Sets a key to a value.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn set(&self, env: Env, key: String, value: String) -> napi::Result<Promised<()>> {
        self.0.call(env, Set(key, value))
    }

    /// Closes the connection. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.0.close();
    }
}
