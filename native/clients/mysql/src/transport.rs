//! The packets of a connection, over TCP, a Unix socket or TLS.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::outbox::Outbox;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, lock, response_limit, socket, tls};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::engine_error;
use crate::url::Url;

/// The largest payload of a packet, in bytes. A payload of this size continues in the next packet.
const MAX_PACKET: usize = 0xff_ffff;

const HEADER: usize = 4;

/// The initial size of the input buffer, and the size up to which it grows for speed. A longer packet makes it grow
/// further, until it is read.
const FIRST_INPUT: usize = 16 << 10;
const FAST_INPUT: usize = 1 << 20;

/// The most bytes of a packet before the login, when the sender is not authenticated yet.
const LOGIN_PACKET: usize = 1 << 20;

/// The time for which several answers are waited for together. Then the first byte is enough.
const PATIENCE: Duration = Duration::from_millis(1);

enum Way {
    /// A stream that the transport reads and writes.
    Own(Stream),
    /// A stream that a driver reads and writes.
    Driven(Arc<Exchange>),
    /// No stream: the connection is unusable.
    Closed,
}

/// The place where a transport that waits leaves its buffers, and takes them again when its future is polled. In the meantime
/// the driver has them.
#[derive(Default)]
pub(crate) struct Exchange(Mutex<Left>);

#[derive(Default)]
struct Left {
    buffers: Buffers,
    /// The error that ended the connection.
    end: Option<(io::ErrorKind, String)>,
}

impl Exchange {
    fn left(&self) -> MutexGuard<'_, Left> {
        lock(&self.0)
    }

    /// Exchanges the buffers here for these.
    pub(crate) fn swap(&self, buffers: &mut Buffers) {
        std::mem::swap(&mut self.left().buffers, buffers);
    }

    /// Notes that the connection has ended: all that the transport waits for fails from now on.
    pub(crate) fn end(&self, error: &io::Error) {
        self.left().end = Some((error.kind(), error.to_string()));
    }

    /// Whether the end of the connection is noted.
    pub(crate) fn has_ended(&self) -> bool {
        self.left().end.is_some()
    }
}

/// The bytes of a connection on their way.
#[derive(Default)]
pub(crate) struct Buffers {
    input: Vec<u8>,
    /// The range of the input that was received and not taken yet.
    pending: Range<usize>,
    output: Outbox,
    /// Whether the transport waits until bytes are sent, and not for input alone.
    awaits_sending: bool,
}

impl Buffers {
    /// The bytes that are still to be sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.output.unsent()
    }

    /// Marks this many of the unsent bytes as sent. Returns whether the transport waits for that.
    pub(crate) fn sent(&mut self, bytes: usize) -> bool {
        self.output.sent(bytes);
        self.awaits_sending
    }

    /// The free part of the input buffer.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.pending.is_empty() {
            self.pending = 0..0;
            if self.input.len() > FAST_INPUT {
                self.input.truncate(FAST_INPUT);
                self.input.shrink_to_fit();
            }
        } else if self.pending.start > 0 && self.pending.end > self.input.len() / 2 {
            self.input.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
        }
        if self.pending.end == self.input.len() {
            let grown = (self.input.len() * 2).max(FIRST_INPUT);
            self.input.resize(grown, 0);
        }
        &mut self.input[self.pending.end..]
    }

    /// Whether bytes were received and not taken.
    pub(crate) fn has_input(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Appends a command of one packet with a payload of at most `most` bytes. Returns whether `write` succeeds, and the command is as short.
    pub(crate) fn send(&mut self, most: usize, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> bool {
        let output = self.output.end();
        let start = output.len();
        output.extend_from_slice(&[0; HEADER]);
        let is_written = write(output).is_ok();
        let length = output.len() - start - HEADER;
        if !is_written || length > most.min(MAX_PACKET - 1) {
            output.truncate(start);
            return false;
        }
        put_header(output, start, length, &mut 0);
        true
    }

    /// Marks this many bytes of the room as received.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.pending.end += bytes;
        // Input that fills the whole buffer is a long result: more of it is read at a time.
        if self.pending.end == self.input.len() && self.input.len() < FAST_INPUT {
            let grown = self.input.len() * 4;
            self.input.resize(grown, 0);
        }
    }
}

