//! HTTP/1.1.

use boundary_bench_http::fuzzing::{responses as read, streamed};

use crate::input::cut;
use crate::memory::Bound;
use crate::sockets::hear;

/// Bodies of more bytes are refused. No input is as long.
const MOST_BYTES: usize = 1 << 20;

/// The bound of the reader: the buffer offered to the network, no matter what length is announced, and the responses that the
/// harness keeps.
const READER: Bound = Bound { times: 16, for_any: 256 << 10 };

pub(crate) fn responses(bytes: &[u8]) {
    for is_head in [false, true] {
        let (whole, ended) = READER.check(bytes.len(), || read(&[bytes], is_head, MOST_BYTES));
        let (pieces, in_pieces) = read(&cut(bytes), is_head, MOST_BYTES);
        assert_eq!((&pieces, in_pieces.is_ok()), (&whole, ended.is_ok()), "{ended:?} {in_pieces:?}");
        for found in &whole {
            assert!(found.body.len() <= bytes.len() && (200..=999).contains(&found.status), "{found:?}");
            // A response whose body ends with the connection is the last one.
            assert!(!is_head || found.body.is_empty());
        }
        let one = hear(&cut(bytes), |socket| streamed(socket, is_head));
        let first = whole.first().map(|found| (found.status, &found.head, &found.body));
        assert_eq!(one.as_ref().ok().map(|(status, head, body)| (*status, head, body)), first, "{one:?}");
    }
}
