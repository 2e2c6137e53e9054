//! `FlightData`, the message that carries Arrow's messages: read from the frames as they arrive, written without a copy of the
//! arrays.

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_flight::{FlightDescriptor, SchemaAsIpc};
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use arrow_schema::Schema;
use boundary_bench_engine::arrow_in::{Decoded, MessageReader};
use boundary_bench_kernel::{Error, Result};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};
use tonic::Status;

use crate::engine_error;
use crate::grpc::{Frames, Messages, PREFIX, Parts, malformed, put_prefix};

/// The tags of the message's fields, each of which is a length and bytes.
const DESCRIPTOR: u64 = field(1);
const HEADER: u64 = field(2);
const METADATA: u64 = field(3);
const BODY: u64 = field(1000);

/// Maximum number of bytes of a batch in one message, unless one row has more: clients of gRPC accept 4 MiB by default.
const MAX_BODY: usize = 3 << 20;

/// Parts of fewer bytes are joined with their neighbours, since each part is sent as a frame of its own.
const SMALL_PART: usize = 4 << 10;

/// The number of bytes before an encapsulated message of Arrow: a marker and the length of the message's header.
const ENCAPSULATION: usize = 8;

const fn field(number: u64) -> u64 {
    number << 3 | 2
}

/// A `FlightData` message.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) descriptor: Option<FlightDescriptor>,
    /// The header of the Arrow message.
    header: Bytes,
    /// The metadata of the application.
    pub(crate) metadata: Bytes,
    body: Buffer,
}

impl Data {
    /// Reads the next message. Returns `None` at the end. The body is aligned for Arrow's arrays, no matter what precedes it.
    pub(crate) async fn next<B: Frames>(messages: &mut Messages<B>) -> std::result::Result<Option<Self>, Status> {
        if messages.begin().await?.is_none() {
            return Ok(None);
        }
        let mut data = Self::default();
        while messages.left() > 0 {
            let tag = messages.varint().await?;
            if tag & 7 != 2 {
                skip_other(messages, tag).await?;
                continue;
            }
            let length = messages.varint().await?;
            let length = usize::try_from(length).ok().filter(|length| *length <= messages.left());
            let length = length.ok_or_else(|| malformed(&"a field is longer than its message"))?;
            match tag {
                DESCRIPTOR => {
                    let bytes = messages.bytes(length).await?;
                    data.descriptor = Some(FlightDescriptor::decode(bytes).map_err(|error| malformed(&error))?);
                }
                HEADER => data.header = messages.bytes(length).await?,
                METADATA => data.metadata = messages.bytes(length).await?,
                BODY => data.body = messages.buffer(length).await?,
                _ => messages.skip(length).await?,
            }
        }
        Ok(Some(data))
    }
}

/// Skips a field that has no length before it, such as a field of a later version.
async fn skip_other<B: Frames>(messages: &mut Messages<B>, tag: u64) -> std::result::Result<(), Status> {
    match tag & 7 {
        0 => messages.varint().await.map(drop),
        1 => messages.skip(8).await,
        5 => messages.skip(4).await,
        other => Err(malformed(&format_args!("a field of the unknown form {other}"))),
    }
}

/// Decodes the messages of one stream.
#[derive(Debug, Default)]
pub(crate) struct BatchReader(MessageReader);

impl BatchReader {
    /// Decodes a message. Its arrays stay in the memory of the body.
    pub(crate) fn read(&mut self, data: &Data) -> Result<Decoded> {
        if data.header.is_empty() {
            return Ok(Decoded::Nothing);
        }
        let message = root_as_message(&data.header).map_err(|error| Error::InvalidIpc(error.to_string()))?;
        self.0.read(message, &data.body)
    }
}

/// Encodes batches of one schema. Their arrays are sent without a copy.
pub(crate) struct BatchWriter {
    encoder: StreamEncoder,
    /// Whether the encoder has returned its own schema message. That message is dropped.
    began: bool,
}

