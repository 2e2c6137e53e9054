//! The codecs of time-series ingest, exported to JavaScript.
//!
//! A codec takes little more time for a batch than a few crossings, so each batch is one call that works in the caller's memory.
//! The names are the same for all batches, so they cross once.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use boundary_bench_codecs::line::{LineHead as WrittenHead, parse_lines_into, put_columns, write_columns};
use boundary_bench_codecs::msgpack::{ColumnSink, ColumnsHead, ColumnsWriter, RowsWriter, decode_columns_into};
use boundary_bench_codecs::points::{SeriesKey, Shape};
use boundary_bench_codecs::{MOST_POINTS, Points, Precision, ReadOptions};
use boundary_bench_kernel::lock;
use boundary_bench_node::host::errors::js;
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::typed_memory::{
    BYTES, Decoding, Encoding, TIMES, VALUES, copy_to, memory_of, slice_of,
};
use boundary_bench_node::values::json::to_json;
use napi::bindgen_prelude::Unknown;
use napi::{Env, JsValue, sys};
use napi_derive::napi;
use serde::Serialize;

/// Pairs up the tags of an array that holds names and values alternately.
fn tags_of(tags: &[String]) -> Vec<(&str, &str)> {
    tags.as_chunks::<2>().0.iter().map(|[name, value]| (name.as_str(), value.as_str())).collect()
}

/// Encodes columns of one series and field as `MessagePack`.
struct ColumnsEncode(ColumnsWriter);

impl FastCall<3> for ColumnsEncode {
    fn call(&self, env: Env, [values, times, out]: [sys::napi_value; 3]) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Encoding { values, times, out } = unsafe { Encoding::of(env, values, times, out) }?;
        self.0.encode(values, times, out).map(|length| length as f64).map_err(js)
    }
}

/// Returns a function that encodes columns of one series and field as `MessagePack`. `tags` holds names and values alternately.
/// The function encodes into `out`, and returns the number of bytes written. `out` must have room for `columnsMostBytes`.
#[napi(
    catch_unwind,
    ts_return_type = "(values: Float64Array, timestamps: BigInt64Array | undefined, out: Uint8Array) => number"
)]
pub fn columns_encoder(env: &Env, measurement: String, tags: Vec<String>, field: String) -> napi::Result<Unknown<'_>> {
    let writer = ColumnsWriter::new(&measurement, &tags_of(&tags), &field).map_err(js)?;
    function(env, "encode", ColumnsEncode(writer))
}

/// The most bytes that a batch of zero points with these names takes. Each point takes 18 more.
#[napi(catch_unwind)]
pub fn columns_most_bytes(measurement: String, tags: Vec<String>, field: String) -> napi::Result<f64> {
    let writer = ColumnsWriter::new(&measurement, &tags_of(&tags), &field).map_err(js)?;
    Ok(writer.most_bytes(0, true) as f64)
}

/// Encodes columns of one series and field as rows of `MessagePack`.
struct RowsEncode(RowsWriter);

impl FastCall<3> for RowsEncode {
    fn call(&self, env: Env, [values, times, out]: [sys::napi_value; 3]) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Encoding { values, times, out } = unsafe { Encoding::of(env, values, times, out) }?;
        let needed = self.0.most_bytes(values.len(), times.is_some());
        if out.len() < needed {
            return Ok(-(needed as f64));
        }
        self.0.encode(values, times, out).map(|length| length as f64).map_err(js)
    }
}

/// Returns a function that encodes columns of one series and field as rows of `MessagePack`. `tags` holds names and values
/// alternately. The function encodes into `out` and returns the number of bytes written. If `out` is too short, it returns minus
/// the number of bytes needed.
#[napi(
    catch_unwind,
    ts_return_type = "(values: Float64Array, timestamps: BigInt64Array | undefined, out: Uint8Array) => number"
)]
pub fn rows_encoder(env: &Env, measurement: String, tags: Vec<String>, field: String) -> napi::Result<Unknown<'_>> {
    let writer = RowsWriter::new(&measurement, &tags_of(&tags), &field).map_err(js)?;
    function(env, "encode", RowsEncode(writer))
}

/// The names of the last batch.
#[derive(Default, Serialize)]
struct Head {
    measurement: String,
    tags: Vec<(String, String)>,
    field: String,
}

impl Head {
    /// Stores the names of a batch, and returns whether they differ from the last batch's.
    fn keep(&mut self, head: &ColumnsHead<'_>) -> bool {
        let tags = self.tags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let known = self.measurement == head.measurement && self.field == head.field;
        if known && tags.eq(head.tags.iter().copied()) {
            return false;
        }
        *self = Self {
            measurement: head.measurement.to_owned(),
            tags: head.tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            field: head.field.to_owned(),
        };
        true
    }
}

