//! The functions by napi-rs, as everyone uses it: arguments and results are converted by their types.
#![expect(clippy::unused_async, reason = "a promise of work that waits for nothing shows what the promise costs")]

use std::sync::Arc;

use boundary_bench_node::host::errors::{invalid, js, promise};
use boundary_bench_suite::boundary::{self, Counter, Record};
use napi::bindgen_prelude::{AsyncBlock, AsyncTask, BigInt, Float64Array, Function, Uint8Array, Uint8ArraySlice};
use napi::threadsafe_function::ThreadsafeFunction;
use napi::{Env, Status, Task};
use napi_derive::napi;

/// A call that passes nothing.
#[napi(namespace = "napiRs")]
pub fn nothing() {
    boundary::nothing();
}

/// The calls of `nothing` so far, by any lane.
#[napi(namespace = "napiRs")]
pub fn calls() -> f64 {
    boundary::calls() as f64
}

/// The sum of two numbers.
#[napi(namespace = "napiRs")]
pub fn add(left: f64, right: f64) -> f64 {
    boundary::add(left, right)
}

/// The next integer.
#[napi(namespace = "napiRs")]
pub fn increment(value: BigInt) -> BigInt {
    BigInt::from(boundary::increment(value.get_i64().0))
}

/// The code of a text's last character.
#[napi(namespace = "napiRs")]
pub fn read_text(text: String) -> u32 {
    boundary::last_code(&text)
}

/// A short text of one byte a character.
#[napi(namespace = "napiRs")]
pub fn short_text() -> String {
    boundary::texts().short[0].clone()
}

/// A long text of one byte a character.
#[napi(namespace = "napiRs")]
pub fn long_text() -> String {
    boundary::texts().long[0].clone()
}

/// A short text of two bytes a character.
#[napi(namespace = "napiRs")]
pub fn short_wide_text() -> String {
    boundary::texts().short_wide[0].clone()
}

/// A long text of two bytes a character.
#[napi(namespace = "napiRs")]
pub fn long_wide_text() -> String {
    boundary::texts().long_wide[0].clone()
}

/// A text of `characters` characters of one byte each.
#[napi(namespace = "napiRs")]
pub fn make_text(characters: u32) -> String {
    boundary::text(characters as usize).to_owned()
}

/// The sum of the first and the last byte, read in place.
#[napi(namespace = "napiRs")]
pub fn read_bytes(bytes: Uint8ArraySlice<'_>) -> u32 {
    boundary::ends(&bytes)
}

/// The sum of the first and the last byte of a copy.
#[napi(namespace = "napiRs")]
pub fn copy_bytes(bytes: Uint8ArraySlice<'_>) -> u32 {
    boundary::ends(&std::hint::black_box(Vec::from(&*bytes)))
}

/// Bytes in memory of JavaScript's.
#[napi(namespace = "napiRs")]
pub fn copied_bytes(env: &Env, size: u32) -> napi::Result<Uint8ArraySlice<'_>> {
    Uint8ArraySlice::copy_from(env, source(size)?)
}

/// Bytes in memory that stays Rust's until JavaScript's garbage is collected.
#[napi(namespace = "napiRs")]
pub fn external_bytes(size: u32) -> napi::Result<Uint8Array> {
    Ok(Uint8Array::new(source(size)?.to_vec()))
}

/// Fills memory of the caller's, and returns the number of bytes.
#[napi(namespace = "napiRs")]
pub fn fill_bytes(mut into: Uint8Array) -> napi::Result<u32> {
    let size = u32::try_from(into.len()).map_err(|_| invalid("the array is too long"))?;
    // SAFETY: JavaScript of this thread does not run before the return. As in any addon by napi-rs, memory that is shared with another
    // thread is not refused. The family passes none.
    unsafe { into.as_mut() }.copy_from_slice(source(size)?);
    Ok(size)
}

fn source(size: u32) -> napi::Result<&'static [u8]> {
    let bytes = boundary::bytes();
    bytes.get(..size as usize).ok_or_else(|| invalid(format!("{size} bytes; there are {}", bytes.len())))
}

/// An object of ten fields.
#[napi(object, namespace = "napiRs")]
pub struct BoundaryRecord {
    pub id: f64,
    pub sensor: f64,
    pub value: f64,
    pub timestamp: f64,
    pub score: f64,
    pub count: f64,
    pub active: bool,
    pub flagged: bool,
    pub name: String,
    pub city: String,
}

