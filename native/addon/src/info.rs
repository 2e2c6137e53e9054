//! What this build is.

use napi_derive::napi;

/// How the addon was built.
#[napi(object)]
pub struct BuildInfo {
    /// `release` or `debug`.
    pub profile: String,
    /// The CPU the compiler was told to build for.
    pub target_cpu: String,
    /// The compiler's version.
    pub rustc: String,
}

/// How the addon was built.
#[napi]
pub fn build_info() -> BuildInfo {
    BuildInfo {
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        target_cpu: env!("BOUNDARY_BENCH_TARGET_CPU").to_owned(),
        rustc: env!("BOUNDARY_BENCH_RUSTC").to_owned(),
    }
}
