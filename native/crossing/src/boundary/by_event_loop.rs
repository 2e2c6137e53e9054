//! The addition as a task of Node's event loop, as our clients drive their sockets: no other thread takes part.

use boundary_bench_node::host::loop_runtime::LoopRuntime;
use boundary_bench_suite::boundary;
use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

/// The sum of two numbers, by a task of the event loop.
#[napi(namespace = "eventLoop", catch_unwind, ts_return_type = "Promise<number>")]
pub fn add(env: Env, left: f64, right: f64) -> napi::Result<Unknown<'static>> {
    LoopRuntime::of_thread(env)?.promise(env, async move { Ok(boundary::add(left, right)) })
}
