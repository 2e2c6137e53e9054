//! Calls of the Redis wire.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::caller::{Caller, Request};
use boundary_bench_redis::{KvClient, KvOptions};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, AsyncTask};
use napi_derive::napi;

use super::{Blocking, BlockingCaller, on_pool, on_tokio};

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

/// A connection to a server of the Redis wire, whose calls are futures on tokio's threads.
#[napi]
pub struct KvAsyncCalls {
    caller: Caller<KvClient>,
}

#[napi]
impl KvAsyncCalls {
    /// Connects to the server and logs in.
    #[napi(catch_unwind)]
    pub fn open(env: Env, url: String) -> napi::Result<AsyncBlock<KvAsyncCalls>> {
        on_tokio(env, async { Ok(Self { caller: Caller::new(Some(connect(url).await?)) }) })
    }

    /// The value of a key, or null if the key does not exist.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get(&self, env: Env, key: String) -> napi::Result<AsyncBlock<Option<String>>> {
        on_tokio(env, self.caller.run(Get(key)))
    }

    /// Sets a key to a value.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn set(&self, env: Env, key: String, value: String) -> napi::Result<AsyncBlock<()>> {
        on_tokio(env, self.caller.run(Set(key, value)))
    }

    /// Closes the connection. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.caller.close();
    }
}

/// A connection to a server of the Redis wire, whose calls block threads of libuv's pool.
#[napi]
pub struct KvBlockingCalls {
    caller: BlockingCaller<KvClient>,
}

#[napi]
impl KvBlockingCalls {
    /// Connects to the server and logs in.
    #[napi(catch_unwind, ts_return_type = "Promise<KvBlockingCalls>")]
    pub fn open(url: String) -> AsyncTask<Blocking<KvBlockingCalls>> {
        on_pool(|| Ok(Self { caller: BlockingCaller::connect(connect(url))? }))
    }

    /// The value of a key, or null if the key does not exist.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get(&self, key: String) -> AsyncTask<Blocking<Option<String>>> {
        self.caller.call(Get(key))
    }

    /// Sets a key to a value.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn set(&self, key: String, value: String) -> AsyncTask<Blocking<()>> {
        self.caller.call(Set(key, value))
    }

    /// Closes the connection. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.caller.caller.close();
    }
}
