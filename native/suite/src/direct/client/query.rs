//! Queries by the calls of `hyperdb-api`. Every value of every row is read and added up.

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_engine::measurements::{Measurement, MeasurementSums};
use boundary_bench_kernel::{Error, Result};
use hyperdb_api::grpc::{GrpcClient, GrpcConnectionAsync};
use hyperdb_api::{AsyncConnection, Row, RowValue};

use super::{Session, refused};

/// The columns of a query's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowShape {
    /// `id, sensor_id, value, timestamp`.
    Measurements,
    /// `sensor_id, count, avg, min, max`.
    Aggregates,
}

/// Reads the rows of a query chunk by chunk (`execute_query`, `next_chunk`).
///
/// # Errors
/// [`Error::Engine`]; [`Error::SchemaMismatch`] if the rows have other columns or a null.
pub fn read_rows(connection: &Session, sql: &str, shape: RowShape) -> Result<Checksum> {
    let mut rows = connection.get()?.execute_query(sql).map_err(refused)?;
    let mut sums = Sums::new(shape);
    while let Some(chunk) = rows.next_chunk().map_err(refused)? {
        sums.add(&chunk)?;
    }
    Ok(sums.into())
}

/// Reads the rows of a query like [`read_rows`], by the asynchronous calls.
///
/// # Errors
/// The same errors as [`read_rows`].
pub async fn read_rows_async(connection: &AsyncConnection, sql: &str, shape: RowShape) -> Result<Checksum> {
    let mut rows = connection.execute_query(sql).await.map_err(refused)?;
    let mut sums = Sums::new(shape);
    while let Some(chunk) = rows.next_chunk().await.map_err(refused)? {
        sums.add(&chunk)?;
    }
    Ok(sums.into())
}

/// Reads the result of a query over gRPC as a whole, as Arrow IPC bytes (`execute_query_to_arrow`).
///
/// # Errors
/// [`Error::Engine`].
pub async fn read_arrow(connection: &mut GrpcConnectionAsync, sql: &str) -> Result<Buffer> {
    Ok(Buffer::from(connection.execute_query_to_arrow(sql).await.map_err(refused)?))
}

/// Reads the batches of a query over gRPC as they arrive (`execute_query_stream`), column by column.
///
/// # Errors
/// [`Error::Engine`], [`Error::InvalidIpc`].
pub async fn read_columns(connection: &mut GrpcClient, sql: &str) -> Result<Checksum> {
    let invalid = |error: arrow_schema::ArrowError| Error::InvalidIpc(error.to_string());
    let mut stream = connection.execute_query_stream(sql).await.map_err(refused)?;
    let mut decoder = StreamDecoder::new();
    let mut checksum = None;
    while let Some(bytes) = stream.next_chunk().await.map_err(refused)? {
        let mut bytes = Buffer::from(bytes);
        while let Some(batch) = decoder.decode(&mut bytes).map_err(invalid)? {
            match &mut checksum {
                None => checksum.insert(Checksum::new(&batch.schema())?).add_batch(&batch)?,
                Some(checksum) => checksum.add_batch(&batch)?,
            }
        }
    }
    match (checksum, decoder.schema()) {
        (Some(checksum), _) => Ok(checksum),
        // A result without rows still has its schema.
        (None, Some(schema)) => Checksum::new(&schema),
        (None, None) => Err(Error::InvalidIpc("there is no schema".to_owned())),
    }
}

/// The sums of the rows read so far.
enum Sums {
    Measurements(MeasurementSums),
    Aggregates(Checksum),
}

impl Sums {
    fn new(shape: RowShape) -> Self {
        match shape {
            RowShape::Measurements => Self::Measurements(MeasurementSums::default()),
            RowShape::Aggregates => Self::Aggregates(checksum_of_aggregates(0, [0; 2], [0.0; 3])),
        }
    }

    fn add(&mut self, rows: &[Row]) -> Result<()> {
        match self {
            Self::Measurements(sums) => {
                // Each chunk is summed apart: many short sums of floats lose less precision than one long sum.
                let mut chunk = MeasurementSums::default();
                for row in rows {
                    chunk.add(&Measurement {
                        id: value(row, 0)?,
                        sensor_id: value(row, 1)?,
                        value: value(row, 2)?,
                        timestamp: value(row, 3)?,
                    });
                }
                sums.merge(&chunk);
                Ok(())
            }
            Self::Aggregates(checksum) => rows.iter().try_for_each(|row| {
                let integers = [value::<i32>(row, 0)?.into(), value(row, 1)?];
                let floats = [value(row, 2)?, value(row, 3)?, value(row, 4)?];
                checksum.merge(&checksum_of_aggregates(1, integers, floats))
            }),
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

fn checksum_of_aggregates(rows: u64, [sensor_id, count]: [i64; 2], [avg, min, max]: [f64; 3]) -> Checksum {
    Checksum::from_sums(
        rows,
        [
            ("sensor_id", ChecksumSum::Int(sensor_id.into())),
            ("count", ChecksumSum::Int(count.into())),
            ("avg", ChecksumSum::Float(avg)),
            ("min", ChecksumSum::Float(min)),
            ("max", ChecksumSum::Float(max)),
        ],
    )
}

/// A value of a row. The client returns `None` both for a null and for a value of another type; these rows have
/// neither.
#[inline]
fn value<T: RowValue>(row: &Row, column: usize) -> Result<T> {
    row.get(column).ok_or_else(|| Error::SchemaMismatch(format!("column {column} has no value of the type expected")))
}
