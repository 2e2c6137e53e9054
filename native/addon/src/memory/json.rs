//! Values picked out of JSON, exported to JavaScript. `native/codecs/src/json/columns.rs` tells how they cross.

use std::sync::Mutex;

use boundary_bench_codecs::json::{Kind, Paths, Picked, Rows};
use boundary_bench_kernel::{Result, lock};
use boundary_bench_node::host::errors::{invalid, js};
use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

use boundary_bench_node::memory::buffers::{Handover, bytes_of};

/// Paths of values in JSON, such as `result.*.body.data.*`.
#[napi]
pub struct JsonPaths {
    paths: Paths,
}

#[napi]
impl JsonPaths {
    /// Checks the paths. `numbers` tells for each path whether its values are numbers (else texts).
    #[napi(constructor, catch_unwind)]
    pub fn new(paths: Vec<String>, numbers: Vec<bool>) -> napi::Result<Self> {
        Ok(Self { paths: paths_of(&paths, &numbers)? })
    }

    /// Picks the values of all paths out of a JSON text.
    #[napi(catch_unwind, ts_args_type = "json: Uint8Array", ts_return_type = "ArrayBuffer")]
    pub fn pick(&self, env: Env, json: Unknown<'_>) -> napi::Result<Handover<Vec<u8>>> {
        // SAFETY: no JavaScript runs before the values were copied.
        let json = unsafe { bytes_of(env, &json) }?;
        frame_of(self.paths.pick(json))
    }
}

/// The rows of an array in a JSON object that arrives in pieces.
#[napi]
pub struct JsonRows {
    rows: Mutex<Rows>,
}

#[napi]
impl JsonRows {
    /// Makes a reader of the rows of the entry `array`. The reader picks the values of `paths` out of each row.
    #[napi(constructor, catch_unwind)]
    pub fn new(array: String, paths: Vec<String>, numbers: Vec<bool>) -> napi::Result<Self> {
        Ok(Self { rows: Mutex::new(Rows::new(&array, paths_of(&paths, &numbers)?)) })
    }

    /// Takes the next bytes, and picks the values out of the rows that are now complete.
    #[napi(catch_unwind, ts_args_type = "json: Uint8Array", ts_return_type = "ArrayBuffer")]
    pub fn feed(&self, env: Env, json: Unknown<'_>) -> napi::Result<Handover<Vec<u8>>> {
        // SAFETY: no JavaScript runs before the values were copied.
        let json = unsafe { bytes_of(env, &json) }?;
        frame_of(lock(&self.rows).feed(json))
    }

    /// Throws if the JSON is not complete.
    #[napi(catch_unwind)]
    pub fn finish(&self) -> napi::Result<()> {
        lock(&self.rows).finish().map_err(js)
    }
}

fn paths_of(paths: &[String], numbers: &[bool]) -> napi::Result<Paths> {
    if paths.len() != numbers.len() {
        return Err(invalid("each path leads to texts or to numbers"));
    }
    let kinds = numbers.iter().map(|is_number| if *is_number { Kind::Number } else { Kind::Text });
    Paths::new(paths.iter().map(String::as_str).zip(kinds)).map_err(js)
}

fn frame_of(picked: Result<Vec<Picked>>) -> napi::Result<Handover<Vec<u8>>> {
    let picked = picked.map_err(js)?;
    let mut out = Vec::with_capacity(picked.iter().map(Picked::frame_bytes).sum());
    picked.iter().for_each(|column| column.write(&mut out));
    Ok(Handover(out))
}
