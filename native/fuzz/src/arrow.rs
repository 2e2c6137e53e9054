//! The carriers of Arrow's columns: IPC, Flight, and the columns and frames that cross to JavaScript.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use boundary_bench_engine::frame;
use boundary_bench_engine::lanes::columns::{ColumnParts, batch_from_columns};
use boundary_bench_engine::lanes::ipc::IpcReader;
use boundary_bench_engine::table::{Column, SqlType, arrow_schema_of};
use boundary_bench_flight::fuzzing::{batches, in_our_types, parameters, stream_of};
use bytes::Bytes;

use crate::input::{Input, cut};
use crate::memory::Bound;

/// Maximum length of a Flight message that is written here and read again, in bytes.
const MOST_MESSAGE: usize = 64 << 20;

/// Maximum length of a Flight message that is read, in bytes: a reader takes as much memory as a message announces, up
/// to 16 MiB.
const MOST_MESSAGE_READ: usize = 64 << 10;

/// The bound of readers of Arrow streams. A schema of many small fields takes the most memory for its bytes. The buffers of any
/// batch may be compressed, and say that they have 256 MiB in total. A million rows of nulls may have no buffers.
pub(crate) const STREAM: Bound = Bound { times: 256, for_any: 1 << 30 };

/// A column of each type that crosses to JavaScript. All but the first are nullable.
static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let types = [
        SqlType::BigInt,
        SqlType::Bool,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::Real,
        SqlType::Double,
        SqlType::Decimal { precision: 5, scale: 2 },
        SqlType::Decimal { precision: 38, scale: 0 },
        SqlType::Text,
        SqlType::Bytes,
        SqlType::Date,
        SqlType::Timestamp,
    ];
    let column = |(index, sql_type)| Column { name: format!("c{index}"), sql_type, nullable: index > 0 };
    types.into_iter().enumerate().map(column).collect()
});

/// Checks that all arrays are valid in Arrow's format: the use of an invalid array reads out of bounds.
pub(crate) fn check_arrays(batch: &RecordBatch) {
    for (array, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
        assert_eq!((array.len(), array.data_type()), (batch.num_rows(), field.data_type()));
        array.to_data().validate_full().unwrap_or_else(|error| panic!("the column {field:?} is broken: {error}"));
    }
}

pub(crate) fn flight(bytes: &[u8]) {
    let frames = |pieces: Vec<&[u8]>| pieces.into_iter().map(Bytes::copy_from_slice).collect();
    let (whole, ended) = STREAM.check(bytes.len(), || batches(frames(vec![bytes]), MOST_MESSAGE_READ));
    let (pieces, in_pieces) = batches(frames(cut(bytes)), MOST_MESSAGE_READ);
    assert_eq!(in_pieces.is_ok(), ended.is_ok(), "{in_pieces:?} {ended:?}");
    assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
    for batch in &whole {
        check_arrays(batch);
        // Columns of no bytes take memory for each row once they are converted, and any batch may have a million rows.
        let held = Bound { for_any: (1 + batch.num_columns()) * (64 << 20), ..STREAM };
        if let Ok(ours) = held.check(bytes.len(), || in_our_types(batch)) {
            check_arrays(&ours);
            check_frame(&ours);
        }
        let _ = held.check(bytes.len(), || parameters(batch));
        let Ok(written) = stream_of(std::slice::from_ref(batch)) else { continue };
        let (again, ended) = batches(vec![written.into()], MOST_MESSAGE);
        ended.expect("a stream that was written");
        let rows: usize = again.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, batch.num_rows());
    }
}

