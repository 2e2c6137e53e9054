//! An insert in progress: Arrow batches through DuckDB's appender, in one transaction.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::catalog;
use super::ffi::{Appender, Connection, DataChunk, LogicalType, c_string};
use super::vector::{VECTOR_ROWS, logical_type};
use super::vector_writer::fill;
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{Ingest, check_batch};
use boundary_bench_kernel::{Error, Result};

/// The bytes of texts at which the appender is flushed: it buffers some 200,000 rows, which takes too much memory if
/// their texts are long.
const MAX_HELD_BACK_BYTES: usize = 64 << 20;

/// An insert into a table on a connection of its own, between `BEGIN` and `COMMIT`.
pub(super) struct EmbeddedIngest {
    // The appender comes first, so that it is dropped before the connection.
    appender: Option<Appender>,
    chunk: DataChunk,
    columns: Vec<Column>,
    schema: SchemaRef,
    rows: u64,
    held_back_bytes: usize,
    connection: Connection,
}

impl EmbeddedIngest {
    /// Begins an insert into `table`, which must exist with the same columns.
    pub(super) fn begin(connection: Connection, table: &TableDefinition) -> Result<Self> {
        table.validate()?;
        let name = c_string(&table.name, "the table's name")?;
        connection.run(c"BEGIN TRANSACTION")?;
        catalog::check_columns(&connection, table)?;
        let appender = Appender::new(&connection, &name)?;
        let types: Vec<LogicalType> = table.columns.iter().map(|column| logical_type(column.sql_type)).collect();
        Ok(Self {
            appender: Some(appender),
            chunk: DataChunk::new(&types),
            columns: table.columns.clone(),
            schema: table.to_arrow(),
            rows: 0,
            held_back_bytes: 0,
            connection,
        })
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        let appender = self.appender.as_mut().ok_or(Error::Closed("the insert"))?;
        let mut start = 0;
        while start < batch.num_rows() {
            let end = batch.num_rows().min(start + VECTOR_ROWS);
            self.chunk.restart(end - start);
            for (index, column) in self.columns.iter().enumerate() {
                // SAFETY: the chunk was made for these columns and just reset; `check_batch` proved the array's type;
                // and the batch lives until the chunk was appended, which copies it.
                let filled =
                    unsafe { fill(self.chunk.vector(index), column.sql_type, batch.column(index), start..end) };
                self.held_back_bytes += filled.map_err(|(row, problem)| Error::InvalidValue {
                    row: self.rows + row as u64,
                    column: column.name.clone(),
                    problem: problem.to_owned(),
                })?;
            }
            appender.append(&self.chunk)?;
            start = end;
            if self.held_back_bytes > MAX_HELD_BACK_BYTES {
                appender.flush()?;
                self.held_back_bytes = 0;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Discards all rows. The appender is destroyed first: after the end of the transaction that would write its
    /// buffered rows.
    fn roll_back(&mut self) -> Result<()> {
        match self.appender.take() {
            None => Ok(()),
            Some(mut appender) => {
                appender.clear();
                drop(appender);
                self.connection.run(c"ROLLBACK")
            }
        }
    }
}

impl Ingest for EmbeddedIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = check_batch(&self.schema, batch, self.rows).and_then(|()| self.append(batch));
        if written.is_err() {
            // Only the first error matters to the caller; closing the connection rolls back anyway.
            let _ = self.roll_back();
        }
        written
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        let appender = self.appender.as_mut().ok_or(Error::Closed("the insert"))?;
        // After an error, dropping `self` rolls back.
        appender.flush()?;
        self.appender = None;
        self.connection.run(c"COMMIT")?;
        Ok(self.rows)
    }

    fn abort(mut self: Box<Self>) -> Result<()> {
        self.roll_back()
    }
}

impl Drop for EmbeddedIngest {
    fn drop(&mut self) {
        // A failure can't be reported here, and closing the connection rolls back, too.
        let _ = self.roll_back();
    }
}
