//! Facts about this build and the calling thread.

use boundary_bench_kernel::resources;
use napi_derive::napi;

/// The facts of the addon's build.
#[napi(object)]
pub struct BuildInfo {
    /// The build profile: `release` or `debug`.
    pub profile: String,
    /// The target CPU of the compiler: the value of `-C target-cpu`.
    pub target_cpu: String,
    /// The compiler's version.
    pub rustc: String,
    /// Whether the engines `hyper`, `flight` and `sail` are in it, and shards.
    pub all: bool,
}

/// Returns the facts of the addon's build.
#[napi]
pub fn build_info() -> BuildInfo {
    BuildInfo {
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        target_cpu: env!("BOUNDARY_BENCH_TARGET_CPU").to_owned(),
        rustc: env!("BOUNDARY_BENCH_RUSTC").to_owned(),
        all: cfg!(feature = "all"),
    }
}

/// CPU time in seconds.
#[napi(object)]
pub struct CpuTime {
    /// The seconds spent in the program itself.
    pub user: f64,
    /// The seconds spent in the kernel on its behalf.
    pub system: f64,
}

/// The CPU time of the calling thread since its start, or null if the platform does not report it.
#[napi]
pub fn thread_cpu() -> Option<CpuTime> {
    resources::thread_cpu().map(|time| CpuTime { user: time.user, system: time.system })
}