same_fields!(BoundaryRecord = Record { id, sensor, value, timestamp, score, count, active, flagged, name, city });

/// The sum of an object's fields.
#[napi(namespace = "napiRs")]
pub fn read_record(record: BoundaryRecord) -> f64 {
    Record::from(record).sum()
}

/// The sum of the fields of an object as JSON.
#[napi(namespace = "napiRs")]
pub fn read_record_json(text: String) -> napi::Result<f64> {
    Ok(Record::of_json(&text).map_err(js)?.sum())
}

/// The sum of the fields of an object in a flat frame.
#[napi(namespace = "napiRs")]
pub fn read_record_frame(frame: Uint8ArraySlice<'_>) -> napi::Result<f64> {
    Ok(Record::of_frame(&frame).map_err(js)?.sum())
}

/// An object.
#[napi(namespace = "napiRs")]
pub fn make_record() -> BoundaryRecord {
    Record::example(0).into()
}

/// An object as JSON.
#[napi(namespace = "napiRs")]
pub fn make_record_json() -> napi::Result<String> {
    Record::example(0).to_json().map_err(js)
}

/// Writes an object as a flat frame, and returns the number of bytes.
#[napi(namespace = "napiRs")]
pub fn make_record_frame(mut into: Uint8Array) -> napi::Result<u32> {
    // SAFETY: as in `fill_bytes`.
    let size = Record::example(0).write_frame(unsafe { into.as_mut() }).map_err(js)?;
    u32::try_from(size).map_err(|_| invalid("the frame is too long"))
}

/// The sum of the numbers of an array.
#[napi(namespace = "napiRs")]
pub fn sum_array(values: Vec<f64>) -> f64 {
    boundary::sum(&values)
}

/// The sum of the numbers of a typed array.
#[napi(namespace = "napiRs")]
pub fn sum_typed(values: Float64Array) -> f64 {
    boundary::sum(&values)
}

/// The result of a JavaScript function for a number.
#[napi(namespace = "napiRs")]
pub fn call_back(callback: Function<'_, f64, f64>, value: f64) -> napi::Result<f64> {
    callback.call(value)
}

/// Throws an error.
#[napi(namespace = "napiRs")]
pub fn fail() -> napi::Result<()> {
    boundary::fail().map_err(napi::Error::from_reason)
}

/// An object that wraps a value of Rust's.
#[napi(namespace = "napiRs")]
pub struct BoundaryCounter(Counter);

#[napi(namespace = "napiRs")]
impl BoundaryCounter {
    /// Makes a counter at 0.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(Counter::default())
    }

    /// Adds a number, and returns the sum so far.
    #[napi]
    pub fn add(&mut self, number: f64) -> f64 {
        self.0.add(number)
    }
}

/// The sum of two numbers, from tokio.
#[napi(namespace = "napiRs")]
pub async fn add_async(left: f64, right: f64) -> f64 {
    boundary::add(left, right)
}

/// The sum of two numbers, from a thread of libuv's pool.
#[napi(namespace = "napiRs", ts_return_type = "Promise<number>")]
pub fn add_blocking(left: f64, right: f64) -> AsyncTask<Addition> {
    AsyncTask::new(Addition { left, right })
}

/// An addition on a thread of libuv's pool.
pub struct Addition {
    left: f64,
    right: f64,
}

impl Task for Addition {
    type Output = f64;
    type JsValue = f64;

    fn compute(&mut self) -> napi::Result<f64> {
        Ok(boundary::add(self.left, self.right))
    }

    fn resolve(&mut self, _: Env, sum: f64) -> napi::Result<f64> {
        Ok(sum)
    }
}

/// A function of JavaScript that another thread calls.
#[napi(namespace = "napiRs")]
pub struct ThreadCaller(Arc<ThreadsafeFunction<f64, f64, f64, Status, false, true>>);

#[napi(namespace = "napiRs")]
impl ThreadCaller {
    /// Lets other threads call a function. It does not keep the process alive.
    #[napi(constructor)]
    pub fn new(callback: Function<'_, f64, f64>) -> napi::Result<Self> {
        Ok(Self(Arc::new(callback.build_threadsafe_function().weak::<true>().build()?)))
    }

    /// The result of the function for a number, called from a thread of tokio's.
    #[napi]
    pub fn call(&self, env: Env, value: f64) -> napi::Result<AsyncBlock<f64>> {
        let function = Arc::clone(&self.0);
        promise(env, async move { function.call_async(value).await })
    }
}