/// The problem of a server that sends more than answers.
pub(crate) const UNASKED: &str = "the server sent bytes that answer nothing";

/// The knowledge of the sequence number of the server's next packet. A number that is another one means that an answer is not the answer to
/// the command that it is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The login, where neither side can be ahead of the other.
    Login,
    /// An answer begins.
    First,
    /// The number of the exchange.
    Next,
    /// A packet had another number: nothing more is read.
    Lost,
    /// Bytes were there that answer nothing when a command was sent. They would be taken for its answer, so nothing is read.
    Stray,
}

/// Sends and receives packets. Output is buffered, and sent while an answer is awaited. So any number of commands may
/// be sent before the first answer is read, and neither side ever waits for the other to read.
pub(crate) struct Transport {
    way: Way,
    buffers: Buffers,
    /// The sequence number of the next packet of the exchange.
    sequence: u8,
    /// The steps of the server's packets.
    step: Step,
    /// Whether the server is authenticated and nobody else can read the connection, so that a secret can be sent in
    /// plain.
    is_private: bool,
    /// The most bytes of a packet.
    most_bytes: usize,
    /// The bytes of the packets that were taken since the last [`Transport::take_count`].
    count: usize,
    /// The number of bytes from which the system reports input.
    least_input: usize,
    /// Whether a command of several packets may be under way. Its answer begins with their number.
    has_long: bool,
}

impl Transport {
    pub(crate) async fn connect(url: &Url) -> Result<Self> {
        let failed = |error: io::Error| socket::unreachable_server(url, &error);
        let stream = if let Some(socket) = &url.socket {
            Stream::connect_unix(&Tokio, socket).await
        } else {
            Stream::connect(&Tokio, &url.host, url.port).await
        };
        Ok(Self::over(stream.map_err(failed)?, url.socket.is_some()))
    }

    /// A transport over a connected socket.
    #[cfg(unix)]
    pub(crate) fn over_unix(stream: UnixStream) -> Self {
        Self::over(Stream::Plain(Box::new(stream)), true)
    }

    fn over(stream: Stream, is_private: bool) -> Self {
        Self {
            is_private,
            way: Way::Own(stream),
            buffers: Buffers::default(),
            sequence: 0,
            step: Step::Login,
            most_bytes: LOGIN_PACKET,
            count: 0,
            least_input: 1,
            has_long: false,
        }
    }

    /// Whether a secret can be sent in plain: over a Unix socket, or over TLS to a server whose certificate was
    /// verified.
    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// The most bytes of a packet.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Ends the login: sets the most bytes of a packet.
    pub(crate) fn set_most_bytes(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
        self.step = Step::First;
    }

    /// Expects the first packet of the next answer. `is_last`: no further command is under way.
    pub(crate) fn end_answer(&mut self, is_last: bool) {
        if self.step == Step::Next {
            self.step = Step::First;
        }
        self.has_long &= !is_last;
    }

    /// Whether nothing more is read, since what comes is not the answer to what was asked.
    pub(crate) fn is_out_of_step(&self) -> bool {
        matches!(self.step, Step::Lost | Step::Stray)
    }

    /// Whether bytes were received and not taken.
    pub(crate) fn has_input(&self) -> bool {
        self.buffers.has_input()
    }

