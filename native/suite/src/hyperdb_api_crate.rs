//! The lanes that use a server's own client library instead of our engine, as the server's benchmark guide does ([`client`]).
//! The engine still makes, reads back and drops the tables.
//!
//! The timed part is the same as for the other lanes, on connections that are open. For an insert, it is from the inserter to
//! the end of its COPY. For a query, it is from sending it until its last value is consumed. It differs where a pause of the
//! clock would hide work. A COPY acknowledges nothing before its end, so the server may be busy with bytes in the socket's
//! buffer (some megabytes) while the clock is paused, and there is no way to wait for it. So:
//! - Rows are made in pauses all the same, because they take far less time to make than to send.
//! - An IPC stream takes longer to make, so it is made as a whole before the clock starts, and kept in memory.
//! - The rows of `ChunkSender` with several threads are made as they are encoded, within the timed part: a pause of one thread
//!   would not stop the thread that sends.

pub mod client;

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use boundary_bench_engine::Engine;
use boundary_bench_engine::measurements::{self, Measurement, MeasurementColumns, RowRange};
use boundary_bench_hyper::HyperEngine;
use boundary_bench_kernel::{Error, Result};
use hyperdb_api::Row;
use tokio::task::spawn_blocking;

use self::client::{Endpoint, ROWS_OF_A_SEND, Session};
use crate::dimensions::{Flavor, Lane, Workload};
use crate::insert::{Encoded, into_new_tables};
use crate::kept;
use crate::measurements::matrix;
use crate::query::{self, Read, read_ipc};
use crate::row_check::RowCheck;
use crate::sample::CellSample;
use crate::spec::CellSpec;
use crate::tables::{check_queries, queries, worker_ranges};
use crate::workers::{Clock, Finished, as_tasks, on_threads, runtime};

pub(crate) fn run(engine: &Arc<dyn Engine>, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    let endpoint = endpoint_of(engine)?;
    match spec.workload {
        Workload::InsertBulk => insert(engine, &endpoint, spec, verify),
        Workload::QueryFullScan | Workload::QueryFiltered | Workload::QueryAggregation => read(&endpoint, spec),
    }
}

