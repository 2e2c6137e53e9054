//! Panics in callbacks of the event loop, for tests.

use boundary_bench_event_loop::{Phase, panic_in_next};
use napi_derive::napi;

/// Makes the next callback of this thread's loop panic: one of a socket (`poll`), the one after all sockets (`check`) or the callback
/// before the loop waits (`prepare`). For tests of requests under way.
#[napi(skip_typescript, catch_unwind)]
pub fn panic_in_callback(kind: String) {
    panic_in_next(match kind.as_str() {
        "poll" => Phase::Poll,
        "check" => Phase::Check,
        _ => Phase::Prepare,
    });
}
