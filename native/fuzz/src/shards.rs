//! Rows of shards: packed, and in the messages of a scan.

use std::sync::Arc;

use boundary_bench_shards::fuzzing::{batches, messages as written, unpacked};
use boundary_bench_shards::{Block, Columns, ROW_BYTES, Row, with_binary_payloads};
use bytes::Bytes;

use crate::arrow::{STREAM, check_arrays};
use crate::input::Input;

/// The input is read as packed rows, and as a scan's messages: headers and bodies, each after its length.
pub(crate) fn messages(bytes: &[u8]) {
    if let Ok(block) = unpacked(bytes) {
        assert_eq!(block.len() * ROW_BYTES, bytes.len());
        let packed = (0..block.len()).flat_map(|row| block.row(row).to_bytes()).collect::<Vec<_>>();
        assert_eq!(packed, bytes);
        check_block(block);
    }
    let mut input = Input(bytes);
    let mut messages = Vec::new();
    while !input.is_empty() {
        messages.push((Bytes::copy_from_slice(input.sized()), Bytes::copy_from_slice(input.sized())));
    }
    let (found, _) = STREAM.check(bytes.len(), || batches(messages));
    for batch in &found {
        check_arrays(batch);
        let Ok(columns) = Columns::of_batch(batch) else { continue };
        let rows = (0..columns.len()).map(|row| columns.row(row)).collect::<Vec<_>>();
        let hashes = rows.iter().fold(0_u32, |sum, row| sum.wrapping_add(Row::hash(row)));
        assert_eq!(columns.checksum(), hashes);
        check_arrays(&with_binary_payloads(batch).expect("the columns of rows"));
        let mut block = Block::with_capacity(rows.len());
        rows.iter().for_each(|row| block.push(row));
        check_block(block);
    }
}

/// Checks that a block that is sent is read as the same rows.
fn check_block(block: Block) {
    let block = Arc::new(block);
    let (found, ended) = batches(written(std::slice::from_ref(&block)));
    ended.expect("a scan that was written");
    assert_eq!(found.len(), 1);
    let columns = Columns::of_batch(&found[0]).expect("the columns of rows");
    assert_eq!((columns.len(), columns.checksum()), (block.len(), block.columns().checksum()));
}
