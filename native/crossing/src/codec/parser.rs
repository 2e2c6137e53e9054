//! SQL parsed for JavaScript by the crate `sqlparser`: whether it is valid, and its trees as JSON or as objects, both by serde.

use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::js;
use boundary_bench_suite::codec::parser::parse;
use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

/// Whether a text is SQL.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_is_valid(sql: String) -> bool {
    parse(&sql).is_ok()
}

/// The trees of the statements of a text, as JSON. Throws an error for a text that is no SQL.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_json(sql: String) -> napi::Result<String> {
    let statements = parse(&sql).map_err(js)?;
    serde_json::to_string(&statements).map_err(|error| js(Error::Internal(error.to_string())))
}

/// The trees of the statements of a text, as objects. Throws an error for a text that is no SQL.
///
/// The serializer of napi-rs leaves out the names of variants with several values. So it gets the tree as a value of JSON.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_objects(env: &Env, sql: String) -> napi::Result<Unknown<'_>> {
    let tree = serde_json::to_value(parse(&sql).map_err(js)?);
    env.to_js_value(&tree.map_err(|error| js(Error::Internal(error.to_string())))?)
}
