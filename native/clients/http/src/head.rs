//! The heads of responses, and the framing of the body that they announce.

use std::mem::MaybeUninit;
use std::ops::Range;

use boundary_bench_kernel::Result;

use crate::chunks::Chunk;
use crate::http_error;
use crate::limits::{MOST_HEAD, MOST_HEADERS, MOST_INTERIM, USUAL_HEADERS};

/// The framing that says where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked(Chunk),
    UntilClose,
}

/// The parsed head of a response whose body is being read.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) status: u16,
    /// The bytes of the headers, first to last, counted from the response's first byte.
    pub(crate) head: Range<usize>,
    /// The bytes of the whole head, with the status line and the empty line.
    pub(crate) head_length: usize,
    pub(crate) framing: Framing,
    pub(crate) is_reusable: bool,
}

/// The length of a head, if its end was received. Bytes before `searched` are not searched again.
pub(crate) fn head_end(bytes: &[u8], searched: &mut usize) -> Result<Option<usize>> {
    let end = end_of(bytes, searched);
    if end.unwrap_or(bytes.len()) > MOST_HEAD {
        return Err(http_error(format!("the head of a response has more than {MOST_HEAD} bytes")));
    }
    Ok(end)
}

fn end_of(bytes: &[u8], searched: &mut usize) -> Option<usize> {
    loop {
        let line = *searched + memchr::memchr(b'\n', bytes.get(*searched..)?)?;
        match &bytes[line + 1..] {
            [b'\n', ..] => return Some(line + 2),
            [b'\r', b'\n', ..] => return Some(line + 3),
            [] | [b'\r'] => {
                *searched = line;
                return None;
            }
            _ => *searched = line + 1,
        }
    }
}

/// Counts an interim response.
pub(crate) fn count_interim(count: &mut u32) -> Result<()> {
    *count += 1;
    if *count > MOST_INTERIM {
        return Err(http_error(format!("the server sent more than {MOST_INTERIM} interim responses to a request")));
    }
    Ok(())
}

/// Parses a whole head. With `is_head` it answers a HEAD request, and no body follows, no matter what the headers say.
pub(crate) fn parse_head(bytes: &[u8], is_head: bool) -> Result<Begun> {
    let malformed = |problem: &str| http_error(format!("what the server sent is no response of HTTP/1.1: {problem}"));
    let (mut space, mut more) = ([MaybeUninit::uninit(); USUAL_HEADERS], Vec::new());
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let mut length = config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut space);
    if length == Err(httparse::Error::TooManyHeaders) {
        more.resize(MOST_HEADERS, MaybeUninit::uninit());
        parsed = httparse::Response::new(&mut []);
        length = config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut more);
    }
    let length = length.map_err(|error| match error {
        httparse::Error::TooManyHeaders => malformed(&format!("it has more than {MOST_HEADERS} headers")),
        other => malformed(&other.to_string()),
    })?;
    if length != httparse::Status::Complete(bytes.len()) {
        return Err(malformed("its head ends early"));
    }
    let status = parsed.code.unwrap_or_default();
    if status < 100 {
        return Err(malformed(&format!("its status is {status}")));
    }
    if status == 101 {
        return Err(http_error("the server switched to another protocol, which nobody asked for".to_owned()));
    }
    let mut is_reusable = parsed.version == Some(1);
    let (mut content_length, mut is_chunked) = (None, false);
    for header in &*parsed.headers {
        // The headers that matter, told apart by the lengths of their names first.
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => {
                let has =
                    |wanted: &str| tokens(header.value).any(|token| token.eq_ignore_ascii_case(wanted.as_bytes()));
                if has("close") {
                    is_reusable = false;
                } else if has("keep-alive") {
                    is_reusable = true;
                }
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let value = decimal(header.value).ok_or_else(|| malformed("its content-length is no number"))?;
                if content_length.is_some_and(|known| known != value) {
                    return Err(malformed("it has several lengths"));
                }
                content_length = Some(value);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                for token in tokens(header.value) {
                    if is_chunked || !token.eq_ignore_ascii_case(b"chunked") {
                        let name = String::from_utf8_lossy(header.value);
                        return Err(malformed(&format!("its transfer-encoding is {name}")));
                    }
                    is_chunked = true;
                }
            }
            _ => {}
        }
    }
    let framing = if is_head || matches!(status, 100..200 | 204 | 304) {
        Framing::Length(0)
    } else {
        match (is_chunked, content_length) {
            (true, Some(_)) => return Err(malformed("it has a length, and chunks")),
            (true, None) => Framing::Chunked(Chunk::Size),
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClose,
        }
    };
    is_reusable &= framing != Framing::UntilClose;
    // The status line ends where the first header begins.
    let first = memchr::memchr(b'\n', bytes.trim_ascii_start()).map_or(0, |line| line + 1);
    let first = (bytes.len() - bytes.trim_ascii_start().len() + first).min(bytes.len());
    let lines = bytes[first..].trim_ascii_end().len();
    Ok(Begun { status, head: first..first + lines, head_length: bytes.len(), framing, is_reusable })
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

/// Parses a number that consists of digits only.
fn decimal(text: &[u8]) -> Option<usize> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0_usize, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
