//! The memory that a reader takes, measured by a counting allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts the memory of each thread.
struct Counting;

thread_local! {
    static IN_USE: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn count(taken: usize, given_back: usize) {
    let in_use = IN_USE.get().wrapping_add(taken).wrapping_sub(given_back);
    IN_USE.set(in_use);
    // Memory that another thread has allocated makes the number wrap when this thread frees it.
    if in_use.cast_signed() > MOST.get().cast_signed() {
        MOST.set(in_use);
    }
}

// SAFETY: all is the system's. The counters are of the thread, have no destructor and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The memory that a reader may take, in bytes: `times` the length of its input, plus `for_any`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) times: usize,
    pub(crate) for_any: usize,
}

impl Bound {
    /// Runs a reader of `bytes` bytes, and checks the peak of the memory that it took.
    pub(crate) fn check<T>(self, bytes: usize, read: impl FnOnce() -> T) -> T {
        let before = IN_USE.get();
        MOST.set(before);
        let outcome = read();
        let taken = MOST.get().wrapping_sub(before);
        let most = self.times * bytes + self.for_any;
        // Memory of an earlier use that is freed now makes the number negative.
        assert!(taken.cast_signed() <= most.cast_signed(), "{bytes} bytes took {taken} of memory, more than {most}");
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound { times: 2, for_any: 100 };

    #[test]
    fn memory_within_the_bound_is_taken() {
        assert_eq!(BOUND.check(50, || vec![7_u8; 190]).len(), 190);
        assert_eq!(BOUND.check(50, || vec![0_u8; 190]).len(), 190);
    }

    #[test]
    #[should_panic(expected = "10 bytes took 200 of memory, more than 120")]
    fn memory_that_was_given_back_counts() {
        BOUND.check(10, || drop(vec![0_u8; 200]));
    }
}
