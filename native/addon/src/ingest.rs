//! The codecs of time-series ingest, and its stages, as JavaScript sees them.
//!
//! The codecs take a microsecond or two for a thousand points, so each is one call with the memory of the caller: what is
//! the same for all batches, the names, crosses once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boundary_bench_core::Error;
use boundary_bench_ingest::line::{LineHead, LineOptions, parse_lines_into, write_columns};
use boundary_bench_ingest::msgpack::{ColumnSink, ColumnsHead, ColumnsWriter, decode_columns_into};
use boundary_bench_ingest::{MOST_POINTS, Points, Precision};
use boundary_bench_suite::ingest::{NativeStage, StageCell, StageSpec};
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::{Env, JsValue, sys};
use napi_derive::napi;
use serde::Serialize;

use crate::errors::{blocking, invalid, js, promise};
use crate::reader::Cancel;
use crate::suite::{on_own_thread, parse};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: boundary_bench_ingest::Error) -> napi::Error {
    js(error.into())
}

/// The memory of a typed array of this kind: where its elements start, and how many there are.
fn memory_of<T>(env: Env, value: &Unknown<'_>, wanted: i32, name: &str) -> napi::Result<(*mut T, usize)> {
    let mut kind = 0;
    let mut length = 0;
    let mut data = std::ptr::null_mut();
    let mut buffer = std::ptr::null_mut();
    let mut is_unshared = false;
    // SAFETY: the handles are those of the call under way, and the out-pointers are valid for writing or not asked for.
    // A value that is no typed array is refused by the status.
    let status = unsafe {
        let status = sys::napi_get_typedarray_info(
            env.raw(),
            value.raw(),
            &raw mut kind,
            &raw mut length,
            &raw mut data,
            &raw mut buffer,
            std::ptr::null_mut(),
        );
        if status == sys::Status::napi_ok {
            sys::napi_is_arraybuffer(env.raw(), buffer, &raw mut is_unshared)
        } else {
            status
        }
    };
    if status != sys::Status::napi_ok || kind != wanted {
        return Err(invalid(format!("expected {name}")));
    }
    if !is_unshared {
        return Err(invalid("memory shared between threads can't be used safely; give a copy of it"));
    }
    Ok((data.cast(), if data.is_null() { 0 } else { length }))
}

/// The elements of a typed array.
///
/// # Safety
/// The slice is valid until JavaScript runs again, and while nothing writes to the same memory.
unsafe fn slice_of<'a, T>(env: Env, value: &Unknown<'_>, wanted: i32, name: &str) -> napi::Result<&'a [T]> {
    let (data, length) = memory_of::<T>(env, value, wanted, name)?;
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: Node-API says that so many elements are there, aligned as JavaScript aligns typed arrays; the rest is the
    // caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// The elements of a typed array, to be written.
///
/// # Safety
/// As [`slice_of`], and nothing else reads the memory meanwhile.
unsafe fn slice_of_mut<'a, T>(env: Env, value: &Unknown<'_>, wanted: i32, name: &str) -> napi::Result<&'a mut [T]> {
    let (data, length) = memory_of::<T>(env, value, wanted, name)?;
    if length == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `slice_of`.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, length) })
}

const BYTES: (i32, &str) = (sys::TypedarrayType::uint8_array, "a Uint8Array");
const VALUES: (i32, &str) = (sys::TypedarrayType::float64_array, "a Float64Array of values");
const TIMES: (i32, &str) = (sys::TypedarrayType::bigint64_array, "a BigInt64Array of timestamps, or undefined");

fn is_absent(value: &Unknown<'_>) -> napi::Result<bool> {
    Ok(matches!(value.get_type()?, napi::ValueType::Null | napi::ValueType::Undefined))
}

/// Whether two pieces of memory share a byte: then one must not be written while the other is read.
fn overlap<A, B>(read: &[A], written: &[B]) -> bool {
    let (read, written) = (read.as_ptr_range(), written.as_ptr_range());
    read.start.cast::<u8>() < written.end.cast() && written.start.cast::<u8>() < read.end.cast()
}

