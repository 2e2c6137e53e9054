//! The addon's build script: the linker flags that Node addons need. libduckdb is not looked up by path: the
//! package loads `@duckdb/node-bindings` first, and the library loaded by it serves the addon as well.

fn main() {
    napi_build::setup();
}
