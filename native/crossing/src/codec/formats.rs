//! Formats read and written: by napi-rs as everyone uses it, and by functions that work in the caller's memory.

use std::cell::RefCell;
use std::ptr;

use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::text_memory::read_text;
use boundary_bench_node::memory::typed_memory::{BYTES, Memory, elements_at, elements_at_mut, memory_of, overlap};
use boundary_bench_suite::boundary::Record;
use boundary_bench_suite::codec::formats::{self, ArrowColumns, RecordMemory};
use napi::bindgen_prelude::{Uint8ArraySlice, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use crate::boundary::by_napi_rs::BoundaryRecord;

/// The JSON of ten records, one of four texts.
#[napi(namespace = "codec", catch_unwind)]
pub fn json_document(turn: u32) -> napi::Result<String> {
    formats::json_document(turn).map(str::to_owned).map_err(js)
}

/// The `MessagePack` of the same ten records.
#[napi(namespace = "codec", catch_unwind)]
pub fn message_pack_document(env: &Env, turn: u32) -> napi::Result<Uint8ArraySlice<'_>> {
    Uint8ArraySlice::copy_from(env, formats::message_pack_document(turn).map_err(js)?)
}

/// An Arrow IPC stream of a thousand rows, one of four streams.
#[napi(namespace = "codec", catch_unwind)]
pub fn arrow_document(env: &Env, turn: u32) -> napi::Result<Uint8ArraySlice<'_>> {
    Uint8ArraySlice::copy_from(env, formats::arrow_document(turn).map_err(js)?)
}

fn objects(records: Vec<Record>) -> Vec<BoundaryRecord> {
    records.into_iter().map(BoundaryRecord::from).collect()
}

/// The records of a JSON array, as objects.
#[napi(namespace = "codec", catch_unwind, ts_return_type = "Array<napiRs.BoundaryRecord>")]
pub fn json_records(json: String) -> napi::Result<Vec<BoundaryRecord>> {
    formats::records_of_json(&json).map(objects).map_err(js)
}

/// The records of an array in `MessagePack`, as objects.
#[napi(namespace = "codec", catch_unwind, ts_return_type = "Array<napiRs.BoundaryRecord>")]
pub fn message_pack_records(bytes: Uint8ArraySlice<'_>) -> napi::Result<Vec<BoundaryRecord>> {
    formats::records_of_message_pack(&bytes).map(objects).map_err(js)
}

const NUMBERS: &str = "a Float64Array";
const INTEGERS: &str = "an Int32Array";

/// The longest text that is read, in bytes of UTF-8.
const LONGEST: usize = 64 << 20;

/// The memory that a function reads texts into. No JavaScript runs within a call, so that no other call can have borrowed it.
type TextMemory = RefCell<Vec<u8>>;

/// Lets `read` have the memory of records: a `Float64Array` and a `Uint8Array`, apart from each other and from `source`.
fn with_records(
    env: Env,
    source: Memory<u8>,
    [numbers, texts]: [sys::napi_value; 2],
    read: impl FnOnce(&mut RecordMemory<'_>) -> boundary_bench_kernel::Result<usize>,
) -> napi::Result<f64> {
    let numbers = memory_of(env, numbers, NUMBERS)?;
    let texts = memory_of(env, texts, BYTES)?;
    if overlap(numbers, texts) || overlap(source, numbers) || overlap(source, texts) {
        return Err(invalid("the arrays must not share memory"));
    }
    // SAFETY: no JavaScript runs before the return, and what is written is apart from all else.
    let mut memory = unsafe { RecordMemory { numbers: elements_at_mut(numbers), texts: elements_at_mut(texts) } };
    read(&mut memory).map(|count| count as f64).map_err(js)
}

/// Reads records out of JSON.
#[derive(Default)]
struct ReadJson(TextMemory);

impl FastCall<3> for ReadJson {
    fn call(&self, env: Env, [json, numbers, texts]: [sys::napi_value; 3]) -> napi::Result<f64> {
        // The copy of the text is in no memory of JavaScript's.
        let nowhere = (ptr::null_mut(), 0);
        let mut memory = self.0.borrow_mut();
        let json = read_text(env, json, &mut memory, "the JSON", LONGEST)?;
        with_records(env, nowhere, [numbers, texts], |records| records.read_json(json))
    }
}

/// Returns a function that reads the records of a JSON array into the caller's memory, and returns their number. `numbers` first gets the
/// size of all texts in bytes. Then follow twelve numbers per record: its six numbers, two truth values, then the sizes of its two texts
/// in bytes and their lengths. `texts` gets the name and the city of each record. The function throws if there is too little room.
#[napi(
    namespace = "codec",
    catch_unwind,
    ts_return_type = "(json: string, numbers: Float64Array, texts: Uint8Array) => number"
)]
pub fn json_reader(env: &Env) -> napi::Result<Unknown<'_>> {
    function(env, "readJson", ReadJson::default())
}