/// The first byte chooses the columns of the table.
pub(crate) fn ipc(bytes: &[u8]) {
    let Some((table, bytes)) = bytes.split_first() else { return };
    let columns: Vec<_> = match table % 4 {
        0 => COLUMNS.clone(),
        1 => COLUMNS[..1].to_vec(),
        2 => COLUMNS[8..10].to_vec(),
        _ => vec![COLUMNS[11].clone()],
    };
    let schema = arrow_schema_of(&columns);
    let read = |pieces: Vec<&[u8]>| {
        let mut reader = IpcReader::new(Arc::clone(&schema));
        let mut batches = Vec::new();
        for piece in pieces {
            batches.extend(reader.push(piece)?);
        }
        reader.finish().map(|()| batches)
    };
    let whole = STREAM.check(bytes.len(), || read(vec![bytes]));
    let Ok(whole) = whole else { return };
    let pieces = read(cut(bytes)).expect("a stream is one however it is cut");
    assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
    for batch in &whole {
        check_arrays(batch);
        check_frame(batch);
    }
}

/// The input: the number of rows, then for each column a byte that tells its parts, and the parts. A part follows its length, if the
/// number of rows does not determine the length.
pub(crate) fn columns(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (rows, count) = (usize::from(input.byte()), usize::from(input.byte()));
    let columns: Vec<_> = COLUMNS.iter().skip(count / 16 % 12).take(1 + count % 16).cloned().collect();
    let parts: Vec<_> = columns
        .iter()
        .map(|column| {
            let kind = input.byte();
            let validity = (kind & 1 == 1).then(|| input.take(rows.div_ceil(8)));
            let has_offsets = column.sql_type.fixed_width().is_none() != (kind & 2 == 2);
            let offsets = has_offsets.then(|| input.take((rows + 1) * 4));
            let values = match column.sql_type.fixed_width() {
                Some(width) if kind & 4 == 0 => input.take(rows * width),
                _ => input.sized(),
            };
            ColumnParts { validity, offsets, values }
        })
        .collect();
    let schema = arrow_schema_of(&columns);
    if let Ok(batch) = batch_from_columns(&schema, &columns, rows, &parts, 7) {
        check_arrays(&batch);
        check_frame(&batch);
    }
}

/// Checks that a frame of a batch holds the batch's values at the offsets in the frame's header.
fn check_frame(batch: &RecordBatch) {
    let Ok(mut slab) = frame::encode(batch) else { return };
    check_words(slab.as_mut_slice(), batch, 64);
    let mut behind = vec![1, 2, 3];
    let start = frame::encode_into(batch, &mut behind).expect("a smaller frame");
    check_words(&behind[start..], batch, 8);
}

fn check_words(frame: &[u8], batch: &RecordBatch, alignment: usize) {
    let word = |index: usize| {
        let bytes = frame.as_chunks::<4>().0[index];
        usize::try_from(u32::from_le_bytes(bytes)).expect("an offset")
    };
    assert_eq!((word(0), word(1)), (batch.num_rows(), batch.num_columns()));
    for (index, array) in batch.columns().iter().enumerate() {
        let [nulls, validity, offsets, values, length] = [2, 3, 4, 5, 6].map(|of| word(of + 5 * index));
        assert_eq!(nulls, array.null_count());
        assert!([validity, offsets, values].iter().all(|offset| offset.is_multiple_of(alignment)));
        for row in 0..batch.num_rows() {
            let is_null = nulls > 0 && frame[validity + row / 8] >> (row % 8) & 1 == 0;
            assert_eq!(is_null, array.is_null(row));
            if is_null {
                continue;
            }
            let value = if offsets > 0 {
                let at = |row: usize| word(offsets / 4 + row);
                &frame[values..values + length][at(row)..at(row + 1)]
            } else {
                let width = length / batch.num_rows();
                &frame[values + row * width..][..width]
            };
            assert_eq!(value, bytes_of(array.as_ref(), row), "column {index}, row {row}");
        }
    }
}

/// The bytes of a value as a frame holds it.
fn bytes_of(array: &dyn Array, row: usize) -> Vec<u8> {
    match array.data_type() {
        DataType::Boolean => vec![array.as_boolean().value(row).into()],
        DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes().to_vec(),
        DataType::Binary => array.as_binary::<i32>().value(row).to_vec(),
        _ => {
            let data = array.slice(row, 1).to_data();
            let width = data.data_type().primitive_width().expect("a type of one width");
            data.buffers()[0].as_slice()[data.offset() * width..][..width].to_vec()
        }
    }
}
