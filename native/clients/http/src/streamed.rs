//! A response whose body is read as a stream, for bodies that are too large to hold.

use std::future::poll_fn;
use std::io;

use boundary_bench_kernel::exchange::Exchange;
use boundary_bench_kernel::outbox::Outbox;
use boundary_bench_kernel::socket::lost;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result};
use futures_util::FutureExt;

use crate::chunks::Step;
use crate::head::{Begun, Framing, count_interim, head_end, parse_head};
use crate::no_answer;
use crate::origin::Origin;
use crate::request::{Method, Request};
use crate::stream::Version;

/// The size of the receive buffer: the most bytes read from the network at once.
const ROOM: usize = 128 << 10;

/// The size, about, from which on a piece takes in no more of what has arrived: large enough that the cost of crossing once per
/// piece does not show.
const PIECE: usize = 256 << 10;

/// A response on a connection of its own. The connection is closed with it.
pub struct StreamedResponse {
    place: Origin,
    exchange: Exchange,
    /// The request.
    output: Outbox,
    status: u16,
    head: Vec<u8>,
    /// The framing of the rest of the body, or `None` once the body is whole.
    framing: Option<Framing>,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    piece: Vec<u8>,
}

impl StreamedResponse {
    /// Connects, sends a request, and reads the head of its response.
    pub async fn open(place: &Origin, request: &Request<'_>) -> Result<Self> {
        request.check()?;
        if place.options.version == Version::Http2 {
            return Err(Error::Unsupported("bodies are streamed over HTTP/1.1 alone".to_owned()));
        }
        Self::over(place.open_stream().await?, place, request).await
    }

    /// Sends a request over an open stream, and reads the head of its response.
    pub(crate) async fn over(stream: Stream, place: &Origin, request: &Request<'_>) -> Result<Self> {
        let mut response = Self {
            place: place.clone(),
            exchange: Exchange::new(stream),
            output: Outbox::default(),
            status: 0,
            head: Vec::new(),
            framing: None,
            bytes: vec![0; ROOM].into_boxed_slice(),
            start: 0,
            end: 0,
            piece: Vec::new(),
        };
        within(place.options.timeout, response.begin(request), no_answer).await?;
        Ok(response)
    }

    /// Status code of the response.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Header lines as they were received, without the status line and the empty line.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The next piece of the body, or `None` at the end of the body. It is the part that has arrived when it is asked for, or else the
    /// part that arrives first.
    pub async fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        self.piece.clear();
        let timeout = self.place.options.timeout;
        within(timeout, self.fill(), no_answer).await?;
        Ok((!self.piece.is_empty()).then_some(&self.piece))
    }

    /// The next piece of the body as memory that the caller owns.
    pub async fn take_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let is_there = self.next_piece().await?.is_some();
        Ok(is_there.then(|| std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE + ROOM))))
    }

    async fn fill(&mut self) -> Result<()> {
        loop {
            self.take_body()?;
            if self.framing.is_none() || self.piece.len() >= PIECE {
                return Ok(());
            }
            let has_received = if self.piece.is_empty() {
                self.receive().await?
            } else {
                // The part that has arrived is not held back for a part that may come much later.
                match self.receive().now_or_never() {
                    Some(received) => received?,
                    None => return Ok(()),
                }
            };
            if !has_received {
                match self.framing {
                    Some(Framing::UntilClose) => self.framing = None,
                    _ => return Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
                }
            }
        }
    }

    async fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        self.place.head.write(self.output.end(), request);
        let (mut searched, mut interim) = (0, 0);
        loop {
            let Some(length) = head_end(&self.bytes[self.start..self.end], &mut searched)? else {
                if !self.receive().await? {
                    return Err(self.lost(&io::ErrorKind::UnexpectedEof.into()));
                }
                continue;
            };
            searched = 0;
            let lines = &self.bytes[self.start..self.start + length];
            let Begun { status, head, framing, .. } = parse_head(lines, request.method == Method::Head)?;
            self.status = status;
            self.head = lines[head].to_vec();
            self.start += length;
            // Interim responses (100 to 199) are skipped.
            if status >= 200 {
                self.framing = Some(framing);
                return Ok(());
            }
            count_interim(&mut interim)?;
        }
    }

    /// Moves the received part of the body to the piece.
    fn take_body(&mut self) -> Result<()> {
        while let Some(framing) = self.framing {
            let available = &self.bytes[self.start..self.end];
            let (bytes, next) = match framing {
                Framing::Length(0) => {
                    self.framing = None;
                    return Ok(());
                }
                _ if available.is_empty() => return Ok(()),
                Framing::Length(left) => {
                    let bytes = left.min(available.len());
                    (bytes, Framing::Length(left - bytes))
                }
                Framing::UntilClose => (available.len(), framing),
                Framing::Chunked(chunk) => match chunk.step(available)? {
                    Step::Wait => return Ok(()),
                    Step::Body(bytes, next) => (bytes, Framing::Chunked(next)),
                    Step::Framing(bytes, next) => {
                        self.start += bytes;
                        self.framing = Some(Framing::Chunked(next));
                        continue;
                    }
                    Step::End(bytes) => {
                        self.start += bytes;
                        self.framing = None;
                        return Ok(());
                    }
                },
            };
            self.piece.extend_from_slice(&available[..bytes]);
            self.start += bytes;
            self.framing = Some(next);
        }
        Ok(())
    }

    /// Reads from the network. Returns false at the end of the connection. Dropping the future before it is ready loses no bytes, since
    /// a pending read has taken none.
    async fn receive(&mut self) -> Result<bool> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let received = poll_fn(|context| {
            let mut sent = 0;
            let received = self.exchange.poll(context, self.output.unsent(), &mut sent, &mut self.bytes[self.end..]);
            self.output.sent(sent);
            received
        });
        let received = received.await.map_err(|error| self.lost(&error))?;
        self.end += received;
        Ok(received > 0)
    }

    fn lost(&self, error: &io::Error) -> Error {
        lost(&self.place.url, error)
    }
}
