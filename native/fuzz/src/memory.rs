//! How much memory a reader takes, by an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the memory of each thread.
struct Counting;

thread_local! {
    static IN_USE: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn count(taken: usize, given_back: usize) {
    let in_use = IN_USE.get().wrapping_add(taken).wrapping_sub(given_back);
    IN_USE.set(in_use);
    // What came from another thread makes this wrap.
    if in_use.cast_signed() > MOST.get().cast_signed() {
        MOST.set(in_use);
    }
}

// SAFETY: all is the system's; the counters are of the thread, have no destructor and allocate nothing.
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

/// The memory that a reader may take: so many times the bytes that it reads, and so much for any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) times: usize,
    pub(crate) for_any: usize,
}

impl Bound {
    /// Runs a reader of so many bytes, and checks what it took at most.
    pub(crate) fn check<T>(self, bytes: usize, read: impl FnOnce() -> T) -> T {
        let before = IN_USE.get();
        MOST.set(before);
        let outcome = read();
        let taken = MOST.get().wrapping_sub(before);
        let most = self.times * bytes + self.for_any;
        // What an earlier use has kept and gives back now makes this negative.
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
