//! The crate `reqwest`, as its documentation has it fastest.
//!
//! Each requester has one client. It is used again for all requests, for its pool of kept connections
//! (<https://docs.rs/reqwest/latest/reqwest/#making-a-get-request>). It speaks HTTP/1.1 only, as the server does. It keeps all
//! connections that it opens and has `TCP_NODELAY` on, both as by default. It looks for no proxy, no redirect and no referer
//! (<https://docs.rs/reqwest/latest/reqwest/struct.ClientBuilder.html>). The headers are the same as for all requests. A body is sent
//! as it is and taken as bytes. At once, as many requests are under way as our own client has connections for them.

use std::sync::Arc;

use boundary_bench_http::{Origin, Version};
use boundary_bench_kernel::{Error, Result};
use futures_util::stream::{self, StreamExt};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::connection::{Connection, RestResponse};

/// A client of the crate `reqwest`.
pub(crate) struct Reqwest {
    client: Client,
    base: String,
    /// The path of the last request, and its URL. The URL is parsed once.
    last: Option<(String, Url)>,
    most_in_flight: usize,
}

fn ours(error: &reqwest::Error) -> Error {
    // The text of the outer error is "error sending request". Its sources say why.
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
    let message = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    Error::Connection(message)
}

fn headers_of(text: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in text.lines() {
        let unusable = || Error::InvalidArgument("unusable header of a request".to_owned());
        let (name, value) = line.split_once(": ").ok_or_else(unusable)?;
        let name: HeaderName = name.parse().map_err(|_| unusable())?;
        let mut value: HeaderValue = value.parse().map_err(|_| unusable())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

impl Reqwest {
    fn url(&mut self, path: &str) -> Result<Url> {
        if let Some((last, url)) = &self.last
            && last == path
        {
            return Ok(url.clone());
        }
        let url: Url = format!("{}{path}", self.base)
            .parse()
            .map_err(|_| Error::InvalidArgument("reqwest takes no such URL".to_owned()))?;
        self.last = Some((path.to_owned(), url.clone()));
        Ok(url)
    }
}

/// Sends a request, and returns the status and body of its answer.
async fn post(client: &Client, url: Url, body: &[u8]) -> Result<(u16, impl AsRef<[u8]> + use<>)> {
    let read = async {
        let response = client.post(url).body(body.to_vec()).send().await?;
        let status = response.status().as_u16();
        response.bytes().await.map(|bytes| (status, bytes))
    };
    read.await.map_err(|error| ours(&error))
}

impl Connection for Reqwest {
    async fn open(place: &Arc<Origin>) -> Result<Self> {
        let options = place.options();
        if place.url().tls {
            return Err(Error::Unsupported("the crate reqwest is measured without TLS".to_owned()));
        }
        if options.version != Version::Http1 || options.pipelining > 1 {
            return Err(Error::InvalidArgument("the crate reqwest is measured over HTTP/1.1, one by one".to_owned()));
        }
        let client = Client::builder()
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .default_headers(headers_of(&options.headers)?)
            .build()
            .map_err(|error| ours(&error))?;
        Ok(Self { client, base: place.url().to_string(), last: None, most_in_flight: options.connections })
    }

    async fn call(
        &mut self,
        path: &str,
        body: &[u8],
        mut take: impl FnMut(RestResponse<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let url = self.url(path)?;
        let (status, body) = post(&self.client, url, body).await?;
        take(RestResponse { status, body: body.as_ref() })
    }

    async fn batch(
        &mut self,
        path: &str,
        bodies: &[&[u8]],
        mut take: impl FnMut(usize, RestResponse<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let url = self.url(path)?;
        let mut posts = Vec::with_capacity(bodies.len());
        for (index, body) in bodies.iter().enumerate() {
            let answer = post(&self.client, url.clone(), body);
            posts.push(async move { (index, answer.await) });
        }
        let mut answers = stream::iter(posts).buffer_unordered(self.most_in_flight);
        while let Some((index, answer)) = answers.next().await {
            let (status, body) = answer?;
            take(index, RestResponse { status, body: body.as_ref() })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use boundary_bench_http::HttpOptions;

    use super::*;

    #[test]
    fn only_plain_http_of_version_one_is_measured() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let refused = |url: &str, options: HttpOptions| {
            let place = Arc::new(Origin::new(url.parse().unwrap(), options).unwrap());
            runtime.block_on(Reqwest::open(&place)).err().map(|error| error.code())
        };
        let http2 = HttpOptions { version: Version::Http2, ..HttpOptions::default() };
        let pipelined = HttpOptions { pipelining: 2, ..HttpOptions::default() };
        assert_eq!(refused("https://h", HttpOptions::default()), Some("BB_UNSUPPORTED"));
        assert_eq!(refused("http://h", http2), Some("BB_INVALID_ARGUMENT"));
        assert_eq!(refused("http://h", pipelined), Some("BB_INVALID_ARGUMENT"));
        assert_eq!(refused("http://h", HttpOptions::default()), None);
    }

    #[test]
    fn headers_are_those_of_our_client() {
        let headers = headers_of("content-type: application/json\r\nx-api-key: a: b\r\n").unwrap();
        assert_eq!((headers.len(), headers["x-api-key"].to_str().unwrap()), (2, "a: b"));
        assert!(!headers_of("geheim").unwrap_err().to_string().contains("geheim"));
    }
}
