//! Looks for inputs that break a harness, by libFuzzer: `npm run fuzz`. An environment variable names the harness. The arguments
//! are libFuzzer's.

#![no_main]

use std::sync::LazyLock;

use boundary_bench_fuzz::{HARNESSES, Harness, find};

/// The environment variable that names the harness to run.
const NAME: &str = "BOUNDARY_BENCH_HARNESS";

static HARNESS: LazyLock<Harness> = LazyLock::new(|| {
    let name = std::env::var(NAME).unwrap_or_default();
    find(&name).unwrap_or_else(|| {
        let names: Vec<_> = HARNESSES.iter().map(|harness| harness.name).collect();
        panic!("{NAME} must be one of {}", names.join(", "))
    })
});

/// libFuzzer calls this function once. From then on a panic ends the process, so that libFuzzer keeps the input. Panics that a
/// reader catches itself do not.
#[unsafe(export_name = "LLVMFuzzerInitialize")]
extern "C" fn initialize(_arguments: *const i32, _values: *const *const *const u8) -> i32 {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    0
}

/// libFuzzer calls this function with every input.
///
/// # Safety
/// `data` must point to `size` bytes.
#[unsafe(export_name = "LLVMFuzzerTestOneInput")]
unsafe extern "C" fn test_one_input(data: *const u8, size: usize) -> i32 {
    // SAFETY: the caller's promise. The pointer to no bytes may be null.
    let input = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    if input.len() <= HARNESS.most_bytes {
        (HARNESS.run)(input);
    }
    0
}