/// Executes the queries of a cell once and checks each row.
pub(crate) fn verify(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<()> {
    let endpoint = endpoint_of(engine)?;
    check_queries(spec, |sql, check| match (spec.lane, spec.flavor) {
        (Lane::Stream, Flavor::Sync) => client::each_chunk(&endpoint.connect()?, &sql, |rows| check_chunk(check, rows)),
        (Lane::Stream, Flavor::Async) => runtime()?.block_on(async {
            let connection = endpoint.connect_async().await?;
            let read = client::each_chunk_async(&connection, &sql, |rows| check_chunk(check, rows)).await;
            client::close_async(connection).await?;
            read
        }),
        (Lane::Columnar, _) => runtime()?.block_on(async {
            let mut connection = endpoint.connect_grpc_stream().await?;
            client::each_batch(&mut connection, &sql, |batch| check.add_batch(batch)).await.map(drop)
        }),
        (Lane::ArrowIpc, _) => runtime()?.block_on(async {
            let mut connection = endpoint.connect_grpc().await?;
            query::verify_ipc(client::read_arrow(&mut connection, &sql).await?, check)
        }),
        (lane, _) => Err(no_lane_out(lane)),
    })
}

fn check_chunk(check: &mut RowCheck, rows: &[Row]) -> Result<()> {
    rows.iter().try_for_each(|row| match check {
        RowCheck::Rows { .. } => check.add(&client::measurement(row)?),
        RowCheck::Aggregates(_) => check.add_aggregate(&client::aggregate(row)?),
    })
}

fn no_lane_out(lane: Lane) -> Error {
    Error::InvalidArgument(format!("{lane:?} is no lane out of hyperdb-api"))
}

fn endpoint_of(engine: &Arc<dyn Engine>) -> Result<Endpoint> {
    let hyper = (&**engine as &dyn Any).downcast_ref::<HyperEngine>().ok_or_else(|| {
        Error::Unsupported(format!(
            "hyperdb-api is a client of hyperd; the engine {} has no such server",
            engine.name()
        ))
    })?;
    Ok(Endpoint(hyper.address()))
}

fn insert(engine: &Arc<dyn Engine>, endpoint: &Endpoint, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    match (spec.lane, spec.flavor) {
        // One connection and one table for any number of threads.
        (Lane::Row, Flavor::Sync) => into_new_tables(engine, spec, 1, verify, |tables| {
            let ranges = worker_ranges(0, spec.rows, spec.workers)?;
            let parts = tables.iter().map(|(name, _)| Ok((endpoint.connect()?, name.clone())));
            on_threads(parts.collect::<Result<Vec<_>>>()?, move |(session, name), clock| {
                if let [range] = ranges[..] {
                    return insert_pieces(range, clock, |next| client::insert_rows(&session, &name, next));
                }
                let rows = ranges.iter().map(|range| range.iter()).collect();
                client::insert_chunks_of_threads(&session, &name, rows)?;
                Ok(clock.finish(None))
            })
        }),
        (Lane::Row, Flavor::Async) => into_new_tables(engine, spec, spec.workers, verify, |tables| {
            let parts = tables.iter().map(|(name, range)| Ok((endpoint.connect()?, name.clone(), *range)));
            as_tasks(
                parts.collect::<Result<Vec<_>>>()?,
                |(session, name, range): (Session, String, _), clock| async move {
                    let work = move || insert_pieces(range, clock, |next| client::insert_chunks(&session, &name, next));
                    spawn_blocking(work).await.map_err(|error| Error::Internal(error.to_string()))?
                },
            )
        }),
        (Lane::ArrowIpc, _) => into_new_tables(engine, spec, spec.workers, verify, |tables| {
            let parts = tables.iter().map(|(name, range)| {
                let connection = runtime()?.block_on(endpoint.connect_async())?;
                Ok((connection, name.clone(), IpcStream::of(*range)?))
            });
            as_tasks(parts.collect::<Result<Vec<_>>>()?, |(connection, name, stream), clock| async move {
                let inserted = client::insert_ipc(&connection, &name, &stream.pieces).await;
                let finished = clock.finish(Some(stream.encoded));
                // The memory is left to the next execution.
                stream.pieces.into_iter().for_each(|piece| kept::BYTES.put(piece));
                client::close_async(connection).await?;
                inserted.map(|_| finished)
            })
        }),
        (lane, _) => Err(Error::InvalidArgument(format!("{lane:?} is no lane in"))),
    }
}

/// Runs an insert that takes its rows piece by piece. The clock is paused while a piece is made.
fn insert_pieces(
    range: RowRange,
    mut clock: Clock,
    insert: impl FnOnce(&mut dyn FnMut(&mut Vec<Measurement>) -> bool) -> Result<u64>,
) -> Result<Finished<Encoded>> {
    let mut pieces = range.chunks(matrix()?.input_rows);
    insert(&mut |rows| {
        clock.pause();
        rows.clear();
        let piece = pieces.next();
        rows.extend(piece.into_iter().flat_map(RowRange::iter));
        clock.resume();
        piece.is_some()
    })?;
    Ok(clock.finish(None))
}

/// One Arrow IPC stream, in the pieces that are each sent at once.
struct IpcStream {
    pieces: Vec<Vec<u8>>,
    /// The time that encoding the stream took.
    encoded: Duration,
}

impl IpcStream {
    fn of(range: RowRange) -> Result<Self> {
        let unusable = |error: ArrowError| Error::Internal(error.to_string());
        let memory = || {
            let mut bytes = kept::BYTES.take();
            bytes.clear();
            bytes
        };
        let mut writer = StreamWriter::try_new(memory(), &measurements::table("").to_arrow()).map_err(unusable)?;
        let (mut pieces, mut encoded) = (Vec::new(), Duration::ZERO);
        for chunk in range.chunks(ROWS_OF_A_SEND) {
            let mut columns = kept::COLUMNS.take();
            columns.fill(chunk);
            let batch = columns.into_batch()?;
            let next = memory();
            let start = Instant::now();
            writer.write(&batch).map_err(unusable)?;
            pieces.push(std::mem::replace(writer.get_mut(), next));
            encoded += start.elapsed();
            kept::COLUMNS.put(MeasurementColumns::reclaim(batch));
        }
        writer.finish().map_err(unusable)?;
        pieces.push(std::mem::take(writer.get_mut()));
        Ok(Self { pieces, encoded })
    }
}

fn read(endpoint: &Endpoint, spec: &CellSpec) -> Result<CellSample> {
    let workload = spec.workload;
    let queries = queries(spec)?.into_iter();
    let workers = match (spec.lane, spec.flavor) {
        (Lane::Stream, Flavor::Sync) => {
            let parts = queries.map(|sql| Ok((endpoint.connect()?, sql))).collect::<Result<Vec<_>>>()?;
            on_threads(parts, move |(session, sql), clock| {
                let checksum = client::read_rows(&session, &sql, workload)?;
                Ok(clock.finish(Read::from(checksum)))
            })?
        }
        (Lane::Stream, Flavor::Async) => {
            let parts = queries.map(|sql| Ok((runtime()?.block_on(endpoint.connect_async())?, sql)));
            as_tasks(parts.collect::<Result<Vec<_>>>()?, move |(connection, sql), clock| async move {
                let finished = client::read_rows_async(&connection, &sql, workload).await.map(Read::from);
                let finished = finished.map(|read| clock.finish(read));
                client::close_async(connection).await?;
                finished
            })?
        }
        (Lane::Columnar, _) => {
            let parts = queries.map(|sql| Ok((runtime()?.block_on(endpoint.connect_grpc_stream())?, sql)));
            as_tasks(parts.collect::<Result<Vec<_>>>()?, |(mut connection, sql), clock| async move {
                let checksum = client::read_columns(&mut connection, &sql).await?;
                Ok(clock.finish(Read::from(checksum)))
            })?
        }
        (Lane::ArrowIpc, _) => {
            let parts = queries.map(|sql| Ok((runtime()?.block_on(endpoint.connect_grpc())?, sql)));
            as_tasks(parts.collect::<Result<Vec<_>>>()?, |(mut connection, sql), clock| async move {
                read_ipc(client::read_arrow(&mut connection, &sql).await?, clock)
            })?
        }
        (lane, _) => return Err(no_lane_out(lane)),
    };
    query::sample(workers)
}
