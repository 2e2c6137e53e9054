//! The endpoints of a result: its parts, at one server or several, read at the same time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_flight::{FlightEndpoint, FlightInfo, Ticket};
use arrow_schema::SchemaRef;
use boundary_bench_engine::arrow_in::Decoded;
use boundary_bench_kernel::{Error, Result, lock};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

use crate::channel::{Channel, Reply};
use crate::data::BatchReader;
use crate::engine_error;
use crate::grpc::{MessageBody, Parts, framed};

/// The URI of a location that means the connection of the request.
const SAME_CONNECTION: &str = "arrow-flight-reuse-connection://";

/// Maximum number of endpoints that are read at the same time. Further endpoints follow as these end.
const AT_ONCE: usize = 16;

/// Maximum number of messages of an endpoint that wait for the reader of the result.
const AHEAD: usize = 2;

/// The batches of a result: in the order of the endpoints if the result is ordered, else as they arrive.
pub(crate) struct Endpoints {
    source: Source,
    schema: Option<SchemaRef>,
}

/// The endpoints that are read.
enum Source {
    /// The only endpoint. It needs no task of its own.
    One { channel: Arc<Channel>, endpoint: Box<FlightEndpoint>, part: Option<Box<EndpointStream>> },
    /// Several endpoints.
    Many {
        /// The messages of each endpoint, in the order of the endpoints. For a result in any order, one queue of all messages.
        queues: VecDeque<Receiver<Result<Decoded>>>,
        /// The tasks that read the endpoints. A drop ends them.
        tasks: JoinSet<()>,
    },
}

/// Endpoints that no task reads yet, each with the queue of its messages.
type Unread = Arc<Mutex<VecDeque<(FlightEndpoint, Sender<Result<Decoded>>)>>>;

impl Endpoints {
    /// The endpoints of a result. Called within the runtime, whose tasks read them if there are several.
    pub(crate) fn new(channel: Arc<Channel>, info: FlightInfo) -> Self {
        let mut endpoints = info.endpoint;
        let source = match endpoints.pop() {
            Some(endpoint) if endpoints.is_empty() => Source::One { channel, endpoint: Box::new(endpoint), part: None },
            last => {
                endpoints.extend(last);
                Source::many(&channel, endpoints, info.ordered)
            }
        };
        Self { source, schema: None }
    }

    /// Reads the schema. It precedes all batches.
    pub(crate) async fn schema(&mut self) -> Result<Option<SchemaRef>> {
        while self.schema.is_none() && self.advance().await?.is_some() {}
        Ok(self.schema.clone())
    }

    /// The next batch, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(decoded) = self.advance().await? {
            if let Decoded::Batch(batch) = decoded {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    async fn advance(&mut self) -> Result<Option<Decoded>> {
        let decoded = self.source.next().await?;
        if let Some(Decoded::Schema(schema)) = &decoded {
            match &self.schema {
                Some(first) if first.fields() != schema.fields() => {
                    return Err(Error::Unsupported("the parts of the result have different columns".to_owned()));
                }
                _ => self.schema = Some(Arc::clone(schema)),
            }
        }
        Ok(decoded)
    }
}

impl Source {
    fn many(channel: &Arc<Channel>, endpoints: Vec<FlightEndpoint>, ordered: bool) -> Self {
        let at_once = endpoints.len().min(AT_ONCE);
        let (shared, queue) = mpsc::channel(AHEAD * at_once.max(1));
        let mut queues = VecDeque::new();
        let unread = endpoints.into_iter().map(|endpoint| {
            if !ordered {
                return (endpoint, shared.clone());
            }
            let (sender, queue) = mpsc::channel(AHEAD);
            queues.push_back(queue);
            (endpoint, sender)
        });
        let unread: Unread = Arc::new(Mutex::new(unread.collect()));
        if !ordered {
            queues.push_back(queue);
        }
        let mut tasks = JoinSet::new();
        for _ in 0..at_once {
            let (channel, unread) = (Arc::clone(channel), Arc::clone(&unread));
            tasks.spawn(async move {
                loop {
                    // Endpoints are begun in their order, so that the first one whose messages are wanted is always among them.
                    let next = lock(&unread).pop_front();
                    let Some((endpoint, sender)) = next else { break };
                    read(&channel, endpoint, &sender).await;
                }
            });
        }
        Self::Many { queues, tasks }
    }

    async fn next(&mut self) -> Result<Option<Decoded>> {
        match self {
            Self::One { channel, endpoint, part } => {
                let part = match part {
                    Some(part) => part,
                    None => {
                        part.insert(Box::new(EndpointStream::open(channel, std::mem::take(&mut **endpoint)).await?))
                    }
                };
                part.next().await
            }
            Self::Many { queues, tasks } => {
                while let Some(queue) = queues.front_mut() {
                    match queue.recv().await {
                        Some(message) => return message.map(Some),
                        None => drop(queues.pop_front()),
                    }
                }
                // A task that panicked has closed its queue as if its endpoint had ended.
                while let Some(ended) = tasks.join_next().await {
                    ended.map_err(|error| Error::Internal(error.to_string()))?;
                }
                Ok(None)
            }
        }
    }
}

/// Reads an endpoint to its end, or to its error. An error is its last message.
async fn read(channel: &Arc<Channel>, endpoint: FlightEndpoint, sender: &Sender<Result<Decoded>>) {
    let mut part = match EndpointStream::open(channel, endpoint).await {
        Ok(part) => part,
        Err(error) => return drop(sender.send(Err(error)).await),
    };
    while let Some(message) = part.next().await.transpose() {
        let is_last = message.is_err();
        // The queue is closed if the result is no longer read.
        if sender.send(message).await.is_err() || is_last {
            break;
        }
    }
}

/// The part of a result at one endpoint.
struct EndpointStream {
    /// The messages, or `None` once all are read.
    reply: Option<Reply>,
    reader: BatchReader,
}

impl EndpointStream {
    /// Asks for an endpoint's part, at the first of its locations that answers.
    async fn open(channel: &Arc<Channel>, endpoint: FlightEndpoint) -> Result<Self> {
        let ticket = endpoint.ticket.unwrap_or_default();
        let is_here = endpoint.location.is_empty()
            || endpoint.location.iter().any(|location| location.uri.starts_with(SAME_CONNECTION));
        if is_here {
            return Self::ask(channel, &ticket).await;
        }
        let mut unreached = None;
        for location in endpoint.location {
            let other = match channel.elsewhere(&location.uri).await {
                Ok(other) => other,
                Err(error) => {
                    unreached = Some(error);
                    continue;
                }
            };
            match Self::ask(&other, &ticket).await {
                Err(error @ (Error::Connection(_) | Error::Unreachable(_) | Error::Timeout(_))) => {
                    unreached = Some(error);
                }
                asked => return asked,
            }
        }
        Err(unreached.unwrap_or_else(|| engine_error("an endpoint of the result has no location")))
    }

    async fn ask(channel: &Channel, ticket: &Ticket) -> Result<Self> {
        let reply = channel.call("DoGet", MessageBody::request(Parts::from([framed(ticket)]))).await?;
        Ok(Self { reply: Some(reply), reader: BatchReader::default() })
    }

    /// The next message, or `None` at the end.
    async fn next(&mut self) -> Result<Option<Decoded>> {
        let Some(reply) = &mut self.reply else { return Ok(None) };
        if let Some(data) = reply.next_data().await? {
            return self.reader.read(&data).map(Some);
        }
        self.reply = None;
        Ok(None)
    }
}
