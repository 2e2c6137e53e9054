//! The lane `arrow-ipc`: batches as bytes of the Arrow IPC streaming format
//! (<https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};

use crate::slab::{GrowingBytes, Slab};
use crate::{BatchStream, check_batch};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

/// Writes a whole result as one IPC stream.
///
/// # Errors
/// The errors of the stream.
pub fn write_stream(stream: &mut dyn BatchStream) -> Result<GrowingBytes> {
    let internal = |error: ArrowError| Error::Internal(error.to_string());
    let mut writer = StreamWriter::try_new(GrowingBytes::default(), &stream.schema()).map_err(internal)?;
    while let Some(batch) = stream.next_batch()? {
        writer.write(&batch).map_err(internal)?;
    }
    let mut bytes = writer.into_inner().map_err(internal)?;
    bytes.finish();
    Ok(bytes)
}

/// A reader of IPC bytes for one table: slices of one stream, several whole streams one after another, or both.
pub struct IpcReader {
    schema: SchemaRef,
    decoder: StreamDecoder,
    rows: u64,
    /// The first bytes of the stream, or of the message behind a batch, as far as they were received.
    marker: [u8; 4],
    /// The number of bytes in `marker`.
    marked: usize,
}

impl IpcReader {
    /// A reader of batches that must have this schema.
    #[must_use]
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, decoder: StreamDecoder::new(), rows: 0, marker: [0; 4], marked: 0 }
    }

    /// Copies `bytes` once and returns the batches that end within them. All or nothing: after an error none of these
    /// bytes counts, a stream that began before them is abandoned, and the next bytes must begin a new stream.
    ///
    /// # Errors
    /// [`Error::InvalidIpc`] for bytes that are no part of a stream, [`Error::SchemaMismatch`], [`Error::InvalidValue`]
    /// for a null in a NOT NULL column.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<RecordBatch>> {
        let mut slab = Slab::allocate(bytes.len());
        slab.as_mut_slice().copy_from_slice(bytes);
        let buffer = Arc::new(slab).buffer(0, bytes.len());
        let rows = self.rows;
        // The decoder has checks of its own, but a panic on hostile bytes must not leave this function.
        let decoded = catch_panic(|| self.decode(buffer)).map_err(|error| match error {
            Error::Internal(message) => Error::InvalidIpc(message),
            other => other,
        });
        if decoded.is_err() {
            self.rows = rows;
            self.restart();
        }
        decoded
    }

    /// Ends the input.
    ///
    /// # Errors
    /// [`Error::InvalidIpc`] when it ends within a message.
    pub fn finish(&mut self) -> Result<()> {
        let finished = self.decoder.finish().map_err(|error| Error::InvalidIpc(error.to_string()));
        self.restart();
        finished
    }

    fn restart(&mut self) {
        self.decoder = StreamDecoder::new();
        self.marked = 0;
    }

    fn decode(&mut self, mut buffer: Buffer) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while !buffer.is_empty() {
            // Without this check, any four bytes would count as the length of a message of the format's first version, whose
            // bytes would then be awaited.
            let part = buffer.len().min(self.marker.len() - self.marked);
            self.marker[self.marked..self.marked + part].copy_from_slice(&buffer[..part]);
            self.marked += part;
            if !begins_message(&self.marker[..self.marked]) {
                return Err(Error::InvalidIpc("bytes that begin no message".to_owned()));
            }
            match self.decoder.decode(&mut buffer) {
                Ok(None) => {}
                Ok(Some(batch)) => {
                    self.marked = 0;
                    let batch = self.adapt(&batch)?;
                    self.rows += batch.num_rows() as u64;
                    if batch.num_rows() > 0 {
                        batches.push(batch);
                    }
                }
                // The decoder refuses bytes behind an end-of-stream marker, where it can also finish: they begin the
                // next stream. A reader that stopped there would lose that silently.
                Err(_) if self.decoder.finish().is_ok() => self.restart(),
                Err(error) => return Err(Error::InvalidIpc(error.to_string())),
            }
        }
        Ok(batches)
    }

    /// Converts a batch to the table's schema: dictionaries are unpacked and timestamps converted to microseconds.
    fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let fields = self.schema.fields();
        if batch.num_columns() != fields.len() {
            return Err(Error::SchemaMismatch(format!(
                "the table has {} columns, the stream has {}",
                fields.len(),
                batch.num_columns()
            )));
        }
        let arrays = batch
            .columns()
            .iter()
            .zip(fields)
            .map(|(array, field)| convert(array, field.data_type(), field.name(), self.rows))
            .collect::<Result<Vec<_>>>()?;
        let names = batch.schema_ref().fields().iter().zip(arrays.iter()).zip(fields);
        let given = names
            .map(|((given, array), expected)| {
                arrow_schema::Field::new(given.name(), array.data_type().clone(), true)
                    .with_metadata(expected.metadata().clone())
            })
            .collect::<Vec<_>>();
        let given = RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(given)), arrays)
            .map_err(|error| Error::InvalidIpc(error.to_string()))?;
        check_batch(&self.schema, &given, self.rows)?;
        RecordBatch::try_new(Arc::clone(&self.schema), given.columns().to_vec())
            .map_err(|error| Error::SchemaMismatch(error.to_string()))
    }
}

/// Whether the first bytes of a message, as far as they were received, are a continuation marker or the end of a
/// stream.
fn begins_message(start: &[u8]) -> bool {
    start.iter().all(|byte| *byte == 0xFF) || start.iter().all(|byte| *byte == 0)
}

/// Converts an array to the wanted type where the values stay the same; any other array is returned unchanged.
fn convert(array: &ArrayRef, wanted: &DataType, column: &str, first_row: u64) -> Result<ArrayRef> {
    match (array.data_type(), wanted) {
        (DataType::Dictionary(_, values), wanted) if **values == *wanted => unpack(array),
        (DataType::Timestamp(unit, None), DataType::Timestamp(TimeUnit::Microsecond, None)) => match unit {
            TimeUnit::Second => {
                to_microseconds::<TimestampSecondType>(array, column, first_row, |v| v.checked_mul(1_000_000))
            }
            TimeUnit::Millisecond => {
                to_microseconds::<TimestampMillisecondType>(array, column, first_row, |v| v.checked_mul(1000))
            }
            TimeUnit::Nanosecond => to_microseconds::<TimestampNanosecondType>(array, column, first_row, |v| {
                (v % 1000 == 0).then_some(v / 1000)
            }),
            TimeUnit::Microsecond => Ok(Arc::clone(array)),
        },
        _ => Ok(Arc::clone(array)),
    }
}

fn unpack(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(Arc::clone(array)) };
    arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
        .map_err(|error| Error::InvalidIpc(error.to_string()))
}

fn to_microseconds<T: ArrowTimestampType>(
    array: &ArrayRef,
    column: &str,
    first_row: u64,
    exact: impl Fn(i64) -> Option<i64>,
) -> Result<ArrayRef> {
    let values = array.as_primitive::<T>();
    let converted = values
        .iter()
        .enumerate()
        .map(|(row, value)| match value.map(|value| (value, exact(value))) {
            None => Ok(None),
            Some((_, Some(converted))) => Ok(Some(converted)),
            Some((value, None)) => Err(Error::InvalidValue {
                row: first_row + row as u64,
                column: column.to_owned(),
                problem: format!("{value} {:?}s are no whole number of microseconds of 64 bits", T::UNIT),
            }),
        })
        .collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
    Ok(Arc::new(converted))
}
