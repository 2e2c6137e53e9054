//! The formats of time-series ingest.

use boundary_bench_codecs::line::{parse_lines, push_point};
use boundary_bench_codecs::msgpack::{
    ColumnBuffers, ColumnsWriter, columns_to_points, decode_columns, decode_rows, encode_rows,
};
use boundary_bench_codecs::{Error, Points, Precision, ReadOptions, Result, arrow};

use crate::arrow::check_arrays;
use crate::memory::Bound;

const MOST_POINTS: usize = 100;

/// The options of the readers of lines and of rows.
pub const READ: ReadOptions = ReadOptions { precision: Precision::Milliseconds, now: 77, most_points: MOST_POINTS };

/// The options of a reader of what was written here, with times in nanoseconds.
const READ_AGAIN: ReadOptions = ReadOptions { precision: Precision::Nanoseconds, ..READ };

const READER: Bound = Bound { times: 64, for_any: 64 << 10 };

/// Each point as text, with all its names.
fn shown(points: &Points<'_>) -> Vec<String> {
    let show = |point: boundary_bench_codecs::points::Point<'_, '_>| {
        let fields: Vec<_> = point.fields().map(|(name, value)| format!("{name}={value:?}")).collect();
        format!("{:?} {} {}", point.series().text, fields.join(","), point.time())
    };
    points.iter().map(show).collect()
}

/// Checks the properties of all points, or of the error for refused bytes.
fn checked<'a>(format: &str, bytes: &[u8], outcome: Result<Points<'a>>) -> Option<Points<'a>> {
    let points = match outcome {
        Ok(points) => points,
        Err(error) => {
            check_place(format, bytes, &error);
            return None;
        }
    };
    let values: usize = points.iter().map(|point| point.fields().count()).sum();
    assert_eq!(values, points.values.len());
    assert!(points.len() <= MOST_POINTS);
    // Rows of MessagePack can hold the points of any format.
    let rows = encode_rows(&points);
    let again = decode_rows(&rows, &READ_AGAIN, Points::default()).expect("rows that were written");
    assert_eq!(shown(&again), shown(&points));
    Some(points)
}

/// Checks that the place in an error exists in the bytes.
fn check_place(format: &str, bytes: &[u8], error: &Error) {
    let Error::Parse { place, .. } = error else {
        let is_known = matches!(error, Error::TooManyPoints { .. } | Error::InvalidArgument(_));
        assert!(is_known, "{error}: {}", bytes.escape_ascii());
        return;
    };
    let numbers: Vec<usize> = place.split(|character: char| !character.is_ascii_digit()).flat_map(str::parse).collect();
    let is_there = match numbers[..] {
        [line, column] if format == "lines" => {
            let found = bytes.split(|byte| *byte == b'\n').nth(line - 1);
            found.is_some_and(|found| (1..=found.len() + 1).contains(&column))
        }
        [byte] if format != "lines" => byte <= bytes.len(),
        _ => false,
    };
    assert!(is_there, "{error}: {}", bytes.escape_ascii());
}

pub(crate) fn lines(bytes: &[u8]) {
    let outcome = READER.check(bytes.len(), || parse_lines(bytes, &READ));
    let Some(points) = checked("lines", bytes, outcome) else { return };
    // Lines of the same shape as the line before them take another path of the parser than first lines do.
    let middle = memchr(bytes, bytes.len() / 2);
    let (first, second) = bytes.split_at(middle);
    if let (Ok(first), Ok(second)) = (parse_lines(first, &READ), parse_lines(second, &READ)) {
        assert_eq!([shown(&first), shown(&second)].concat(), shown(&points));
    }
    let mut written = Vec::new();
    // Some points that are read from line protocol can't be written in it.
    if points.iter().all(|point| push_point(&mut written, &point).is_ok()) {
        let again = parse_lines(&written, &READ_AGAIN).expect("lines that were written");
        // Line protocol writes zero without a sign.
        let signed = shown(&points).join("\n").replace("Float(-0.0)", "Float(0.0)");
        assert_eq!(shown(&again).join("\n"), signed);
    }
}

/// The position after the first line break at or after `from`, else the end.
fn memchr(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| from + at + 1)
}

pub(crate) fn rows(bytes: &[u8]) {
    let outcome = READER.check(bytes.len(), || decode_rows(bytes, &READ, Points::default()));
    checked("rows", bytes, outcome);
}

pub(crate) fn columns(bytes: &[u8]) {
    let decoded = READER.check(bytes.len(), || decode_columns(bytes, ColumnBuffers::default(), MOST_POINTS));
    let batch = match decoded {
        Ok(batch) => batch,
        Err(error) => return check_place("columns", bytes, &error),
    };
    let writer = ColumnsWriter::new(batch.head.measurement, &batch.head.tags, batch.head.field).expect("names");
    let mut written = Vec::new();
    let times = batch.head.has_timestamps.then_some(batch.timestamps.as_slice());
    writer.encode_vec(&batch.values, times, &mut written).expect("as many of both");
    let again = decode_columns(&written, ColumnBuffers::default(), MOST_POINTS).expect("columns that were written");
    // The bits of NaNs are kept.
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(
        (&again.head, bits(&again.values), &again.timestamps),
        (&batch.head, bits(&batch.values), &batch.timestamps)
    );
    let points = columns_to_points(&batch, Precision::Milliseconds, 77, Points::default());
    let arrow = arrow::columns_to_arrow(batch, Precision::Milliseconds, 77);
    assert_eq!(points.is_ok(), arrow.is_ok(), "{points:?} {arrow:?}");
    let rows = checked("columns", bytes, points).map(|points| points.len());
    if let Ok(batch) = arrow {
        assert_eq!(Some(batch.num_rows()), rows);
        check_arrays(&batch);
    }
}
