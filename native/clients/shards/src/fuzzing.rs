//! Entry points for the fuzzers of `native/fuzz`. They feed arbitrary bytes to this crate's readers. Not part of the API.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::Result;
use bytes::Bytes;

pub use crate::block::unpack as unpacked;

use crate::block::Block;
use crate::ipc::{MessageReader, block_header, end_message, schema_message};

/// Reads the messages of a scan, each a header and a body, behind a schema message. Returns the batches and how the reading
/// ended.
pub fn batches(messages: Vec<(Bytes, Bytes)>) -> (Vec<RecordBatch>, Result<()>) {
    let mut reader = MessageReader::default();
    let mut batches = Vec::new();
    let read = std::iter::once((schema_message(), Bytes::new())).chain(messages).try_for_each(|(header, body)| {
        batches.extend(reader.read(header, body)?);
        Ok(())
    });
    let outcome = read.and_then(|()| reader.finish());
    (batches, outcome)
}

/// The messages of a scan of these blocks.
pub fn messages(blocks: &[Arc<Block>]) -> Vec<(Bytes, Bytes)> {
    let messages = blocks.iter().map(|block| (block_header(block), block.to_shared()));
    messages.chain([(end_message(), Bytes::new())]).collect()
}
