//! The client that `tonic-prost` generates from the proto, as tonic's documentation has it fastest.
//!
//! Each requester has a channel to each shard. The channel is used again for all calls, and sends without a delay, as by
//! default (<https://docs.rs/tonic/latest/tonic/transport/struct.Endpoint.html>). The windows are as large as our own client's: with
//! HTTP/2's 64 KiB, a scan would wait for each update of them. Messages are decoded by prost, and batches by Arrow's own
//! `StreamDecoder`. It copies a body whose columns are not aligned.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use boundary_bench_http::Address;
use boundary_bench_kernel::{Error, Result, api_key};
use boundary_bench_shards::proto::shard_service_client::ShardServiceClient;
use boundary_bench_shards::proto::{
    AggregateRequest, GetRequest, MultiGetRequest, PopulateBegin, PopulateRequest, PutManyRequest, PutRequest,
    ScanRequest, ScanResponse,
};
use boundary_bench_shards::{
    Aggregate, ArrowMessage, CONNECTION_WINDOW, Columns, MOST_ROWS, ROW_BYTES, Row, STREAM_WINDOW, ShardBatches,
    aggregate_of, row_of, shard_of,
};
use futures_util::future::try_join_all;
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use super::connection::{Batches, Connection};
use super::data::{AGGREGATED, aggregation};
use super::reads::Reads;

/// A shard, and the API key that it asks for.
#[derive(Clone)]
struct Shard {
    client: ShardServiceClient<Channel>,
    key: Option<AsciiMetadataValue>,
}

/// The generated clients of all shards.
pub(crate) struct Tonic {
    shards: Vec<Shard>,
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn ours(status: Status) -> Error {
    Error::Engine { engine: "shards", message: format!("{}: {}", status.code(), status.message()) }
}

impl Shard {
    async fn connect(place: &str) -> Result<Self> {
        let unsupported = |what: &str| Error::Unsupported(format!("tonic's client is measured {what}"));
        if place.starts_with("local:") {
            return Err(unsupported("behind gRPC alone"));
        }
        let address: Address = place.parse().map_err(|error| Error::InvalidArgument(format!("{error}")))?;
        if address.url.tls {
            return Err(unsupported("without TLS"));
        }
        let failed = |error: tonic::transport::Error| Error::Connection(format!("{}: {error}", address.url));
        let endpoint = Endpoint::from_shared(address.url.to_string()).map_err(failed)?;
        let channel = endpoint
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .connect()
            .await
            .map_err(failed)?;
        let key = address.secret.as_ref().map(|key| key.parse::<AsciiMetadataValue>()).transpose();
        let key = key.map_err(|_| Error::InvalidArgument(api_key::form()))?;
        Ok(Self { client: ShardServiceClient::new(channel), key })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(key) = &self.key {
            request.metadata_mut().insert(api_key::HEADER, key.clone());
        }
        request
    }

    async fn populate(mut self, total_rows: u64, batches: &ShardBatches<Vec<ArrowMessage>>) -> Result<()> {
        let begin = Some(PopulateBegin { rows: batches.rows, total_rows, replace: true });
        let first = PopulateRequest { begin, ..PopulateRequest::default() };
        let others = batches.messages.clone().into_iter().map(|ArrowMessage { header, body }| PopulateRequest {
            begin: None,
            ipc_header: header,
            ipc_body: body,
        });
        let request = self.request(stream::iter([first].into_iter().chain(others)));
        self.client.populate(request).await.map_err(ours)?;
        Ok(())
    }

    async fn put_many(mut self, rows: Vec<u8>) -> Result<()> {
        let request = self.request(PutManyRequest { rows: rows.into() });
        self.client.put_many(request).await.map_err(ours)?;
        Ok(())
    }

    async fn scan(mut self) -> Result<Streaming<ScanResponse>> {
        let request = self.request(ScanRequest {});
        Ok(self.client.scan(request).await.map_err(ours)?.into_inner())
    }
}

impl Tonic {
    fn index(&self, key: i64) -> usize {
        shard_of(key, u32::try_from(self.shards.len()).unwrap_or(u32::MAX)) as usize
    }

    fn shard(&mut self, key: i64) -> &mut Shard {
        let index = self.index(key);
        &mut self.shards[index]
    }

    /// The values of each shard, by their keys, in parts of at most [`MOST_ROWS`].
    fn groups<T: Copy>(&self, values: impl Iterator<Item = (i64, T)>) -> Vec<(Shard, Vec<T>)> {
        let mut groups: Vec<Vec<T>> = self.shards.iter().map(|_| Vec::new()).collect();
        values.for_each(|(key, value)| groups[self.index(key)].push(value));
        let parts = self.shards.iter().zip(&groups);
        parts.flat_map(|(shard, group)| group.chunks(MOST_ROWS).map(|part| (shard.clone(), part.to_vec()))).collect()
    }

