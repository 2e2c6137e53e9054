//! Our engine over `hyperd` against its client library used directly, sample by sample in turn:
//! `cargo run --release -p boundary-bench-suite --example hyper_speed -- [ROWS] [URI]`.
//!
//! Making the input is not timed. Prints the median of each, and its ratio to the best of the client library.
#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use boundary_bench_engine::checksum::{Checksum, FLOAT_TOLERANCE};
use boundary_bench_engine::lanes::inserter::Inserter;
use boundary_bench_engine::lanes::row_writer::RowWriter;
use boundary_bench_engine::measurements::{Measurement, MeasurementSums, RowRange, expected_all, table};
use boundary_bench_engine::{CreateMode, DEFAULT_BATCH_ROWS, Engine, QueryOptions};
use boundary_bench_hyper::HyperEngine;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_suite::direct::client::{self, Endpoint, ROWS_OF_A_SEND, RowShape};
use tokio::runtime::Runtime;

const SAMPLES: usize = 7;
const TABLE: &str = "measurements";
const SCAN: &str = "SELECT id, sensor_id, value, timestamp FROM measurements";

/// A contestant: its name, whether it is the client library's, and its work, which returns its duration in seconds.
type Contestant<'a> = (&'static str, bool, Box<dyn FnMut() -> Result<f64> + 'a>);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let uri = arguments.next().unwrap_or_else(|| "hyper:".to_owned());
    let engine = HyperEngine::open(uri.parse()?)?;
    let range = RowRange::new(0, rows)?;
    let endpoint = Endpoint(engine.address().clone());
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = &runtime.map_err(|error| Error::Internal(error.to_string()))?;
    println!("{} {}, {rows} rows, {uri}", engine.name(), engine.version());
    // The scans read the rows of the last insert.
    race("insert", rows, inserts(&engine, &endpoint, runtime, range)?)?;
    race("scan", rows, scans(&engine, &endpoint, runtime, range))
}

/// Runs all contestants in turn, forwards and backwards, so that drift can't pick the winner, and prints their results.
fn race(name: &str, rows: u64, mut contestants: Vec<Contestant>) -> Result<()> {
    let mut seconds = vec![Vec::new(); contestants.len()];
    // The first round is a warm-up that does not count.
    for round in 0..=SAMPLES {
        let mut order = (0..contestants.len()).collect::<Vec<_>>();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let sample = (contestants[index].2)()?;
            if round > 0 {
                seconds[index].push(sample);
            }
        }
    }
    let medians = seconds.into_iter().map(|mut samples| {
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    });
    let medians = medians.collect::<Vec<_>>();
    let of_library = contestants.iter().zip(&medians).filter(|((_, is_library, _), _)| *is_library);
    let best = of_library.map(|(_, median)| *median).fold(f64::INFINITY, f64::min);
    for ((contestant, _, _), median) in contestants.iter().zip(medians) {
        let speed = rows as f64 / median / 1e6;
        println!("{name:<8} {contestant:<32} {median:>8.3} s {speed:>7.2} M rows/s {:>6.2}x", best / median);
    }
    Ok(())
}

/// The duration of `work`, in seconds.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn inserts<'a>(
    engine: &'a Arc<dyn Engine>,
    endpoint: &'a Endpoint,
    runtime: &'a Runtime,
    range: RowRange,
) -> Result<Vec<Contestant<'a>>> {
    let mut rows = range.iter().collect::<Vec<_>>();
    let rows_of_writer = rows.clone();
    let batch_rows = u32::try_from(DEFAULT_BATCH_ROWS).map_err(|error| Error::Internal(error.to_string()))?;
    let batches = range.chunks(batch_rows).map(|chunk| chunk.columns().into_batch()).collect::<Result<Vec<_>>>()?;
    let stream = ipc_stream(range)?;
    let new_table = move || engine.create_table(&table(TABLE), CreateMode::Replace);
    Ok(vec![
        (
            "engine, rows",
            false,
            Box::new(move || {
                new_table()?;
                timed(|| {
                    let mut writer = RowWriter::begin(Arc::clone(engine), table(TABLE))?;
                    rows_of_writer.iter().try_for_each(|row| writer.push(row).map(drop))?;
                    writer.execute()
                })
            }),
        ),
        (
            "engine, batches",
            false,
            Box::new(move || {
                new_table()?;
                timed(|| {
                    let inserter = Inserter::begin(Arc::clone(engine), table(TABLE))?;
                    batches.iter().try_for_each(|batch| inserter.write(batch.clone()).map(drop))?;
                    inserter.execute()
                })
            }),
        ),
        (
            "Inserter (HyperBinary)",
            true,
            Box::new(move || {
                new_table()?;
                let session = endpoint.connect()?;
                // All rows are one piece, which is taken back when there is no next one: nothing is copied.
                let mut given = false;
                let mut next_piece = |piece: &mut Vec<Measurement>| {
                    std::mem::swap(piece, &mut rows);
                    given = !given;
                    given
                };
                timed(|| client::insert_rows(&session, TABLE, &mut next_piece))
            }),
        ),
        (
            "AsyncArrowInserter",
            true,
            Box::new(move || {
                new_table()?;
                let connection = runtime.block_on(endpoint.connect_async())?;
                let seconds = timed(|| runtime.block_on(client::insert_ipc(&connection, TABLE, &stream)));
                runtime.block_on(client::close_async(connection))?;
                seconds
            }),
        ),
    ])
}

