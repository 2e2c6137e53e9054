//! A tree of keys: by napi-rs, an object with methods, and by functions that work in the caller's memory.

use std::cell::RefCell;
use std::rc::Rc;

use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::typed_memory::{
    BYTES, Memory, VALUES, elements_at, elements_at_mut, memory_of, overlap,
};
use boundary_bench_suite::codec::tree::{KEY_BYTES, Key, Tree, get_all, put, put_all, range_into};
use napi::bindgen_prelude::Unknown;
use napi::{Env, sys};
use napi_derive::napi;

/// The tree of an object and of its functions. None of them runs JavaScript while it has the tree, and each belongs to one thread, so
/// that it is never borrowed twice.
type Shared = Rc<RefCell<Tree>>;

/// A tree of keys of eight bytes and values.
#[napi(namespace = "codec")]
pub struct KeyTree(Shared);

/// The most values that a call returns as an array.
const MOST_VALUES: u32 = 1 << 24;

fn key_of(text: &str) -> napi::Result<Key> {
    let key = text.as_bytes().try_into();
    key.map_err(|_| invalid(format!("a key has {KEY_BYTES} bytes of UTF-8, not {}", text.len())))
}

#[napi(namespace = "codec")]
impl KeyTree {
    /// Makes an empty tree.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self(Rc::default())
    }

    /// The number of keys.
    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> f64 {
        self.0.borrow().len() as f64
    }

    /// The value of a key, or null if the tree does not have it.
    #[napi(catch_unwind)]
    pub fn get(&self, key: String) -> napi::Result<Option<f64>> {
        Ok(self.0.borrow().get(&key_of(&key)?).copied())
    }

    /// Puts in a key and its value, and overwrites an older value. Returns whether the key is new to the tree.
    #[napi(catch_unwind)]
    pub fn set(&self, key: String, value: f64) -> napi::Result<bool> {
        Ok(put(&mut self.0.borrow_mut(), key_of(&key)?, value))
    }

    /// The values of at most `count` consecutive keys, from `first` on.
    #[napi(catch_unwind)]
    pub fn range(&self, first: String, count: u32) -> napi::Result<Vec<f64>> {
        if count > MOST_VALUES {
            return Err(js(Error::TooLarge(format!("{count} values are too many for a call: at most {MOST_VALUES}"))));
        }
        let tree = self.0.borrow();
        Ok(tree.range(key_of(&first)?..).take(count as usize).map(|(_, value)| *value).collect())
    }

    /// Returns a function that looks up keys, eight bytes each, and writes their values, one per key. A key that the tree does not have
    /// gets NaN. It returns the number of keys found.
    #[napi(catch_unwind, ts_return_type = "(keys: Uint8Array, values: Float64Array) => number")]
    pub fn getter<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "getAll", GetAll(Rc::clone(&self.0)))
    }

    /// Returns a function that puts in keys, eight bytes each, with their values, one for each key. It returns the number of keys that the
    /// tree did not have.
    #[napi(catch_unwind, ts_return_type = "(keys: Uint8Array, values: Float64Array) => number")]
    pub fn putter<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "putAll", PutAll(Rc::clone(&self.0)))
    }

    /// Returns a function that writes the values of consecutive keys, from the key `first` of eight bytes on. It returns the number of
    /// values written: fewer than there is room for if the keys end before.
    #[napi(catch_unwind, ts_return_type = "(first: Uint8Array, values: Float64Array) => number")]
    pub fn ranger<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        function(env, "range", Range(Rc::clone(&self.0)))
    }
}

/// The memory of keys, and the memory of values for the same number of keys.
fn keys_and_values(env: Env, [keys, values]: [sys::napi_value; 2]) -> napi::Result<(Memory<u8>, Memory<f64>)> {
    let keys = memory_of(env, keys, BYTES)?;
    let values = memory_of(env, values, VALUES)?;
    if keys.1 % KEY_BYTES != 0 {
        return Err(invalid(format!("keys have {KEY_BYTES} bytes each; these are {} bytes", keys.1)));
    }
    if keys.1 / KEY_BYTES > values.1 {
        return Err(invalid(format!("{} keys need as many values, not {}", keys.1 / KEY_BYTES, values.1)));
    }
    Ok((keys, values))
}

fn apart(keys: Memory<u8>, values: Memory<f64>) -> napi::Result<()> {
    if overlap(keys, values) { Err(invalid("the keys and the values must not share memory")) } else { Ok(()) }
}

/// Looks up keys.
struct GetAll(Shared);

impl FastCall<2> for GetAll {
    fn call(&self, env: Env, arguments: [sys::napi_value; 2]) -> napi::Result<f64> {
        let (keys, values) = keys_and_values(env, arguments)?;
        apart(keys, values)?;
        // SAFETY: no JavaScript runs before the return, and what is written is apart from what is read.
        let (keys, values) = unsafe { (elements_at(keys), elements_at_mut(values)) };
        Ok(get_all(&self.0.borrow(), keys.as_chunks().0, values) as f64)
    }
}

/// Puts keys in.
struct PutAll(Shared);

impl FastCall<2> for PutAll {
    fn call(&self, env: Env, arguments: [sys::napi_value; 2]) -> napi::Result<f64> {
        let (keys, values) = keys_and_values(env, arguments)?;
        // SAFETY: no JavaScript runs before the return, and neither is written.
        let (keys, values) = unsafe { (elements_at(keys), elements_at(values)) };
        Ok(put_all(&mut self.0.borrow_mut(), keys.as_chunks().0, values) as f64)
    }
}

/// Reads consecutive values.
struct Range(Shared);

impl FastCall<2> for Range {
    fn call(&self, env: Env, [first, values]: [sys::napi_value; 2]) -> napi::Result<f64> {
        let first = memory_of(env, first, BYTES)?;
        let values = memory_of(env, values, VALUES)?;
        // SAFETY: no JavaScript runs before the return, and the key is copied before anything is written.
        let first = unsafe { elements_at(first) }.try_into();
        let first: Key = first.map_err(|_| invalid(format!("a key has {KEY_BYTES} bytes")))?;
        // SAFETY: as above. Nothing reads the memory meanwhile.
        let values = unsafe { elements_at_mut(values) };
        Ok(range_into(&self.0.borrow(), first, values) as f64)
    }
}
