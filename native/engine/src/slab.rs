//! Slabs: recycled memory for batches that cross the boundary.
//!
//! The first touch of fresh memory costs more than copying into mapped memory: a page fault for every 4 KiB. So the
//! memory of a batch returns to a pool when its last reader drops it, and large slabs ask the kernel for huge pages.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

use boundary_bench_kernel::lock;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};

/// The alignment that Arrow recommends for buffers, in bytes.
pub const BUFFER_ALIGNMENT: usize = 64;

/// The size of a huge page, and the size from which on slabs are aligned to it, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// The smallest slab, in bytes.
const SMALLEST: usize = 4 << 10;

/// The most unused memory that the pool keeps, in bytes: that of some 15 million rows of four columns. Memory above it
/// returns to the kernel, and costs its page faults anew.
const RETAINED_LIMIT: usize = 512 << 20;

/// A piece of initialised memory that returns to the pool when dropped. Its initial contents are unspecified.
pub struct Slab {
    pointer: NonNull<u8>,
    /// The allocated size, which is its size class, in bytes.
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
    #[must_use]
    pub fn allocate(length: usize) -> Self {
        let capacity = size_class(length);
        let pointer = lock(&POOL).take(capacity);
        let pointer = pointer.map_or_else(|| allocate_fresh(capacity), |recycled| recycled.0);
        Self { pointer, capacity, length }
    }

    /// The bytes of the slab.
    #[must_use]
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
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// An Arrow buffer over the bytes `offset..offset + length`, which keeps the slab alive.
    ///
    /// # Panics
    /// Panics when the range is not inside the slab.
    #[must_use]
    pub fn buffer(self: &Arc<Self>, offset: usize, length: usize) -> Buffer {
        assert!(offset <= self.length && length <= self.length - offset, "the range lies outside the slab");
        // SAFETY: the range was checked; the pointer stays valid for as long as the owner handed over lives, and
        // nobody can write to the slab while an `Arc` of it is shared.
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
    #[must_use]
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
    #[must_use]
    pub fn finish(self) -> Buffer {
        Arc::new(self.slab).buffer(0, self.filled)
    }
}

/// Memory without an owner, kept for the next slab of its size class.
struct Recycled(NonNull<u8>);

// SAFETY: the pool owns the memory alone.
unsafe impl Send for Recycled {}

struct Pool {
    by_capacity: BTreeMap<usize, Vec<Recycled>>,
    reservations: Vec<GrowingBytes>,
    /// The bytes of slabs and reservations in the pool that the kernel backs by pages.
    retained: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { by_capacity: BTreeMap::new(), reservations: Vec::new(), retained: 0 });

impl Pool {
    fn take(&mut self, capacity: usize) -> Option<Recycled> {
        let memory = self.by_capacity.get_mut(&capacity)?.pop()?;
        self.retained -= capacity;
        Some(memory)
    }

    /// Keeps the memory, or returns it when the pool is full.
    fn put(&mut self, memory: Recycled, capacity: usize) -> Option<Recycled> {
        if self.retained + capacity > RETAINED_LIMIT {
            return Some(memory);
        }
        self.retained += capacity;
        self.by_capacity.entry(capacity).or_default().push(memory);
        None
    }

    fn take_reservation(&mut self) -> Option<GrowingBytes> {
        let reservation = self.reservations.pop()?;
        self.retained -= reservation.touched;
        Some(reservation)
    }

