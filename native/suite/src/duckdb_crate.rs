//! The lanes that use the crate `duckdb` instead of our engine, over the same database. The engine still makes, reads back and drops
//! the tables.
//!
//! The timed part is the same as for the other lanes, on a connection that is open. For an insert, it is one transaction from its
//! begin to its commit, without making the input. For a query, it is from preparing it until its last value is consumed. The
//! crate brings an Arrow of another version than ours, so its columns are read as slices.
//!
//! Memory: the input is made in the memory of the previous piece. An execution leaves it to the next, as on our lanes. Batches of a result
//! are in memory of the crate's own. Threads: the calling thread, and the engine's threads.

use std::any::Any;
use std::sync::Arc;

use boundary_bench_duckdb::EmbeddedEngine;
use boundary_bench_engine::Engine;
use boundary_bench_engine::checksum::Checksum;
use boundary_bench_engine::measurements::{Aggregate, Measurement, MeasurementColumns, MeasurementSums, RowRange};
use boundary_bench_kernel::{Error, Result};
use duckdb::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch,
};
use duckdb::arrow::datatypes::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use duckdb::{Appender, Connection, Row, Statement};

use crate::dimensions::{Lane, Workload};
use crate::insert::{Encoded, into_new_tables};
use crate::kept;
use crate::measurements::matrix;
use crate::query::{self, Read};
use crate::sample::CellSample;
use crate::spec::CellSpec;
use crate::tables::{check_queries, queries};
use crate::workers::{Clock, Finished, on_threads};

pub(crate) fn run(engine: &Arc<dyn Engine>, spec: &CellSpec, verify: bool) -> Result<CellSample> {
    let (lane, workload) = (spec.lane, spec.workload);
    if workload == Workload::InsertBulk {
        return into_new_tables(engine, spec, spec.workers, verify, |tables| {
            let parts = tables.iter().map(|(name, range)| Ok((connect(engine)?, name.clone(), *range)));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            on_threads(parts, move |(connection, table, range), clock| insert(&connection, lane, &table, range, clock))
        });
    }
    let parts = queries(spec)?.into_iter().map(|sql| Ok((connect(engine)?, sql))).collect::<Result<Vec<_>>>()?;
    query::sample(on_threads(parts, move |(connection, sql), clock| read(&connection, &sql, lane, workload, clock))?)
}

/// Executes the queries of a cell once and checks each row.
pub(crate) fn verify(engine: &Arc<dyn Engine>, spec: &CellSpec) -> Result<()> {
    check_queries(spec, |sql, check| {
        let connection = connect(engine)?;
        let mut statement = connection.prepare(&sql).map_err(refused)?;
        if spec.workload == Workload::QueryAggregation {
            return aggregates(&mut statement, spec.lane)?.iter().try_for_each(|row| check.add_aggregate(row));
        }
        if spec.lane == Lane::Objects {
            return collected(&mut statement, measurement)?.iter().try_for_each(|row| check.add(row));
        }
        for batch in statement.stream_arrow([]).map_err(refused)? {
            let (ids, sensors, values, timestamps) = columns(&batch)?;
            for row in 0..batch.num_rows() {
                let (id, sensor_id) = (ids[row], sensors[row]);
                check.add(&Measurement { id, sensor_id, value: values[row], timestamp: timestamps[row] })?;
            }
        }
        Ok(())
    })
}

/// Opens a connection of the crate to the engine's database.
fn connect(engine: &Arc<dyn Engine>) -> Result<Connection> {
    let embedded = (&**engine as &dyn Any).downcast_ref::<EmbeddedEngine>();
    let embedded = embedded.ok_or_else(|| {
        let name = engine.name();
        Error::Unsupported(format!("the crate duckdb opens databases of DuckDB, which the engine {name} is not"))
    })?;
    // SAFETY: the engine holds its database open, and a connection of DuckDB does so as well.
    unsafe { Connection::open_from_raw(embedded.database().cast()) }.map_err(refused)
}

fn insert(
    connection: &Connection,
    lane: Lane,
    table: &str,
    range: RowRange,
    mut clock: Clock,
) -> Result<Finished<Encoded>> {
    connection.execute_batch("BEGIN").map_err(refused)?;
    let mut appender = connection.appender(table).map_err(refused)?;
    let (mut rows, mut columns) = (kept::ROWS.lend(), kept::COLUMNS.lend());
    for chunk in range.chunks(matrix()?.input_rows) {
        clock.pause();
        if lane == Lane::Row {
            rows.clear();
            rows.extend(chunk.iter());
            clock.resume();
            for row in &*rows {
                appender.append_row((row.id, row.sensor_id, row.value, row.timestamp)).map_err(refused)?;
            }
        } else {
            columns.fill(chunk);
            clock.resume();
            append_columns(&mut appender, &mut columns)?;
        }
    }
    appender.flush().map_err(refused)?;
    drop(appender);
    connection.execute_batch("COMMIT").map_err(refused)?;
    Ok(clock.finish(None))
}

