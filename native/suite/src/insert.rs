//! `insert.bulk`: rows are inserted into a new table.
//!
//! Timed: opening the inserter, the lane's own work on each piece of input, waiting for the engine at the end of each
//! piece, and `execute` until the rows are published. The wait at a piece's end is there so that nothing is stored while
//! the clock is paused. Not timed: making the tables and each piece of input, reading back, dropping the tables.
//!
//! Memory: each piece of input is made in the memory of the previous piece. An execution leaves it to the next. The engine gets batches
//! in recycled slabs. After the first execution a lane therefore touches no fresh memory, as on the other sides.
//!
//! Threads: `Sync` runs on the calling thread, `Async` as a task of a runtime. In both the inserter gives the batches to the engine on
//! a thread of its own, unless the engine takes them at once, as for the lanes of Node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_buffer::ToByteSlice;
use arrow_schema::SchemaRef;
use boundary_bench_engine::lanes::columns::{ColumnParts, batch_from_columns};
use boundary_bench_engine::lanes::inserter::Inserter;
use boundary_bench_engine::lanes::ipc::{IpcReader, write_stream};
use boundary_bench_engine::lanes::row_writer::RowWriter;
use boundary_bench_engine::measurements::{self, Measurement, MeasurementColumns, RowRange};
use boundary_bench_engine::slab::GrowingBytes;
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{BatchStream, CreateMode, DEFAULT_BATCH_ROWS, Engine};
use boundary_bench_kernel::{Error, Result};

use crate::dimensions::{Flavor, Lane};
use crate::kept::{self, Lent};
use crate::measurements::matrix;
use crate::row_check::RowCheck;
use crate::sample::CellSample;
use crate::spec::CellSpec;
use crate::tables::{check_rows, contents, shares, table_names, unload};
use crate::workers::{Clock, Finished, Workers, as_tasks, on_threads};

/// The number of rows of one batch, as the `u32` that `RowRange::chunks` takes.
const BATCH_ROWS: u32 = 65_536;
const _: () = assert!(BATCH_ROWS as usize == DEFAULT_BATCH_ROWS);

/// The work of one worker.
struct WorkerTask {
    engine: Arc<dyn Engine>,
    lane: Lane,
    table: TableDefinition,
    range: RowRange,
}

/// The report of one worker: the time to encode its input, or `None` on lanes without encoding.
pub(crate) type Encoded = Option<Duration>;

pub(crate) fn run(engine: &Arc<dyn Engine>, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    into_new_tables(engine, spec, spec.workers, verify, |tables| {
        let parts = tables.iter().map(|(name, range)| WorkerTask {
            engine: Arc::clone(engine),
            lane: spec.lane,
            table: measurements::table(name),
            range: *range,
        });
        let parts = parts.collect();
        match spec.flavor {
            Flavor::Sync => on_threads(parts, insert),
            Flavor::Async => as_tasks(parts, insert_async),
        }
    })
}

/// Makes the tables of an insert, lets `fill` fill them with their rows, reads back their contents, and drops them. `verify` tells to
/// check each row.
pub(crate) fn into_new_tables(
    engine: &Arc<dyn Engine>,
    spec: &CellSpec,
    tables: u32,
    verify: bool,
    fill: impl FnOnce(&[(String, RowRange)]) -> Result<Workers<Encoded>>,
) -> Result<CellSample> {
    let filled = shares(&spec.table, spec.rows, tables)?;
    for (name, _) in &filled {
        engine.create_table(&measurements::table(name), CreateMode::Replace)?;
    }
    let sampled = fill(&filled).and_then(|workers| {
        let contents = contents(&**engine, &table_names(&spec.table, tables))?;
        let (mut sample, encoded) = workers.sample(contents);
        let encoded = encoded.into_iter().sum::<Option<Duration>>();
        sample.encode_seconds = encoded.map(|time| time.as_secs_f64());
        if verify {
            for (name, range) in &filled {
                check_rows(&**engine, name, RowCheck::new(spec.workload, *range))?;
            }
        }
        Ok(sample)
    });
    let dropped = unload(engine, &spec.table, tables);
    let sample = sampled?;
    dropped.map(|()| sample)
}

fn insert(part: WorkerTask, mut clock: Clock) -> Result<Finished<Encoded>> {
    let mut feeder = Feeder::begin(part.lane, part.engine, part.table)?;
    for chunk in part.range.chunks(matrix()?.input_rows) {
        clock.pause();
        feeder.make_input(chunk)?;
        clock.resume();
        feeder.feed()?;
        feeder.inserter().drain()?;
    }
    let encoded = feeder.encoded();
    feeder.execute()?;
    Ok(clock.finish(encoded))
}

async fn insert_async(part: WorkerTask, mut clock: Clock) -> Result<Finished<Encoded>> {
    let mut feeder = Feeder::begin(part.lane, part.engine, part.table)?;
    for chunk in part.range.chunks(matrix()?.input_rows) {
        clock.pause();
        feeder.make_input(chunk)?;
        clock.resume();
        feeder.feed()?;
        feeder.inserter().drained().await?;
    }
    let encoded = feeder.encoded();
    feeder.execute_async().await?;
    Ok(clock.finish(encoded))
}

/// A lane of an insert, with its next piece of input.
enum Feeder {
    Row { writer: RowWriter, rows: Lent<Vec<Measurement>> },
    Columns { inserter: Inserter, schema: SchemaRef, columns: Vec<Column>, slices: Lent<MeasurementColumns> },
    ArrowIpc { inserter: Inserter, reader: Box<IpcReader>, bytes: GrowingBytes, encoded: Duration },
}

