//! Arrow data of other programs: streams and files as pyarrow, pandas, polars and Arrow's JavaScript library write them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef, Int8Array, Int32Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, Schema};
use boundary_bench_engine::lanes::ipc::IpcReader;
use boundary_bench_engine::table::{Column, SqlType, arrow_schema_of};
use boundary_bench_kernel::Result;

/// The bytes of a file that another program wrote; see `make.py` beside it.
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../__test__/fixtures/arrow/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn reader(columns: &[(&str, SqlType)]) -> IpcReader {
    let columns =
        columns.iter().map(|(name, sql_type)| Column { name: (*name).to_owned(), sql_type: *sql_type, nullable: true });
    IpcReader::new(arrow_schema_of(&columns.collect::<Vec<_>>()))
}

/// The batches of bytes that come in pieces of this length.
fn read(columns: &[(&str, SqlType)], bytes: &[u8], piece: usize) -> Result<Vec<RecordBatch>> {
    let mut reader = reader(columns);
    let mut batches = Vec::new();
    for piece in bytes.chunks(piece) {
        batches.extend(reader.push(piece)?);
    }
    reader.finish().map(|()| batches)
}

const ROWS: [(&str, SqlType); 3] = [("i", SqlType::Int), ("s", SqlType::Text), ("x", SqlType::Double)];