/// The caller's memory that columns are decoded into.
struct Columns<'a> {
    values: &'a mut [f64],
    times: &'a mut [i64],
    /// The number of points of the batch. They may be more than the memory has room for.
    needed: usize,
}

impl ColumnSink for Columns<'_> {
    fn values(&mut self, count: usize) -> boundary_bench_codecs::Result<&mut [f64]> {
        self.needed = self.needed.max(count);
        self.values.get_mut(..count).ok_or_else(no_room)
    }

    fn timestamps(&mut self, count: usize) -> boundary_bench_codecs::Result<&mut [i64]> {
        self.needed = self.needed.max(count);
        self.times.get_mut(..count).ok_or_else(no_room)
    }
}

fn no_room() -> boundary_bench_codecs::Error {
    boundary_bench_codecs::Error::InvalidArgument("the arrays are too short".to_owned())
}

/// The flag in the result of `decode` for points with timestamps.
const HAS_TIMES: usize = 1;
/// The flag in the results of `decode` and `parse` for names that differ from the last batch's or body's.
const NEW_NAMES: usize = 2;

/// Decodes columns of `MessagePack`, and keeps the names of the last batch.
#[derive(Default)]
struct ColumnsDecode(Arc<Mutex<Head>>);

impl FastCall<3> for ColumnsDecode {
    fn call(&self, env: Env, [bytes, values, times]: [sys::napi_value; 3]) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Decoding { bytes, values, times } = unsafe { Decoding::of(env, bytes, values, times) }?;
        let mut columns = Columns { values, times, needed: 0 };
        let room = columns.values.len().min(columns.times.len());
        match decode_columns_into(bytes, &mut columns, MOST_POINTS) {
            Ok(head) => {
                let flags = if head.has_timestamps { HAS_TIMES } else { 0 };
                let names = if lock(&self.0).keep(&head) { NEW_NAMES } else { 0 };
                Ok((head.len * 4 + flags + names) as f64)
            }
            Err(_) if columns.needed > room => Ok(-(columns.needed as f64)),
            Err(error) => Err(js(error)),
        }
    }
}

/// A decoder of columns of `MessagePack`.
#[napi]
#[derive(Default)]
pub struct RawColumnsReader {
    head: Arc<Mutex<Head>>,
}

#[napi]
impl RawColumnsReader {
    /// Makes a reader that has decoded no batch yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the function that decodes a batch into the arrays. It returns four times the number of points, plus 1 if the
    /// batch has timestamps, plus 2 if its names differ from the last batch's. If the arrays are too short, it returns minus the
    /// number of points.
    #[napi(
        catch_unwind,
        ts_return_type = "(bytes: Uint8Array, values: Float64Array, timestamps: BigInt64Array) => number"
    )]
    pub fn decoder<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "decode", ColumnsDecode(Arc::clone(&self.head)))
    }

    /// The names of the last batch, as JSON.
    #[napi(getter)]
    pub fn head(&self) -> napi::Result<String> {
        to_json(&*lock(&self.head)).map_err(js)
    }
}

/// Encodes columns of one series and field as line protocol.
struct LinesEncode {
    head: WrittenHead,
    lines: Mutex<Vec<u8>>,
}

impl FastCall<3> for LinesEncode {
    fn call(&self, env: Env, [values, times, out]: [sys::napi_value; 3]) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Encoding { values, times, out } = unsafe { Encoding::of(env, values, times, out) }?;
        if out.len() >= self.head.most_bytes(values.len()) {
            return put_columns(out, &self.head, values, times).map(|length| length as f64).map_err(js);
        }
        // The bound is above the real size, so the lines may fit all the same.
        let mut lines = lock(&self.lines);
        lines.clear();
        write_columns(&mut lines, &self.head, values, times).map_err(js)?;
        let length = lines.len() as f64;
        match out.get_mut(..lines.len()) {
            Some(place) => {
                place.copy_from_slice(&lines);
                Ok(length)
            }
            None => Ok(-length),
        }
    }
}

/// Returns a function that encodes columns of one series and field as line protocol. `tags` holds names and values alternately.
/// The function encodes into `out` and returns the number of bytes written. If `out` is too short, it returns minus the number of
/// bytes needed.
#[napi(
    catch_unwind,
    ts_return_type = "(values: Float64Array, timestamps: BigInt64Array | undefined, out: Uint8Array) => number"
)]
pub fn lines_encoder(env: &Env, measurement: String, tags: Vec<String>, field: String) -> napi::Result<Unknown<'_>> {
    let head = WrittenHead::new(&measurement, &tags_of(&tags), &field).map_err(js)?;
    function(env, "encode", LinesEncode { head, lines: Mutex::default() })
}

/// A parser of line protocol. For each point it gives the timestamp, the index of its series and of its table, and the values.
#[napi]
#[derive(Default)]
pub struct RawLineParser {
    names: Mutex<LineNames>,
    points: Mutex<Points<'static>>,
}

