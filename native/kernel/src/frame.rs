//! The form in which results cross to another language: many in one buffer, in 32-bit words of the machine's order.
//!
//! A *frame* is a sequence of results. Each begins with the words `id, status, count, bytes, flags`. The data that follow,
//! padded to a whole word, are in the client's own format. The data of a failed result are the text of its error, with the
//! code in brackets.

use crate::{Error, Result};

/// The number of words that a result begins with.
const HEAD_WORDS: usize = 5;

/// The status of a result whose request was answered.
const ANSWERED: u32 = 0;

/// The status of a result whose request failed as a whole.
const FAILED: u32 = 1;

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
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Discards the results, and keeps at most 1 MiB of the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends a result that reports a lost connection.
    pub fn gone(&mut self, connection: u32) {
        self.words(&[connection, GONE, 0, 0, 0]);
    }

    /// Appends a result that reports a lost connection, with the error for those who rely on what it held.
    pub fn gone_with(&mut self, connection: u32, flags: u32, error: &Error) {
        self.error(connection, GONE, flags, error);
    }

    /// Appends the failure of a request.
    pub fn fail(&mut self, id: u32, error: &Error) {
        self.error(id, FAILED, 0, error);
    }

    fn error(&mut self, id: u32, status: u32, flags: u32, error: &Error) {
        let text = error.coded();
        self.begin([id, status, 0, word(text.len()), flags], text.len() + 4);
        self.put(text.as_bytes());
        self.fill();
    }

    /// Appends a result. `write` appends its data, and they begin at a multiple of 8 bytes. The count is the number of words
    /// before the data.
    pub fn add(&mut self, id: u32, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        let padding = (start / 4 + HEAD_WORDS) % 2;
        self.words(&[id, ANSWERED, word(padding), 0, 0]);
        self.words(&[0][..padding]);
        let data = self.bytes.len();
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        let length = word(self.bytes.len() - data);
        self.bytes[start + 12..start + 16].copy_from_slice(&length.to_ne_bytes());
        self.fill();
        Ok(())
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

/// The numbers by which a reader of frames knows their layout, with their names.
pub fn layout() -> Vec<(&'static str, u32)> {
    vec![("RESULT_WORDS", word(HEAD_WORDS)), ("ANSWERED", ANSWERED), ("GONE", GONE), ("ASCII", ASCII)]
}

/// A number as a word, or [`u32::MAX`] for a larger number.
#[inline]
pub fn word(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The words in `bytes`. The bytes of an incomplete last word are ignored.
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

    #[test]
    fn data_begin_at_a_multiple_of_8_bytes_and_failed_data_are_left_out() {
        let mut frame = Frame::default();
        let mut add = |id, data: &[u8], outcome| {
            frame.add(id, |bytes| {
                bytes.extend_from_slice(data);
                outcome
            })
        };
        add(7, b"abcde", Ok(())).unwrap();
        add(8, b"x", Err(Error::Cancelled)).unwrap_err();
        add(9, &[1], Ok(())).unwrap();
        let read = words(frame.bytes()).collect::<Vec<_>>();
        assert_eq!((&read[..5], &frame.bytes()[24..29]), ([7, 0, 1, 5, 0].as_slice(), b"abcde".as_slice()));
        assert_eq!(read[8..], [9, 0, 1, 1, 0, 0, 1]);
        frame.clear();
        frame.fail(3, &Error::Cancelled);
        assert_eq!(words(frame.bytes()).nth(1), Some(1));
        assert!(frame.bytes()[20..].starts_with(b"[BB_ABORTED] "));
    }
}
