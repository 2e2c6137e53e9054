// Included by the build scripts: tells the linker where the tests and programs find libduckdb when they run.
fn link_duckdb() {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    if let Ok(dir) = std::env::var("DUCKDB_LIB_DIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
