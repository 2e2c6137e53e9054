//! The layouts of submissions and results. The library states them in TypeScript too.

use std::collections::HashMap;

use boundary_bench_kernel::frame;
use napi_derive::napi;

/// The numbers of a layout, by their names in TypeScript.
type Layout = HashMap<String, u32>;

/// The numbers of all layoutsof `frame`, `kv`, `http` and `sql`. For the test that compares them with TypeScript's.
#[napi(skip_typescript, catch_unwind)]
pub fn layouts() -> HashMap<String, Layout> {
    let layouts = [
        ("frame", frame::layout()),
        ("kv", boundary_bench_redis::layout()),
        ("http", boundary_bench_http::layout()),
        ("sql", boundary_bench_mysql::layout()),
    ];
    let named =
        |numbers: Vec<(&str, u32)>| numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
    layouts.into_iter().map(|(name, numbers)| (name.to_owned(), named(numbers))).collect()
}
