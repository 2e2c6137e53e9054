//! A byte stream of HTTP/2 whose frames are noticed as they pass: `h2` does not tell which requests a server surely did not execute.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use boundary_bench_kernel::lock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// The bytes of a frame's head: its length, its type, its flags and its stream.
const HEAD: usize = 9;

/// The bytes that are read of a GOAWAY frame: its head, the last stream that the server may have processed, and the reason.
const GOAWAY_HEAD: usize = HEAD + 8;

/// The bytes that a client sends before its first frame.
const PREFACE: usize = 24;

/// Types of frames.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// The highest number of a stream.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// A connection takes no request beyond this stream, so that its numbers can't run out.
const MOST_STREAMS: u32 = LAST_STREAM - (1 << 20);

/// The most bytes of what a server sends first that an error shows.
const SHOWN: usize = 80;

/// The facts about a connection that its frames tell.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The highest stream that the client has opened.
    opened: AtomicU32,
    /// The last stream that the server may have processed, once it has said so.
    last: AtomicU32,
    /// The reason that it gave.
    reason: AtomicU32,
    is_going_away: AtomicBool,
    has_settings: AtomicBool,
    has_ended: AtomicBool,
    has_heard: AtomicBool,
    is_silent: AtomicBool,
    /// The first bytes of the server, until they are known to be HTTP/2.
    first: Mutex<Vec<u8>>,
    changed: Notify,
}

impl Seen {
    /// Whether the connection takes no more requests.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
            || self.is_going_away.load(Ordering::Acquire)
            || self.opened.load(Ordering::Acquire) > MOST_STREAMS
    }

    /// Whether the server has surely not processed the request of a stream: it was never opened, or the server said so.
    pub(super) fn is_unprocessed(&self, stream: u32) -> bool {
        stream > self.opened.load(Ordering::Acquire)
            || (self.is_going_away.load(Ordering::Acquire) && stream > self.last.load(Ordering::Acquire))
    }

    /// The reason with which the server has announced the end of the connection.
    pub(super) fn goaway(&self) -> Option<u32> {
        self.is_going_away.load(Ordering::Acquire).then(|| self.reason.load(Ordering::Acquire))
    }

    /// Waits until the settings of the server have come, or the connection has ended.
    pub(super) async fn greeted(&self) {
        loop {
            let changed = self.changed.notified();
            if self.has_greeted() || self.has_ended.load(Ordering::Acquire) {
                return;
            }
            changed.await;
        }
    }

    /// Whether the server has begun to speak HTTP/2.
    pub(super) fn has_greeted(&self) -> bool {
        self.has_settings.load(Ordering::Acquire)
    }

    /// Marks the connection as ended.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Marks the server as one that does not answer.
    pub(super) fn fall_silent(&self) {
        self.is_silent.store(true, Ordering::Release);
    }

    /// Whether the server was asked whether it is there, and did not answer.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Acquire)
    }

    /// Whether bytes have come since the last call.
    pub(super) fn has_heard(&self) -> bool {
        self.has_heard.swap(false, Ordering::AcqRel)
    }

    /// The first line that the server sent, if it is not HTTP/2.
    pub(super) fn other_protocol(&self) -> Option<String> {
        let first = lock(&self.first);
        let line = first.split(|byte| matches!(byte, b'\r' | b'\n')).next().filter(|line| !line.is_empty())?;
        Some(line.iter().take(SHOWN).flat_map(|byte| byte.escape_ascii()).map(char::from).collect())
    }

    fn received(&self, bytes: &[u8], frames: &mut Frames) {
        self.has_heard.store(true, Ordering::Release);
        if !self.has_greeted() {
            let mut first = lock(&self.first);
            let room = SHOWN.saturating_sub(first.len()).min(bytes.len());
            first.extend_from_slice(&bytes[..room]);
        }
        frames.pass(bytes, |head| match head[3] {
            SETTINGS if !self.has_settings.swap(true, Ordering::AcqRel) => {
                lock(&self.first).clear();
                self.changed.notify_waiters();
            }
            GOAWAY => {
                let said = number(head, HEAD) & LAST_STREAM;
                let last = if self.is_going_away.load(Ordering::Acquire) {
                    said.min(self.last.load(Ordering::Acquire))
                } else {
                    said
                };
                self.last.store(last, Ordering::Release);
                self.reason.store(number(head, HEAD + 4), Ordering::Release);
                self.is_going_away.store(true, Ordering::Release);
            }
            _ => {}
        });
    }

    fn sent(&self, bytes: &[u8], frames: &mut Frames) {
        frames.pass(bytes, |head| {
            if head[3] == HEADERS {
                self.opened.fetch_max(number(head, 5) & LAST_STREAM, Ordering::AcqRel);
            }
        });
    }
}