/// Checks the rows that `make.py` writes, `times` times.
fn check_rows(batches: &[RecordBatch], times: usize) {
    let rows: Vec<_> = batches
        .iter()
        .flat_map(|batch| {
            let (i, s) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
            let x = batch.column(2).as_primitive::<Float64Type>();
            i.values().iter().copied().zip(s.iter().map(|s| s.unwrap().to_owned())).zip(x.iter().collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(rows.len(), 1000 * times);
    for (index, ((i, s), x)) in rows.into_iter().enumerate() {
        let expected = i32::try_from(index % 1000).unwrap();
        assert_eq!((i, s), (expected, format!("value {}", expected % 10)));
        assert_eq!(x, (expected % 7 == 0).then(|| f64::from(expected) / 2.0));
    }
}

#[test]
fn big_endian_values_are_refused_and_not_swapped() {
    let columns = [("i", SqlType::Int), ("x", SqlType::Double)];
    for piece in [1, 7, 100_000] {
        let error = read(&columns, &fixture("big-endian.arrows"), piece).unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED");
        assert!(error.to_string().starts_with("the Arrow data is big-endian"), "{error}");
    }
}

#[test]
fn files_and_compressed_streams_are_read_however_they_are_cut() {
    for name in ["file.arrow", "lz4.arrows", "zstd.arrows"] {
        let bytes = fixture(name);
        for piece in [1, 13, 4096, bytes.len()] {
            check_rows(&read(&ROWS, &bytes, piece).unwrap(), 1);
        }
    }
}

#[test]
fn files_and_streams_may_follow_one_another() {
    let bytes = [fixture("file.arrow"), fixture("lz4.arrows"), fixture("file.arrow"), fixture("zstd.arrows")].concat();
    for piece in [11, bytes.len()] {
        check_rows(&read(&ROWS, &bytes, piece).unwrap(), 4);
    }
}

#[test]
fn a_file_whose_end_is_missing_or_wrong_is_refused() {
    let bytes = fixture("file.arrow");
    for end in [8, 200, bytes.len() / 2, bytes.len() - 10, bytes.len() - 1] {
        assert_eq!(read(&ROWS, &bytes[..end], 100_000).unwrap_err().code(), "BB_INVALID_IPC", "{end}");
    }
    // A file that was cut and has another file's end.
    let other = written_file(&batch(0), 8);
    let start = other.len() - footer_length(&other) - 10;
    let forged = [&bytes[..bytes.len() - footer_length(&bytes) - 10], &other[start..]].concat();
    let error = read(&ROWS, &forged, 100_000).unwrap_err().to_string();
    assert!(error.ends_with("the footer of the Arrow file lists 1 batches, the file has 3"), "{error}");
}

fn footer_length(file: &[u8]) -> usize {
    u32::from_le_bytes(file[file.len() - 10..][..4].try_into().unwrap()) as usize
}

fn batch(rows: i32) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        ("i", Arc::new(Int32Array::from_iter_values(0..rows))),
        ("s", Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("text {row}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written_file(batch: &RecordBatch, alignment: usize) -> Vec<u8> {
    let options = IpcWriteOptions::try_new(alignment, false, MetadataVersion::V5).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn the_bytes_before_the_first_message_of_a_file_may_be_many() {
    for alignment in [8, 64] {
        let read = read(&[("i", SqlType::Int), ("s", SqlType::Text)], &written_file(&batch(5), alignment), 3).unwrap();
        assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 5);
    }
}

#[test]
fn a_file_may_have_several_marks_of_its_end() {
    let whole = written_file(&batch(5), 8);
    let end = whole.len() - footer_length(&whole) - 10;
    let columns = [("i", SqlType::Int), ("s", SqlType::Text)];
    for marks in [&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0][..], &[0; 4], &[0xff; 4], &[0; 12]] {
        let bytes = [&whole[..end], marks, &whole[end..]].concat();
        for piece in [1, 10_000] {
            let read = read(&columns, &bytes, piece).unwrap();
            assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 5, "{marks:?}");
        }
    }
}

#[test]
fn integers_that_stand_for_truth_values_are_truth_values() {
    let field = |name| {
        let field = Field::new(name, DataType::Int8, true);
        let extension = (EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.bool8".to_owned());
        if name == "b" { field.with_metadata([extension].into()) } else { field }
    };
    let values = || -> ArrayRef { Arc::new(Int8Array::from(vec![Some(0), None, Some(1), Some(-128)])) };
    let schema = Arc::new(Schema::new(vec![field("b"), field("n")]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values(), values()]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    for bytes in [writer.into_inner().unwrap(), written_file(&batch, 8)] {
        let read = read(&[("b", SqlType::Bool), ("n", SqlType::SmallInt)], &bytes, 100).unwrap();
        let truths: Vec<_> = read[0].column(0).as_boolean().iter().collect();
        assert_eq!(truths, [Some(false), None, Some(true), Some(true)]);
        let numbers: Vec<_> = read[0].column(1).as_primitive::<Int16Type>().iter().collect();
        assert_eq!(numbers, [Some(0), None, Some(1), Some(-128)]);
    }
}

#[test]
fn a_file_without_continuation_marks_is_read_and_a_stream_is_named() {
    let batch = batch(5);
    let columns = [("i", SqlType::Int), ("s", SqlType::Text)];
    let options = || IpcWriteOptions::try_new(8, true, MetadataVersion::V4).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
    writer.write(&batch).unwrap();
    assert_eq!(read(&columns, &writer.into_inner().unwrap(), 7).unwrap()[0].columns(), batch.columns());
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
    writer.write(&batch).unwrap();
    let error = read(&columns, &writer.into_inner().unwrap(), 10_000).unwrap_err();
    assert_eq!(error.code(), "BB_INVALID_IPC");
    assert!(error.to_string().contains("from before Arrow 0.15"), "{error}");
}

#[test]
fn a_file_that_has_its_schema_in_the_footer_alone_is_read() {
    // Arrow's JavaScript library writes files so.
    let whole = written_file(&batch(5), 8);
    let length = u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize;
    let bytes = [&whole[..8], &whole[16 + length..]].concat();
    for piece in [1, 10_000] {
        let read = read(&[("i", SqlType::Int), ("s", SqlType::Text)], &bytes, piece).unwrap();
        assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 5);
    }
    let error = read(&[("i", SqlType::Int), ("t", SqlType::Text)], &bytes, 10_000).unwrap_err();
    assert_eq!(error.code(), "BB_SCHEMA_MISMATCH");
}

#[test]
fn a_file_that_does_not_begin_with_a_message_is_read_by_its_footer() {
    // polars writes files so.
    let bytes = fixture("polars.arrow");
    assert_ne!(bytes[8..12], [0xff; 4]);
    let columns = [("i", SqlType::BigInt), ("s", SqlType::Text), ("c", SqlType::Text)];
    let twice = [&bytes[..], &bytes].concat();
    for piece in [1, 13, twice.len()] {
        let batches = read(&columns, &twice, piece).unwrap();
        let texts = batches.iter().flat_map(|batch| batch.column(1).as_string::<i32>().iter());
        let long = Some("a text that is longer than twelve bytes");
        assert_eq!(texts.collect::<Vec<_>>(), [Some("a"), None, long, Some("a"), None, long]);
        let words = batches.iter().flat_map(|batch| batch.column(2).as_string::<i32>().iter().flatten());
        assert_eq!(words.collect::<String>(), "xyxxyx");
    }
    for end in 1..bytes.len() {
        assert_eq!(read(&columns, &bytes[..end], 100_000).unwrap_err().code(), "BB_INVALID_IPC", "{end}");
    }
    // A file is the value of another one.
    let inner =
        RecordBatch::try_from_iter([("b", Arc::new(arrow_array::BinaryArray::from(vec![&bytes[..]])) as ArrayRef)]);
    let whole = written_file(&inner.unwrap(), 8);
    // The schema is not framed, as polars writes it.
    let unframed = [&whole[..8], &[4; 8], &whole[16..]].concat();
    let read = read(&[("b", SqlType::Bytes)], &unframed, 1000).unwrap();
    assert_eq!(read[0].column(0).as_binary::<i32>().value(0), bytes);
}

#[test]
fn files_of_other_formats_are_named() {
    for (bytes, name) in [
        (b"PAR1 and more".as_slice(), "a Parquet file"),
        (b"FEA1 and more", "Feather's version 1"),
        (b"\x1f\x8b\x08\0 and more", "compressed by gzip"),
        (b"id,name\n1,a\n", "bytes that begin no message"),
        (b"ARROW2\0\0", "bytes that begin no message"),
    ] {
        let error = read(&ROWS, bytes, 5).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_IPC");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn columns_that_the_table_lacks_are_named() {
    let error = read(&ROWS[..2], &fixture("lz4.arrows"), 100_000).unwrap_err();
    assert_eq!(error.to_string(), "the table has 2 columns, the stream has 3, among them \"x\", which the table lacks");
}

/// A stream of one batch, compressed.
fn compressed(batch: &RecordBatch, codec: CompressionType) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_compressed_buffer_that_announces_too_much_takes_no_memory() {
    let zeros = RecordBatch::try_from_iter([("i", Arc::new(Int32Array::from(vec![0; 9999])) as ArrayRef)]).unwrap();
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let bytes = compressed(&zeros, codec);
        assert_eq!(read(&[("i", SqlType::Int)], &bytes, 1000).unwrap()[0].num_rows(), 9999);
        let prefix = 39_996_u64.to_le_bytes();
        let at = bytes.windows(8).position(|window| window == prefix).unwrap();
        for announced in [1 << 40, i64::MAX, -2, i64::MIN] {
            let mut hostile = bytes.clone();
            hostile[at..at + 8].copy_from_slice(&announced.to_le_bytes());
            assert_eq!(read(&[("i", SqlType::Int)], &hostile, 100_000).unwrap_err().code(), "BB_INVALID_IPC");
        }
    }
}

#[test]
fn rows_that_take_no_bytes_are_counted() {
    let nulls =
        |rows| RecordBatch::try_from_iter_with_nullable([("i", Arc::new(NullArray::new(rows)) as ArrayRef, true)]);
    let stream = |rows| {
        let batch = nulls(rows).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let column = [("i", SqlType::Int)];
    assert_eq!(read(&column, &stream(3), 1000).unwrap()[0].column(0).null_count(), 3);
    let error = read(&column, &stream(1 << 40), 1000).unwrap_err();
    assert!(error.to_string().contains("1099511627776 rows, which its bytes can't hold"), "{error}");
}
