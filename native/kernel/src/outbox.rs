//! A buffer of bytes to send through a socket. The socket takes them piecewise.

/// The memory that is kept once all bytes are sent, at most.
const KEPT: usize = 1 << 20;

/// The bytes to send, and the number of those sent.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// The end of the buffer, where the next message is appended.
    pub fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes that are still to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Marks this many of the unsent bytes as sent.
    pub fn sent(&mut self, bytes: usize) {
        self.sent = self.bytes.len().min(self.sent.saturating_add(bytes));
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
            self.sent = 0;
        } else if self.sent >= KEPT.max(self.bytes.len() - self.sent) {
            // Sent bytes would pile up in a buffer that is never empty, so they are removed. Each byte is moved once at most.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_not_sent_again() {
        let mut outbox = Outbox::default();
        outbox.end().extend_from_slice(b"abc");
        outbox.sent(1);
        outbox.end().extend_from_slice(b"def");
        assert_eq!(outbox.unsent(), b"bcdef");
        outbox.sent(usize::MAX);
        assert_eq!(outbox.unsent(), b"");
        outbox.end().push(b'g');
        assert_eq!(outbox.unsent(), b"g");
    }

    #[test]
    fn what_was_sent_does_not_pile_up_behind_what_never_ends() {
        let mut outbox = Outbox::default();
        outbox.end().extend_from_slice(b"first");
        for round in 0..64_u8 {
            outbox.end().extend_from_slice(&vec![round; KEPT / 4]);
            outbox.sent(KEPT / 4);
            assert!(outbox.end().len() <= 2 * KEPT);
            assert_eq!(outbox.unsent(), [63; 5].map(|_| round));
        }
    }

    #[test]
    fn the_memory_of_a_large_message_is_let_go() {
        let mut outbox = Outbox::default();
        outbox.end().resize(4 * KEPT, 0);
        outbox.sent(4 * KEPT);
        assert!(outbox.end().capacity() <= KEPT);
    }
}
