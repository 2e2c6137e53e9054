//! Rows in types that SQL has, so that batches of them cross to JavaScript as query results do.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use boundary_bench_kernel::{Error, Result};

use crate::block::SCHEMA;
use crate::row::PAYLOAD_BYTES;

/// The index of the payload's column.
const PAYLOAD: usize = 4;

/// Rows of a batch, at most: `Binary` offsets have 31 bits.
const MOST_ROWS: usize = i32::MAX as usize / PAYLOAD_BYTES;

static FRAMED: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = SCHEMA.fields().iter().map(|field| match field.data_type() {
        DataType::FixedSizeBinary(_) => Arc::new(Field::new(field.name(), DataType::Binary, field.is_nullable())),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// The same rows, in the same memory, with payloads of the type `Binary`.
pub fn with_binary_payloads(rows: &RecordBatch) -> Result<RecordBatch> {
    if rows.num_rows() > MOST_ROWS {
        return Err(Error::Unsupported(format!(
            "{} rows at once: there may be {MOST_ROWS}; ask for fewer",
            rows.num_rows()
        )));
    }
    let mismatch = || Error::SchemaMismatch("the batch does not have the columns of rows of shards".to_owned());
    let payloads = rows.columns().get(PAYLOAD).and_then(|column| column.as_fixed_size_binary_opt());
    let (_, values, nulls) = payloads.ok_or_else(mismatch)?.clone().into_parts();
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(PAYLOAD_BYTES, rows.num_rows()));
    let payloads = BinaryArray::try_new(offsets, values, nulls).map_err(|_| mismatch())?;
    let mut columns = rows.columns().to_vec();
    columns[PAYLOAD] = Arc::new(payloads) as Arc<dyn Array>;
    RecordBatch::try_new(Arc::clone(&FRAMED), columns).map_err(|_| mismatch())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::row::Row;

    #[test]
    fn payloads_become_binary_of_the_same_bytes() {
        let mut block = Block::with_capacity(100);
        (0..100).for_each(|key| block.push(&Row::made(key)));
        let batch = Arc::new(block).to_batch().unwrap();
        for (start, length) in [(0, 100), (7, 20), (0, 0)] {
            let rows = with_binary_payloads(&batch.slice(start, length)).unwrap();
            let payloads = rows.column(PAYLOAD).as_binary::<i32>();
            assert_eq!(payloads.len(), length);
            for index in 0..length {
                let key = i64::try_from(start + index).unwrap();
                assert_eq!(payloads.value(index), Row::made(key).payload);
            }
            assert_eq!(rows.schema(), *FRAMED);
        }
    }

    #[test]
    fn other_columns_are_refused() {
        let empty = RecordBatch::new_empty(Arc::new(Schema::empty()));
        assert_eq!(with_binary_payloads(&empty).unwrap_err().code(), "BB_SCHEMA_MISMATCH");
    }
}
