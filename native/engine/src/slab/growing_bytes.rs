//! Bytes that grow, in reserved address space.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::Buffer;
use boundary_bench_kernel::lock;

use super::pool::{HUGE_PAGE, POOL, Reservation, ask_for_huge_pages};

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
    /// The size from which on the bytes move into a reservation. Fewer bytes are not worth a huge page, since a huge page is
    /// zeroed as a whole.
    const SMALL: usize = 1 << 20;

    /// The size of a reservation. Beyond it the bytes grow as any vector does.
    const RESERVED: usize = 1 << 30;

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes written so far, as memory for an owner who takes them over: nobody else reads or writes them.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Ends the writing. Pages beyond the end that earlier owners have filled return to the kernel. So small contents do
    /// not hold the memory of large ones for as long as they live.
    pub fn finish(&mut self) {
        let end = self.bytes.len().next_multiple_of(HUGE_PAGE);
        if self.touched <= end {
            return;
        }
        #[cfg(target_os = "linux")]
        {
            let skipped = self.bytes.as_ptr().align_offset(HUGE_PAGE);
            // SAFETY: the range lies within the vector's capacity, behind its last initialised byte, and begins at a
            // page. The bytes that are read there next are zero, and are written before they count.
            unsafe {
                let start = self.bytes.as_mut_ptr().add(end + skipped);
                libc::madvise(start.cast(), (self.touched - end).saturating_sub(skipped), libc::MADV_DONTNEED);
            }
            self.touched = end + skipped;
        }
    }

    /// The bytes as an Arrow buffer.
    pub fn into_buffer(self) -> Buffer {
        let length = self.bytes.len();
        let Some(pointer) = NonNull::new(self.bytes.as_ptr().cast_mut()) else { return Buffer::default() };
        // SAFETY: the bytes are initialised and do not move while their owner lives. The owner is handed over here. Nobody
        // can write to the bytes, since the owner is shared from here on.
        unsafe { Buffer::from_custom_allocation(pointer, length, Arc::new(self)) }
    }

    #[cold]
    fn move_into_reservation(&mut self) {
        let pooled = lock(&POOL).take_reservation();
        let mut larger = pooled.map_or_else(Self::default, |Reservation { bytes, touched }| Self { bytes, touched });
        if larger.bytes.capacity() == 0 {
            // If a whole reservation can't be had, the bytes grow as any vector does.
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
            let rejected = lock(&POOL).put_reservation(Reservation { bytes, touched });
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
}
