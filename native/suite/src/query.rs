//! `query.*`: rows are read from an existing table.
//!
//! Timed: from starting the query until the last value of the last row is consumed. Every lane adds up every value.
//! Decoding of IPC bytes is timed separately.
//!
//! Memory: batches and IPC bytes come in recycled slabs, as on the other sides. Rows that a lane keeps are put into fresh memory, as
//! Node's objects are: a program that keeps its rows has no memory of earlier ones.
//!
//! Threads: `Sync` runs on the calling thread. That thread also asks the engine for the next batch. `Async` runs as a task of a runtime,
//! while the query runs ahead on a thread of its own, as for Node's lanes.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{Schema, SchemaRef};
use boundary_bench_engine::checksum::Checksum;
use boundary_bench_engine::lanes::ipc::write_stream;
use boundary_bench_engine::lanes::reader::QueryReader;
use boundary_bench_engine::measurements::{Aggregate, Measurement, MeasurementSums};
use boundary_bench_engine::table::arrow_schema_of;
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_kernel::{Error, Result};

use crate::batch_rows::{aggregates, measurements};
use crate::dimensions::{Flavor, Lane, Workload};
use crate::row_check::RowCheck;
use crate::sample::{CellSample, merge};
use crate::spec::CellSpec;
use crate::tables::{check_queries, queries};
use crate::workers::{Clock, Finished, Workers, as_tasks, on_threads, runtime};

/// The work of one worker.
struct WorkerTask {
    engine: Arc<dyn Engine>,
    sql: String,
    lane: Lane,
    workload: Workload,
    options: QueryOptions,
}