/// The columns that a call encodes and the memory that it encodes into.
struct Encoding<'a> {
    values: &'a [f64],
    times: Option<&'a [i64]>,
    out: &'a mut [u8],
}

impl Encoding<'_> {
    /// # Safety
    /// No JavaScript runs before the last use.
    unsafe fn of(env: Env, values: &Unknown<'_>, times: &Unknown<'_>, out: &Unknown<'_>) -> napi::Result<Self> {
        let (pointer, length) = memory_of::<u8>(env, out, BYTES.0, BYTES.1)?;
        // SAFETY: only its place is looked at, before anything refers to its bytes.
        let range = pointer.cast_const()..pointer.wrapping_add(length).cast_const();
        let is_apart = |start: *const u8, bytes: usize| start.wrapping_add(bytes) <= range.start || start >= range.end;
        // SAFETY: the caller's promise; that the memory is apart is checked before `out` is made.
        unsafe {
            let values: &[f64] = slice_of(env, values, VALUES.0, VALUES.1)?;
            let times: Option<&[i64]> =
                if is_absent(times)? { None } else { Some(slice_of(env, times, TIMES.0, TIMES.1)?) };
            let times_apart = times.is_none_or(|times| is_apart(times.as_ptr().cast(), size_of_val(times)));
            if length > 0 && !(is_apart(values.as_ptr().cast(), size_of_val(values)) && times_apart) {
                return Err(invalid("the memory to encode into must not be that of the columns"));
            }
            let out = if length == 0 { &mut [] } else { std::slice::from_raw_parts_mut(pointer, length) };
            Ok(Self { values, times, out })
        }
    }
}

/// The tags in an array of names and values in turn.
fn tags_of(tags: &[String]) -> Vec<(&str, &str)> {
    tags.as_chunks::<2>().0.iter().map(|[name, value]| (name.as_str(), value.as_str())).collect()
}

/// Encodes columns of one series and field as `MessagePack`.
#[napi]
pub struct RawColumnsWriter {
    writer: ColumnsWriter,
}

#[napi]
impl RawColumnsWriter {
    /// A writer for these names; `tags` are names and values in turn.
    #[napi(constructor, catch_unwind)]
    pub fn new(measurement: String, tags: Vec<String>, field: String) -> napi::Result<Self> {
        let writer = ColumnsWriter::new(&measurement, &tags_of(&tags), &field).map_err(failed)?;
        Ok(Self { writer })
    }

    /// The most bytes that so many points take.
    #[napi]
    pub fn most_bytes(&self, points: u32) -> f64 {
        self.writer.most_bytes(points as usize, true) as f64
    }

    /// Encodes into `out`, which must have room for the most bytes; returns how many it took.
    #[napi(
        catch_unwind,
        ts_args_type = "values: Float64Array, timestamps: BigInt64Array | undefined | null, out: Uint8Array"
    )]
    pub fn encode(
        &self,
        env: Env,
        values: Unknown<'_>,
        timestamps: Unknown<'_>,
        out: Unknown<'_>,
    ) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Encoding { values, times, out } = unsafe { Encoding::of(env, &values, &timestamps, &out) }?;
        self.writer.encode(values, times, out).map(|length| length as f64).map_err(failed)
    }
}

/// Decodes columns of `MessagePack`.
#[napi]
#[derive(Default)]
pub struct RawColumnsReader {
    /// The names of the last batch, as JSON.
    head: Mutex<String>,
}

/// The names of a batch.
#[derive(Serialize)]
struct Head<'a> {
    measurement: &'a str,
    tags: &'a [(&'a str, &'a str)],
    field: &'a str,
}

/// The caller's memory.
struct Columns<'a> {
    values: &'a mut [f64],
    times: &'a mut [i64],
    /// How many points there are, where that is more than there is room for.
    needed: usize,
}

impl ColumnSink for Columns<'_> {
    fn values(&mut self, count: usize) -> boundary_bench_ingest::Result<&mut [f64]> {
        self.needed = self.needed.max(count);
        self.values.get_mut(..count).ok_or_else(no_room)
    }

    fn timestamps(&mut self, count: usize) -> boundary_bench_ingest::Result<&mut [i64]> {
        self.needed = self.needed.max(count);
        self.times.get_mut(..count).ok_or_else(no_room)
    }
}

