//! Kept inputs of every format, valid and refused, through every reader: the files of `tests/corpus`, what is close to them,
//! and what they become in the other formats. None makes a reader panic or take memory out of proportion, and what is refused
//! is refused with its place.
//!
//! `corpus/expected.txt` says what becomes of each file; with `UPDATE_CORPUS=1` the test writes it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use boundary_bench_ingest::line::{LineOptions, parse_lines, push_point};
use boundary_bench_ingest::msgpack::{
    ColumnBuffers, RowOptions, columns_to_points, decode_columns, decode_rows, encode_rows,
};
use boundary_bench_ingest::{Error, Points, Precision, arrow};

const MOST_POINTS: usize = 100;
const LINES: LineOptions = LineOptions { precision: Precision::Milliseconds, now: 77, most_points: MOST_POINTS };
const ROWS: RowOptions = RowOptions { precision: Precision::Milliseconds, now: 77, most_points: MOST_POINTS };

/// The most memory that a reader may take: so many times the bytes it reads, and so much for any.
const MOST_TIMES: usize = 64;
const MOST_FOR_ANY: usize = 64 << 10;

/// So many of a file's first bytes are changed, one after another.
const CHANGED: usize = 500;

/// Counts the memory of each thread.
struct Counting;

thread_local! {
    static IN_USE: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn count(taken: usize, given_back: usize) {
    let in_use = IN_USE.get().wrapping_add(taken).wrapping_sub(given_back);
    IN_USE.set(in_use);
    // What came from another thread makes this wrap.
    if in_use.cast_signed() > MOST.get().cast_signed() {
        MOST.set(in_use);
    }
}

// SAFETY: all is the system's; the counters are of the thread, have no destructor and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines,
    Columns,
    Rows,
}

const FORMATS: [(Format, &str); 3] = [(Format::Lines, "lines"), (Format::Columns, "columns"), (Format::Rows, "rows")];

/// Reads bytes, and all that was read.
fn read(format: Format, bytes: &[u8]) -> Result<usize, Error> {
    let points = match format {
        Format::Lines => parse_lines(bytes, &LINES)?,
        Format::Rows => decode_rows(bytes, &ROWS, Points::default())?,
        Format::Columns => {
            let batch = decode_columns(bytes, ColumnBuffers::default(), MOST_POINTS)?;
            let points = columns_to_points(&batch, Precision::Milliseconds, 77, Points::default())?;
            let rows = arrow::columns_to_arrow(batch, Precision::Milliseconds, 77)?.num_rows();
            assert_eq!(rows, points.len());
            points
        }
    };
    let values: usize = points.iter().map(|point| point.fields().count()).sum();
    assert_eq!(values, points.values().len());
    assert!(points.len() <= MOST_POINTS);
    Ok(points.len())
}

/// Reads bytes and checks what must hold of any.
fn checked(format: Format, bytes: &[u8]) -> Result<usize, String> {
    MOST.set(IN_USE.get());
    let before = IN_USE.get();
    let outcome = read(format, bytes);
    let taken = MOST.get().wrapping_sub(before);
    let most = MOST_TIMES * bytes.len() + MOST_FOR_ANY;
    assert!(taken <= most, "{format:?} of {} bytes took {taken} of memory: {}", bytes.len(), bytes.escape_ascii());
    outcome.map_err(|error| {
        check_place(format, bytes, &error);
        error.to_string()
    })
}

