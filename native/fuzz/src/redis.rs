//! The Redis protocol.

use boundary_bench_redis::{Reply, ReplyBuffer};

use crate::input::cut;
use crate::memory::Bound;

/// The bound of the reader: a reply is read in its buffer. The buffer begins with 16 KiB and doubles.
const BUFFER: Bound = Bound { times: 4, for_any: 64 << 10 };

/// The replies as text, with their contents, and whether the bytes after the last reply were refused.
type Replies = (Vec<String>, bool);

fn replies(pieces: &[&[u8]]) -> Replies {
    let mut buffer = ReplyBuffer::default();
    let mut replies = Vec::new();
    for piece in pieces {
        let mut piece = *piece;
        while !piece.is_empty() {
            let room = buffer.room();
            assert!(!room.is_empty());
            let bytes = room.len().min(piece.len());
            room[..bytes].copy_from_slice(&piece[..bytes]);
            buffer.received(bytes);
            piece = &piece[bytes..];
            loop {
                match buffer.next_reply() {
                    Ok(Some(reply)) => replies.push(shown(reply)),
                    Ok(None) => break,
                    Err(_) => return (replies, true),
                }
            }
        }
    }
    (replies, false)
}

fn shown(reply: Reply<'_>) -> String {
    let Reply::Array(items) = reply else { return format!("{reply:?}") };
    let count = items.count_left();
    let items: Vec<_> = items.map(shown).collect();
    assert_eq!(items.len(), count, "an array has as many replies as it says");
    format!("[{}]", items.join(","))
}

pub(crate) fn resp(bytes: &[u8]) {
    let whole = replies(&[bytes]);
    assert_eq!(replies(&cut(bytes)), whole);
    let mut rest = bytes;
    for expected in &whole.0 {
        let (reply, after) = Reply::read(rest).expect("a reply that was found can be read");
        assert_eq!(shown(reply), *expected);
        rest = after;
    }
    BUFFER.check(bytes.len(), || {
        let mut buffer = ReplyBuffer::default();
        for piece in bytes.chunks(100) {
            let room = buffer.room();
            room[..piece.len()].copy_from_slice(piece);
            buffer.received(piece.len());
            while let Ok(Some(_)) = buffer.next_bytes() {}
        }
    });
}