fn no_room() -> boundary_bench_ingest::Error {
    boundary_bench_ingest::Error::InvalidArgument("the arrays are too short".to_owned())
}

/// What `decode` returns beside the number of points: whether there are timestamps, and whether the names are new.
const HAS_TIMES: usize = 1;
const NEW_NAMES: usize = 2;

#[napi]
impl RawColumnsReader {
    /// A reader.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes into the arrays. Returns four times the number of points, plus 1 where there are timestamps, plus 2 where the
    /// names are not those of the last batch; or, where the arrays are too short, minus the number of points.
    #[napi(catch_unwind, ts_args_type = "bytes: Uint8Array, values: Float64Array, timestamps: BigInt64Array")]
    pub fn decode(
        &self,
        env: Env,
        bytes: Unknown<'_>,
        values: Unknown<'_>,
        timestamps: Unknown<'_>,
    ) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return, and the memory is checked to be apart before it is written.
        let (bytes, values, times) = unsafe {
            (
                slice_of::<u8>(env, &bytes, BYTES.0, BYTES.1)?,
                slice_of_mut::<f64>(env, &values, VALUES.0, VALUES.1)?,
                slice_of_mut::<i64>(env, &timestamps, TIMES.0, TIMES.1)?,
            )
        };
        if overlap(bytes, values) || overlap(bytes, times) || overlap(values, times) {
            return Err(invalid("the memory to decode into must not be that of the bytes, nor the same for both"));
        }
        let mut columns = Columns { values, times, needed: 0 };
        let room = columns.values.len().min(columns.times.len());
        match decode_columns_into(bytes, &mut columns, MOST_POINTS) {
            Ok(head) => {
                let flags = if head.has_timestamps { HAS_TIMES } else { 0 };
                Ok((head.len * 4 + flags + self.keep(&head)?) as f64)
            }
            Err(_) if columns.needed > room => Ok(-(columns.needed as f64)),
            Err(error) => Err(failed(error)),
        }
    }

    /// The names of the last batch, as JSON.
    #[napi(getter)]
    pub fn head(&self) -> String {
        lock(&self.head).clone()
    }

    fn keep(&self, head: &ColumnsHead<'_>) -> napi::Result<usize> {
        let names = Head { measurement: head.measurement, tags: &head.tags, field: head.field };
        keep_json(&mut lock(&self.head), &names)
    }
}

/// Keeps a value as JSON, and tells whether it is new.
fn keep_json(kept: &mut String, value: &impl Serialize) -> napi::Result<usize> {
    let json = serde_json::to_string(value).map_err(|error| js(Error::Internal(error.to_string())))?;
    if json == *kept {
        return Ok(0);
    }
    *kept = json;
    Ok(NEW_NAMES)
}

/// Encodes columns of one series and field as line protocol.
#[napi]
pub struct RawLineWriter {
    head: LineHead,
    lines: Mutex<Vec<u8>>,
}

#[napi]
impl RawLineWriter {
    /// A writer for these names; `tags` are names and values in turn.
    #[napi(constructor, catch_unwind)]
    pub fn new(measurement: String, tags: Vec<String>, field: String) -> napi::Result<Self> {
        let head = LineHead::new(&measurement, &tags_of(&tags), &field).map_err(failed)?;
        Ok(Self { head, lines: Mutex::default() })
    }

    /// Encodes into `out` and returns how many bytes it took; where there is no room, minus the bytes needed.
    #[napi(
        catch_unwind,
        ts_args_type = "values: Float64Array, timestamps: BigInt64Array | undefined | null, out: Uint8Array"
    )]
    pub fn encode(
        &self,
        env: Env,
        values: Unknown<'_>,
        timestamps: Unknown<'_>,
        out: Unknown<'_>,
    ) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let Encoding { values, times, out } = unsafe { Encoding::of(env, &values, &timestamps, &out) }?;
        let mut lines = lock(&self.lines);
        lines.clear();
        write_columns(&mut lines, &self.head, values, times).map_err(failed)?;
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

