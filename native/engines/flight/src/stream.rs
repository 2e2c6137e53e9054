//! The result of a query, read from its endpoints.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::{FlightEndpoint, FlightInfo};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use boundary_bench_engine::table::{Column, arrow_schema_of};
use boundary_bench_engine::{BatchStream, QueryOptions, not_a_query, take_rows};
use boundary_bench_kernel::{Error, Result};

use crate::channel::{Channel, Reply, Waiter};
use crate::client::schema_of;
use crate::data::{BatchReader, Decoded};
use crate::engine_error;
use crate::grpc::{MessageBody, Parts, framed};
use crate::values::{adapted, columns_of};

/// The URI of a location that means the connection of the request.
const SAME_CONNECTION: &str = "arrow-flight-reuse-connection://";

/// Batches of fewer rows are joined, if the caller wants larger ones; joining larger batches costs more than it saves.
const ENOUGH_ROWS: usize = 16_384;

/// The number of bytes at which a batch is no longer extended: the offsets of its texts must not overflow.
const MAX_GATHERED_BYTES: usize = 256 << 20;

/// The batches of a result, as the server sends them.
pub(crate) struct Endpoints {
    channel: Arc<Channel>,
    left: VecDeque<FlightEndpoint>,
    current: Option<Reply>,
    reader: BatchReader,
    schema: Option<SchemaRef>,
}

impl Endpoints {
    pub(crate) fn new(channel: Arc<Channel>, info: FlightInfo) -> Self {
        Self { channel, left: info.endpoint.into(), current: None, reader: BatchReader::default(), schema: None }
    }

    /// Reads the schema, which precedes all batches.
    pub(crate) async fn schema(&mut self) -> Result<Option<SchemaRef>> {
        while self.schema.is_none() && self.advance().await?.is_some() {}
        Ok(self.schema.clone())
    }

    /// The next batch; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(decoded) = self.advance().await? {
            if let Decoded::Batch(batch) = decoded {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    async fn advance(&mut self) -> Result<Option<Decoded>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(endpoint) = self.left.pop_front() else { return Ok(None) };
                self.current = Some(self.fetch(endpoint).await?);
                self.reader = BatchReader::default();
                continue;
            };
            let Some(data) = self.channel.timed(current.next_data()).await? else {
                self.current = None;
                continue;
            };
            let decoded = self.reader.read(&data)?;
            if let Decoded::Schema(schema) = &decoded {
                match &self.schema {
                    Some(first) if first.fields() != schema.fields() => {
                        return Err(Error::Unsupported("the parts of the result have different columns".to_owned()));
                    }
                    _ => self.schema = Some(Arc::clone(schema)),
                }
            }
            return Ok(Some(decoded));
        }
    }

    async fn fetch(&mut self, endpoint: FlightEndpoint) -> Result<Reply> {
        let ticket = endpoint.ticket.unwrap_or_default();
        let is_here = endpoint.location.is_empty()
            || endpoint.location.iter().any(|location| location.uri.starts_with(SAME_CONNECTION));
        let elsewhere = match endpoint.location.first() {
            Some(location) if !is_here => Some(self.channel.elsewhere(&location.uri).await?),
            _ => None,
        };
        let channel = elsewhere.as_ref().unwrap_or(&self.channel);
        channel.call("DoGet", MessageBody::request(Parts::from([framed(&ticket)]))).await
    }
}

/// A query under way. Dropping it ends the query.
pub(crate) struct FlightStream {
    /// The source of batches; `None` once it has ended.
    endpoints: Option<Endpoints>,
    waiter: Waiter,
    columns: Vec<Column>,
    schema: SchemaRef,
    batch_rows: usize,
    gathered: VecDeque<RecordBatch>,
}

impl FlightStream {
    /// Begins to read the result that `info` describes.
    pub(crate) fn start(
        channel: &Arc<Channel>,
        waiter: Waiter,
        options: &QueryOptions,
        info: impl Future<Output = Result<FlightInfo>>,
    ) -> Result<Box<dyn BatchStream>> {
        let (endpoints, schema) = waiter.wait(async {
            let info = info.await?;
            let known = schema_of(info.schema.clone())?;
            if known.as_ref().is_some_and(|schema| schema.fields().is_empty()) {
                return Err(not_a_query());
            }
            let mut endpoints = Endpoints::new(Arc::clone(channel), info);
            let schema = endpoints.schema().await?.or(known.map(Arc::new));
            Ok((endpoints, schema))
        })?;
        let columns = columns_of(&schema.unwrap_or_else(|| Arc::new(Schema::empty())))?;
        Ok(Box::new(Self {
            endpoints: Some(endpoints),
            waiter,
            schema: arrow_schema_of(&columns),
            columns,
            batch_rows: options.batch_rows.max(1),
            gathered: VecDeque::new(),
        }))
    }

    fn gather(&mut self) -> Result<Option<RecordBatch>> {
        let enough = self.batch_rows.min(ENOUGH_ROWS);
        let mut rows: usize = self.gathered.iter().map(RecordBatch::num_rows).sum();
        let mut bytes = 0;
        while rows < enough
            && bytes < MAX_GATHERED_BYTES
            && let Some(endpoints) = &mut self.endpoints
        {
            let Some(batch) = self.waiter.wait(endpoints.next())? else {
                self.endpoints = None;
                break;
            };
            if batch.num_rows() > 0 {
                rows += batch.num_rows();
                bytes += batch.get_array_memory_size();
                self.gathered.push_back(adapted(&batch, &self.schema)?);
            }
        }
        let mut parts = take_rows(&mut self.gathered, self.batch_rows);
        match parts.len() {
            0 | 1 => Ok(parts.pop()),
            _ => concat_batches(&self.schema, &parts).map(Some).map_err(engine_error),
        }
    }
}

impl BatchStream for FlightStream {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.waiter.check().and_then(|()| self.gather());
        batch.inspect_err(|_| {
            self.endpoints = None;
            self.gathered.clear();
        })
    }
}