    /// Whether the server has neither closed the connection, nor sent bytes that answer no command, as servers do before they close. True if
    /// a driver reads.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        match &mut self.way {
            Way::Own(stream) => !self.buffers.has_input() && stream.is_quiet().await,
            Way::Driven(_) => true,
            Way::Closed => false,
        }
    }

    /// Takes the stream out for a driver, who finds the buffers in the exchange.
    pub(crate) fn into_driven(mut self) -> io::Result<(Self, DrivenStream, Arc<Exchange>)> {
        self.await_input(1)?;
        let exchange = Arc::<Exchange>::default();
        let Way::Own(stream) = std::mem::replace(&mut self.way, Way::Driven(Arc::clone(&exchange))) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        self.swap_buffers();
        Ok((self, stream.into_driven()?, exchange))
    }

    /// Takes the buffers from the exchange, or leaves them there. Does nothing without a driver.
    pub(crate) fn swap_buffers(&mut self) {
        if let Way::Driven(exchange) = &self.way {
            exchange.swap(&mut self.buffers);
        }
    }

    /// Leaves the buffers to the driver until `is_done` says yes to them.
    async fn driven(&mut self, is_done: impl Fn(&Buffers) -> bool) -> io::Result<()> {
        loop {
            self.check_end()?;
            self.swap_buffers();
            let mut is_back = false;
            poll_fn(|_| if std::mem::replace(&mut is_back, true) { Poll::Ready(()) } else { Poll::Pending }).await;
            self.swap_buffers();
            self.check_end()?;
            if is_done(&self.buffers) {
                return Ok(());
            }
            self.check_pending()?;
        }
    }

    /// Leaves the buffers to the driver until at most `rest` bytes are unsent.
    async fn driven_sending(&mut self, rest: usize) -> io::Result<()> {
        if self.unsent() <= rest {
            return Ok(());
        }
        self.buffers.awaits_sending = true;
        let sent = self.driven(|buffers| buffers.unsent().len() <= rest).await;
        self.buffers.awaits_sending = false;
        sent
    }

    /// Fails if the driver has noted the end of the connection.
    fn check_end(&self) -> io::Result<()> {
        let Way::Driven(exchange) = &self.way else { return Ok(()) };
        exchange.left().end.clone().map_or(Ok(()), |(kind, message)| Err(io::Error::new(kind, message)))
    }

    /// Fails if the input is longer than a packet may be, or no packet that may follow.
    fn check_pending(&self) -> io::Result<()> {
        if self.is_out_of_step() {
            let problem = if self.step == Step::Stray { UNASKED } else { "the server's packets are out of order" };
            return Err(io::Error::other(problem));
        }
        if self.buffers.pending.len() > self.most_bytes {
            return Err(io::Error::other(response_limit::exceeded("a packet of the server", self.most_bytes)));
        }
        Ok(())
    }

    /// Switches to TLS.
    pub(crate) async fn encrypt(&mut self, url: &Url, trust: &Trust) -> Result<()> {
        let failed = |problem: &dyn std::fmt::Display| engine_error(format!("no TLS with {url}: {problem}"));
        self.flush().await.map_err(|error| failed(&error))?;
        // Plain bytes received before TLS could come from an attacker, and would be taken for encrypted ones.
        if !self.buffers.pending.is_empty() {
            return Err(failed(&"the server says more before the encryption than it may"));
        }
        let (name, connector) = (tls::server_name(&url.host)?, trust.connector(None)?);
        match std::mem::replace(&mut self.way, Way::Closed) {
            Way::Own(stream @ Stream::Plain(_)) if !self.is_private => {
                let refused = |error: io::Error| socket::unreachable_server(url, &error);
                self.way = Way::Own(stream.encrypt(&connector, name).await.map_err(refused)?);
                self.is_private = trust.verifies();
                Ok(())
            }
            _ => Err(failed(&"only TCP can be encrypted")),
        }
    }

    /// The stream that the transport reads and writes itself.
    fn own(way: &mut Way) -> io::Result<&mut Stream> {
        match way {
            Way::Own(stream) => Ok(stream),
            Way::Driven(_) | Way::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Begins a new exchange, whose sequence numbers start at 0. `is_alone`: no other command is under way.
    pub(crate) fn restart(&mut self, is_alone: bool) {
        if is_alone && self.has_input() {
            self.step = Step::Stray;
        }
        self.sequence = 0;
    }

    /// Appends a packet to the output.
    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let output = self.buffers.output.end();
        let start = output.len();
        output.extend_from_slice(&[0; HEADER]);
        write(output);
        let length = output.len() - start - HEADER;
        if length < MAX_PACKET {
            put_header(output, start, length, &mut self.sequence);
        } else {
            self.has_long = true;
            let payload = output.split_off(start + HEADER);
            output.truncate(start);
            // A full last packet is followed by an empty one.
            for part in 0..=payload.len() / MAX_PACKET {
                let part = &payload[part * MAX_PACKET..payload.len().min((part + 1) * MAX_PACKET)];
                let start = output.len();
                output.extend_from_slice(&[0; HEADER]);
                output.extend_from_slice(part);
                put_header(output, start, part.len(), &mut self.sequence);
            }
        }
    }

    /// The number of bytes that are still to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.buffers.unsent().len()
    }

    /// The range of the next packet in [`Transport::bytes`], valid until the next call, or `None` if it is incomplete.
    pub(crate) fn try_packet(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.buffers.pending;
        let header = self.buffers.input.get(start..end)?.first_chunk::<HEADER>()?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let last = start + HEADER + length;
        if length == MAX_PACKET {
            return self.try_long_packet();
        }
        if last > end || !self.advance(header[3], self.buffers.input.get(start + HEADER).copied()) {
            return None;
        }
        self.buffers.pending.start = last;
        self.count += HEADER + length;
        Some(start + HEADER..last)
    }

    /// Checks the number of a packet whose first byte is given. Errors are taken with any number: a server that ends a connection sends
    /// one before it has read a command.
    fn advance(&mut self, number: u8, first: Option<u8>) -> bool {
        let is_expected = match self.step {
            Step::Next => number == self.sequence,
            Step::First => number == 1 || self.has_long,
            Step::Login => true,
            Step::Lost => false,
            Step::Stray => return false,
        };
        if !is_expected {
            self.step = Step::Lost;
            return first == Some(0xff);
        }
        if self.step != Step::Login {
            self.step = Step::Next;
        }
        self.sequence = number.wrapping_add(1);
        true
    }

    /// Takes a packet as [`Transport::try_packet`] does, from several packets whose payloads are moved together.
    fn try_long_packet(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.buffers.pending;
        let mut parts = Vec::new();
        let (mut position, mut first_number, mut number) = (start, 0, 0);
        loop {
            let header = self.buffers.input.get(position..end)?.first_chunk::<HEADER>()?;
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let part = position + HEADER..position + HEADER + length;
            if part.end > end {
                return None;
            }
            if parts.is_empty() {
                (first_number, number) = (header[3], header[3]);
            } else if header[3] != number {
                self.step = Step::Lost;
                return None;
            }
            number = number.wrapping_add(1);
            position = part.end;
            parts.push(part);
            if length < MAX_PACKET {
                break;
            }
        }
        let first = start + HEADER;
        if !self.advance(first_number, self.buffers.input.get(first).copied()) {
            return None;
        }
        self.sequence = number;
        let mut target = first;
        for part in parts {
            let length = part.len();
            self.buffers.input.copy_within(part, target);
            target += length;
        }
        self.buffers.pending.start = position;
        self.count += position - start;
        Some(first..target)
    }

    /// The bytes of the packets that were taken since the last call.
    pub(crate) fn take_count(&mut self) -> usize {
        std::mem::take(&mut self.count)
    }

    pub(crate) fn bytes(&self, packet: Range<usize>) -> &[u8] {
        &self.buffers.input[packet]
    }

    /// Waits for the next packet. `least`: as for [`Transport::receive`].
    pub(crate) async fn packet(&mut self, least: usize) -> io::Result<Range<usize>> {
        loop {
            if let Some(packet) = self.try_packet() {
                return Ok(packet);
            }
            self.receive(least).await?;
        }
    }

    /// Waits until more input has arrived, and sends meanwhile. The input so far must be no whole packet.
    ///
    /// `least`: the number of bytes of input that is waited for, at most for [`PATIENCE`]. A server sends each answer by itself. Waking for each
    /// of many answers costs both sides more than the answers do.
    pub(crate) async fn receive(&mut self, least: usize) -> io::Result<()> {
        self.check_pending()?;
        let known = self.buffers.pending.len();
        if matches!(self.way, Way::Driven(_)) {
            return self.driven(|buffers| buffers.pending.len() > known).await;
        }
        self.await_input(least.saturating_sub(known).max(1))?;
        if self.least_input > 1 {
            if let Ok(exchanged) = timeout(PATIENCE, poll_fn(|context| self.poll_exchange(context))).await {
                return exchanged;
            }
            self.await_input(1)?;
        }
        poll_fn(|context| self.poll_exchange(context)).await
    }

    /// Has the system report input from this number of bytes on. TLS has records of its own, so its input is always reported.
    fn await_input(&mut self, bytes: usize) -> io::Result<()> {
        if bytes != self.least_input
            && let Way::Own(stream @ Stream::Plain(_)) = &self.way
        {
            match socket::set_least_input(&stream.socket().system_socket(), bytes) {
                Ok(()) => self.least_input = bytes,
                // A system that can't wait for several bytes reports each.
                Err(_) if bytes > 1 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends as much of the output as the socket takes without waiting. With a driver, it waits until some of it is sent.
    pub(crate) async fn push(&mut self) -> io::Result<()> {
        if matches!(self.way, Way::Driven(_)) {
            return self.driven_sending(self.unsent().saturating_sub(1)).await;
        }
        poll_fn(|context| match self.poll_send(context) {
            Poll::Pending => Poll::Ready(Ok(())),
            sent @ Poll::Ready(_) => sent,
        })
        .await
    }

    /// Sends all of the output.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        if matches!(self.way, Way::Driven(_)) {
            return self.driven_sending(0).await;
        }
        poll_fn(|context| self.poll_send(context)).await
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut sent = 0;
        let done = Self::own(&mut self.way)?.poll_send(context, self.buffers.unsent(), &mut sent);
        self.buffers.output.sent(sent);
        done
    }

    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Asked also if nothing is unsent: TLS may hold bytes that it has taken and not sent.
        if let Poll::Ready(sent) = self.poll_send(context) {
            sent?;
        }
        match ready!(Self::own(&mut self.way)?.poll_receive(context, self.buffers.room()))? {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            read => {
                self.buffers.received(read);
                Poll::Ready(Ok(()))
            }
        }
    }
}