/// Reads records out of `MessagePack`.
struct ReadMessagePack;

impl FastCall<3> for ReadMessagePack {
    fn call(&self, env: Env, [bytes, numbers, texts]: [sys::napi_value; 3]) -> napi::Result<f64> {
        let bytes = memory_of(env, bytes, BYTES)?;
        with_records(env, bytes, [numbers, texts], |memory| {
            // SAFETY: no JavaScript runs before the return, and what is written is apart from the bytes.
            memory.read_message_pack(unsafe { elements_at(bytes) })
        })
    }
}

/// Returns a function that reads the records of an array in `MessagePack` as the function of `jsonReader` reads them.
#[napi(
    namespace = "codec",
    catch_unwind,
    ts_return_type = "(bytes: Uint8Array, numbers: Float64Array, texts: Uint8Array) => number"
)]
pub fn message_pack_reader(env: &Env) -> napi::Result<Unknown<'_>> {
    function(env, "readMessagePack", ReadMessagePack)
}

/// Reads the columns of an Arrow stream.
struct ReadArrow;

impl FastCall<5> for ReadArrow {
    fn call(&self, env: Env, [stream, ids, scores, offsets, texts]: [sys::napi_value; 5]) -> napi::Result<f64> {
        let stream = memory_of(env, stream, BYTES)?;
        let ids = memory_of(env, ids, INTEGERS)?;
        let scores = memory_of(env, scores, NUMBERS)?;
        let offsets = memory_of(env, offsets, INTEGERS)?;
        let texts = memory_of(env, texts, BYTES)?;
        if overlap(stream, ids) || overlap(stream, scores) || overlap(stream, offsets) || overlap(stream, texts) {
            return Err(invalid("the arrays must not share memory with the stream"));
        }
        // SAFETY: no JavaScript runs before the return, and what is written is apart from the stream.
        let read = formats::read_arrow(unsafe { elements_at(stream) }, |columns: ArrowColumns<'_>| {
            copy(columns.ids, ids)?;
            copy(columns.scores, scores)?;
            copy(columns.offsets, offsets)?;
            copy(columns.texts, texts)?;
            Ok(columns.ids.len())
        });
        read.map(|rows| rows as f64).map_err(js)
    }
}

/// Copies a column into memory of the caller's. The two must not overlap.
fn copy<T: Copy>(from: &[T], (into, length): Memory<T>) -> boundary_bench_kernel::Result<()> {
    if from.len() > length {
        let needed = from.len();
        return Err(Error::TooLarge(format!("a column needs {needed} elements, and its array has {length}")));
    }
    // SAFETY: both have `from.len()` elements, no JavaScript runs meanwhile, and what is read is apart from what is written.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
    Ok(())
}

/// Returns a function that copies the columns of an Arrow IPC stream into the caller's memory, and returns the number of rows. `offsets`
/// gets the place in `texts` at which the text of each row begins, and the end of the last one. The function throws if there is too little
/// room.
#[napi(
    namespace = "codec",
    catch_unwind,
    ts_return_type = "(stream: Uint8Array, ids: Int32Array, scores: Float64Array, offsets: Int32Array, texts: Uint8Array) => number"
)]
pub fn arrow_reader(env: &Env) -> napi::Result<Unknown<'_>> {
    function(env, "readArrow", ReadArrow)
}