/// What is wrong with bytes is said with a place that they have.
fn check_place(format: Format, bytes: &[u8], error: &Error) {
    let Error::Parse { place, .. } = error else {
        let is_known = matches!(error, Error::TooManyPoints { .. } | Error::InvalidArgument(_));
        assert!(is_known, "{error}: {}", bytes.escape_ascii());
        return;
    };
    let numbers: Vec<usize> = place.split(|character: char| !character.is_ascii_digit()).flat_map(str::parse).collect();
    let is_there = match (format, &numbers[..]) {
        (Format::Lines, [line, column]) => {
            let found = bytes.split(|byte| *byte == b'\n').nth(line - 1);
            found.is_some_and(|found| (1..=found.len() + 1).contains(column))
        }
        (Format::Columns | Format::Rows, [byte]) => *byte <= bytes.len(),
        _ => false,
    };
    assert!(is_there, "{error}: {}", bytes.escape_ascii());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The files of a format, with their names in the corpus.
fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for kind in ["valid", "refused"] {
        for entry in std::fs::read_dir(folder().join(name).join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((format!("{name}/{kind}/{file}"), std::fs::read(path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn every_file_becomes_what_is_expected() {
    let mut found = String::new();
    for (format, name) in FORMATS {
        for (file, bytes) in files(name) {
            let outcome = checked(format, &bytes);
            assert_eq!(outcome.is_ok(), file.contains("/valid/"), "{file}: {outcome:?}");
            let said = outcome.map_or_else(|error| error, |points| format!("{points} points"));
            writeln!(found, "{file}: {}", said.escape_debug()).unwrap();
        }
    }
    let path = folder().join("expected.txt");
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found, expected, "corpus/expected.txt has another number of lines");
}

#[test]
fn every_reader_takes_or_refuses_every_file() {
    for (_, name) in FORMATS {
        for (_, bytes) in files(name) {
            for (format, _) in FORMATS {
                let _ = checked(format, &bytes);
            }
        }
    }
}

#[test]
fn what_is_close_to_a_file_is_taken_or_refused() {
    let others = *b"\0\n ,=\\\"#i-9e\x80\x91\xa1\xcb\xd3\xdd\xdf\xff";
    for (format, name) in FORMATS {
        for (_, bytes) in files(name) {
            for place in 0..bytes.len().min(CHANGED) {
                let _ = checked(format, &bytes[..place]);
                let mut changed = bytes.clone();
                changed.remove(place);
                let _ = checked(format, &changed);
                changed.insert(place, 0);
                for other in others {
                    changed[place] = other;
                    let _ = checked(format, &changed);
                }
            }
        }
    }
}

#[test]
fn valid_files_say_the_same_in_other_formats() {
    let shown = |points: &Points<'_>| {
        let show = |point: boundary_bench_ingest::points::Point<'_, '_>| {
            let fields: Vec<_> = point.fields().map(|(name, value)| format!("{name}={value:?}")).collect();
            format!("{} {} {}", point.series().text, fields.join(","), point.time())
        };
        points.iter().map(show).collect::<Vec<_>>()
    };
    let mut compared = 0;
    for (_, bytes) in files("lines") {
        let Ok(points) = parse_lines(&bytes, &LINES) else { continue };
        let rows = encode_rows(&points);
        let nanoseconds = RowOptions { precision: Precision::Nanoseconds, ..ROWS };
        assert_eq!(shown(&decode_rows(&rows, &nanoseconds, Points::default()).unwrap()), shown(&points));
        let mut lines = Vec::new();
        // Line protocol can't say all that it can be read as.
        if points.iter().all(|point| push_point(&mut lines, &point).is_ok()) {
            let nanoseconds = LineOptions { precision: Precision::Nanoseconds, ..LINES };
            // Zero has no sign in them.
            let signed = shown(&points).join("\n").replace("Float(-0.0)", "Float(0.0)");
            assert_eq!(shown(&parse_lines(&lines, &nanoseconds).unwrap()).join("\n"), signed);
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared}");
}

/// What takes a reader quadratic time would take it hours here.
#[test]
fn many_different_names_are_read_in_time() {
    let names = |separator: &str| (0..100_000).map(|name| format!("f{name}=1")).collect::<Vec<_>>().join(separator);
    let options = LineOptions { most_points: usize::MAX, ..LINES };
    let one_line = format!("m {}\n", names(","));
    assert_eq!(parse_lines(one_line.as_bytes(), &options).unwrap().values().len(), 100_000);
    let many_shapes = format!("m {}\n", names("\nm "));
    let points = parse_lines(many_shapes.as_bytes(), &options).unwrap();
    assert_eq!((points.len(), points.shapes().len()), (100_000, 100_000));
    let many_tags = format!("m,{} v=1\n", names(","));
    assert_eq!(parse_lines(many_tags.as_bytes(), &options).unwrap().series()[0].tags().len(), 100_000);
    let many_series = format!("m,{} v=1\n", names(" v=1\nm,"));
    assert_eq!(parse_lines(many_series.as_bytes(), &options).unwrap().series().len(), 100_000);
    let rows = encode_rows(&parse_lines(one_line.as_bytes(), &options).unwrap());
    assert_eq!(decode_rows(&rows, &ROWS, Points::default()).unwrap().values().len(), 100_000);
}
