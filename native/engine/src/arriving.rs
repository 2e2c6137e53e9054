//! A buffer for bytes whose number a server has announced: its memory grows as they arrive, so that an announcement alone
//! costs nothing.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::slab::Slab;

/// The announced bytes that are allocated at once, at most: more than the batches of any server that we know, so that these
/// are never moved.
pub const BELIEVED: usize = 16 << 20;

/// A buffer that is being received, in one piece as Arrow wants it.
pub struct ArrivingBytes {
    slab: Slab,
    filled: usize,
    length: usize,
}

impl ArrivingBytes {
    /// A buffer for `length` bytes.
    pub fn new(length: usize) -> Self {
        Self { slab: Slab::allocate(length.min(BELIEVED)), filled: 0, length }
    }

    /// The number of bytes still to be received.
    pub fn left(&self) -> usize {
        self.length - self.filled
    }

    /// The part of the buffer to receive into. It is empty once all bytes are there.
    pub fn room(&mut self) -> &mut [u8] {
        let capacity = self.slab.as_slice().len();
        if self.filled == capacity && capacity < self.length {
            let mut larger = Slab::allocate(self.length.min(2 * capacity));
            larger.as_mut_slice()[..self.filled].copy_from_slice(&self.slab.as_slice()[..self.filled]);
            self.slab = larger;
        }
        &mut self.slab.as_mut_slice()[self.filled..]
    }

    /// Marks this many bytes of the buffer as received.
    pub fn filled(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.slab.as_slice().len());
    }

    /// The bytes received.
    pub fn finish(self) -> Buffer {
        Arc::new(self.slab).buffer(0, self.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_what_comes_and_not_with_what_was_announced() {
        let mut bytes = ArrivingBytes::new(1 << 40);
        assert_eq!(bytes.room().len(), BELIEVED);
        bytes.filled(BELIEVED);
        assert_eq!((bytes.room().len(), bytes.left()), (BELIEVED, (1 << 40) - BELIEVED));
    }

    #[test]
    fn what_came_is_in_one_piece() {
        for length in [0, 1, 1000, BELIEVED, BELIEVED + 1, 3 * BELIEVED + 7] {
            let mut bytes = ArrivingBytes::new(length);
            let mut next = 0_u8;
            while bytes.left() > 0 {
                let room = bytes.room();
                let part = room.len().min(5 << 20);
                for byte in &mut room[..part] {
                    *byte = next;
                    next = next.wrapping_add(1);
                }
                bytes.filled(part);
            }
            assert!(bytes.room().is_empty());
            let buffer = bytes.finish();
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().zip(0_usize..).all(|(byte, index)| usize::from(*byte) == index % 256), "{length}");
        }
    }
}
