//! A client of one shard behind gRPC.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use boundary_bench_http::{Address, DriverExecutor, Version, tls_connector};
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::error::chain;
use boundary_bench_kernel::socket::{CONNECT_TIMEOUT, KEEP_ALIVE_IDLE};
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, api_key, response_limit};
use futures_util::Stream;
use prost::Message;
use tonic::metadata::AsciiMetadataValue as Key;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};

use super::ClientOptions;
use super::checked::Checked;
use super::connector::Connector;
use super::frames::{self, Frames};
use crate::aggregate::{Aggregate, Aggregation};
use crate::proto::shard_service_client::ShardServiceClient;
use crate::proto::{
    DescribeRequest, DescribeResponse, GetRequest, MultiGetRequest, MultiGetResponse, PopulateRequest, PutManyRequest,
    PutRequest, ScanRequest,
};
use crate::row::{ROW_BYTES, Row};
use crate::scan_body::PATH as SCAN;
use crate::server::{CONNECTION_WINDOW, FRAME_BYTES, STREAM_WINDOW};
use crate::{convert, status};

/// The most rows of one message. Larger requests are split.
pub const MOST_ROWS: usize = 16_384;

/// The path of the multi-get method.
const MULTI_GET: &str = "/boundary_bench.shards.v1.ShardService/MultiGet";

/// Bytes of a message besides its rows, at most.
const OVERHEAD: usize = 4096;

/// A client of one shard behind gRPC.
pub(super) struct Remote {
    name: Name,
    /// The API key that is sent with each call.
    key: Option<Key>,
    endpoint: Endpoint,
    connector: Connector,
    channels: Box<[Checked]>,
    next: AtomicUsize,
    most_keys: usize,
    /// Bytes of one message, at most.
    most_bytes: usize,
}

/// The shard's name in errors.
#[derive(Clone)]
pub(super) struct Name {
    index: u32,
    count: u32,
    url: String,
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "shard {} of {} at {}", self.index, self.count, self.url)
    }
}

impl Name {
    /// The number of the shard.
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// The error of a call that failed with this status.
    pub(super) fn error(&self, status: &Status) -> Error {
        status::error_of(status, self)
    }

    /// Awaits a response, no longer than the deadline.
    async fn answer<T>(
        &self,
        deadline: Option<Duration>,
        call: impl Future<Output = std::result::Result<Response<T>, Status>>,
    ) -> Result<T> {
        // Awaited here, since the call is large, and a function that awaits it would hold it once more.
        let answer = match deadline {
            None => call.await,
            Some(time) => {
                let answer = tokio::time::timeout(time, call).await;
                answer.map_err(|_| Error::Timeout(status::timed_out(self)))?
            }
        };
        answer.map(Response::into_inner).map_err(|status| self.error(&status))
    }
}

/// An API key as sensitive metadata. Logs do not show it.
fn key_of(key: &str) -> Result<Key> {
    let mut key = key.parse::<Key>().map_err(|_| Error::InvalidArgument(api_key::form()))?;
    key.set_sensitive(true);
    Ok(key)
}

/// The endpoint of an address.
fn endpoint_of(address: &Address) -> std::result::Result<Endpoint, String> {
    let url = address.url.to_string();
    // tonic refuses a connector that makes TLS itself for the scheme https. Only the requests have the scheme then.
    let endpoint = Endpoint::from_shared(url.replacen("https://", "http://", 1)).map_err(|error| chain(&error))?;
    Ok(endpoint.origin(url.parse().map_err(|error| chain(&error))?))
}

/// The connector of an address, with its TLS settings.
fn connector_of(address: &Address, options: &ClientOptions) -> std::result::Result<Connector, String> {
    let trust = match (&address.trust, &options.tls_ca) {
        (Trust::System, Some(path)) => &Trust::Authorities(path.clone()),
        (trust, _) => trust,
    };
    if address.url.tls && !trust.verifies() {
        return Err("the certificate of a shard is always checked; name it by tls-ca".to_owned());
    }
    let tls = tls_connector(&address.url, trust, Version::Http2).map_err(|error| error.to_string())?;
    Ok(Connector { driver: options.driver, url: address.url.clone(), tls })
}

