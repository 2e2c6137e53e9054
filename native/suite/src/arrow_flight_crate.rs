//! The lanes that use the client of the crate `arrow-flight` instead of our engine, over the same server. The engine still makes, reads
//! back and drops the tables.
//!
//! The timed part is the same as for the other lanes, on a connection that is open. For an insert, it is from the beginning of the call
//! of bulk ingestion to its answer. For a query, it is from sending it until its last value is consumed. The batches of an insert are
//! made before: the client takes them as a stream, and nothing tells when it has sent one. Their memory is left to the next execution.

use std::any::Any;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use boundary_bench_engine::Engine;
use boundary_bench_flight::{CONNECTION_WINDOW, FlightEngine, FlightUrl, STREAM_WINDOW, append_to};
use boundary_bench_kernel::url::bracketed;
use boundary_bench_kernel::{Error, Result};
use futures_util::{TryStreamExt, stream};
use tonic::transport::{Channel, Endpoint};

use crate::dimensions::{Lane, Workload};
use crate::insert::{batches_of, into_new_tables, reclaim};
use crate::query::{self, Consumer};
use crate::sample::CellSample;
use crate::spec::CellSpec;
use crate::tables::{check_queries, queries};
use crate::workers::{as_tasks, runtime};

/// A client with its connection.
type Client = FlightSqlServiceClient<Channel>;

pub(crate) fn run(engine: &Arc<dyn Engine>, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    let url = url_of(engine)?;
    let lane = spec.lane;
    match (spec.workload, lane) {
        (Workload::InsertBulk, Lane::Columns) => into_new_tables(engine, spec, spec.workers, verify, |tables| {
            let parts = tables.iter().map(|(name, range)| Ok((connect(url)?, name.clone(), batches_of(*range)?)));
            as_tasks(parts.collect::<Result<Vec<_>>>()?, |(mut client, table, batches), clock| async move {
                // The clones share the memory of the rows.
                insert(&mut client, &table, batches.clone()).await?;
                let finished = clock.finish(None);
                reclaim(batches);
                Ok(finished)
            })
        }),
        (Workload::InsertBulk, _) => Err(no_lane(lane)),
        (workload, Lane::Stream | Lane::Columnar) => {
            let parts = queries(spec)?.into_iter().map(|sql| Ok((connect(url)?, sql))).collect::<Result<Vec<_>>>()?;
            let workers = as_tasks(parts, move |(mut client, sql), clock| async move {
                let mut consumer = None;
                each_batch(&mut client, sql, |batch| {
                    if consumer.is_none() {
                        consumer = Some(Consumer::new(lane, workload, &batch.schema())?);
                    }
                    consumer.as_mut().map_or(Ok(()), |consumer| consumer.consume(batch))
                })
                .await?;
                let consumer = consumer.ok_or_else(|| error(&"the result has no batch"))?;
                Ok(clock.finish(consumer.checksum().into()))
            })?;
            query::sample(workers)
        }
        _ => Err(no_lane(lane)),
    }
}

/// Executes the queries of a cell once and checks each row.
pub(crate) fn verify(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<()> {
    check_queries(spec, |sql, check| {
        let mut client = connect(url_of(engine)?)?;
        runtime()?.block_on(each_batch(&mut client, sql, |batch| check.add_batch(batch)))
    })
}

fn url_of(engine: &Arc<dyn Engine>) -> Result<&FlightUrl> {
    let flight = (&**engine as &dyn Any).downcast_ref::<FlightEngine>();
    flight.map(FlightEngine::url).ok_or_else(|| {
        Error::Unsupported(format!("arrow-flight is a client of Flight SQL, which the engine {} is not", engine.name()))
    })
}

/// Connects with the windows of our own client, and logs in.
fn connect(url: &FlightUrl) -> Result<Client> {
    if url.place.tls {
        return Err(Error::Unsupported("the lanes of the crate arrow-flight do not use TLS".to_owned()));
    }
    let address = format!("http://{}:{}", bracketed(&url.place.host), url.place.port);
    let endpoint = Endpoint::from_shared(address).map_err(|refused| error(&refused))?;
    let endpoint = endpoint.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
    runtime()?.block_on(async {
        let channel = endpoint.tcp_nodelay(true).connect().await.map_err(|refused| error(&refused))?;
        let mut client = FlightSqlServiceClient::new(channel);
        let inner = client.inner().clone().max_decoding_message_size(url.most_bytes);
        *client.inner_mut() = inner.max_encoding_message_size(url.most_bytes);
        if let Some((user, password)) = &url.login {
            client.handshake(user, password).await.map_err(refused)?;
        }
        Ok(client)
    })
}

async fn insert(client: &mut Client, table: &str, batches: Vec<RecordBatch>) -> Result<()> {
    let batches = stream::iter(batches.into_iter().map(Ok::<_, FlightError>));
    client.execute_ingest(append_to(table), batches).await.map(drop).map_err(refused)
}

/// Executes a query, and gives each batch of all its endpoints to `take`.
async fn each_batch(client: &mut Client, sql: String, mut take: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
    let info = client.execute(sql, None).await.map_err(refused)?;
    for endpoint in info.endpoint {
        let ticket = endpoint.ticket.ok_or_else(|| error(&"an endpoint of the result has no ticket"))?;
        let mut batches = client.do_get(ticket).await.map_err(refused)?;
        while let Some(batch) = batches.try_next().await.map_err(refused)? {
            take(&batch)?;
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn refused(cause: FlightError) -> Error {
    error(&cause)
}

fn error(cause: &dyn std::fmt::Display) -> Error {
    Error::Engine { engine: "arrow-flight", message: cause.to_string() }
}

fn no_lane(lane: Lane) -> Error {
    Error::InvalidArgument(format!("{lane:?} is no lane of the crate arrow-flight"))
}
