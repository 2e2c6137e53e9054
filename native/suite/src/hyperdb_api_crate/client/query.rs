//! Queries by the calls of `hyperdb-api`. Every value of every row is read and added up.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;
use boundary_bench_engine::checksum::Checksum;
use boundary_bench_engine::measurements::{Aggregate, Measurement, MeasurementSums};
use boundary_bench_kernel::{Error, Result};
use hyperdb_api::grpc::{GrpcClient, GrpcConnectionAsync};
use hyperdb_api::{AsyncConnection, Row, RowValue};

use super::{Session, refused};
use crate::dimensions::Workload;

/// Visits the rows of a query chunk by chunk (`execute_query`, `next_chunk`).
pub fn each_chunk(connection: &Session, sql: &str, mut visit: impl FnMut(&[Row]) -> Result<()>) -> Result<()> {
    let mut rows = connection.get()?.execute_query(sql).map_err(refused)?;
    while let Some(chunk) = rows.next_chunk().map_err(refused)? {
        visit(&chunk)?;
    }
    Ok(())
}

/// Visits the rows of a query like [`each_chunk`], by the asynchronous calls.
pub async fn each_chunk_async(
    connection: &AsyncConnection,
    sql: &str,
    mut visit: impl FnMut(&[Row]) -> Result<()>,
) -> Result<()> {
    let mut rows = connection.execute_query(sql).await.map_err(refused)?;
    while let Some(chunk) = rows.next_chunk().await.map_err(refused)? {
        visit(&chunk)?;
    }
    Ok(())
}

/// Reads the rows of the query of a workload by [`each_chunk`], and adds up all values.
pub fn read_rows(connection: &Session, sql: &str, workload: Workload) -> Result<Checksum> {
    let mut sums = Sums::new(workload);
    each_chunk(connection, sql, |rows| sums.add(rows))?;
    Ok(sums.into())
}

/// Reads the rows of a query like [`read_rows`], by the asynchronous calls.
pub async fn read_rows_async(connection: &AsyncConnection, sql: &str, workload: Workload) -> Result<Checksum> {
    let mut sums = Sums::new(workload);
    each_chunk_async(connection, sql, |rows| sums.add(rows)).await?;
    Ok(sums.into())
}

/// Reads the result of a query over gRPC as a whole, as Arrow IPC bytes (`execute_query_to_arrow`).
pub async fn read_arrow(connection: &mut GrpcConnectionAsync, sql: &str) -> Result<Buffer> {
    Ok(Buffer::from(connection.execute_query_to_arrow(sql).await.map_err(refused)?))
}

/// Visits the batches of a query over gRPC as they arrive (`execute_query_stream`). Returns their schema.
pub async fn each_batch(
    connection: &mut GrpcClient,
    sql: &str,
    mut visit: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<SchemaRef> {
    let invalid = |error: arrow_schema::ArrowError| Error::InvalidIpc(error.to_string());
    let mut stream = connection.execute_query_stream(sql).await.map_err(refused)?;
    let mut decoder = StreamDecoder::new();
    while let Some(bytes) = stream.next_chunk().await.map_err(refused)? {
        let mut bytes = Buffer::from(bytes);
        while let Some(batch) = decoder.decode(&mut bytes).map_err(invalid)? {
            visit(&batch)?;
        }
    }
    decoder.schema().ok_or_else(|| Error::InvalidIpc("there is no schema".to_owned()))
}

/// Reads the batches of a query by [`each_batch`], and adds up their columns.
pub async fn read_columns(connection: &mut GrpcClient, sql: &str) -> Result<Checksum> {
    let mut checksum: Option<Checksum> = None;
    let schema = each_batch(connection, sql, |batch| match &mut checksum {
        None => checksum.insert(Checksum::new(&batch.schema())?).add_batch(batch),
        Some(checksum) => checksum.add_batch(batch),
    })
    .await?;
    // A result without rows still has its schema.
    checksum.map_or_else(|| Checksum::new(&schema), Ok)
}

/// The sums of the rows read so far.
enum Sums {
    Measurements(MeasurementSums),
    Aggregates(Checksum),
}

impl Sums {
    fn new(workload: Workload) -> Self {
        match workload {
            Workload::QueryAggregation => Self::Aggregates(no_aggregates()),
            _ => Self::Measurements(MeasurementSums::default()),
        }
    }

    fn add(&mut self, rows: &[Row]) -> Result<()> {
        match self {
            Self::Measurements(sums) => {
                // Each chunk is summed apart: many short sums of floats lose less precision than one long sum.
                let mut chunk = MeasurementSums::default();
                for row in rows {
                    chunk.add(&measurement(row)?);
                }
                sums.merge(&chunk);
                Ok(())
            }
            Self::Aggregates(checksum) => rows.iter().try_for_each(|row| checksum.merge(&aggregate(row)?.checksum())),
        }
    }
}

impl From<Sums> for Checksum {
    fn from(sums: Sums) -> Self {
        match sums {
            Sums::Measurements(sums) => sums.into(),
            Sums::Aggregates(checksum) => checksum,
        }
    }
}

/// The checksum of no rows of an aggregation.
fn no_aggregates() -> Checksum {
    let none = Aggregate { sensor_id: 0, count: 0, avg: 0.0, min: 0.0, max: 0.0 };
    Checksum { rows: 0, ..none.checksum() }
}

/// A row of measurements.
#[inline]
pub fn measurement(row: &Row) -> Result<Measurement> {
    Ok(Measurement { id: value(row, 0)?, sensor_id: value(row, 1)?, value: value(row, 2)?, timestamp: value(row, 3)? })
}

/// A row of an aggregation.
pub fn aggregate(row: &Row) -> Result<Aggregate> {
    Ok(Aggregate {
        sensor_id: value(row, 0)?,
        count: value(row, 1)?,
        avg: value(row, 2)?,
        min: value(row, 3)?,
        max: value(row, 4)?,
    })
}

/// A value of a row. The client returns `None` both for a null and for a value of another type. These rows have neither.
#[inline]
fn value<T: RowValue>(row: &Row, column: usize) -> Result<T> {
    row.get(column).ok_or_else(|| Error::SchemaMismatch(format!("column {column} has no value of the type expected")))
}
