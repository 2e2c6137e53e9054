//! A reader of whole responses from bytes cut anyhow. Nothing here blocks.

use std::ops::Range;

use boundary_bench_kernel::{Error, Result, response_limit};

use crate::chunks::Step;
use crate::head::{Begun, Framing, count_interim, head_end, parse_head};

/// The least size of the buffer offered to the network.
const ROOM: usize = 16 << 10;

/// A buffer up to this size is kept from one response to the next.
const KEPT: usize = 1 << 20;

/// A whole response. It borrows its memory.
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    /// Status code of the response.
    pub status: u16,
    /// Header lines as they were received, without the status line and the empty line.
    pub head: &'a [u8],
    /// Body of the response, without the framing.
    pub body: &'a [u8],
}

impl<'a> Response<'a> {
    /// The names and values of the headers, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).map(|line| {
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            (&line[..colon], line.get(colon + 1..).unwrap_or_default().trim_ascii())
        })
    }

    /// The value of the first header with this name.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }
}

/// A whole response as ranges in the reader's buffers, valid until the reader offers room again.
#[derive(Debug)]
pub(crate) struct Whole {
    status: u16,
    is_kept: bool,
    head: Range<usize>,
    body: Range<usize>,
    /// Whether the connection may be used for another request.
    pub(crate) is_reusable: bool,
}

/// Reads responses from the received bytes.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The number of bytes that were searched for the end of the next head.
    searched: usize,
    /// The number of interim responses before the next response.
    interim: u32,
    begun: Option<Begun>,
    /// The head and the body so far, for a body whose length is not known beforehand.
    kept: Vec<u8>,
    most_bytes: usize,
}

impl ResponseReader {
    /// A reader that refuses bodies of more than `most_bytes`.
    pub(crate) fn new(most_bytes: usize) -> Self {
        let (bytes, kept) = (Vec::new(), Vec::new());
        Self { bytes, start: 0, end: 0, searched: 0, interim: 0, begun: None, kept, most_bytes }
    }

    /// Whether nothing of a further response was received.
    pub(crate) fn is_idle(&self) -> bool {
        self.start == self.end && self.begun.is_none()
    }

