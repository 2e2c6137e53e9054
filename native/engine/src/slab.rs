//! Slabs: recycled memory for batches that cross the boundary.
//!
//! The first touch of fresh memory costs more than copying into mapped memory: a page fault for every 4 KiB. So the
//! memory of a batch returns to a pool when its last reader drops it, and large slabs ask the kernel for huge pages.

mod growing_bytes;
mod pool;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};
use boundary_bench_kernel::lock;

pub use growing_bytes::GrowingBytes;
use pool::{HUGE_PAGE, POOL, Recycled, ask_for_huge_pages};

/// The alignment that Arrow recommends for buffers, in bytes.
pub const BUFFER_ALIGNMENT: usize = 64;

/// The smallest slab, in bytes.
const SMALLEST: usize = 4 << 10;

/// A piece of initialised memory that returns to the pool when dropped. Its initial contents are unspecified.
pub struct Slab {
    pointer: NonNull<u8>,
    /// The allocated size in bytes, a size class.
    capacity: usize,
    /// The requested size, in bytes.
    length: usize,
}

// SAFETY: a slab owns its memory alone, as a `Box<[u8]>` does.
unsafe impl Send for Slab {}
// SAFETY: shared access is read-only.
unsafe impl Sync for Slab {}

impl Slab {
    /// Takes a slab of at least `length` bytes from the pool, or fresh memory.
    pub fn allocate(length: usize) -> Self {
        let capacity = size_class(length);
        let pointer = lock(&POOL).take(capacity);
        let pointer = pointer.map_or_else(|| allocate_fresh(capacity), |recycled| recycled.0);
        Self { pointer, capacity, length }
    }

    /// The bytes of the slab.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `pointer` is valid for `capacity >= length` initialised bytes for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    /// The bytes of the slab, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }

    /// The address of the slab's bytes.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// An Arrow buffer over the bytes `offset..offset + length`. The buffer keeps the slab alive.
    ///
    /// # Panics
    /// Panics when the range is not inside the slab.
    pub fn buffer(self: &Arc<Self>, offset: usize, length: usize) -> Buffer {
        assert!(offset <= self.length && length <= self.length - offset, "the range lies outside the slab");
        // SAFETY: the range was checked. The pointer stays valid for as long as the owner handed over lives. Nobody can
        // write to the slab while an `Arc` of it is shared.
        unsafe { Buffer::from_custom_allocation(self.pointer.add(offset), length, Arc::clone(self) as _) }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        let rejected = lock(&POOL).put(Recycled(self.pointer), self.capacity);
        if let Some(memory) = rejected {
            // SAFETY: allocated in `allocate_fresh` with the same layout, and nobody else has it.
            unsafe { dealloc(memory.0.as_ptr(), layout(self.capacity)) };
        }
    }
}

/// A buffer that is filled from its start and grows.
pub struct SlabBuffer {
    slab: Slab,
    /// The number of bytes filled so far.
    filled: usize,
}

impl SlabBuffer {
    /// An empty buffer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slab: Slab::allocate(capacity), filled: 0 }
    }

    /// Appends values.
    pub fn extend_from_slice<T: ArrowNativeType>(&mut self, values: &[T]) {
        let bytes = values.to_byte_slice();
        let end = self.filled + bytes.len();
        if end > self.slab.length {
            self.grow(end);
        }
        self.slab.as_mut_slice()[self.filled..end].copy_from_slice(bytes);
        self.filled = end;
    }

    /// Appends one value.
    pub fn push<T: ArrowNativeType>(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let mut larger = Slab::allocate(needed.max(2 * self.slab.length));
        larger.as_mut_slice()[..self.filled].copy_from_slice(&self.slab.as_slice()[..self.filled]);
        self.slab = larger;
    }

    /// The filled bytes as an Arrow buffer.
    pub fn finish(self) -> Buffer {
        Arc::new(self.slab).buffer(0, self.filled)
    }
}

/// Rounds up to powers of two up to a huge page, then to whole huge pages: few size classes, so that slabs are reused
/// often.
fn size_class(length: usize) -> usize {
    if length <= HUGE_PAGE { length.next_power_of_two().max(SMALLEST) } else { length.next_multiple_of(HUGE_PAGE) }
}

fn layout(capacity: usize) -> Layout {
    let alignment = if capacity >= HUGE_PAGE { HUGE_PAGE } else { BUFFER_ALIGNMENT };
    Layout::from_size_align(capacity, alignment).expect("size classes are far below isize::MAX")
}

fn allocate_fresh(capacity: usize) -> NonNull<u8> {
    let layout = layout(capacity);
    if capacity >= HUGE_PAGE {
        return allocate_huge(layout);
    }
    // SAFETY: the layout has a size above zero.
    let pointer = unsafe { alloc_zeroed(layout) };
    NonNull::new(pointer).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Huge pages must be requested before the first touch, so the memory is zeroed only after that.
fn allocate_huge(layout: Layout) -> NonNull<u8> {
    // SAFETY: the layout has a size above zero.
    let pointer = unsafe { std::alloc::alloc(layout) };
    let Some(pointer) = NonNull::new(pointer) else { handle_alloc_error(layout) };
    ask_for_huge_pages(pointer.as_ptr(), layout.size());
    // SAFETY: the memory is ours and `layout.size()` long.
    unsafe { pointer.as_ptr().write_bytes(0, layout.size()) };
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_slab_serves_the_next_of_its_size() {
        // The size is one that no other test uses, since the pool is shared.
        let length = 7 * HUGE_PAGE + 1;
        let first = Slab::allocate(length);
        let address = first.as_ptr();
        assert_eq!(address.align_offset(HUGE_PAGE), 0);
        let keeper = Arc::new(first);
        let buffer = keeper.buffer(64, 1000);
        drop(keeper);
        // The buffer still holds the first slab.
        let second = Slab::allocate(length);
        assert_ne!(second.as_ptr(), address);
        drop(buffer);
        let third = Slab::allocate(length + 5);
        assert_eq!(third.as_ptr(), address);
        assert_eq!(third.as_slice().len(), length + 5);
    }

    #[test]
    fn a_buffer_grows_and_keeps_what_it_holds() {
        let mut buffer = SlabBuffer::with_capacity(0);
        let values = (0..5000_i64).collect::<Vec<_>>();
        buffer.extend_from_slice(&values[..7]);
        values[7..].iter().for_each(|value| buffer.push(*value));
        assert_eq!(buffer.finish().typed_data::<i64>(), values);
    }

    #[test]
    fn an_empty_slab_is_usable() {
        let mut slab = Slab::allocate(0);
        assert!(slab.as_mut_slice().is_empty());
    }

    #[test]
    #[should_panic(expected = "outside the slab")]
    fn a_buffer_beyond_the_end_is_refused() {
        let slab = Arc::new(Slab::allocate(100));
        let _ = slab.buffer(64, usize::MAX);
    }
}
