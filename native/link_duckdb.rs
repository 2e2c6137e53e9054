// Included by the build scripts: tells the linker where the tests and programs find libduckdb when they run. Windows has no such
// paths, and looks in the folders of PATH.
fn link_duckdb() {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    if let Ok(dir) = std::env::var("DUCKDB_LIB_DIR")
        && std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("windows")
    {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
