//! The outcome of every kept input of the ingest formats: the number of points, or the error.
//!
//! `expected.txt` holds the expected outcomes. With `UPDATE_CORPUS=1` the test writes it.

use std::fmt::Write as _;
use std::path::Path;

use boundary_bench_codecs::line::parse_lines;
use boundary_bench_codecs::msgpack::{ColumnBuffers, decode_columns, decode_rows};
use boundary_bench_codecs::{Points, Result};
use boundary_bench_fuzz::ingest::READ;
use boundary_bench_fuzz::{find, kept};

/// The number of points that bytes of a format hold.
fn read(format: &str, bytes: &[u8]) -> Result<usize> {
    Ok(match format {
        "lines" => parse_lines(bytes, &READ)?.len(),
        "msgpack-rows" => decode_rows(bytes, &READ, Points::default())?.len(),
        _ => decode_columns(bytes, ColumnBuffers::default(), READ.most_points)?.head.len,
    })
}

#[test]
fn every_kept_input_becomes_what_is_expected() {
    let mut found = String::new();
    for format in ["lines", "msgpack-columns", "msgpack-rows"] {
        for (path, bytes) in kept(&find(format).unwrap()).unwrap() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let said = read(format, &bytes).map_or_else(|error| error.to_string(), |points| format!("{points} points"));
            writeln!(found, "{format}/{name}: {}", said.escape_debug()).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected.txt");
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found, expected, "expected.txt has another number of lines");
}
