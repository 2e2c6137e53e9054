//! Calls of HTTP.

use std::sync::Arc;

use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request as HttpRequest};
use boundary_bench_kernel::Result;
use boundary_bench_node::host::caller::{Caller, Request};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, AsyncTask};
use napi_derive::napi;

use super::{Blocking, BlockingCaller, on_pool, on_tokio};

async fn connect(url: String, headers: Option<String>) -> Result<HttpClient> {
    let address: Address = url.parse()?;
    let options = HttpOptions { headers: headers.unwrap_or_default(), ..address.options() };
    let mut client = HttpClient::new(Arc::new(Origin::new(address.url, options)?));
    client.connect().await?;
    Ok(client)
}

/// A response as plain values.
#[napi(object, object_from_js = false)]
pub struct HttpText {
    /// The status code.
    pub status: u32,
    /// The body as text.
    pub text: String,
}

/// A body to be sent to a path.
struct Post(String, String);

impl Request for Post {
    type Client = HttpClient;
    type Output = HttpText;

    async fn send(self, client: &mut HttpClient) -> Result<HttpText> {
        let request = HttpRequest::post(&self.0, self.1.as_bytes());
        let text_of = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        client
            .call(&request, |response| Ok(HttpText { status: response.status.into(), text: text_of(response.body) }))
            .await
    }
}

/// The connections to a server of HTTP, whose calls are futures on tokio's threads.
#[napi]
pub struct HttpAsyncCalls {
    caller: Caller<HttpClient>,
}

#[napi]
impl HttpAsyncCalls {
    /// Connects to the server at `url`, which may have the options of TLS. `headers` are headers of all requests, each as `name: value`
    /// and a line break. A key in the URL is not sent.
    #[napi(catch_unwind)]
    pub fn open(env: Env, url: String, headers: Option<String>) -> napi::Result<AsyncBlock<HttpAsyncCalls>> {
        on_tokio(env, async { Ok(Self { caller: Caller::new(Some(connect(url, headers).await?)) }) })
    }

    /// Posts a text, and resolves to the response, even if its status is an error.
    #[napi(catch_unwind)]
    pub fn post(&self, env: Env, path: String, body: String) -> napi::Result<AsyncBlock<HttpText>> {
        on_tokio(env, self.caller.run(Post(path, body)))
    }

    /// Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.caller.close();
    }
}

/// The connections to a server of HTTP, whose calls block threads of libuv's pool.
#[napi]
pub struct HttpBlockingCalls {
    caller: BlockingCaller<HttpClient>,
}

#[napi]
impl HttpBlockingCalls {
    /// Connects to the server at `url`, which may have the options of TLS. `headers` are headers of all requests, each as `name: value`
    /// and a line break. A key in the URL is not sent.
    #[napi(catch_unwind, ts_return_type = "Promise<HttpBlockingCalls>")]
    pub fn open(url: String, headers: Option<String>) -> AsyncTask<Blocking<HttpBlockingCalls>> {
        on_pool(|| Ok(Self { caller: BlockingCaller::connect(connect(url, headers))? }))
    }

    /// Posts a text, and resolves to the response, even if its status is an error.
    #[napi(catch_unwind, ts_return_type = "Promise<HttpText>")]
    pub fn post(&self, path: String, body: String) -> AsyncTask<Blocking<HttpText>> {
        self.caller.call(Post(path, body))
    }

    /// Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.caller.caller.close();
    }
}
