//! The messages of Arrow's IPC format (<https://arrow.apache.org/docs/format/Columnar.html#ipc-message-format>), whichever way
//! they came.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{Message, MessageHeader};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

/// Maximum number of rows of a batch whose values have less than a bit for each row: columns of nulls, and runs of one value.
const MOST_ROWS_OF_NO_BYTES: usize = 1 << 20;

/// The bytes to which any batch may be decompressed.
const ANY_DECOMPRESSED: usize = 256 << 20;

/// The ratio of compression above which the bytes of a larger batch are not believed. LZ4 has no higher ratio.
const MOST_RATIO: usize = 256;

/// The number of bytes before a compressed buffer. They hold its decompressed length.
const LENGTH_PREFIX: usize = 8;

/// The length that says that a buffer of a compressed batch is not compressed.
const NOT_COMPRESSED: i64 = -1;

/// The content of a message.
#[derive(Debug)]
pub enum Decoded {
    /// Neither a schema nor a batch.
    Nothing,
    /// The schema of the batches that follow.
    Schema(SchemaRef),
    /// A batch, all of whose arrays are valid in Arrow's format.
    Batch(RecordBatch),
}

/// Decodes the messages of one stream.
#[derive(Debug, Default)]
pub struct MessageReader {
    /// The schema as it was sent.
    schema: Option<SchemaRef>,
    /// The schema of the batches that are returned. It differs if values are sent as the storage of an extension type.
    logical: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl MessageReader {
    /// Decodes a message. Its arrays stay in the memory of the body, unless that is compressed.
    pub fn read(&mut self, message: Message<'_>, body: &Buffer) -> Result<Decoded> {
        readable(|| self.decode(message, body))
    }

    /// Whether the schema is known, without which no batch can be decoded.
    pub fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Sets the sent schema of the batches that follow, for a stream that does not begin with it. Returns their schema.
    pub fn set_schema(&mut self, schema: Schema) -> SchemaRef {
        let sent = Arc::new(schema);
        let logical = logical_schema(&sent).map_or_else(|| Arc::clone(&sent), Arc::new);
        self.schema = Some(sent);
        self.logical = Some(Arc::clone(&logical));
        self.dictionaries.clear();
        logical
    }

    /// A batch as it was sent, in the types of its values.
    fn logical(&self, sent: RecordBatch) -> Result<RecordBatch> {
        let Some(schema) = self.logical.as_ref().filter(|schema| !Arc::ptr_eq(schema, sent.schema_ref())) else {
            return Ok(sent);
        };
        let columns = sent.columns().iter().zip(schema.fields()).map(|(array, field)| -> ArrayRef {
            if array.data_type() == field.data_type() {
                return Arc::clone(array);
            }
            Arc::new(BooleanArray::from_unary(array.as_primitive::<Int8Type>(), |value| value != 0))
        });
        RecordBatch::try_new(Arc::clone(schema), columns.collect()).map_err(|error| invalid(&error))
    }

    fn decode(&mut self, message: Message<'_>, body: &Buffer) -> Result<Decoded> {
        let version = message.version();
        let schema = || self.schema.as_ref().ok_or_else(|| invalid(&"values before their schema"));
        match message.header_type() {
            MessageHeader::NONE => Ok(Decoded::Nothing),
            MessageHeader::Schema => {
                let schema = message.header_as_schema().ok_or_else(|| invalid(&"a schema without content"))?;
                Ok(Decoded::Schema(self.set_schema(schema_of(schema)?)))
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch();
                let batch = batch.ok_or_else(|| invalid(&"a dictionary without content"))?;
                let schema = Arc::clone(schema()?);
                if let Some(values) = batch.data() {
                    check_size(values, body)?;
                }
                read_dictionary(body, batch, &schema, &mut self.dictionaries, &version)
                    .map_err(|error| invalid(&error))?;
                Ok(Decoded::Nothing)
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(|| invalid(&"a batch without content"))?;
                let schema = Arc::clone(schema()?);
                check_size(batch, body)?;
                let decoder = RecordBatchDecoder::try_new(body, batch, schema, &self.dictionaries, &version);
                let batch = decoder.and_then(RecordBatchDecoder::read_record_batch);
                self.logical(batch.map_err(|error| invalid(&error))?).map(Decoded::Batch)
            }
            other => Err(invalid(&format_args!("a message of the unknown kind {other:?}"))),
        }
    }
}

/// The schema of a message or of a file's footer.
pub fn schema_of(schema: arrow_ipc::Schema<'_>) -> Result<Schema> {
    // The decoder does not look: it would take the bytes of each value in the wrong order.
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Error::Unsupported(
            "the Arrow data is big-endian, which is not read; have its writer convert the values to little-endian, as \
             Arrow's libraries do on a little-endian machine"
                .to_owned(),
        ));
    }
    let schema = readable(|| Ok(arrow_ipc::convert::fb_to_schema(schema)))?;
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        // The decoder refuses ends of runs that may be null by their schema. Some programs write so, and have no nulls there.
        DataType::RunEndEncoded(ends, values) if ends.is_nullable() => {
            let ends = Arc::new(ends.as_ref().clone().with_nullable(false));
            let runs = DataType::RunEndEncoded(ends, Arc::clone(values));
            Arc::new(field.as_ref().clone().with_data_type(runs))
        }
        _ => Arc::clone(field),
    });
    Ok(Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone()))
}

