//! Blocks as messages of an Arrow IPC stream, <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.
//!
//! The body of a message is a block's memory without a copy, so only the header is made here.

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{Buffer as BufferRange, FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use flatbuffers::FlatBufferBuilder;

use crate::block::{Block, OFFSETS, SCHEMA, WIDTHS};

/// The first bytes of each message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The last bytes of a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// A header's length is a multiple of this number of bytes.
const ALIGNMENT: usize = 8;

/// The schema message, the first of a stream.
pub(crate) fn schema_message() -> Bytes {
    static MESSAGE: LazyLock<Bytes> = LazyLock::new(|| {
        let (generator, options) = (IpcDataGenerator::default(), IpcWriteOptions::default());
        let mut dictionaries = DictionaryTracker::new(false);
        let schema = generator.schema_to_bytes_with_dictionary_tracker(&SCHEMA, &mut dictionaries, &options);
        encapsulated(&schema.ipc_message)
    });
    MESSAGE.clone()
}

/// The end of a stream, as a message.
pub(crate) fn end_message() -> Bytes {
    Bytes::from_static(&END)
}

/// The header of the message whose body is a block's memory.
pub(crate) fn block_header(block: &Block) -> Bytes {
    let (rows, capacity) = (signed(block.len()), block.capacity());
    let mut builder = FlatBufferBuilder::with_capacity(512);
    // No column has a null bitmap. The format expresses that as a buffer of zero bytes.
    let places = OFFSETS.iter().zip(WIDTHS).flat_map(|(offset, width)| {
        let start = signed(offset * capacity);
        [BufferRange::new(start, 0), BufferRange::new(start, signed(width * block.len()))]
    });
    let places = builder.create_vector(&places.collect::<Vec<_>>());
    let nodes = builder.create_vector(&[FieldNode::new(rows, 0); OFFSETS.len()]);
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(rows);
    batch.add_nodes(nodes);
    batch.add_buffers(places);
    let batch = batch.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(signed(block.memory().len()));
    message.add_header(batch);
    let message = message.finish();
    builder.finish(message, None);
    encapsulated(builder.finished_data())
}

/// A size as a signed integer. Blocks are far smaller than `i64::MAX`.
fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// A message's metadata with the prefix and padding of the stream format, without its body.
fn encapsulated(message: &[u8]) -> Bytes {
    let padded = message.len().next_multiple_of(ALIGNMENT);
    let mut bytes = Vec::with_capacity(ALIGNMENT + padded);
    bytes.extend_from_slice(&CONTINUATION);
    // A header has a few hundred bytes.
    bytes.extend_from_slice(&u32::try_from(padded).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(message);
    bytes.resize(ALIGNMENT + padded, 0);
    bytes.into()
}

/// A message of an Arrow stream. Its clones share the memory.
#[derive(Debug, Clone)]
pub struct ArrowMessage {
    /// The message without its body.
    pub header: Bytes,
    /// The body of a batch, empty for other messages.
    pub body: Bytes,
}

impl ArrowMessage {
    fn without_body(header: Bytes) -> Self {
        Self { header, body: Bytes::new() }
    }
}

/// The messages of one stream with these blocks, from the schema to the end, each made when it is taken.
pub(crate) fn messages(blocks: impl Iterator<Item = Block> + Send) -> impl Iterator<Item = ArrowMessage> + Send {
    let batches = blocks.map(|block| ArrowMessage { header: block_header(&block), body: Arc::new(block).to_shared() });
    let [schema, end] = [schema_message(), end_message()].map(ArrowMessage::without_body);
    std::iter::once(schema).chain(batches).chain(std::iter::once(end))
}

/// Reads the messages of one stream, each given as its header and its body.
#[derive(Debug, Default)]
pub(crate) struct MessageReader {
    decoder: StreamDecoder,
    ended: bool,
}

impl MessageReader {
    /// The batch of a message, or `None` for a message without one. The batch borrows the body's memory if that is aligned.
    ///
    /// # Errors
    /// [`Error::InvalidIpc`] for an unusable message, or one with several batches.
    pub(crate) fn read(&mut self, header: Bytes, body: Bytes) -> Result<Option<RecordBatch>> {
        self.ended = *header == END && body.is_empty();
        let has_body = !body.is_empty();
        // The decoder checks its input, but a panic on hostile bytes must not escape this function.
        let decoded = catch_panic(|| {
            let mut batch = None;
            for bytes in [header, body] {
                let mut buffer = Buffer::from(bytes);
                while !buffer.is_empty() {
                    let decoded = self.decoder.decode(&mut buffer);
                    let decoded = decoded.map_err(|error| Error::InvalidIpc(error.to_string()))?;
                    if decoded.is_some() && batch.is_some() {
                        return Err(Error::InvalidIpc("more than one batch in a message".to_owned()));
                    }
                    batch = batch.or(decoded);
                }
            }
            // The decoder would take the next message for the rest of a body.
            if has_body && batch.is_none() {
                return Err(Error::InvalidIpc("a body is shorter than its header says".to_owned()));
            }
            Ok(batch)
        });
        decoded.map_err(|error| match error {
            Error::Internal(message) => Error::InvalidIpc(message),
            other => other,
        })
    }

    /// Checks that the stream has been read to its end.
    pub(crate) fn finish(&self) -> Result<()> {
        // A stream cut between two messages can't be told from one that ends, except by its end message.
        if self.ended { Ok(()) } else { Err(Error::InvalidIpc("it broke off before its end".to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::{BLOCK_ROWS, Columns};
    use crate::row::Row;

    fn block(rows: usize, capacity: usize) -> Arc<Block> {
        let mut block = Block::with_capacity(capacity);
        (0..rows).for_each(|key| block.push(&Row::made(signed(key) * 7 - 100)));
        Arc::new(block)
    }

    #[test]
    fn blocks_come_back_as_batches() {
        for (rows, capacity) in [(0, 1), (1, 1), (63, 64), (65, 65), (100, BLOCK_ROWS), (BLOCK_ROWS, BLOCK_ROWS)] {
            let block = block(rows, capacity);
            let mut reader = MessageReader::default();
            assert!(reader.read(schema_message(), Bytes::new()).unwrap().is_none());
            let batch = reader.read(block_header(&block), block.to_shared()).unwrap().unwrap();
            assert!(reader.finish().is_err());
            assert_eq!(batch, block.to_batch().unwrap());
            assert_eq!(Columns::of_batch(&batch).unwrap().checksum(), block.columns().checksum());
            assert!(reader.read(end_message(), Bytes::new()).unwrap().is_none());
            reader.finish().unwrap();
        }
    }

    #[test]
    fn a_body_that_ends_early_is_refused() {
        let block = block(65, 65);
        for cut in [1, 8, 64, block.memory().len() - 1] {
            let mut reader = MessageReader::default();
            reader.read(schema_message(), Bytes::new()).unwrap();
            let body = block.to_shared();
            let refused = reader.read(block_header(&block), body.slice(..body.len() - cut)).unwrap_err();
            assert_eq!(refused.code(), "BB_INVALID_IPC", "{cut} bytes");
        }
    }

    /// Reads the messages with Arrow's own stream reader. It knows nothing of blocks.
    #[test]
    fn the_messages_are_one_stream() {
        let blocks = [block(BLOCK_ROWS, BLOCK_ROWS), block(10, 10)];
        let mut bytes = schema_message().to_vec();
        for block in &blocks {
            bytes.extend_from_slice(&block_header(block));
            bytes.extend_from_slice(block.memory());
        }
        bytes.extend_from_slice(&end_message());
        let reader = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        assert!(reader.map(|batch| batch.unwrap()).eq(blocks.iter().map(|block| block.to_batch().unwrap())));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            mut header in prop::collection::vec(any::<u8>(), 0..200),
            body in prop::collection::vec(any::<u8>(), 0..200),
            place in 0_usize..500,
            byte: u8,
            is_near: bool,
        ) {
            let mut reader = MessageReader::default();
            reader.read(schema_message(), Bytes::new()).unwrap();
            if is_near {
                header = block_header(&block(3, 3)).to_vec();
                let place = place % header.len();
                header[place] = byte;
            }
            if let Ok(Some(batch)) = reader.read(header.into(), body.into()) {
                let _ = Columns::of_batch(&batch).map(|rows| rows.checksum());
            }
        }
    }
}