/// Reads line protocol into one piece of memory: for each table the times, the places of the series, and the columns.
#[napi]
#[derive(Default)]
pub struct RawLineParser {
    /// The series and tables of the last body, as JSON.
    head: Mutex<String>,
    points: Mutex<Points<'static>>,
}

/// The names of a body.
#[derive(Serialize)]
struct LineNames<'a> {
    series: Vec<SeriesNames>,
    tables: Vec<TableNames<'a>>,
}

#[derive(Serialize)]
struct SeriesNames {
    measurement: String,
    tags: Vec<(String, String)>,
}

#[derive(Serialize)]
struct TableNames<'a> {
    measurement: &'a str,
    fields: Vec<(&'a str, &'static str)>,
}

impl<'a> LineNames<'a> {
    fn of(points: &'a Points<'_>) -> Self {
        let series = points.series().iter().map(|series| SeriesNames {
            measurement: series.measurement().into_owned(),
            tags: series.tags().into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        });
        let tables = points.shapes().iter().map(|shape| TableNames {
            measurement: &shape.measurement,
            fields: shape.fields.iter().map(|(name, kind)| (name.as_ref(), kind.name())).collect(),
        });
        Self { series: series.collect(), tables: tables.collect() }
    }
}

#[napi]
impl RawLineParser {
    /// A parser.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a body and keeps its points for `take`. A line without a timestamp has that of `nowMs`. Returns four times the
    /// number of points, plus 2 where the names are not those of the last body.
    #[napi(catch_unwind, ts_args_type = "bytes: Uint8Array, precision: string, nowMs: number")]
    pub fn parse(&self, env: Env, bytes: Unknown<'_>, precision: String, now_ms: f64) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let bytes = unsafe { slice_of::<u8>(env, &bytes, BYTES.0, BYTES.1) }?;
        #[expect(clippy::cast_possible_truncation, reason = "a time of JavaScript's is far from the ends")]
        let now = (now_ms as i64).saturating_mul(1_000_000);
        let options = LineOptions { precision: Precision::of(&precision), now, most_points: MOST_POINTS };
        let mut kept = lock(&self.points);
        let points = parse_lines_into(bytes, &options, std::mem::take(&mut *kept)).map_err(failed)?;
        let new_names = keep_json(&mut lock(&self.head), &LineNames::of(&points))?;
        let length = points.len() * 4 + new_names;
        *kept = points.without_names();
        Ok(length as f64)
    }

    /// The series and tables of the last body, as JSON.
    #[napi(getter)]
    pub fn head(&self) -> String {
        lock(&self.head).clone()
    }

    /// Copies the points of the last body: their times, the bits of their values one point after another, and the places of
    /// their series and tables. Returns the number of values; where there is no room for them, minus that.
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
        const PLACES: (i32, &str) = (sys::TypedarrayType::uint32_array, "a Uint32Array of places");
        let points = lock(&self.points);
        let count = points.values().len();
        copy_to(env, &times, TIMES, points.times())?;
        copy_to(env, &series, PLACES, points.series_of())?;
        copy_to(env, &tables, PLACES, points.shape_of())?;
        let (data, length) = memory_of::<u64>(env, &values, VALUES.0, VALUES.1)?;
        if length < count {
            return Ok(-(count as f64));
        }
        // SAFETY: so many elements of 64 bits are there; the source is the parser's own memory.
        unsafe { std::ptr::copy_nonoverlapping(points.values().as_ptr(), data, count) };
        Ok(count as f64)
    }

    /// The text of all values that are text; those are places in it: the start in the upper half, the length in the lower,
    /// both in bytes.
    #[napi(catch_unwind)]
    pub fn text(&self) -> String {
        lock(&self.points).text().to_owned()
    }
}

