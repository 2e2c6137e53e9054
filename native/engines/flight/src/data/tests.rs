use std::sync::Arc;

use arrow_array::{Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use boundary_bench_engine::arriving::BELIEVED;
use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use proptest::prelude::*;

use super::*;
use crate::fuzzing::Frames;

fn frames(bytes: &[u8], size: usize) -> Messages<Frames> {
    let frames: Vec<Bytes> = bytes.chunks(size).map(Bytes::copy_from_slice).collect();
    Messages::new(Frames(frames.into_iter()), 64 << 20)
}

/// The batches of a stream, or its error.
fn read(bytes: &[u8], size: usize) -> std::result::Result<Vec<RecordBatch>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut messages = frames(bytes, size);
    let mut reader = BatchReader::default();
    let mut batches = Vec::new();
    while let Some(data) = runtime.block_on(Data::next(&mut messages)).map_err(|status| status.to_string())? {
        if let Decoded::Batch(batch) = reader.read(&data).map_err(|error| error.to_string())? {
            batches.push(batch);
        }
    }
    Ok(batches)
}

fn batch(numbers: &[Option<i64>], texts: &[Option<String>]) -> RecordBatch {
    let schema =
        Schema::new(vec![Field::new("number", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]);
    let numbers: Int64Array = numbers.iter().copied().collect();
    let texts: StringArray = texts.iter().map(Option::as_deref).collect();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

/// The bytes of a stream of these batches.
fn written(batches: &[RecordBatch]) -> Vec<u8> {
    let schema = batches[0].schema();
    let descriptor = FlightDescriptor::new_cmd("a command");
    let mut bytes = schema_message(&schema, Some(&descriptor)).concat();
    let mut writer = BatchWriter::new(&schema).unwrap();
    for batch in batches {
        bytes.extend(writer.write(batch).unwrap().concat());
    }
    bytes
}

trait Concat {
    fn concat(self) -> Vec<u8>;
}

impl Concat for Parts {
    fn concat(self) -> Vec<u8> {
        self.into_iter().flatten().collect()
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_however_it_is_cut(
        rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<String>>()), 1..200),
        size in 1_usize..3000,
        start in 0_usize..200,
    ) {
        let (numbers, texts): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let whole = batch(&numbers, &texts);
        let slice = whole.slice(start.min(whole.num_rows() - 1), 1);
        prop_assert_eq!(read(&written(&[whole.clone(), slice.clone()]), size).unwrap(), vec![whole, slice]);
    }

    #[test]
    fn bytes_of_any_kind_are_an_error_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut framed = BytesMut::new();
        put_prefix(&mut framed, bytes.len());
        framed.extend_from_slice(&bytes);
        let _ = read(&framed, 7);
        let _ = read(&bytes, 7);
    }

    #[test]
    fn a_damaged_stream_never_panics(place in 0_usize..2000, value: u8) {
        let mut bytes = written(&[batch(&[Some(1), None, Some(3)], &[Some("a".into()), None, Some("b".into())])]);
        let place = place % bytes.len();
        bytes[place] = value;
        let _ = read(&bytes, 100);
    }
}

#[test]
fn a_large_batch_is_split_and_small_parts_are_joined() {
    let rows = 700_000;
    let numbers: Vec<Option<i64>> = (0..rows).map(Some).collect();
    let whole = batch(&numbers, &vec![None; usize::try_from(rows).unwrap()]);
    let bytes = written(std::slice::from_ref(&whole));
    let batches = read(&bytes, 1 << 20).unwrap();
    assert!(batches.len() > 1);
    assert_eq!(arrow_select::concat::concat_batches(&whole.schema(), &batches).unwrap(), whole);
    let parts = BatchWriter::new(&whole.schema()).unwrap().write(&whole.slice(0, 8)).unwrap();
    assert_eq!(parts.len(), 1);
}

#[test]
fn a_message_cut_short_or_too_long_is_an_error() {
    let bytes = written(&[batch(&[Some(1)], &[None])]);
    assert!(read(&bytes[..bytes.len() - 1], 10).unwrap_err().contains("ends within a message"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut short = Messages::new(Frames(vec![Bytes::from(bytes)].into_iter()), 10);
    let refused = runtime.block_on(Data::next(&mut short)).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert_eq!(crate::status::to_error(&refused).code(), "BB_TOO_LARGE");
}

#[test]
fn what_is_announced_takes_no_memory_before_it_comes() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let length: u32 = 0xffff_fff0;
    for tag in [HEADER, BODY] {
        let mut said = BytesMut::new();
        put_prefix(&mut said, length as usize);
        put_field(&mut said, tag, length as usize - 20);
        said.put_slice(b"abc");
        let mut messages = Messages::new(Frames(vec![said.freeze()].into_iter()), usize::MAX);
        assert!(reset_peak_rss());
        let before = peak_rss().unwrap();
        let error = runtime.block_on(Data::next(&mut messages)).unwrap_err();
        assert!(error.message().contains("ends within a message"), "{error}");
        assert!(peak_rss().unwrap() < before + (300 << 20));
    }
}

#[test]
fn a_body_longer_than_what_is_believed_at_once_arrives_whole() {
    let rows = i64::try_from(BELIEVED / 8).unwrap() + 5;
    let numbers: Vec<Option<i64>> = (0..rows).map(Some).collect();
    let whole = batch(&numbers, &vec![None; numbers.len()]);
    let mut bytes = schema_message(&whole.schema(), None).concat();
    let mut parts = Parts::new();
    BatchWriter::new(&whole.schema()).unwrap().encode(&whole, &mut parts).unwrap();
    bytes.extend_from_slice(&parts.into_iter().collect::<Vec<_>>().concat());
    let mut messages = Messages::new(
        Frames(bytes.chunks(256 << 10).map(Bytes::copy_from_slice).collect::<Vec<_>>().into_iter()),
        1 << 30,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut reader = BatchReader::default();
    let mut found = Vec::new();
    while let Some(data) = runtime.block_on(Data::next(&mut messages)).unwrap() {
        if let Decoded::Batch(batch) = reader.read(&data).unwrap() {
            found.push(batch);
        }
    }
    assert_eq!(found, [whole]);
}

#[test]
fn big_endian_values_are_refused_and_not_swapped() {
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../__test__/fixtures/arrow/big-endian.arrows"));
    let bytes = bytes.unwrap();
    let length = u32::from_le_bytes(*bytes[4..].first_chunk().unwrap()) as usize;
    let data = Data { header: Bytes::copy_from_slice(&bytes[8..][..length]), ..Data::default() };
    let error = BatchReader::default().read(&data).unwrap_err();
    assert_eq!(error.code(), "BB_UNSUPPORTED");
    assert!(error.to_string().starts_with("the Arrow data is big-endian"), "{error}");
}