impl BatchWriter {
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        Ok(Self { encoder: StreamEncoder::try_new(schema).map_err(engine_error)?, began: false })
    }

    /// The messages of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<Parts> {
        let mut parts = Parts::new();
        self.split(batch, &mut parts)?;
        Ok(parts)
    }

    fn split(&mut self, batch: &RecordBatch, parts: &mut Parts) -> Result<()> {
        let sizes = batch.columns().iter().map(|array| array.to_data().get_slice_memory_size());
        let size = sizes.sum::<std::result::Result<usize, _>>().map_err(engine_error)?;
        let rows = batch.num_rows();
        if size <= MAX_BODY || rows <= 1 {
            return self.encode(batch, parts);
        }
        self.split(&batch.slice(0, rows / 2), parts)?;
        self.split(&batch.slice(rows / 2, rows - rows / 2), parts)
    }

    fn encode(&mut self, batch: &RecordBatch, parts: &mut Parts) -> Result<()> {
        let mut buffers = self.encoder.encode(batch).map_err(engine_error)?.into_iter();
        if !std::mem::replace(&mut self.began, true) {
            next_message(&mut buffers)?;
        }
        while let Some((header, body)) = next_message(&mut buffers)? {
            put_message(parts, None, &header, body);
        }
        Ok(())
    }
}

/// The message of a schema. It begins a stream.
pub(crate) fn schema_message(schema: &Schema, descriptor: Option<&FlightDescriptor>) -> Parts {
    let data = arrow_flight::FlightData::from(SchemaAsIpc::new(schema, &IpcWriteOptions::default()));
    let mut parts = Parts::new();
    put_message(&mut parts, descriptor, &data.data_header, Vec::new());
    parts
}

/// Takes the buffers of one encapsulated message: its header and the buffers of its body.
fn next_message(buffers: &mut impl Iterator<Item = Buffer>) -> Result<Option<(Vec<u8>, Vec<Buffer>)>> {
    // Empty buffers may follow the last bytes of a body.
    let Some(first) = buffers.find(|buffer| !buffer.is_empty()) else { return Ok(None) };
    let length = first.get(ENCAPSULATION - 4..ENCAPSULATION).and_then(|bytes| bytes.try_into().ok());
    let length = length.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize);
    let mut header = Vec::with_capacity(length);
    while header.len() < length {
        let Some(buffer) = buffers.next() else { return Err(cut_short()) };
        header.extend_from_slice(&buffer);
    }
    let message = root_as_message(&header).map_err(|error| Error::Internal(error.to_string()))?;
    let mut left = usize::try_from(message.bodyLength()).unwrap_or(0);
    let mut body = Vec::new();
    while left > 0 {
        let Some(buffer) = buffers.next() else { return Err(cut_short()) };
        left = left.checked_sub(buffer.len()).ok_or_else(cut_short)?;
        body.push(buffer);
    }
    Ok(Some((header, body)))
}

fn cut_short() -> Error {
    Error::Internal("Arrow's encoder gave a message that does not fit its header".to_owned())
}

/// Appends a message, and joins its small parts.
fn put_message(parts: &mut Parts, descriptor: Option<&FlightDescriptor>, header: &[u8], body: Vec<Buffer>) {
    let body_length: usize = body.iter().map(Buffer::len).sum();
    let descriptor_length = descriptor.map(Message::encoded_len);
    let length = descriptor_length.map_or(0, |length| field_length(DESCRIPTOR, length))
        + field_length(HEADER, header.len())
        + field_length(BODY, body_length);
    let mut small = BytesMut::with_capacity(PREFIX + length - body_length);
    put_prefix(&mut small, length);
    if let (Some(descriptor), Some(length)) = (descriptor, descriptor_length) {
        put_field(&mut small, DESCRIPTOR, length);
        descriptor.encode_raw(&mut small);
    }
    put_field(&mut small, HEADER, header.len());
    small.put_slice(header);
    put_field(&mut small, BODY, body_length);
    for buffer in body {
        if buffer.len() < SMALL_PART {
            small.put_slice(&buffer);
            continue;
        }
        if !small.is_empty() {
            parts.push_back(small.split().freeze());
        }
        parts.push_back(Bytes::from_owner(Owned(buffer)));
    }
    if !small.is_empty() {
        parts.push_back(small.freeze());
    }
}

/// A buffer that owns bytes to be sent.
struct Owned(Buffer);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn field_length(tag: u64, length: usize) -> usize {
    encoded_len_varint(tag) + encoded_len_varint(length as u64) + length
}

fn put_field(target: &mut BytesMut, tag: u64, length: usize) {
    encode_varint(tag, target);
    encode_varint(length as u64, target);
}

#[cfg(test)]
mod tests;
