//! The async runtime of the engines' connections.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

/// The number of threads that serve the engines' connections. The callers do most of the work.
const THREADS: usize = 2;

/// The runtime of the connections of all engines that wait for a server asynchronously. It is never shut down, so that
/// a connection may be dropped on any thread.
///
/// # Panics
/// Panics if no thread can be started.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let builder =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("bb-engines").enable_all().build();
        builder.expect("a process that has no threads left can do nothing")
    });
    &RUNTIME
}