/// The 32-bit number at a place of a head.
fn number(head: &[u8; GOAWAY_HEAD], at: usize) -> u32 {
    head[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Finds the heads of frames in bytes that are cut anyhow.
struct Frames {
    head: [u8; GOAWAY_HEAD],
    filled: usize,
    /// The bytes before the next head.
    skipped: usize,
}

impl Frames {
    fn after(skipped: usize) -> Self {
        Self { head: [0; GOAWAY_HEAD], filled: 0, skipped }
    }

    /// Passes over bytes, and gives each head that is whole to `take`.
    fn pass(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8; GOAWAY_HEAD])) {
        while !bytes.is_empty() {
            let skipped = self.skipped.min(bytes.len());
            self.skipped -= skipped;
            bytes = &bytes[skipped..];
            let wanted = if self.filled < HEAD { HEAD } else { GOAWAY_HEAD };
            let taken = (wanted - self.filled).min(bytes.len());
            self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled < wanted {
                continue;
            }
            let length = (number(&self.head, 0) >> 8) as usize;
            if self.head[3] == GOAWAY && self.filled == HEAD && length >= GOAWAY_HEAD - HEAD {
                continue;
            }
            take(&self.head);
            self.skipped = length - (self.filled - HEAD);
            self.filled = 0;
        }
    }
}

/// A stream whose frames are noticed in both directions.
pub(super) struct Watched<S> {
    stream: S,
    seen: Arc<Seen>,
    received: Frames,
    sent: Frames,
}

impl<S> fmt::Debug for Watched<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watched").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, seen: Arc<Seen>) -> Self {
        Self { stream, seen, received: Frames::after(0), sent: Frames::after(PREFACE) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        this.seen.received(&buffer.filled()[before..], &mut this.received);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let taken = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        this.seen.sent(&bytes[..taken], &mut this.sent);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0], &stream.to_be_bytes(), payload].concat()
    }

    #[test]
    fn a_goaway_says_which_streams_were_not_processed() {
        let (seen, mut sent, mut received) = (Seen::default(), Frames::after(PREFACE), Frames::after(0));
        assert!(seen.is_unprocessed(1));
        seen.sent(&[b'P'; PREFACE], &mut sent);
        (0..4).for_each(|index| seen.sent(&frame(HEADERS, 2 * index + 1, b"abc"), &mut sent));
        assert!(!seen.is_unprocessed(7) && seen.is_unprocessed(9));
        seen.received(&frame(SETTINGS, 0, &[]), &mut received);
        assert!(!seen.is_over() && seen.other_protocol().is_none());
        // The first of a graceful shutdown names no stream.
        for (last, unprocessed) in
            [(LAST_STREAM, [false; 4]), (3, [false, false, true, true]), (5, [false, false, true, true])]
        {
            let payload = [last.to_be_bytes(), [0; 4]].concat();
            seen.received(&frame(GOAWAY, 0, &payload), &mut received);
            assert!(seen.is_over());
            assert_eq!([1, 3, 5, 7].map(|stream| seen.is_unprocessed(stream)), unprocessed, "{last}");
        }
    }

    #[test]
    fn what_is_not_http2_is_shown() {
        let seen = Seen::default();
        seen.received(b"HTTP/1.1 400 Bad\x1b Request\r\nserver: x\r\n\r\n", &mut Frames::after(0));
        assert_eq!(seen.other_protocol().unwrap(), "HTTP/1.1 400 Bad\\x1b Request");
    }

    proptest! {
        #[test]
        fn heads_are_the_same_however_they_are_cut(
            frames in prop::collection::vec((0_u8..10, 0_u32..100, prop::collection::vec(any::<u8>(), 0..30)), 0..12),
            cuts in prop::collection::vec(1_usize..20, 0..40),
        ) {
            let bytes = frames.iter().flat_map(|(kind, stream, payload)| frame(*kind, *stream, payload)).collect::<Vec<_>>();
            let (mut heads, mut reader, mut rest) = (Vec::new(), Frames::after(0), &bytes[..]);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                reader.pass(piece, |head| heads.push((head[3], number(head, 5))));
                rest = after;
            }
            prop_assert_eq!(heads, frames.iter().map(|(kind, stream, _)| (*kind, *stream)).collect::<Vec<_>>());
        }
    }
}
