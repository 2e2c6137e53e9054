//! A byte stream of HTTP/2 whose frames are noticed as they pass. `h2` does not tell which requests a server surely did not execute.
//! `h2` 0.4.20 also bounds neither interim responses nor PING, SETTINGS, PRIORITY and frames of unknown types.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
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
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// The flag of a frame that is the last one of its stream.
const END_STREAM: u8 = 1;

/// The most idle frames in a row that a server may send within [`FLOOD_TIME`]. An idle frame neither carries a part of a body nor ends
/// a stream. Bodies that the client sends count as well, since a server answers each part by such frames.
const MOST_IDLE: u32 = 10_000;

/// The time in which [`MOST_IDLE`] frames are a flood.
const FLOOD_TIME: Duration = Duration::from_secs(15);

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
    /// The streams whose response was whole before their request was.
    early: Mutex<HashSet<u32>>,
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

    /// Whether the response of a stream was whole before its request was. Asked once per stream.
    pub(super) fn is_whole(&self, stream: u32) -> bool {
        lock(&self.early).remove(&stream)
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

    fn received(&self, bytes: &[u8], frames: &mut Frames, idle: &mut Idle) -> io::Result<()> {
        self.has_heard.store(true, Ordering::Release);
        if !self.has_greeted() {
            let mut first = lock(&self.first);
            let room = SHOWN.saturating_sub(first.len()).min(bytes.len());
            first.extend_from_slice(&bytes[..room]);
        }
        let mut is_flood = false;
        frames.pass(bytes, |head| {
            is_flood |= idle.is_flood(head);
            if ends_stream(head) && idle.sending.remove(&stream_of(head)) {
                lock(&self.early).insert(stream_of(head));
            }
            self.note(head);
        });
        if is_flood {
            return Err(io::Error::other(format!(
                "the server sent {MOST_IDLE} frames that carry nothing and end nothing"
            )));
        }
        Ok(())
    }

    fn note(&self, head: &[u8; GOAWAY_HEAD]) {
        match head[3] {
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
        }
    }

    fn sent(&self, bytes: &[u8], frames: &mut Frames, idle: &mut Idle) {
        frames.pass(bytes, |head| {
            let stream = stream_of(head);
            match head[3] {
                DATA => idle.frames = 0,
                HEADERS => {
                    self.opened.fetch_max(stream, Ordering::AcqRel);
                    if !ends_stream(head) {
                        idle.sending.insert(stream);
                    }
                }
                _ => {}
            }
            // From now on, h2 itself knows whether the response is whole.
            let is_last = (head[3] == DATA && ends_stream(head)) || head[3] == RST_STREAM;
            if is_last && !idle.sending.remove(&stream) {
                lock(&self.early).remove(&stream);
            }
        });
    }
}

/// Whether a frame is the last one of its stream from its sender.
fn ends_stream(head: &[u8; GOAWAY_HEAD]) -> bool {
    matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0
}

