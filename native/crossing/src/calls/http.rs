//! Calls of HTTP.

use std::sync::Arc;

use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request as HttpRequest};
use boundary_bench_kernel::Result;
use napi::Env;
use napi_derive::napi;

use super::{Calls, Promised, Request};

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

/// The connections to a server of HTTP.
#[napi]
pub struct HttpCalls(Calls<HttpClient>);

#[napi]
impl HttpCalls {
    /// Connects to the server at `url`, which may have the options of TLS. The calls block threads of libuv's pool, or are futures on
    /// tokio's threads. `headers` are headers of all requests, each as `name: value` and a line break. A key in the URL is not sent.
    #[napi(catch_unwind, ts_return_type = "Promise<HttpCalls>")]
    pub fn open(
        env: Env,
        url: String,
        is_blocking: bool,
        headers: Option<String>,
    ) -> napi::Result<Promised<HttpCalls>> {
        Calls::open(env, is_blocking, connect(url, headers), Self)
    }

    /// Posts a text, and resolves to the response, even if its status is an error.
    #[napi(catch_unwind, ts_return_type = "Promise<HttpText>")]
    pub fn post(&self, env: Env, path: String, body: String) -> napi::Result<Promised<HttpText>> {
        self.0.call(env, Post(path, body))
    }

    /// Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.0.close();
    }
}