/// Appends columns as a batch of Arrow, without copying, and then takes their memory back.
fn append_columns(appender: &mut Appender<'_>, columns: &mut MeasurementColumns) -> Result<()> {
    let MeasurementColumns { id, sensor_id, value, timestamp } = std::mem::take(columns);
    let (id, sensor_id) = (Int32Array::from(id), Int32Array::from(sensor_id));
    let (value, timestamp) = (Float64Array::from(value), Int64Array::from(timestamp));
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(id.clone()) as ArrayRef),
        ("sensor_id", Arc::new(sensor_id.clone())),
        ("value", Arc::new(value.clone())),
        ("timestamp", Arc::new(timestamp.clone())),
    ]);
    appender.append_record_batch(batch.map_err(|cause| error(&cause))?).map_err(refused)?;
    *columns = MeasurementColumns {
        id: memory_of(id),
        sensor_id: memory_of(sensor_id),
        value: memory_of(value),
        timestamp: memory_of(timestamp),
    };
    Ok(())
}

/// The memory of an array that nobody else reads, or new memory if somebody does.
fn memory_of<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> Vec<T::Native> {
    array.into_parts().1.into_inner().into_vec().unwrap_or_default()
}

fn read(connection: &Connection, sql: &str, lane: Lane, workload: Workload, clock: Clock) -> Result<Finished<Read>> {
    let mut statement = connection.prepare(sql).map_err(refused)?;
    let mut sums = MeasurementSums::default();
    // The clock stops before the rows that were kept are freed.
    if workload == Workload::QueryAggregation {
        let rows = aggregates(&mut statement, lane)?;
        let mut checksum: Option<Checksum> = None;
        for row in &rows {
            match &mut checksum {
                Some(checksum) => checksum.merge(&row.checksum())?,
                None => checksum = Some(row.checksum()),
            }
        }
        let checksum = checksum.ok_or_else(|| error(&"the aggregation has no row"))?;
        return Ok(clock.finish(checksum.into()));
    }
    if lane == Lane::Objects {
        let rows = collected(&mut statement, measurement)?;
        sums.add_rows(rows.iter().copied());
        return Ok(clock.finish(Checksum::from(sums).into()));
    }
    for batch in statement.stream_arrow([]).map_err(refused)? {
        let (ids, sensors, values, timestamps) = columns(&batch)?;
        sums.add_columns(ids, sensors, values, timestamps);
    }
    Ok(clock.finish(Checksum::from(sums).into()))
}

/// Executes a query of measurements or aggregates, and collects its rows.
fn collected<T>(statement: &mut Statement<'_>, row: fn(&Row<'_>) -> duckdb::Result<T>) -> Result<Vec<T>> {
    statement.query_map([], row).and_then(Iterator::collect).map_err(refused)
}

fn measurement(row: &Row<'_>) -> duckdb::Result<Measurement> {
    Ok(Measurement { id: row.get(0)?, sensor_id: row.get(1)?, value: row.get(2)?, timestamp: row.get(3)? })
}

fn aggregate(row: &Row<'_>) -> duckdb::Result<Aggregate> {
    Ok(Aggregate { sensor_id: row.get(0)?, count: row.get(1)?, avg: row.get(2)?, min: row.get(3)?, max: row.get(4)? })
}

/// Executes an aggregation, and makes its rows in the way of a lane.
fn aggregates(statement: &mut Statement<'_>, lane: Lane) -> Result<Vec<Aggregate>> {
    if lane == Lane::Objects {
        return collected(statement, aggregate);
    }
    let mut rows = Vec::new();
    for batch in statement.stream_arrow([]).map_err(refused)? {
        let (sensors, counts) = (values::<Int32Type>(&batch, 0)?, values::<Int64Type>(&batch, 1)?);
        let float = |column| values::<Float64Type>(&batch, column);
        let (avgs, mins, maxs) = (float(2)?, float(3)?, float(4)?);
        rows.extend((0..batch.num_rows()).map(|row| Aggregate {
            sensor_id: sensors[row],
            count: counts[row],
            avg: avgs[row],
            min: mins[row],
            max: maxs[row],
        }));
    }
    Ok(rows)
}

/// The columns of a batch of measurements.
#[expect(clippy::type_complexity, reason = "four slices, as the sums take them")]
fn columns(batch: &RecordBatch) -> Result<(&[i32], &[i32], &[f64], &[i64])> {
    let (ids, sensors) = (values::<Int32Type>(batch, 0)?, values::<Int32Type>(batch, 1)?);
    Ok((ids, sensors, values::<Float64Type>(batch, 2)?, values::<Int64Type>(batch, 3)?))
}

/// The values of a column without nulls. This family's columns have none.
fn values<T: ArrowPrimitiveType>(batch: &RecordBatch, column: usize) -> Result<&[T::Native]> {
    match batch.column(column).as_primitive_opt::<T>() {
        Some(array) if array.null_count() == 0 => Ok(array.values()),
        _ => Err(Error::SchemaMismatch(format!("column {column} is no {} without nulls", T::DATA_TYPE))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn refused(cause: duckdb::Error) -> Error {
    error(&cause)
}

fn error(cause: &dyn std::fmt::Display) -> Error {
    Error::Engine { engine: "duckdb", message: cause.to_string() }
}