impl Feeder {
    fn begin(lane: Lane, engine: Arc<dyn Engine>, table: TableDefinition) -> Result<Self> {
        Ok(match lane {
            Lane::Row => Self::Row { writer: RowWriter::begin(engine, table)?, rows: kept::ROWS.lend() },
            Lane::Columns => Self::Columns {
                schema: table.to_arrow(),
                columns: table.columns.clone(),
                inserter: Inserter::begin(engine, table)?,
                slices: kept::COLUMNS.lend(),
            },
            Lane::ArrowIpc => Self::ArrowIpc {
                reader: Box::new(IpcReader::new(table.to_arrow())),
                inserter: Inserter::begin(engine, table)?,
                bytes: GrowingBytes::default(),
                encoded: Duration::ZERO,
            },
            Lane::Objects | Lane::Stream | Lane::Columnar => {
                return Err(Error::InvalidArgument(format!("{lane:?} is no lane in")));
            }
        })
    }

    /// Makes the next piece of input, untimed.
    fn make_input(&mut self, range: RowRange) -> Result<()> {
        match self {
            Self::Row { rows, .. } => {
                rows.clear();
                rows.extend(range.iter());
            }
            Self::Columns { slices, .. } => slices.fill(range),
            Self::ArrowIpc { bytes, encoded, .. } => {
                // The memory of the last piece is free for this one.
                *bytes = GrowingBytes::default();
                let mut rows = GeneratedRows::new(range)?;
                let start = Instant::now();
                *bytes = write_stream(&mut rows)?;
                *encoded += start.elapsed();
                rows.reclaim();
            }
        }
        Ok(())
    }

    /// Inserts the piece of input: the timed work. The inserter itself blocks a thread that writes too fast.
    fn feed(&mut self) -> Result<()> {
        match self {
            Self::Row { writer, rows } => {
                for row in rows.iter() {
                    writer.push(row)?;
                }
                // Staged rows are a part of this piece's work.
                writer.flush()?;
            }
            Self::Columns { inserter, schema, columns, slices } => {
                let rows = slices.id.len();
                for start in (0..rows).step_by(DEFAULT_BATCH_ROWS) {
                    let range = start..rows.min(start + DEFAULT_BATCH_ROWS);
                    let parts = [
                        slices.id[range.clone()].to_byte_slice(),
                        slices.sensor_id[range.clone()].to_byte_slice(),
                        slices.value[range.clone()].to_byte_slice(),
                        slices.timestamp[range.clone()].to_byte_slice(),
                    ]
                    .map(|values| ColumnParts { values, ..ColumnParts::default() });
                    let batch = batch_from_columns(schema, columns, range.len(), &parts, inserter.rows())?;
                    inserter.write(batch)?;
                }
            }
            Self::ArrowIpc { inserter, reader, bytes, .. } => {
                for batch in reader.push(bytes.as_slice())? {
                    inserter.write(batch)?;
                }
            }
        }
        Ok(())
    }

    fn encoded(&self) -> Encoded {
        match self {
            Self::ArrowIpc { encoded, .. } => Some(*encoded),
            Self::Row { .. } | Self::Columns { .. } => None,
        }
    }

    fn inserter(&self) -> &Inserter {
        match self {
            Self::Row { writer, .. } => writer.inserter(),
            Self::Columns { inserter, .. } | Self::ArrowIpc { inserter, .. } => inserter,
        }
    }

    /// Ends the input, of which all pieces are fed.
    fn end(&mut self) -> Result<()> {
        match self {
            Self::ArrowIpc { reader, .. } => reader.finish(),
            Self::Row { .. } | Self::Columns { .. } => Ok(()),
        }
    }

    fn execute(mut self) -> Result<u64> {
        self.end()?;
        self.inserter().execute()
    }

    async fn execute_async(mut self) -> Result<u64> {
        self.end()?;
        self.inserter().execute_async().await
    }
}

/// Generated rows as the result of a query, for the writer of IPC bytes. The writer does not make them.
struct GeneratedRows {
    columns: Vec<Column>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The number of batches that were read.
    read: usize,
}

impl GeneratedRows {
    fn new(range: RowRange) -> Result<Self> {
        let table = measurements::table("");
        let batches = batches_of(range)?;
        Ok(Self { schema: table.to_arrow(), columns: table.columns, batches, read: 0 })
    }

    /// Leaves the memory of the batches to the next ones.
    fn reclaim(self) {
        reclaim(self.batches);
    }
}

/// The rows of a range as batches, in memory that earlier ones have left.
pub(crate) fn batches_of(range: RowRange) -> Result<Vec<RecordBatch>> {
    let batch = |part: RowRange| {
        let mut columns = kept::COLUMNS.take();
        columns.fill(part);
        columns.into_batch()
    };
    range.chunks(BATCH_ROWS).map(batch).collect()
}

/// Leaves the memory of batches to the next ones.
pub(crate) fn reclaim(batches: Vec<RecordBatch>) {
    batches.into_iter().for_each(|batch| kept::COLUMNS.put(MeasurementColumns::reclaim(batch)));
}

impl BatchStream for GeneratedRows {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let next = self.batches.get(self.read).cloned();
        self.read += 1;
        Ok(next)
    }
}