/// One Arrow IPC stream, in pieces of one send each.
fn ipc_stream(range: RowRange) -> Result<Vec<Vec<u8>>> {
    let unusable = |error: ArrowError| Error::Internal(error.to_string());
    let mut writer = StreamWriter::try_new(Vec::new(), &table("").to_arrow()).map_err(unusable)?;
    let mut pieces = Vec::new();
    for chunk in range.chunks(ROWS_OF_A_SEND) {
        writer.write(&chunk.columns().into_batch()?).map_err(unusable)?;
        pieces.push(std::mem::take(writer.get_mut()));
    }
    writer.finish().map_err(unusable)?;
    pieces.push(std::mem::take(writer.get_mut()));
    Ok(pieces)
}

fn scans<'a>(
    engine: &'a Arc<dyn Engine>,
    endpoint: &'a Endpoint,
    runtime: &'a Runtime,
    range: RowRange,
) -> Vec<Contestant<'a>> {
    let expected = expected_all(range);
    let check = move |found: &Checksum| match found.difference(&expected, FLOAT_TOLERANCE) {
        None => Ok(()),
        Some(difference) => Err(Error::Internal(difference)),
    };
    let check = Arc::new(check);
    let scan = move |add: fn(&RecordBatch, &mut MeasurementSums)| {
        let mut stream = engine.query(SCAN, &QueryOptions::default())?;
        let mut sums = MeasurementSums::default();
        while let Some(batch) = stream.next_batch()? {
            add(&batch, &mut sums);
        }
        Ok::<Checksum, Error>(sums.into())
    };
    let (by_rows, by_columns, sync, r#async) = (Arc::clone(&check), Arc::clone(&check), Arc::clone(&check), check);
    vec![
        ("engine, rows", false, Box::new(move || timed(|| by_rows(&scan(add_rows)?)))),
        ("engine, columns", false, Box::new(move || timed(|| by_columns(&scan(add_columns)?)))),
        (
            "execute_query, sync",
            true,
            Box::new(move || {
                let session = endpoint.connect()?;
                timed(|| sync(&client::read_rows(&session, SCAN, RowShape::Measurements)?))
            }),
        ),
        (
            "execute_query, async",
            true,
            Box::new(move || {
                let connection = runtime.block_on(endpoint.connect_async())?;
                let read = || runtime.block_on(client::read_rows_async(&connection, SCAN, RowShape::Measurements));
                let seconds = timed(|| r#async(&read()?));
                runtime.block_on(client::close_async(connection))?;
                seconds
            }),
        ),
    ]
}

/// Adds the rows of a batch one by one.
fn add_rows(batch: &RecordBatch, sums: &mut MeasurementSums) {
    let (ids, sensors) = (int32(batch, 0).iter(), int32(batch, 1).iter());
    let values = batch.column(2).as_primitive::<Float64Type>().values().iter();
    let timestamps = batch.column(3).as_primitive::<Int64Type>().values().iter();
    let rows = ids.zip(sensors).zip(values.zip(timestamps));
    sums.add_rows(rows.map(|((id, sensor_id), (value, timestamp))| Measurement {
        id: *id,
        sensor_id: *sensor_id,
        value: *value,
        timestamp: *timestamp,
    }));
}

/// Adds the columns of a batch.
fn add_columns(batch: &RecordBatch, sums: &mut MeasurementSums) {
    let values = batch.column(2).as_primitive::<Float64Type>().values();
    let timestamps = batch.column(3).as_primitive::<Int64Type>().values();
    sums.add_columns(int32(batch, 0), int32(batch, 1), values, timestamps);
}

fn int32(batch: &RecordBatch, column: usize) -> &[i32] {
    batch.column(column).as_primitive::<Int32Type>().values()
}