/// The schema of the values of a sent schema, or `None` if it is the same.
pub fn logical_schema(sent: &Schema) -> Option<Schema> {
    let fields = sent.fields().iter();
    let fields = fields.clone().any(|field| is_bool8(field)).then(|| {
        fields.map(|field| {
            let truths = || Arc::new(Field::new(field.name(), DataType::Boolean, field.is_nullable()));
            if is_bool8(field) { truths() } else { Arc::clone(field) }
        })
    });
    Some(Schema::new_with_metadata(fields?.collect::<Vec<FieldRef>>(), sent.metadata().clone()))
}

/// Whether the values of a field are truth values of one byte each, by Arrow's extension of integers of 8 bits.
fn is_bool8(field: &Field) -> bool {
    *field.data_type() == DataType::Int8 && field.extension_type_name() == Some("arrow.bool8")
}

/// Runs a decoder. It checks its input, but a panic on hostile bytes must not get further than this.
fn readable<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_panic(decode).map_err(|error| match error {
        // The place in a decoder's source says nothing of the input.
        Error::Internal(message) => {
            Error::InvalidIpc(message.rsplit_once(" (at ").map_or(message.as_str(), |(problem, _)| problem).to_owned())
        }
        other => other,
    })
}

pub(super) fn invalid(problem: &dyn Display) -> Error {
    Error::InvalidIpc(problem.to_string())
}

/// Checks the number of rows and of decompressed bytes that a batch announces, for which memory is taken before they are seen.
fn check_size(batch: arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<()> {
    let bytes = if batch.compression().is_some() { decompressed_size(batch, body)? } else { body.len() };
    if bytes > ANY_DECOMPRESSED.max(body.len().saturating_mul(MOST_RATIO)) {
        return Err(invalid(&format_args!(
            "a compressed batch of {} bytes says that it has {bytes}; write smaller batches, or without compression",
            body.len()
        )));
    }
    // Columns of nothing but nulls take no bytes here, but some bytes for each row once they are text or values.
    let most = MOST_ROWS_OF_NO_BYTES.max(bytes.saturating_mul(8));
    if usize::try_from(batch.length()).is_ok_and(|rows| rows <= most) {
        return Ok(());
    }
    Err(invalid(&format_args!("{} rows, which its bytes can't hold; write smaller batches", batch.length())))
}

/// The number of bytes to which the buffers of a batch say that they are decompressed.
fn decompressed_size(batch: arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<usize> {
    let mut total = 0_usize;
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, length) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
        let bytes = start.ok().zip(length.ok()).and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let bytes = bytes.ok_or_else(|| invalid(&"a buffer is not within its message"))?;
        let Some((prefix, rest)) = bytes.split_first_chunk::<LENGTH_PREFIX>() else {
            if bytes.is_empty() {
                continue;
            }
            return Err(invalid(&"a compressed buffer is cut short"));
        };
        let size = match i64::from_le_bytes(*prefix) {
            NOT_COMPRESSED => Ok(rest.len()),
            size => usize::try_from(size),
        };
        total = total.saturating_add(size.map_err(|_| invalid(&"a compressed buffer has a negative length"))?);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_a_decoder_does_not_tell_its_place() {
        let error = readable::<()>(|| panic!("Unexpected bitWidth of 128")).unwrap_err();
        assert!(error.to_string().ends_with("Unexpected bitWidth of 128"), "{error}");
    }
}