impl Remote {
    /// Connects, and checks that the server holds this shard.
    pub(super) async fn connect(index: u32, count: u32, url: &str, options: &ClientOptions) -> Result<Self> {
        let address = url.parse::<Address>().map_err(|error| {
            Error::InvalidArgument(format!(
                "shard {index} of {count}: {error}; the address must look like http://127.0.0.1:4410"
            ))
        })?;
        let name = Name { index, count, url: address.url.to_string() };
        let key = address.secret.as_ref().or(options.api_key.as_ref()).map(|key| key_of(key)).transpose()?;
        let unusable = |error: String| {
            Error::InvalidArgument(format!("{name}: {error}; the address must look like http://127.0.0.1:4410"))
        };
        let endpoint = endpoint_of(&address).map_err(unusable)?;
        let connector = connector_of(&address, options).map_err(unusable)?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_BYTES);
        // The client pings a server that is silent while a call waits. The server's kernel may acknowledge for a process that
        // hangs. Packets that are never acknowledged are noticed too.
        let endpoint = endpoint.http2_keep_alive_interval(KEEP_ALIVE_IDLE);
        let mut channels = Vec::new();
        let driven = endpoint.clone().executor(DriverExecutor(options.driver));
        for _ in 0..options.connections.max(1) {
            let connected = driven.connect_with_connector(connector.clone()).await;
            let channel = connected
                .map_err(|error| Error::Connection(format!("{name}: {}; check that it runs", chain(&error))))?;
            channels.push(Checked(channel));
        }
        let mut remote = Self {
            name,
            key,
            endpoint,
            connector,
            channels: channels.into(),
            next: AtomicUsize::new(0),
            most_keys: MOST_ROWS,
            most_bytes: OVERHEAD,
        };
        let described = remote.describe(options.deadline.or(Some(CONNECT_TIMEOUT))).await?;
        if (described.shard, described.shards) != (index, count) {
            return Err(Error::InvalidArgument(format!(
                "{}: it is shard {} of {}; give the addresses in the order of the shards",
                remote.name, described.shard, described.shards
            )));
        }
        let most_bytes = usize::try_from(described.max_message_bytes).unwrap_or(usize::MAX);
        // The server announces its largest message. The client's option limits what is accepted.
        if most_bytes > options.most_bytes {
            return Err(response_limit::exceeded(&format!("a message of {}", remote.name), options.most_bytes));
        }
        remote.most_bytes = most_bytes;
        remote.most_keys = (remote.most_bytes.saturating_sub(OVERHEAD) / (ROW_BYTES + 1)).clamp(1, MOST_ROWS);
        Ok(remote)
    }

    /// A client of the same shard over as many other connections. tokio makes them at their first use.
    pub(super) fn apart(&self) -> Self {
        let connector = Connector { driver: &Tokio, ..self.connector.clone() };
        let channel = |_| Checked(self.endpoint.connect_with_connector_lazy(connector.clone()));
        Self {
            name: self.name.clone(),
            key: self.key.clone(),
            endpoint: self.endpoint.clone(),
            channels: self.channels.iter().map(channel).collect(),
            connector,
            next: AtomicUsize::new(0),
            most_keys: self.most_keys,
            most_bytes: self.most_bytes,
        }
    }

    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    /// The keys of one call, at most.
    pub(super) fn most_keys(&self) -> usize {
        self.most_keys
    }

    /// The index of the connection for the next call, in turn.
    fn turn(&self) -> usize {
        let turn = if self.channels.len() == 1 { 0 } else { self.next.fetch_add(1, Ordering::Relaxed) };
        turn % self.channels.len()
    }

    /// A request with the API key and the time-out as metadata.
    fn request<T>(&self, message: T, deadline: Option<Duration>) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(time) = deadline {
            request.set_timeout(time);
        }
        if let Some(key) = &self.key {
            request.metadata_mut().insert(api_key::HEADER, key.clone());
        }
        request
    }

    fn client(&self) -> ShardServiceClient<Checked> {
        let client = ShardServiceClient::new(self.channels[self.turn()].clone());
        client.max_decoding_message_size(self.most_bytes).max_encoding_message_size(self.most_bytes)
    }

    pub(super) async fn describe(&self, deadline: Option<Duration>) -> Result<DescribeResponse> {
        let mut client = self.client();
        self.name.answer(deadline, client.describe(self.request(DescribeRequest {}, deadline))).await
    }

    pub(super) async fn get(&self, key: i64, deadline: Option<Duration>) -> Result<Option<Row>> {
        let mut client = self.client();
        let answer = self.name.answer(deadline, client.get(self.request(GetRequest { key }, deadline))).await?;
        answer.row.map(|row| convert::row(Some(&row)).map_err(|error| self.unusable(&error))).transpose()
    }

    pub(super) async fn multi_get(&self, keys: Vec<i64>, deadline: Option<Duration>) -> Result<MultiGetResponse> {
        let asked = keys.len();
        let request = MultiGetRequest { keys };
        let answer = async { self.call(MULTI_GET, &request, deadline).await?.only_message().await.map(Response::new) };
        let answer: MultiGetResponse = self.name.answer(deadline, answer).await?;
        let found = answer.found.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
        if answer.found.len() != asked.div_ceil(8) || answer.rows.len() != found * ROW_BYTES {
            return Err(self.unusable(&"the rows found are not as many as it says"));
        }
        Ok(answer)
    }

    pub(super) async fn put(&self, row: &Row, deadline: Option<Duration>) -> Result<()> {
        let mut client = self.client();
        self.name.answer(deadline, client.put(self.request(PutRequest { row: Some(row.into()) }, deadline))).await?;
        Ok(())
    }

    pub(super) async fn put_many(&self, packed: Vec<u8>, deadline: Option<Duration>) -> Result<()> {
        let mut client = self.client();
        self.name
            .answer(deadline, client.put_many(self.request(PutManyRequest { rows: packed.into() }, deadline)))
            .await?;
        Ok(())
    }

    pub(super) async fn aggregate(&self, aggregation: &Aggregation, deadline: Option<Duration>) -> Result<Aggregate> {
        let mut client = self.client();
        let answer = self.name.answer(deadline, client.aggregate(self.request(aggregation.into(), deadline))).await?;
        Ok(convert::aggregate(aggregation.column, &answer))
    }

    pub(super) async fn scan(&self, deadline: Option<Duration>) -> Result<Frames> {
        let started = async { self.call(SCAN, &ScanRequest {}, deadline).await.map(Response::new) };
        self.name.answer(deadline, started).await
    }

    /// Calls a method whose responses are large.
    async fn call<M: Message>(
        &self,
        path: &'static str,
        message: &M,
        deadline: Option<Duration>,
    ) -> std::result::Result<Frames, Status> {
        let headers = self.request((), deadline).into_parts().0.into_headers();
        frames::call(self.channels[self.turn()].clone(), path, headers, message, self.most_bytes).await
    }

    pub(super) async fn populate(
        &self,
        messages: impl Stream<Item = PopulateRequest> + Send + 'static,
        deadline: Option<Duration>,
    ) -> Result<u64> {
        let mut client = self.client();
        Ok(self.name.answer(deadline, client.populate(self.request(messages, deadline))).await?.rows)
    }

    fn unusable(&self, problem: &dyn fmt::Display) -> Error {
        Error::Engine { engine: status::NAME, message: format!("{}: an unusable answer: {problem}", self.name) }
    }
}
