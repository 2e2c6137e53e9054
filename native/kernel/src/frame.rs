//! The form in which results cross to another language: many in one buffer, in 32-bit words of the machine's order.
//!
//! A *frame* is a sequence of results. Each begins with the words `id, status, count, bytes, flags`; the data that follow,
//! padded to a whole word, are in the client's own format.

/// The number of words that a result begins with.
const HEAD_WORDS: usize = 5;

/// The status of a result that reports a lost connection.
const GONE: u32 = 2;

/// The flag of a result whose bytes are all ASCII.
pub const ASCII: u32 = 1;

/// The buffer of results that were not taken yet.
#[derive(Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// Takes the bytes of all results so far, and leaves the frame empty.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The bytes of all results so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Discards the results, and keeps at most 1 MiB of the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
    }

    /// Whether there are no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends a result that reports a lost connection.
    pub fn gone(&mut self, connection: u32) {
        self.words(&[connection, GONE, 0, 0, 0]);
    }

    /// Appends the first words of a result, and reserves `room` bytes behind them.
    #[inline]
    pub fn begin(&mut self, head: [u32; HEAD_WORDS], room: usize) {
        self.bytes.reserve(HEAD_WORDS * 4 + room);
        self.words(&head);
    }

    /// Appends words to the last result.
    #[inline]
    pub fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_ne_bytes()));
    }

    /// Appends bytes to the last result.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Pads the last result to a whole word with zeros.
    #[inline]
    pub fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A number as a word; [`u32::MAX`] for a larger number.
#[inline]
#[must_use]
pub fn word(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The words in `bytes`; the bytes of an incomplete last word are ignored.
#[inline]
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_follow_one_another_in_whole_words() {
        let mut frame = Frame::default();
        frame.begin([7, 0, 1, 3, ASCII], 4);
        frame.put(b"abc");
        frame.fill();
        frame.gone(9);
        assert_eq!(&frame.bytes()[20..24], b"abc\0");
        let bytes = frame.take();
        let read = words(&bytes).collect::<Vec<_>>();
        assert_eq!((&read[..5], &read[6..]), ([7, 0, 1, 3, 1].as_slice(), [9, 2, 0, 0, 0].as_slice()));
        assert!(frame.is_empty());
    }
}
