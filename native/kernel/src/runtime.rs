//! The async runtime of the engines' connections, and blocking work of any runtime.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

use crate::error::catch_panic;
use crate::{Error, Result};

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

/// Runs work on a thread of the current runtime that may block. A panic becomes an error. The work goes on if its caller drops the
/// future.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(move || catch_panic(work));
    done.await.map_err(|error| Error::Internal(error.to_string())).flatten()
}
