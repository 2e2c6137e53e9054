//! The allocations of the program, which are counted on request.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes that the program allocates, which samples then report. Each allocation takes some nanoseconds longer.
///
/// ```
/// boundary_bench::count_allocations!();
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! count_allocations {
    () => {
        #[global_allocator]
        static ALLOCATOR: $crate::CountingAllocator = $crate::CountingAllocator;
    };
}

/// The allocator of the system, with a count of the bytes that it has given out.
#[derive(Debug)]
pub struct CountingAllocator;

static BYTES: AtomicU64 = AtomicU64::new(0);

/// The bytes that were allocated so far, or none if nothing counts them.
pub(crate) fn allocated_bytes() -> Option<u64> {
    // The reading of orders has allocated before.
    Some(BYTES.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
}

fn count(bytes: usize) {
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

// SAFETY: each method passes its arguments to the allocator of the system, under the same contract, and returns its result. The counter is
// atomic and allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; the memory came from the allocator of the system.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: the caller keeps the contract of `realloc`; the memory came from the allocator of the system.
        unsafe { System.realloc(memory, layout, size) }
    }
}