    /// Reads all shards at the same time, and calls `each` with the rows of each batch.
    async fn each_batch(&self, mut each: impl FnMut(Columns<'_>) -> Result<()> + Send) -> Result<()> {
        let streams = try_join_all(self.shards.iter().map(|shard| shard.clone().scan())).await?;
        let numbered = streams.into_iter().enumerate().map(|(index, stream)| stream.map(move |piece| (index, piece)));
        let mut pieces = stream::select_all(numbered);
        let mut decoders: Vec<StreamDecoder> = self.shards.iter().map(|_| StreamDecoder::default()).collect();
        while let Some((index, piece)) = pieces.next().await {
            let piece = piece.map_err(ours)?;
            if let Some(batch) = decoded(&mut decoders[index], piece)? {
                each(Columns::of_batch(&batch)?)?;
            }
        }
        decoders.iter_mut().try_for_each(StreamDecoder::finish).map_err(|error| Error::InvalidIpc(error.to_string()))
    }
}

/// The batch of a message, or `None` for a message without one.
fn decoded(decoder: &mut StreamDecoder, piece: ScanResponse) -> Result<Option<RecordBatch>> {
    let mut batch = None;
    for bytes in [piece.ipc_header, piece.ipc_body] {
        let mut buffer = Buffer::from(bytes);
        while !buffer.is_empty() {
            let found = decoder.decode(&mut buffer).map_err(|error| Error::InvalidIpc(error.to_string()))?;
            batch = batch.or(found);
        }
    }
    Ok(batch)
}

impl Connection for Tonic {
    async fn connect(url: &str) -> Result<Self> {
        Ok(Self { shards: try_join_all(url.split(',').map(Shard::connect)).await? })
    }

    async fn get(&mut self, key: i64, reads: &mut Reads) -> Result<()> {
        let shard = self.shard(key);
        let request = shard.request(GetRequest { key });
        let found = shard.client.get(request).await.map_err(ours)?.into_inner().row;
        reads.row(key, found.map(|row| row_of(Some(&row))).transpose()?.as_ref())
    }

    async fn multi_get(&mut self, keys: &[i64], reads: &mut Reads) -> Result<()> {
        let groups = self.groups(keys.iter().map(|key| (*key, *key)));
        let asked = groups.into_iter().map(|(mut shard, keys)| async move {
            let request = shard.request(MultiGetRequest { keys: keys.clone() });
            let found = shard.client.multi_get(request).await.map_err(ours)?;
            Ok::<_, Error>((keys, found.into_inner()))
        });
        let mut answers: FuturesUnordered<_> = asked.collect();
        while let Some((keys, answer)) = answers.try_next().await? {
            reads.packed(&keys, &answer.found, &answer.rows)?;
        }
        Ok(())
    }

    async fn put(&mut self, row: &Row) -> Result<()> {
        let shard = self.shard(row.key);
        let request = shard.request(PutRequest { row: Some(row.into()) });
        shard.client.put(request).await.map_err(ours)?;
        Ok(())
    }

    async fn put_many(&mut self, packed: &[u8]) -> Result<()> {
        let rows = packed.as_chunks::<ROW_BYTES>().0.iter();
        let groups = self.groups(rows.map(|row| (Row::from_bytes(row).key, row)));
        let put = groups.into_iter().map(|(shard, rows)| shard.put_many(rows.into_iter().flatten().copied().collect()));
        try_join_all(put).await?;
        Ok(())
    }

    async fn populate(&mut self, batches: &Batches) -> Result<()> {
        let total_rows = batches.iter().map(|shard| shard.rows).sum();
        let filled =
            self.shards.iter().zip(batches).map(|(shard, batches)| shard.clone().populate(total_rows, batches));
        try_join_all(filled).await?;
        Ok(())
    }

    async fn scan(&mut self, reads: &mut Reads) -> Result<()> {
        self.each_batch(|rows| reads.scanned(rows)).await
    }

    async fn push_down(&mut self, reads: &mut Reads) -> Result<()> {
        let asked = AggregateRequest::from(&aggregation()?);
        let answers = self.shards.iter().cloned().map(|mut shard| async move {
            let request = shard.request(asked);
            shard.client.aggregate(request).await.map_err(ours)
        });
        for answer in try_join_all(answers).await? {
            reads.aggregate(&aggregate_of(AGGREGATED, answer.get_ref()));
        }
        Ok(())
    }

    async fn pull(&mut self, reads: &mut Reads) -> Result<()> {
        let aggregation = aggregation()?;
        let mut all = Aggregate::none(AGGREGATED);
        self.each_batch(|rows| {
            all.add(&aggregation, rows);
            Ok(())
        })
        .await?;
        reads.aggregate(&all);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// The settings that a client of HTTP/2 sends first, after its preface, by their numbers.
    fn settings_of(listener: &TcpListener) -> HashMap<u16, u32> {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 24 + 9];
        stream.read_exact(&mut head).unwrap();
        assert_eq!((&head[..24], head[27]), (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], 4));
        let mut settings = vec![0; usize::from(u16::from_be_bytes([head[25], head[26]]))];
        stream.read_exact(&mut settings).unwrap();
        let (settings, []) = settings.as_chunks::<6>() else { panic!("settings of {} bytes", settings.len()) };
        let pair = |[a, b, value @ ..]: &[u8; 6]| (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value));
        settings.iter().map(pair).collect()
    }

    #[tokio::test]
    async fn it_asks_for_the_windows_of_our_client() {
        /// The number of HTTP/2's setting of a stream's window.
        const INITIAL_WINDOW_SIZE: u16 = 4;

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let settings = std::thread::spawn(move || settings_of(&listener));
        let client = Tonic::connect(&url).await.unwrap();
        let settings = tokio::task::spawn_blocking(move || settings.join().unwrap()).await.unwrap();
        assert_eq!(settings.get(&INITIAL_WINDOW_SIZE), Some(&STREAM_WINDOW));
        drop(client);
    }

    #[tokio::test]
    async fn other_places_are_refused() {
        let refused = async |url: &str| Tonic::connect(url).await.err().map(|error| error.code());
        assert_eq!(refused("local:1").await, Some("BB_UNSUPPORTED"));
        assert_eq!(refused("https://h:1").await, Some("BB_UNSUPPORTED"));
        assert_eq!(refused("h:1").await, Some("BB_INVALID_ARGUMENT"));
        assert_eq!(refused("http://127.0.0.1:1").await, Some("BB_CONNECTION"));
    }
}
