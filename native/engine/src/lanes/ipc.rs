//! The lane `arrow-ipc`: batches as bytes of the Arrow IPC streaming format
//! (<https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>), and in also of the file format.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use crate::arrow_in::{Decoded, PieceReader, convert};
use crate::slab::{GrowingBytes, Slab};
use crate::{BatchStream, check_batch};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

/// Writes a whole result as one IPC stream.
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

/// A reader of IPC bytes for one table: slices of one stream or file, several whole ones one after another, or both.
pub struct IpcReader {
    schema: SchemaRef,
    /// The schema of batches whose nulls are not checked yet.
    nullable: SchemaRef,
    pieces: PieceReader,
    rows: u64,
}

impl IpcReader {
    /// A reader of batches for a table of this schema.
    pub fn new(schema: SchemaRef) -> Self {
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let nullable = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Self { schema, nullable, pieces: PieceReader::default(), rows: 0 }
    }

    /// Copies `bytes` once and returns the batches that end within them. All or nothing: after an error none of these
    /// bytes counts, a stream that began before them is abandoned, and the next bytes must begin a new stream.
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
            self.pieces = PieceReader::default();
        }
        decoded
    }

    /// Ends the input.
    pub fn finish(&mut self) -> Result<()> {
        self.pieces.finish()
    }

    fn decode(&mut self, mut buffer: Buffer) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(decoded) = self.pieces.next(&mut buffer)? {
            match decoded {
                Decoded::Nothing => {}
                Decoded::Schema(schema) => self.check_names(&schema)?,
                Decoded::Batch(batch) => {
                    let batch = self.adapt(&batch)?;
                    self.rows += batch.num_rows() as u64;
                    if batch.num_rows() > 0 {
                        batches.push(batch);
                    }
                }
            }
        }
        Ok(batches)
    }

    /// Checks that a stream has the table's columns, of any types.
    fn check_names(&self, given: &Schema) -> Result<()> {
        let (table, given) = (self.schema.fields(), given.fields());
        if table.len() != given.len() {
            let extra = given.iter().find(|field| self.schema.field_with_name(field.name()).is_err());
            let extra = extra.map(|field| format!(", among them \"{}\", which the table lacks", field.name()));
            return Err(Error::SchemaMismatch(format!(
                "the table has {} columns, the stream has {}{}",
                table.len(),
                given.len(),
                extra.unwrap_or_default()
            )));
        }
        match table.iter().zip(given).find(|(table, given)| table.name() != given.name()) {
            None => Ok(()),
            Some((table, given)) => Err(Error::SchemaMismatch(format!(
                "the table has column \"{}\" where the stream has \"{}\"; send the columns in the table's order",
                table.name(),
                given.name()
            ))),
        }
    }

    /// Converts a batch to the table's schema.
    fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let fields = self.schema.fields().iter();
        let arrays = fields.zip(batch.columns()).map(|(field, array)| convert(array, field, self.rows));
        let batch = RecordBatch::try_new(Arc::clone(&self.nullable), arrays.collect::<Result<_>>()?)
            .map_err(|error| Error::InvalidIpc(error.to_string()))?;
        check_batch(&self.schema, &batch, self.rows)?;
        let (_, columns, _) = batch.into_parts();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| Error::SchemaMismatch(error.to_string()))
    }
}