pub(crate) fn run(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<CellSample> {
    let parts = queries(spec)?.into_iter().map(|sql| WorkerTask::new(engine, spec, sql)).collect();
    let workers = match spec.flavor {
        Flavor::Sync => on_threads(parts, |part, clock| read(&part, clock))?,
        Flavor::Async => as_tasks(parts, read_async)?,
    };
    sample(workers)
}

impl WorkerTask {
    fn new(engine: &Arc<dyn Engine>, spec: &CellSpec, sql: String) -> Self {
        // Each part needs options of its own: clones share a token, and a reader that is done cancels its token.
        let mut options = QueryOptions::default();
        options.batch_rows = spec.batch_rows.map_or(options.batch_rows, NonZeroUsize::get);
        Self { engine: Arc::clone(engine), sql, lane: spec.lane, workload: spec.workload, options }
    }
}

/// Reads what the cell reads, in the way of its lane, and checks each row.
pub(crate) fn verify(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<()> {
    check_queries(spec, |sql, check| {
        let part = WorkerTask::new(engine, spec, sql);
        if part.lane == Lane::ArrowIpc {
            let bytes = write_stream(&mut *part.engine.query(&part.sql, &part.options)?)?;
            verify_ipc(bytes.into_buffer(), check)
        } else if spec.flavor == Flavor::Async {
            runtime()?.block_on(async {
                let reader = QueryReader::start(part.engine, part.sql, part.options, Ok).await?;
                while let Some(batch) = reader.next().await? {
                    check.add_batch(&batch)?;
                }
                Ok(())
            })
        } else {
            check.add_stream(&mut *part.engine.query(&part.sql, &part.options)?)
        }
    })
}

/// Checks the rows in the bytes of an IPC stream.
pub(crate) fn verify_ipc(bytes: Buffer, check: &mut RowCheck) -> Result<()> {
    let (_, batches) = decode_ipc(bytes)?;
    batches.iter().try_for_each(|batch| check.add_batch(batch))
}

/// Makes the sample of the workers' results.
pub(crate) fn sample(workers: Workers<Read>) -> Result<CellSample> {
    let (mut sample, reads) = workers.sample(Checksum::default());
    let decoded = reads.iter().map(|read| read.decoded).sum::<Option<Duration>>();
    sample.checksum = merge(reads.into_iter().map(|read| read.checksum))?;
    sample.decode_seconds = decoded.map(|time| time.as_secs_f64());
    Ok(sample)
}

/// The report of one worker.
pub(crate) struct Read {
    checksum: Checksum,
    /// The time to decode the worker's IPC bytes, or `None` on lanes without IPC.
    decoded: Option<Duration>,
}

impl From<Checksum> for Read {
    fn from(checksum: Checksum) -> Self {
        Self { checksum, decoded: None }
    }
}

fn read(part: &WorkerTask, clock: Clock) -> Result<Finished<Read>> {
    let mut stream = part.engine.query(&part.sql, &part.options)?;
    if part.lane == Lane::ArrowIpc {
        let bytes = write_stream(&mut *stream)?;
        return read_ipc(bytes.into_buffer(), clock);
    }
    let mut consumer = Consumer::new(part.lane, part.workload, &stream.schema())?;
    while let Some(batch) = stream.next_batch()? {
        consumer.consume(&batch)?;
    }
    let checksum = consumer.checksum();
    // The clock stops before the rows that were kept are freed.
    Ok(clock.finish(checksum.into()))
}

async fn read_async(part: WorkerTask, clock: Clock) -> Result<Finished<Read>> {
    if part.lane == Lane::ArrowIpc {
        let write = move || write_stream(&mut *part.engine.query(&part.sql, &part.options)?);
        let written = tokio::task::spawn_blocking(write).await;
        let bytes = written.map_err(|error| Error::Internal(error.to_string()))??;
        return read_ipc(bytes.into_buffer(), clock);
    }
    let reader = QueryReader::start(part.engine, part.sql, part.options, Ok).await?;
    let mut consumer = Consumer::new(part.lane, part.workload, &arrow_schema_of(reader.columns()))?;
    while let Some(batch) = reader.next().await? {
        consumer.consume(&batch)?;
    }
    let checksum = consumer.checksum();
    Ok(clock.finish(checksum.into()))
}

/// Decodes IPC bytes, timed separately, and adds up the columns of every batch.
pub(crate) fn read_ipc(bytes: Buffer, mut clock: Clock) -> Result<Finished<Read>> {
    clock.pause();
    let start = Instant::now();
    let (schema, batches) = decode_ipc(bytes)?;
    let decoded = Some(start.elapsed());
    clock.resume();
    let mut checksum = Checksum::new(&schema)?;
    batches.iter().try_for_each(|batch| checksum.add_batch(batch))?;
    Ok(clock.finish(Read { checksum, decoded }))
}

/// Decodes IPC bytes. The batches refer to the bytes: nothing is copied.
fn decode_ipc(mut bytes: Buffer) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let invalid = |error: arrow_schema::ArrowError| Error::InvalidIpc(error.to_string());
    let mut decoder = StreamDecoder::new();
    let mut batches = Vec::new();
    while let Some(batch) = decoder.decode(&mut bytes).map_err(invalid)? {
        batches.push(batch);
    }
    decoder.finish().map_err(invalid)?;
    let schema = decoder.schema().ok_or_else(|| Error::InvalidIpc("there is no schema".to_owned()))?;
    Ok((schema, batches))
}

/// The consumer of a lane's batches.
pub(crate) enum Consumer {
    /// Keeps every row. Their values are added up once all are there, as Node does it.
    Objects(Vec<Measurement>),
    /// Keeps every row of an aggregation.
    Aggregates { rows: Vec<Aggregate>, checksum: Checksum },
    /// Reads the rows one by one and keeps none.
    Stream(MeasurementSums),
    /// Reads the columns as slices.
    Columnar(Checksum),
}

impl Consumer {
    pub(crate) fn new(lane: Lane, workload: Workload, schema: &Schema) -> Result<Self> {
        Ok(match (lane, workload) {
            (Lane::Objects, Workload::QueryAggregation) => {
                Self::Aggregates { rows: Vec::new(), checksum: Checksum::new(schema)? }
            }
            (Lane::Objects, _) => Self::Objects(Vec::new()),
            (Lane::Stream, _) => Self::Stream(MeasurementSums::default()),
            (Lane::Columnar, _) => Self::Columnar(Checksum::new(schema)?),
            (Lane::Row | Lane::Columns | Lane::ArrowIpc, _) => {
                return Err(Error::InvalidArgument(format!("{lane:?} is no lane of rows or columns out")));
            }
        })
    }

    pub(crate) fn consume(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Objects(rows) => rows.extend(measurements(batch)?),
            Self::Aggregates { rows, checksum } => {
                let first = rows.len();
                rows.extend(aggregates(batch)?);
                rows[first..].iter().try_for_each(|row| checksum.merge(&row.checksum()))?;
            }
            // Without the barrier the compiler sums the columns, and no row is made.
            Self::Stream(sums) => sums.add_rows(measurements(batch)?.map(std::hint::black_box)),
            Self::Columnar(checksum) => checksum.add_batch(batch)?,
        }
        Ok(())
    }

    pub(crate) fn checksum(&self) -> Checksum {
        match self {
            Self::Objects(rows) => {
                let mut sums = MeasurementSums::default();
                sums.add_rows(rows.iter().copied());
                sums.into()
            }
            Self::Stream(sums) => (*sums).into(),
            Self::Aggregates { checksum, .. } | Self::Columnar(checksum) => checksum.clone(),
        }
    }
}
