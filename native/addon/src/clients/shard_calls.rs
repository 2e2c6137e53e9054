//! Conversion of shard keys and rows between JavaScript and Rust, and the functions that read and write rows in the memory of
//! this process without a promise.

use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::fast_call::FastCall;
use boundary_bench_node::memory::typed_memory::{BYTES, slice_of, slice_of_mut};
use boundary_bench_node::values::numbers::safe_integer;
use boundary_bench_shards::{Columns, ROW_BYTES, Row, Store};
use napi::{Env, sys};

use crate::clients::shard_clients::Shared;

/// The most rows of a store.
pub const MOST_ROWS: u32 = u32::MAX - 1;

/// The return value of a function for a key whose shard is not in the memory of this process.
const ELSEWHERE: f64 = -1.0;

/// Converts a JavaScript number to an integer, and refuses numbers that are no safe integers.
fn integer_of(number: f64) -> napi::Result<i64> {
    safe_integer(number).ok_or_else(|| invalid(format!("{number} is no safe integer; give a bigint for a large one")))
}

/// Converts a number or a bigint to a key.
pub fn key_of(env: Env, value: sys::napi_value) -> napi::Result<i64> {
    let mut number = 0.0;
    // SAFETY: the handle belongs to the call under way, and the out-pointers are valid for writing. A value of another type is
    // refused by the status.
    unsafe {
        if sys::napi_get_value_double(env.raw(), value, &raw mut number) == sys::Status::napi_ok {
            return integer_of(number);
        }
        let (mut key, mut is_lossless) = (0, false);
        let status = sys::napi_get_value_bigint_int64(env.raw(), value, &raw mut key, &raw mut is_lossless);
        if status == sys::Status::napi_ok && is_lossless {
            return Ok(key);
        }
    }
    Err(invalid("a key must be an integer of 64 bits: a number or a bigint"))
}

/// Copies the keys out of a typed array.
pub fn keys_of(env: Env, value: sys::napi_value) -> napi::Result<Vec<i64>> {
    const NAME: &str = "a BigInt64Array, an Int32Array or a Float64Array of keys";
    // SAFETY: the elements are copied before any JavaScript runs.
    unsafe {
        if let Ok(keys) = slice_of::<i64>(env, value, NAME) {
            return Ok(keys.to_vec());
        }
        if let Ok(keys) = slice_of::<i32>(env, value, NAME) {
            return Ok(keys.iter().map(|key| i64::from(*key)).collect());
        }
        slice_of::<f64>(env, value, NAME)?.iter().map(|key| integer_of(*key)).collect()
    }
}

/// Copies the packed rows out of a `Uint8Array`, as bytes.
pub fn packed_of(env: Env, value: sys::napi_value) -> napi::Result<Vec<u8>> {
    // SAFETY: the bytes are copied before any JavaScript runs.
    Ok(unsafe { slice_of(env, value, BYTES) }?.to_vec())
}

/// Reads the packed row in the first bytes of a `Uint8Array`.
pub fn row_of(env: Env, value: sys::napi_value) -> napi::Result<Row> {
    // SAFETY: the bytes are copied before any JavaScript runs.
    let bytes = unsafe { slice_of(env, value, BYTES) }?;
    bytes.first_chunk().map(Row::from_bytes).ok_or_else(too_short)
}

fn too_short() -> napi::Error {
    invalid(format!("a packed row has {ROW_BYTES} bytes"))
}

/// The clients that the functions work on.
pub struct Calls(pub Shared);

impl Calls {
    /// Runs work on the store that holds a key. Returns `None` if asking it would wait for a server or a disk.
    fn with_store<T>(&self, key: i64, work: impl FnOnce(&dyn Store) -> Result<T>) -> napi::Result<Option<T>> {
        let clients = lock(&self.0);
        let clients = clients.as_ref().ok_or(Error::Closed("the client")).map_err(js)?;
        let store = clients.few.direct(key).filter(|store| !store.is_persistent());
        store.map(|store| work(&**store)).transpose().map_err(js)
    }
}

/// Reads the row of a key into the caller's memory.
pub struct ReadRow(pub Calls);

impl FastCall<2> for ReadRow {
    fn call(&self, env: Env, [key, into]: [sys::napi_value; 2]) -> napi::Result<f64> {
        let key = key_of(env, key)?;
        let Some(found) = self.0.with_store(key, |store| store.get(key))? else { return Ok(ELSEWHERE) };
        let Some(row) = found else { return Ok(0.0) };
        // SAFETY: no JavaScript runs before the return, and nothing else refers to the memory.
        let into = unsafe { slice_of_mut(env, into, BYTES) }?;
        *into.first_chunk_mut().ok_or_else(too_short)? = row.to_bytes();
        Ok(1.0)
    }
}

/// Writes the row in the caller's memory.
pub struct WriteRow(pub Calls);

impl FastCall<1> for WriteRow {
    fn call(&self, env: Env, [from]: [sys::napi_value; 1]) -> napi::Result<f64> {
        let row = row_of(env, from)?;
        let written = self.0.with_store(row.key, |store| store.put(Columns::of_row(&row)))?;
        Ok(if written.is_some() { 1.0 } else { ELSEWHERE })
    }
}
