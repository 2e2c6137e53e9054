// Included by the build scripts of programs that are published: tells the linker where they find libduckdb when they run.
include!("link_duckdb.rs");

fn link_program() {
    link_duckdb_of_package();
    if !is_published() {
        link_duckdb();
    }
}

/// Whether the profile builds published binaries. They must not look into a folder of the machine that built them.
fn is_published() -> bool {
    // Cargo calls the folder `PROFILE/build/PACKAGE-HASH/out`.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    std::path::Path::new(&out).ancestors().nth(3).is_some_and(|profile| profile.ends_with("dist"))
}

/// Tells the linker where the program finds libduckdb when it is at the top of the npm package. It is in the package of the platform,
/// and npm and pnpm put that next to `@duckdb/node-bindings`.
fn link_duckdb_of_package() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (here, system) = match variable("CARGO_CFG_TARGET_OS").as_str() {
        "windows" => return,
        "macos" => ("@loader_path", "darwin"),
        _ => ("$ORIGIN", "linux"),
    };
    let machine = if variable("CARGO_CFG_TARGET_ARCH") == "aarch64" { "arm64" } else { "x64" };
    let libc = if variable("CARGO_CFG_TARGET_ENV") == "musl" { "-musl" } else { "" };
    for modules in ["node_modules", ".."] {
        let folder = format!("{here}/{modules}/@duckdb/node-bindings/../node-bindings-{system}-{machine}{libc}");
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