    /// Keeps an empty reservation, or returns it when the pool is full.
    fn put_reservation(&mut self, bytes: Vec<u8>, touched: usize) -> Option<Vec<u8>> {
        if self.retained + touched > RETAINED_LIMIT {
            return Some(bytes);
        }
        self.retained += touched;
        self.reservations.push(GrowingBytes { bytes, touched });
        None
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

/// Asks the kernel to back by huge pages the memory that is not backed yet. Changes no contents, and may do nothing.
fn ask_for_huge_pages(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    {
        /// The largest page size of Linux, a multiple of all others; the advice must begin at a page.
        const LARGEST_PAGE: usize = 64 << 10;
        let skipped = start.align_offset(LARGEST_PAGE);
        if skipped < length {
            // SAFETY: the range lies in memory that the caller owns. Advice that the kernel refuses changes nothing.
            unsafe { libc::madvise(start.add(skipped).cast(), length - skipped, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

/// A growing buffer of few or very many contiguous bytes. Large contents lie in a reservation of address space that the
/// kernel fills with huge pages as they are written: nothing is moved as they grow. The reservation returns to the
/// pool, with the pages that back it, when its last reader drops it.
#[derive(Debug, Default)]
pub struct GrowingBytes {
    bytes: Vec<u8>,
    /// The number of bytes of the reservation that were ever filled, including by earlier owners.
    touched: usize,
}

impl GrowingBytes {
    /// The size from which on the bytes move into a reservation. Fewer are not worth a huge page, which is zeroed as a
    /// whole.
    const SMALL: usize = 1 << 20;

    /// The size of a reservation. Beyond it the bytes grow as any vector does.
    const RESERVED: usize = 1 << 30;

    /// The bytes written so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes written so far, as memory for an owner who takes them over: nobody else reads or writes them.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Ends the writing: pages beyond the end that earlier owners have filled return to the kernel, so that small
    /// contents do not hold the memory of large ones for as long as they live.
    pub fn finish(&mut self) {
        let end = self.bytes.len().next_multiple_of(HUGE_PAGE);
        if self.touched <= end {
            return;
        }
        #[cfg(target_os = "linux")]
        {
            let skipped = self.bytes.as_ptr().align_offset(HUGE_PAGE);
            // SAFETY: the range lies within the vector's capacity, behind its last initialised byte, and begins at a
            // page. What is read there next is zero, and written before it counts.
            unsafe {
                let start = self.bytes.as_mut_ptr().add(end + skipped);
                libc::madvise(start.cast(), (self.touched - end).saturating_sub(skipped), libc::MADV_DONTNEED);
            }
            self.touched = end + skipped;
        }
    }

    /// The bytes as an Arrow buffer.
    #[must_use]
    pub fn into_buffer(self) -> Buffer {
        let length = self.bytes.len();
        let Some(pointer) = NonNull::new(self.bytes.as_ptr().cast_mut()) else { return Buffer::default() };
        // SAFETY: the bytes are initialised and stay where they are while their owner, who is handed over, lives; nobody
        // can write to them, since the owner is shared from here on.
        unsafe { Buffer::from_custom_allocation(pointer, length, Arc::new(self)) }
    }

    #[cold]
    fn move_into_reservation(&mut self) {
        let pooled = lock(&POOL).take_reservation();
        let mut larger = pooled.unwrap_or_default();
        if larger.bytes.capacity() == 0 {
            // Where a whole reservation can't be had, the bytes grow as any vector does.
            if larger.bytes.try_reserve_exact(Self::RESERVED).is_err() {
                return;
            }
            ask_for_huge_pages(larger.bytes.as_mut_ptr(), larger.bytes.capacity());
        }
        larger.bytes.extend_from_slice(&self.bytes);
        *self = larger;
    }
}

impl std::io::Write for GrowingBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() && (Self::SMALL..Self::RESERVED).contains(&needed) {
            self.move_into_reservation();
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for GrowingBytes {
    fn drop(&mut self) {
        if self.bytes.capacity() >= Self::RESERVED {
            let touched = self.touched.max(self.bytes.len());
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            let rejected = lock(&POOL).put_reservation(bytes, touched);
            // The drop happens outside of the lock, since the kernel takes a while to take memory back.
            drop(rejected);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn bytes_stay_as_they_are_while_they_grow() {
        let piece = (0..1 << 18).map(|index: u32| index.to_le_bytes()[index as usize % 3]).collect::<Vec<_>>();
        for pieces in [0, 1, 3, 4, 5, 40] {
            let mut bytes = GrowingBytes::default();
            (0..pieces).for_each(|_| bytes.write_all(&piece).unwrap());
            assert_eq!(bytes.as_slice(), piece.repeat(pieces));
            assert_eq!(bytes.into_buffer().as_slice(), piece.repeat(pieces));
        }
    }

    #[test]
    fn small_bytes_give_back_what_larger_ones_filled() {
        let mut bytes = GrowingBytes::default();
        bytes.write_all(&vec![7; 2 << 20]).unwrap();
        // The state of a reservation that was used before.
        bytes.bytes.resize(64 << 20, 7);
        bytes.bytes.truncate(2 << 20);
        bytes.touched = 64 << 20;
        bytes.finish();
        assert_eq!(bytes.as_slice(), vec![7; 2 << 20]);
        if cfg!(target_os = "linux") {
            assert!(bytes.touched <= 4 << 20, "{}", bytes.touched);
        }
        bytes.write_all(&[8; 1000]).unwrap();
        assert_eq!(bytes.as_slice()[2 << 20..], [8; 1000]);
    }

    #[test]
    fn a_dropped_reservation_serves_the_next_bytes() {
        let fill = |byte: u8| {
            let mut bytes = GrowingBytes::default();
            bytes.write_all(&vec![byte; 3 << 20]).unwrap();
            bytes
        };
        let first = fill(1);
        let address = first.as_slice().as_ptr();
        let held = first.into_buffer();
        assert_ne!(fill(2).as_slice().as_ptr(), address);
        assert_eq!(held.as_slice(), vec![1; 3 << 20]);
    }

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