fn stream_of(head: &[u8; GOAWAY_HEAD]) -> u32 {
    number(head, 5) & LAST_STREAM
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

/// The idle frames of a server in a row, and what its frames are held against.
struct Idle {
    frames: u32,
    /// The streams whose request is not whole yet.
    sending: HashSet<u32>,
    /// The time at which the number last reached [`MOST_IDLE`], at first the time of the connection's start.
    since: Instant,
}

impl Idle {
    /// Counts a frame of the server. Returns whether it is one too many.
    fn is_flood(&mut self, head: &[u8; GOAWAY_HEAD]) -> bool {
        let is_idle = match head[3] {
            DATA => head[4] & END_STREAM == 0 && number(head, 0) >> 8 == 0,
            HEADERS => head[4] & END_STREAM == 0,
            RST_STREAM | GOAWAY => false,
            _ => true,
        };
        self.frames = if is_idle { self.frames + 1 } else { 0 };
        if self.frames < MOST_IDLE {
            return false;
        }
        self.frames = 0;
        std::mem::replace(&mut self.since, Instant::now()).elapsed() < FLOOD_TIME
    }
}

/// A stream whose frames are noticed in both directions. A flood of idle frames is an error.
pub struct Watched<S> {
    stream: S,
    seen: Arc<Seen>,
    received: Frames,
    sent: Frames,
    idle: Idle,
}

/// A stream of HTTP/2 that fails if the server floods its client with frames that carry nothing and end nothing.
pub fn guarded<S>(stream: S) -> Watched<S> {
    Watched::new(stream, Arc::default())
}

impl<S> fmt::Debug for Watched<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watched").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, seen: Arc<Seen>) -> Self {
        let idle = Idle { frames: 0, sending: HashSet::new(), since: Instant::now() };
        Self { stream, seen, received: Frames::after(0), sent: Frames::after(PREFACE), idle }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        Poll::Ready(this.seen.received(&buffer.filled()[before..], &mut this.received, &mut this.idle))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let taken = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        this.seen.sent(&bytes[..taken], &mut this.sent, &mut this.idle);
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

    fn idle() -> Idle {
        Idle { frames: 0, sending: HashSet::new(), since: Instant::now() }
    }

    #[test]
    fn frames_that_carry_nothing_and_end_nothing_are_a_flood() {
        let seen = Seen::default();
        let received = |idle: &mut Idle, bytes: &[u8]| seen.received(bytes, &mut Frames::after(0), idle);
        let with_flags = |kind, flags| [&[0, 0, 0, kind, flags][..], &1_u32.to_be_bytes()].concat();
        // DATA without a byte, interim responses, PRIORITY, SETTINGS, PUSH_PROMISE, PING, WINDOW_UPDATE, CONTINUATION, unknown types.
        for kind in [DATA, HEADERS, 2, SETTINGS, 5, 6, 8, 9, 99] {
            let (mut idle, one) = (idle(), with_flags(kind, 0));
            received(&mut idle, &one.repeat(MOST_IDLE as usize - 1)).unwrap();
            let error = received(&mut idle, &one).unwrap_err();
            assert!(error.to_string().contains("10000 frames that carry nothing"), "{kind}: {error}");
        }
        let ends = [(DATA, END_STREAM), (HEADERS, END_STREAM), (RST_STREAM, 0), (GOAWAY, 0)];
        let ends = ends.map(|(kind, flags)| with_flags(kind, flags)).into_iter().chain([frame(DATA, 1, b"a")]);
        for (number, end) in ends.enumerate() {
            let mut idle = idle();
            for _ in 0..3 {
                received(&mut idle, &with_flags(6, 0).repeat(MOST_IDLE as usize - 1)).unwrap();
                received(&mut idle, &end).unwrap_or_else(|error| panic!("{number}: {error}"));
            }
        }
    }

    #[test]
    fn idle_frames_are_no_flood_while_the_client_sends_a_body_or_if_they_are_rare() {
        let seen = Seen::default();
        let updates = frame(8, 1, &[0, 0, 0, 1]).repeat(MOST_IDLE as usize - 1);
        let mut idle = idle();
        for _ in 0..3 {
            seen.received(&updates, &mut Frames::after(0), &mut idle).unwrap();
            seen.sent(&frame(DATA, 1, b"part"), &mut Frames::after(0), &mut idle);
        }
        seen.received(&updates, &mut Frames::after(0), &mut idle).unwrap();
        idle.since -= FLOOD_TIME;
        for _ in 0..2 {
            seen.received(&updates[..13], &mut Frames::after(0), &mut idle).unwrap();
        }
        assert_eq!(idle.frames, 1);
    }

    #[test]
    fn a_goaway_says_which_streams_were_not_processed() {
        let (seen, mut sent, mut received) = (Seen::default(), Frames::after(PREFACE), Frames::after(0));
        assert!(seen.is_unprocessed(1));
        let mut idle = idle();
        seen.sent(&[b'P'; PREFACE], &mut sent, &mut idle);
        (0..4).for_each(|index| seen.sent(&frame(HEADERS, 2 * index + 1, b"abc"), &mut sent, &mut idle));
        assert!(!seen.is_unprocessed(7) && seen.is_unprocessed(9));
        seen.received(&frame(SETTINGS, 0, &[]), &mut received, &mut idle).unwrap();
        assert!(!seen.is_over() && seen.other_protocol().is_none());
        // The first of a graceful shutdown names no stream.
        for (last, unprocessed) in
            [(LAST_STREAM, [false; 4]), (3, [false, false, true, true]), (5, [false, false, true, true])]
        {
            let payload = [last.to_be_bytes(), [0; 4]].concat();
            seen.received(&frame(GOAWAY, 0, &payload), &mut received, &mut idle).unwrap();
            assert!(seen.is_over());
            assert_eq!([1, 3, 5, 7].map(|stream| seen.is_unprocessed(stream)), unprocessed, "{last}");
        }
    }

    #[test]
    fn what_is_not_http2_is_shown() {
        let seen = Seen::default();
        let text = b"HTTP/1.1 400 Bad\x1b Request\r\nserver: x\r\n\r\n";
        seen.received(text, &mut Frames::after(0), &mut idle()).unwrap();
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