/// The series and tables of the last body.
#[derive(Default)]
struct LineNames {
    series: Vec<SeriesKey<'static>>,
    shapes: Vec<Shape<'static>>,
}

/// The series and tables of the last body, in the shape of their JSON.
#[derive(Serialize)]
struct LineHead<'a> {
    series: Vec<SeriesHead<'a>>,
    tables: Vec<TableHead<'a>>,
}

#[derive(Serialize)]
struct SeriesHead<'a> {
    measurement: Cow<'a, str>,
    tags: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

#[derive(Serialize)]
struct TableHead<'a> {
    measurement: &'a str,
    fields: Vec<(&'a str, &'static str)>,
}

impl LineNames {
    /// Stores the names of points, and returns whether they differ from the last body's.
    fn keep(&mut self, points: &Points<'_>) -> bool {
        if self.series == points.series && self.shapes == points.shapes {
            return false;
        }
        let owned = |text: &str| Cow::Owned(text.to_owned());
        let series =
            |series: &SeriesKey<'_>| SeriesKey { text: owned(&series.text), measurement_end: series.measurement_end };
        let shape = |shape: &Shape<'_>| Shape {
            measurement: owned(&shape.measurement),
            fields: shape.fields.iter().map(|(name, kind)| (owned(name), *kind)).collect(),
        };
        self.series = points.series.iter().map(series).collect();
        self.shapes = points.shapes.iter().map(shape).collect();
        true
    }

    fn head(&self) -> LineHead<'_> {
        let series = self.series.iter().map(|key| SeriesHead { measurement: key.measurement(), tags: key.tags() });
        let tables = self.shapes.iter().map(|shape| TableHead {
            measurement: &shape.measurement,
            fields: shape.fields.iter().map(|(name, kind)| (name.as_ref(), kind.name())).collect(),
        });
        LineHead { series: series.collect(), tables: tables.collect() }
    }
}

#[napi]
impl RawLineParser {
    /// Makes a parser that has read no body yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses a body and keeps its points for `take`. A line without a timestamp gets `nowMs`, in milliseconds. Returns four
    /// times the number of points, plus 2 if the names differ from the last body's.
    #[napi(catch_unwind, ts_args_type = "bytes: Uint8Array, precision: string, nowMs: number")]
    pub fn parse(&self, env: Env, bytes: Unknown<'_>, precision: String, now_ms: f64) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let bytes = unsafe { slice_of(env, bytes.raw(), BYTES) }?;
        let (precision, now) = (Precision::of(&precision).map_err(js)?, ReadOptions::now_of(now_ms).map_err(js)?);
        let options = ReadOptions { precision, now, most_points: MOST_POINTS };
        let mut kept = lock(&self.points);
        let points = parse_lines_into(bytes, &options, std::mem::take(&mut *kept)).map_err(js)?;
        let names = if lock(&self.names).keep(&points) { NEW_NAMES } else { 0 };
        let length = points.len() * 4 + names;
        *kept = points.without_names();
        Ok(length as f64)
    }

    /// The series and tables of the last body, as JSON.
    #[napi(getter)]
    pub fn head(&self) -> napi::Result<String> {
        to_json(&lock(&self.names).head()).map_err(js)
    }

    /// Copies the points of the last body into the arrays: their timestamps, the bits of their values one point after another,
    /// and the indexes of their series and tables. Returns the number of values, or, if `values` is too short, minus that
    /// number.
    #[napi(
        catch_unwind,
        ts_args_type = "times: BigInt64Array, values: Float64Array, series: Uint32Array, tables: Uint32Array"
    )]
    pub fn take(
        &self,
        env: Env,
        times: Unknown<'_>,
        values: Unknown<'_>,
        series: Unknown<'_>,
        tables: Unknown<'_>,
    ) -> napi::Result<f64> {
        const PLACES: &str = "a Uint32Array of places";
        let points = lock(&self.points);
        let count = points.values.len();
        copy_to(env, times.raw(), TIMES, &points.times)?;
        copy_to(env, series.raw(), PLACES, &points.series_of)?;
        copy_to(env, tables.raw(), PLACES, &points.shape_of)?;
        let (data, length) = memory_of::<f64>(env, values.raw(), VALUES)?;
        if length < count {
            return Ok(-(count as f64));
        }
        // SAFETY: the array has `count` elements of 64 bits, and the source is the parser's own memory.
        unsafe { std::ptr::copy_nonoverlapping(points.values.as_ptr(), data.cast(), count) };
        Ok(count as f64)
    }

    /// The text of all values that are text, in one string. The bits of such a value give its place in the string: its start in
    /// the upper half and its length in the lower half, both in bytes.
    #[napi(catch_unwind)]
    pub fn text(&self) -> String {
        lock(&self.points).text.clone()
    }
}