    /// The buffer to receive into.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.begun.is_none() && self.bytes.len() > KEPT {
                self.bytes = Vec::new();
            }
        }
        // The bytes of a response whose length is known.
        let wanted = match &self.begun {
            Some(Begun { framing: Framing::Length(length), head_length, .. }) => head_length + length,
            _ => 0,
        };
        // The buffer grows with the bytes received, not to the length that a server announces, nor with each wake-up.
        let received = self.end - self.start;
        let missing = wanted.saturating_sub(received).clamp(ROOM, received.max(4 * ROOM));
        if self.start > 0 && self.bytes.len() - self.end < missing {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, received);
        }
        if self.bytes.len() - self.end < ROOM {
            self.bytes.resize(self.end + missing, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Marks this many bytes of the buffer as received.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.end = self.bytes.len().min(self.end + bytes);
    }

    /// The next response, once it is whole. With `is_head` it answers a HEAD request, and has no body, no matter what its head says.
    pub(crate) fn next_whole(&mut self, is_head: bool) -> Result<Option<Whole>> {
        if self.begun.is_none() && !self.begin(is_head)? {
            return Ok(None);
        }
        let Some(begun) = &mut self.begun else { return Ok(None) };
        match begun.framing {
            Framing::Length(length) => {
                let total = begun.head_length + length;
                if self.end - self.start < total {
                    return Ok(None);
                }
                let (start, head) = (self.start, begun.head.clone());
                let whole = Whole {
                    status: begun.status,
                    is_kept: false,
                    head: start + head.start..start + head.end,
                    body: start + begun.head_length..start + total,
                    is_reusable: begun.is_reusable,
                };
                self.start += total;
                self.begun = None;
                Ok(Some(whole))
            }
            Framing::Chunked(_) => Ok(self.read_chunks()?.then(|| self.finish_kept())),
            Framing::UntilClose => {
                self.keep(self.end - self.start)?;
                Ok(None)
            }
        }
    }

    /// The response whose body ends with the connection, if there is one.
    pub(crate) fn at_end(&mut self) -> Option<Whole> {
        let ends = self.begun.as_ref().is_some_and(|begun| begun.framing == Framing::UntilClose);
        ends.then(|| self.finish_kept())
    }

    /// The response that [`ResponseReader::next_whole`] has found.
    pub(crate) fn response(&self, whole: &Whole) -> Response<'_> {
        let bytes = if whole.is_kept { &self.kept } else { &self.bytes };
        Response { status: whole.status, head: &bytes[whole.head.clone()], body: &bytes[whole.body.clone()] }
    }

    fn finish_kept(&mut self) -> Whole {
        let begun = self.begun.take();
        let (status, head, is_reusable) =
            begun.map_or((0, 0..0, false), |begun| (begun.status, begun.head, begun.is_reusable));
        // `kept` begins with the headers, without the status line.
        let length = head.len();
        Whole { status, is_kept: true, head: 0..length, body: length..self.kept.len(), is_reusable }
    }

    /// Moves received bytes to `kept`.
    fn keep(&mut self, bytes: usize) -> Result<()> {
        let head = self.begun.as_ref().map_or(0, |begun| begun.head.len());
        if self.kept.len() - head + bytes > self.most_bytes {
            return Err(self.too_large());
        }
        self.kept.extend_from_slice(&self.bytes[self.start..self.start + bytes]);
        self.start += bytes;
        Ok(())
    }

    fn too_large(&self) -> Error {
        response_limit::exceeded("the body of a response", self.most_bytes)
    }

    /// Reads a head, if it was received whole. Interim responses (100 to 199) are skipped.
    fn begin(&mut self, is_head: bool) -> Result<bool> {
        loop {
            let available = &self.bytes[self.start..self.end];
            let Some(length) = head_end(available, &mut self.searched)? else { return Ok(false) };
            self.searched = 0;
            let begun = parse_head(&available[..length], is_head)?;
            if (100..200).contains(&begun.status) {
                self.start += length;
                count_interim(&mut self.interim)?;
                continue;
            }
            self.interim = 0;
            if let Framing::Length(length) = begun.framing
                && length > self.most_bytes
            {
                return Err(self.too_large());
            }
            if !matches!(begun.framing, Framing::Length(_)) {
                self.kept.clear();
                self.kept.shrink_to(KEPT);
                self.kept.extend_from_slice(&available[begun.head.clone()]);
                self.start += length;
            }
            self.begun = Some(begun);
            return Ok(true);
        }
    }

    /// Moves the received part of a chunked body to `kept`. Returns true once the body is whole.
    fn read_chunks(&mut self) -> Result<bool> {
        loop {
            let Some(Begun { framing: Framing::Chunked(chunk), .. }) = &self.begun else { return Ok(false) };
            let next = match chunk.step(&self.bytes[self.start..self.end])? {
                Step::Wait => return Ok(false),
                Step::Framing(bytes, next) => {
                    self.start += bytes;
                    next
                }
                Step::Body(bytes, next) => {
                    self.keep(bytes)?;
                    next
                }
                Step::End(bytes) => {
                    self.start += bytes;
                    return Ok(true);
                }
            };
            if let Some(begun) = &mut self.begun {
                begun.framing = Framing::Chunked(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::fuzzing::responses;
    use crate::limits::{MOST_HEAD, MOST_HEADERS, MOST_INTERIM};

    /// The responses read from bytes that arrive in pieces, after which the connection ends.
    fn read(pieces: &[&[u8]], is_head: bool) -> Result<Vec<(u16, String, bool)>> {
        let (found, outcome) = responses(pieces, is_head, 1 << 20);
        let shown = found
            .into_iter()
            .map(|found| (found.status, String::from_utf8_lossy(&found.body).into_owned(), found.is_reusable));
        outcome.map(|()| shown.collect())
    }

    const OK: &str = "HTTP/1.1 200 OK\r\n";

    fn one(text: &str) -> (u16, String, bool) {
        let found = read(&[text.as_bytes()], false).unwrap();
        assert_eq!(found.len(), 1, "{text}");
        found[0].clone()
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        for (text, body, is_reusable) in [
            ("Content-Length: 3\r\n\r\nabc", "abc", true),
            ("content-length: 3\r\ncontent-length: 3\r\nconnection: Close\r\n\r\nabc", "abc", false),
            (
                "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nt: v\r\n\r\n",
                "abc0123456789",
                true,
            ),
            ("\r\nabc", "abc", false),
            ("content-length: 0\r\n\r\n", "", true),
        ] {
            assert_eq!(one(&format!("{OK}{text}")), (200, body.to_owned(), is_reusable), "{text}");
        }
        assert_eq!(one("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx"), (200, "x".to_owned(), false));
        assert_eq!(
            one("HTTP/1.0 200\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\nx"),
            (200, "x".to_owned(), true)
        );
        assert_eq!(one("HTTP/1.1 204 No Content\r\n\r\n"), (204, String::new(), true));
        assert_eq!(one("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not\r\ncontent-length: 9\r\n\r\n").0, 304);
        assert_eq!(read(&[format!("{OK}content-length: 9\r\n\r\n").as_bytes()], true).unwrap()[0].1, "");
    }

    #[test]
    fn headers_are_read_when_they_are_asked_for() {
        let mut reader = ResponseReader::new(10);
        let text = b"HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\nX: a:b\r\nempty:\r\ncontent-length: 0\r\n\r\n";
        reader.room()[..text.len()].copy_from_slice(text);
        reader.received(text.len());
        let whole = reader.next_whole(false).unwrap().unwrap();
        let response = reader.response(&whole);
        assert_eq!(response.header("content-type"), Some(b"text/plain".as_slice()));
        assert_eq!(response.header("x"), Some(b"a:b".as_slice()));
        assert_eq!(response.header("empty"), Some(b"".as_slice()));
        assert_eq!((response.header("y"), response.headers().count()), (None, 4));
        assert!(reader.is_idle());
    }

    #[test]
    fn a_response_may_have_a_thousand_headers() {
        let text = |count: usize| format!("{OK}{}content-length: 1\r\n\r\nx", "a: b\r\n".repeat(count - 1));
        for count in [100, 101, MOST_HEADERS] {
            assert_eq!(one(&text(count)).1, "x", "{count}");
        }
        let error = read(&[text(MOST_HEADERS + 1).as_bytes()], false).unwrap_err();
        assert!(error.to_string().contains("more than 1000 headers"), "{error}");
    }

    #[test]
    fn a_response_may_have_a_thousand_interim_responses_before_it() {
        let text = |count: u32| {
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
            format!("{}{OK}content-length: 0\r\n\r\n", interim.repeat(count as usize / 2)).repeat(2)
        };
        assert_eq!(read(&[text(MOST_INTERIM).as_bytes()], false).unwrap().len(), 2);
        let error = read(&[text(MOST_INTERIM + 2).as_bytes()], false).unwrap_err();
        assert!(error.to_string().contains("more than 1000 interim responses"), "{error}");
    }

    #[test]
    fn the_buffer_grows_with_what_comes_whatever_length_is_announced() {
        let mut reader = ResponseReader::new(256 << 20);
        let head = format!("{OK}content-length: {}\r\n\r\n", 256 << 20);
        reader.room()[..head.len()].copy_from_slice(head.as_bytes());
        reader.received(head.len());
        for _ in 0..20 {
            assert!(reader.next_whole(false).unwrap().is_none());
            reader.room();
            reader.received(1);
        }
        assert!(reader.bytes.len() < 1 << 20, "{} bytes for {}", reader.bytes.len(), reader.end);
    }

    #[test]
    fn extensions_of_chunks_are_not_kept() {
        let mut reader = ResponseReader::new(1 << 20);
        let extended = format!("1;{}\r\nx\r\n", "e".repeat(4000));
        let head = format!("{OK}transfer-encoding: chunked\r\n\r\n");
        for piece in std::iter::once(head).chain(std::iter::repeat_n(extended, 10_000)) {
            let mut piece = piece.as_bytes();
            while !piece.is_empty() {
                let room = reader.room();
                let taken = room.len().min(piece.len());
                room[..taken].copy_from_slice(&piece[..taken]);
                piece = &piece[taken..];
                reader.received(taken);
                assert!(reader.next_whole(false).unwrap().is_none());
            }
        }
        assert!(reader.bytes.len() + reader.kept.len() < 200_000, "{}", reader.bytes.len() + reader.kept.len());
    }

    #[test]
    fn a_long_body_takes_few_reads_and_little_room_beyond_it() {
        let length = 256 << 20;
        let mut reader = ResponseReader::new(length);
        let head = format!("{OK}content-length: {length}\r\n\r\n");
        reader.room()[..head.len()].copy_from_slice(head.as_bytes());
        reader.received(head.len());
        let mut reads = 0;
        while reader.next_whole(false).unwrap().is_none() {
            let left = head.len() + length - reader.end;
            let bytes = reader.room().len().min(left);
            reader.received(bytes);
            reads += 1;
        }
        assert!(reads < 20, "{reads} reads");
        assert!(reader.bytes.len() < length + (1 << 20), "{}", reader.bytes.len());
    }

    #[test]
    fn what_is_no_response_is_refused() {
        let long = "a".repeat(MOST_HEAD);
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        for text in [
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 99999 x\r\n\r\n",
            "HTTP/1.1 101 x\r\n\r\n",
            "HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n",
            &format!("{OK}{long}"),
            &format!("{OK}x: {long}\r\ncontent-length: 0\r\n\r\n"),
            &format!("{OK}{many}\r\n"),
            &format!("{OK}content-length: -1\r\n\r\n"),
            &format!("{OK}content-length: 1\r\ncontent-length: 2\r\n\r\n"),
            &format!("{OK}content-length: 99999999999999999999\r\n\r\n"),
            &format!("{OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"),
            &format!("{OK}transfer-encoding: gzip, chunked\r\n\r\n"),
            &format!("{OK}transfer-encoding: chunked\r\n\r\nx\r\n"),
            &format!("{OK}transfer-encoding: chunked\r\n\r\n1\r\nabc"),
            &format!("{OK}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n"),
            &format!("{OK}transfer-encoding: chunked\r\n\r\n0\r\n{long}{long}"),
        ] {
            let error = read(&[text.as_bytes()], false).unwrap_err();
            assert_eq!(error.code(), "BB_ENGINE", "{}", &text[..text.len().min(80)]);
        }
        for text in [
            &format!("{OK}content-length: 1048577\r\n\r\n"),
            &format!("{OK}transfer-encoding: chunked\r\n\r\n200000\r\n{}", "x".repeat(1 << 21)),
            &format!("{OK}\r\n{}", "x".repeat(1 << 21)),
        ] {
            let error = read(&[text.as_bytes()], false).unwrap_err();
            assert_eq!(error.code(), "BB_TOO_LARGE", "{}", &text[..text.len().min(80)]);
        }
    }

    proptest! {
        #[test]
        fn responses_are_the_same_however_they_are_cut(
            bodies in proptest::collection::vec("[a-z\r\n0]{0,40}", 1..5), cuts in proptest::collection::vec(1_usize..30, 0..40), chunked: bool,
        ) {
            let mut text = String::new();
            for body in &bodies {
                text += OK;
                if chunked {
                    text += "transfer-encoding: chunked\r\n\r\n";
                    for piece in body.as_bytes().chunks(7) {
                        write!(text, "{:x}\r\n{}\r\n", piece.len(), std::str::from_utf8(piece).unwrap()).unwrap();
                    }
                    text += "0\r\n\r\n";
                } else {
                    write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
                }
            }
            let (mut pieces, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let found = read(&pieces, false).unwrap();
            prop_assert_eq!(found.into_iter().map(|(_, body, _)| body).collect::<Vec<_>>(), bodies);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(start in 0_usize..4, bytes in proptest::collection::vec(any::<u8>(), 0..200), is_head: bool) {
            let starts = ["", OK, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: "];
            let _ = read(&[starts[start].as_bytes(), &bytes], is_head);
        }
    }
}
