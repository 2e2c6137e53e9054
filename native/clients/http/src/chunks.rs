//! Chunked bodies: the framing of HTTP/1.1 for bodies whose length is not known beforehand.

use boundary_bench_kernel::Result;

use crate::http_error;
use crate::limits::MOST_HEAD;

/// The most bytes of the line that gives a chunk's size.
const MOST_LINE: usize = 4 << 10;

/// The part of a chunked body that is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunk {
    Size,
    Data(u64),
    DataEnd,
    Trailers(usize),
}

/// The meaning of the next received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The bytes received so far are too few to tell.
    Wait,
    /// This many bytes are framing, followed by that part.
    Framing(usize, Chunk),
    /// This many bytes are body, followed by that part.
    Body(usize, Chunk),
    /// This many bytes are framing, and end the body.
    End(usize),
}

impl Chunk {
    /// Tells what the received bytes `available` begin with.
    pub(crate) fn step(self, available: &[u8]) -> Result<Step> {
        Ok(match self {
            Self::Size => match httparse::parse_chunk_size(available) {
                Ok(httparse::Status::Complete((line, 0))) => Step::Framing(line, Self::Trailers(0)),
                Ok(httparse::Status::Complete((line, size))) => Step::Framing(line, Self::Data(size)),
                Ok(httparse::Status::Partial) if available.len() <= MOST_LINE => Step::Wait,
                _ => return Err(http_error("the size of a chunk is no number".to_owned())),
            },
            Self::Data(0) => Step::Framing(0, Self::DataEnd),
            Self::Data(_) if available.is_empty() => Step::Wait,
            Self::Data(left) => {
                let bytes = available.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                Step::Body(bytes, Self::Data(left - bytes as u64))
            }
            Self::DataEnd => match available {
                [b'\r', b'\n', ..] => Step::Framing(2, Self::Size),
                [] | [b'\r'] => Step::Wait,
                _ => return Err(http_error("a chunk is longer than it says".to_owned())),
            },
            Self::Trailers(before) => {
                let line = memchr::memchr(b'\n', available);
                if before + line.unwrap_or(available.len()) > MOST_HEAD {
                    return Err(http_error(format!("the trailers of a response have more than {MOST_HEAD} bytes")));
                }
                match line {
                    None => Step::Wait,
                    Some(line) if available[..line].trim_ascii().is_empty() => Step::End(line + 1),
                    Some(line) => Step::Framing(line + 1, Self::Trailers(before + line + 1)),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_what_has_come() {
        for (chunk, available, expected) in [
            (Chunk::Size, "", Step::Wait),
            (Chunk::Size, "a", Step::Wait),
            (Chunk::Size, "a\r\nxy", Step::Framing(3, Chunk::Data(10))),
            (Chunk::Size, "0\r\n", Step::Framing(3, Chunk::Trailers(0))),
            (Chunk::Data(3), "ab", Step::Body(2, Chunk::Data(1))),
            (Chunk::Data(1), "ab", Step::Body(1, Chunk::Data(0))),
            (Chunk::Data(0), "", Step::Framing(0, Chunk::DataEnd)),
            (Chunk::DataEnd, "\r", Step::Wait),
            (Chunk::DataEnd, "\r\n5", Step::Framing(2, Chunk::Size)),
            (Chunk::Trailers(0), "a: b\r\n", Step::Framing(6, Chunk::Trailers(6))),
            (Chunk::Trailers(6), "\r", Step::Wait),
            (Chunk::Trailers(6), "\r\n", Step::End(2)),
        ] {
            assert_eq!(chunk.step(available.as_bytes()).unwrap(), expected, "{chunk:?} {available:?}");
        }
        assert!(Chunk::Size.step(b"x\r\n").is_err() && Chunk::DataEnd.step(b"abc").is_err());
    }
}
