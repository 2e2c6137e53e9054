//! Lets the program and the tests find libduckdb when they run, and links the program with libFuzzer.

include!("../link_duckdb.rs");

fn main() {
    link_duckdb();
    println!("cargo::rerun-if-env-changed=LIBFUZZER_DIR");
    if let Ok(dir) = std::env::var("LIBFUZZER_DIR") {
        let library = if cfg!(target_os = "macos") { "c++" } else { "stdc++" };
        println!("cargo::rustc-link-arg-bins=-L{dir}");
        // libFuzzer's `main` calls the program, and the program calls nothing of libFuzzer.
        println!("cargo::rustc-link-arg-bins=-Wl,--whole-archive,-lfuzzer,--no-whole-archive");
        println!("cargo::rustc-link-arg-bins=-l{library}");
    }
}
