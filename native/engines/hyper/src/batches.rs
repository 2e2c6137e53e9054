//! The batches of a result in the form that every engine returns: our types, unique names, the requested number of
//! rows.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::{NullBufferBuilder, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat;
use boundary_bench_engine::arrow_in::{convert, sql_type_of};
use boundary_bench_engine::slab::SlabBuffer;
use boundary_bench_engine::table::{Column, arrow_schema_of, unique_names};
use boundary_bench_engine::{BatchStream, QueryOptions, take_rows};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

use crate::arrow_stream::{ArrowStream, Pieces};
use crate::engine_error;

/// The number of bytes at which a batch is no longer extended: the offsets of its texts must not overflow.
const MAX_GATHERED_BYTES: usize = 256 << 20;

/// A source of batches, as the server sends them. Dropping it ends the query.
pub(crate) trait Source: Send {
    /// The next batch, possibly empty, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
}

/// The result of a query.
pub(crate) struct Batches<S> {
    /// The source of batches, or `None` once it has ended.
    source: Option<S>,
    columns: Vec<Column>,
    schema: SchemaRef,
    batch_rows: usize,
    gathered: VecDeque<RecordBatch>,
    /// The number of rows received, for errors.
    received: u64,
    cancel: CancelToken,
}

impl<P: Pieces> Source for ArrowStream<P> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        ArrowStream::next_batch(self)
    }
}

impl<P: Pieces + 'static> Batches<ArrowStream<P>> {
    /// The result whose Arrow stream arrives in `pieces`.
    pub(crate) fn start(pieces: P, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        let stream = ArrowStream::start(pieces)
            .map_err(|error| if options.cancel.is_cancelled() { Error::Cancelled } else { error })?;
        let schema = Arc::clone(stream.schema());
        Ok(Box::new(Self::new(stream, &schema, options)?))
    }
}

impl<S: Source> Batches<S> {
    /// The batches of `source`, whose own schema is `sent`.
    pub(crate) fn new(source: S, sent: &SchemaRef, options: &QueryOptions) -> Result<Self> {
        let columns = columns_of(sent)?;
        Ok(Self {
            source: Some(source),
            schema: arrow_schema_of(&columns),
            batch_rows: options.rows_per_batch(&columns),
            columns,
            gathered: VecDeque::new(),
            received: 0,
            cancel: options.cancel.clone(),
        })
    }

    fn gather(&mut self) -> Result<()> {
        self.cancel.check()?;
        let mut rows: usize = self.gathered.iter().map(RecordBatch::num_rows).sum();
        let mut bytes: usize = self.gathered.iter().map(RecordBatch::get_array_memory_size).sum();
        while rows < self.batch_rows
            && bytes < MAX_GATHERED_BYTES
            && let Some(source) = &mut self.source
        {
            match source.next_batch()? {
                None => self.source = None,
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    let columns = batch.columns().iter().zip(self.schema.fields());
                    let arrays = columns.map(|(array, field)| convert(array, field, self.received));
                    let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect::<Result<_>>()?)
                        .map_err(engine_error)?;
                    self.received += batch.num_rows() as u64;
                    rows += batch.num_rows();
                    bytes += batch.get_array_memory_size();
                    self.gathered.push_back(batch);
                }
            }
        }
        Ok(())
    }

    /// Takes the rows of one batch, at most, from the gathered rows.
    fn take(&mut self) -> Result<Option<RecordBatch>> {
        let mut parts = take_rows(&mut self.gathered, self.batch_rows);
        match parts.len() {
            0 | 1 => Ok(parts.pop()),
            _ => joined(&self.schema, &parts).map(Some),
        }
    }
}

impl<S: Source> BatchStream for Batches<S> {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.gather().and_then(|()| self.take());
        batch.map_err(|error| {
            self.source = None;
            self.gathered.clear();
            if self.cancel.is_cancelled() { Error::Cancelled } else { error }
        })
    }
}

/// The columns of a result, in our types and with unique names.
fn columns_of(sent: &SchemaRef) -> Result<Vec<Column>> {
    let names = unique_names(sent.fields().iter().map(|field| field.name().as_str()));
    let columns = names.into_iter().zip(sent.fields()).map(|(name, field)| match sql_type_of(field.data_type()) {
        Some(sql_type) => Ok(Column { name, sql_type, nullable: true }),
        None => Err(Error::Unsupported(format!(
            "column \"{name}\" has the type {}, which has no counterpart here; CAST it to TEXT in the query",
            field.data_type()
        ))),
    });
    columns.collect()
}

/// The rows of all parts in one batch. Numbers go into recycled memory: memory that is allocated and freed for each batch
/// costs its page faults each time.
fn joined(schema: &SchemaRef, parts: &[RecordBatch]) -> Result<RecordBatch> {
    let arrays = (0..schema.fields().len()).map(|column| {
        let arrays = parts.iter().map(|part| part.column(column).as_ref()).collect::<Vec<_>>();
        match schema.field(column).data_type() {
            DataType::Int32 => Ok(joined_numbers::<Int32Type>(&arrays)),
            DataType::Int64 => Ok(joined_numbers::<Int64Type>(&arrays)),
            DataType::Float64 => Ok(joined_numbers::<Float64Type>(&arrays)),
            _ => concat(&arrays).map_err(engine_error),
        }
    });
    RecordBatch::try_new(Arc::clone(schema), arrays.collect::<Result<_>>()?).map_err(engine_error)
}

fn joined_numbers<T: ArrowPrimitiveType>(arrays: &[&dyn Array]) -> ArrayRef {
    let rows = arrays.iter().map(|array| array.len()).sum::<usize>();
    let mut values = SlabBuffer::with_capacity(rows * size_of::<T::Native>());
    for array in arrays {
        values.extend_from_slice::<T::Native>(array.as_primitive::<T>().values());
    }
    let nulls = arrays.iter().any(|array| array.null_count() > 0).then(|| {
        let mut valid = NullBufferBuilder::new(rows);
        for array in arrays {
            match array.nulls() {
                Some(nulls) => valid.append_buffer(nulls),
                None => valid.append_n_non_nulls(array.len()),
            }
        }
        valid.finish()
    });
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(values.finish(), 0, rows), nulls.flatten()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};
    use arrow_schema::{Field, Schema};

    use super::*;

    #[test]
    fn parts_are_joined_with_their_nulls() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("number", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
        ]));
        let numbers = Int64Array::from(vec![Some(1), None, Some(3), Some(4), Some(5), None, Some(7)]);
        let texts = StringArray::from(vec![None, Some("b"), Some(""), Some("d"), None, Some("f"), Some("g")]);
        let whole = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers), Arc::new(texts)]).unwrap();
        let parts = [whole.slice(0, 2), whole.slice(2, 2), whole.slice(4, 0), whole.slice(4, 3)];
        assert_eq!(joined(&schema, &parts).unwrap(), whole);
        assert_eq!(joined(&schema, &parts[1..2]).unwrap().column(0).nulls(), None);
    }
}