fn copy_to<T: Copy>(env: Env, into: &Unknown<'_>, (kind, name): (i32, &str), from: &[T]) -> napi::Result<()> {
    let (data, length) = memory_of::<T>(env, into, kind, name)?;
    if length < from.len() {
        return Err(invalid(format!("{name} must have {} elements", from.len())));
    }
    // SAFETY: so many elements of this type are there; the source is the parser's own memory.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), data, from.len()) };
    Ok(())
}

/// A stage of the native suite, to be run on bodies that JavaScript gives.
#[napi]
pub struct IngestStage {
    cell: Mutex<Option<StageCell>>,
}

impl IngestStage {
    fn with<T>(&self, work: impl FnOnce(&mut StageCell) -> boundary_bench_core::Result<T>) -> napi::Result<T> {
        let mut cell = lock(&self.cell);
        let cell = cell.as_mut().ok_or(Error::Closed("the stage")).map_err(js)?;
        work(cell).map_err(js)
    }
}

#[napi]
impl IngestStage {
    /// Opens a stage. Takes `{workload, batches, batch, inputs, durable?}` as JSON.
    #[napi(catch_unwind)]
    pub fn open(env: Env, spec: String) -> napi::Result<AsyncBlock<IngestStage>> {
        promise(env, async move {
            let cell = blocking(move || StageCell::open(&parse::<StageSpec>(&spec)?)).await?;
            Ok(Self { cell: Mutex::new(Some(cell)) })
        })
    }

    /// Begins a sample.
    #[napi(catch_unwind)]
    pub fn begin(&self) -> napi::Result<()> {
        self.with(StageCell::begin)
    }

    /// Does the stage's work on a body; returns how many points it had.
    #[napi(catch_unwind, ts_args_type = "body: Uint8Array")]
    pub fn run(&self, env: Env, body: Unknown<'_>) -> napi::Result<f64> {
        // SAFETY: no JavaScript runs before the return.
        let body = unsafe { slice_of::<u8>(env, &body, BYTES.0, BYTES.1) }?;
        self.with(|cell| cell.run(body)).map(|points| points as f64)
    }

    /// Adds up what the last body became.
    #[napi(catch_unwind)]
    pub fn consume(&self) -> napi::Result<()> {
        self.with(StageCell::consume)
    }

    /// The checksum of the sample, as JSON.
    #[napi(catch_unwind)]
    pub fn finish(&self) -> napi::Result<String> {
        let checksum = self.with(StageCell::finish)?;
        serde_json::to_string(&checksum).map_err(|error| js(Error::Internal(error.to_string())))
    }

    /// Closes the stage and removes its files; does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let cell = lock(&self.cell).take();
        promise(
            env,
            blocking(move || {
                drop(cell);
                Ok(())
            }),
        )
    }
}

/// A stage of the native suite with its input: a cell of the `rust` side.
#[napi]
pub struct NativeIngest {
    stage: Arc<Mutex<Option<NativeStage>>>,
}

#[napi]
impl NativeIngest {
    /// Opens a stage and makes its input. Takes `{workload, batches, batch, inputs, durable?}` as JSON.
    #[napi(catch_unwind)]
    pub fn open(env: Env, spec: String) -> napi::Result<AsyncBlock<NativeIngest>> {
        promise(env, async move {
            let stage = on_own_thread(move || NativeStage::open(&parse::<StageSpec>(&spec)?)).await?;
            Ok(Self { stage: Arc::new(Mutex::new(Some(stage))) })
        })
    }

    /// Takes a sample on a thread of its own; resolves to it as JSON.
    #[napi(catch_unwind)]
    pub fn sample(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<String>> {
        let token = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        let stage = Arc::clone(&self.stage);
        promise(
            env,
            on_own_thread(move || {
                let mut stage = lock(&stage);
                let sample = stage.as_mut().ok_or(Error::Closed("the stage"))?.sample(&token)?;
                serde_json::to_string(&sample).map_err(|error| Error::Internal(error.to_string()))
            }),
        )
    }

    /// Closes the stage and removes its files; does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let stage = Arc::clone(&self.stage);
        promise(
            env,
            blocking(move || {
                lock(&stage).take();
                Ok(())
            }),
        )
    }
}
