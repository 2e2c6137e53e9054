//! The Rust row lane: rows pushed one by one, as a Rust program would write them. The row lanes of the other sides are
//! compared with it.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::SchemaRef;

use super::inserter::Inserter;
use crate::measurements::{self, Measurement};
use crate::slab::Slab;
use crate::table::TableDefinition;
use crate::{DEFAULT_BATCH_ROWS, Engine};
use boundary_bench_kernel::{Error, Result};

/// The offset of each column in the memory of a batch, in bytes.
const ID: usize = 0;
const SENSOR_ID: usize = ID + DEFAULT_BATCH_ROWS * size_of::<i32>();
const VALUE: usize = SENSOR_ID + DEFAULT_BATCH_ROWS * size_of::<i32>();
const TIMESTAMP: usize = VALUE + DEFAULT_BATCH_ROWS * size_of::<f64>();
const BATCH_BYTES: usize = TIMESTAMP + DEFAULT_BATCH_ROWS * size_of::<i64>();

/// An insert of measurements, row by row. Dropped without [`RowWriter::execute`], it leaves nothing.
pub struct RowWriter {
    inserter: Inserter,
    schema: SchemaRef,
    /// The columns of the batch that is being filled, at [`ID`], [`SENSOR_ID`], [`VALUE`] and [`TIMESTAMP`].
    slab: Slab,
    /// The number of rows in the batch, always below [`DEFAULT_BATCH_ROWS`] between calls.
    staged: usize,
}

impl RowWriter {
    /// Begins an insert into a table with the columns of [`measurements::table`].
    pub fn begin(engine: Arc<dyn Engine>, table: TableDefinition) -> Result<Self> {
        if table.columns != measurements::table(&table.name).columns {
            return Err(Error::SchemaMismatch(format!("table \"{}\" does not hold measurements", table.name)));
        }
        let schema = table.to_arrow();
        let inserter = Inserter::begin(engine, table)?;
        Ok(Self { inserter, schema, slab: Slab::allocate(BATCH_BYTES), staged: 0 })
    }

    /// Adds a row. `false` asks the caller to wait ([`Inserter::drained`]), as [`Inserter::write`] does.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "columns begin at multiples of 64 bytes of an aligned slab")]
    pub fn push(&mut self, row: &Measurement) -> Result<bool> {
        let base = self.slab.as_ptr();
        // SAFETY: the slab has BATCH_BYTES bytes, of which each column has the bytes of DEFAULT_BATCH_ROWS values.
        // `staged` is below that number. Columns begin at multiples of 64 bytes from the slab's start. That is aligned
        // to at least as much. `&mut self` makes this the only access.
        unsafe {
            base.add(ID).cast::<i32>().add(self.staged).write(row.id);
            base.add(SENSOR_ID).cast::<i32>().add(self.staged).write(row.sensor_id);
            base.add(VALUE).cast::<f64>().add(self.staged).write(row.value);
            base.add(TIMESTAMP).cast::<i64>().add(self.staged).write(row.timestamp);
        }
        self.staged += 1;
        if self.staged == DEFAULT_BATCH_ROWS { self.flush() } else { Ok(true) }
    }

    /// The inserter that the batches are handed over to.
    pub fn inserter(&self) -> &Inserter {
        &self.inserter
    }

    /// Publishes every row at once and returns their number.
    pub fn execute(mut self) -> Result<u64> {
        self.flush()?;
        self.inserter.execute()
    }

    /// Hands over the staged rows, without copying them. Returns what [`RowWriter::push`] does.
    #[cold]
    pub fn flush(&mut self) -> Result<bool> {
        let rows = std::mem::take(&mut self.staged);
        if rows == 0 {
            return Ok(true);
        }
        let slab = Arc::new(std::mem::replace(&mut self.slab, Slab::allocate(BATCH_BYTES)));
        let arrays = vec![
            array::<Int32Type>(&slab, ID, rows),
            array::<Int32Type>(&slab, SENSOR_ID, rows),
            array::<Float64Type>(&slab, VALUE, rows),
            array::<Int64Type>(&slab, TIMESTAMP, rows),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|error| Error::Internal(error.to_string()))?;
        self.inserter.write(batch)
    }
}

fn array<T: ArrowPrimitiveType>(slab: &Arc<Slab>, offset: usize, rows: usize) -> ArrayRef {
    let values = slab.buffer(offset, rows * size_of::<T::Native>());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(values, 0, rows), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryEngine;
    use crate::checksum::{Checksum, FLOAT_TOLERANCE};
    use crate::measurements::{RowRange, expected_all};
    use crate::table::{Column, SqlType};
    use crate::{CreateMode, QueryOptions};

    fn contents(engine: &Arc<dyn Engine>) -> Checksum {
        let mut stream =
            engine.query("SELECT id, sensor_id, value, timestamp FROM t", &QueryOptions::default()).unwrap();
        let mut checksum = Checksum::new(&stream.schema()).unwrap();
        while let Some(batch) = stream.next_batch().unwrap() {
            checksum.add_batch(&batch).unwrap();
        }
        checksum
    }

    #[test]
    fn rows_around_the_end_of_a_batch_all_arrive() {
        for rows in [0, 1, 65_535, 65_536, 65_537, 2 * 65_536 + 7] {
            let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
            let table = measurements::table("t");
            engine.create_table(&table, CreateMode::Create).unwrap();
            let range = RowRange::new(3, rows).unwrap();
            let mut writer = RowWriter::begin(Arc::clone(&engine), table).unwrap();
            for row in range.iter() {
                writer.push(&row).unwrap();
            }
            assert_eq!(writer.execute().unwrap(), rows);
            assert_eq!(contents(&engine).difference(&expected_all(range), FLOAT_TOLERANCE), None, "{rows} rows");
        }
    }

    #[test]
    fn a_dropped_writer_leaves_nothing() {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let table = measurements::table("t");
        engine.create_table(&table, CreateMode::Create).unwrap();
        let mut writer = RowWriter::begin(Arc::clone(&engine), table).unwrap();
        for row in RowRange::new(0, 70_000).unwrap().iter() {
            writer.push(&row).unwrap();
        }
        drop(writer);
        assert_eq!(contents(&engine).rows, 0);
    }

    #[test]
    fn a_table_of_other_columns_is_refused() {
        let mut table = measurements::table("t");
        table.columns.push(Column { name: "more".to_owned(), sql_type: SqlType::Bool, nullable: true });
        let Err(error) = RowWriter::begin(Arc::new(MemoryEngine::new()), table) else { panic!("not refused") };
        assert_eq!(error.code(), "BB_SCHEMA_MISMATCH");
    }
}