/// Writes the header of the packet at `at`, of a payload of `length` bytes.
fn put_header(output: &mut [u8], at: usize, length: usize, sequence: &mut u8) {
    #[expect(clippy::cast_possible_truncation, reason = "at most 0xff_ffff")]
    let [a, b, c, _] = (length as u32).to_le_bytes();
    output[at..at + HEADER].copy_from_slice(&[a, b, c, *sequence]);
    *sequence = sequence.wrapping_add(1);
}

/// The error for a packet beyond the limit, if [`Transport::receive`] failed with that.
pub(crate) fn too_large(error: &io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().cloned()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A transport, and the socket of its server.
    async fn connected() -> (Transport, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Transport::over(Stream::Plain(Box::new(client)), false), listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn an_answer_is_read_though_the_later_answers_do_not_come() {
        let (mut transport, mut server) = connected().await;
        for least in [1000, 1, 10] {
            server.write_all(&[3, 0, 0, 1, 7, 8, 9]).await.unwrap();
            let packet = transport.packet(least).await.unwrap();
            assert_eq!(transport.bytes(packet), [7, 8, 9]);
            assert_eq!(transport.take_count(), 7);
        }
        let (waited, ()) = tokio::join!(transport.packet(1000), async { drop(server) });
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn an_idle_connection_tells_one_byte_after_it_has_waited_for_many() {
        let (mut transport, mut server) = connected().await;
        server.write_all(&[1, 0, 0, 1, 7, 1, 0, 0, 2, 8]).await.unwrap();
        for _ in 0..2 {
            transport.packet(10).await.unwrap();
        }
        assert!(transport.is_quiet().await);
        server.write_all(&[0]).await.unwrap();
        while transport.is_quiet().await {
            tokio::task::yield_now().await;
        }
    }
}
