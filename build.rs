//! The addon's build script: sets the linker flags of Node addons, and the build facts that the addon reports (target CPU and
//! compiler). The addon does not depend on libduckdb, which the engine loads itself.

use std::process::Command;

fn main() {
    napi_build::setup();
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        // Other linkers leave out libraries of which nothing is used.
        println!("cargo::rustc-link-arg=-Wl,-dead_strip_dylibs");
    }
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    println!("cargo::rustc-env=BOUNDARY_BENCH_TARGET_CPU={}", target_cpu());
    println!("cargo::rustc-env=BOUNDARY_BENCH_RUSTC={}", rustc_version());
}

/// The value of `-C target-cpu`, or `generic` without one.
fn target_cpu() -> String {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let given = flags
        .split(['\u{1f}', ' '])
        .find_map(|flag| flag.strip_prefix("-Ctarget-cpu=").or_else(|| flag.strip_prefix("target-cpu=")));
    given.unwrap_or("generic").to_owned()
}

fn rustc_version() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).arg("--version").output();
    output.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
