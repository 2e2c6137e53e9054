//! The Redis protocol (RESP2): writing commands, finding and reading replies.
//!
//! A reply is scanned twice: [`ReplyBuffer`] finds its end, without scanning any byte again when more of it arrives,
//! and [`Reply`] reads it in place.

use boundary_bench_kernel::{Error, Result, response_limit};

use crate::engine_error;
use crate::url::MOST_BYTES;

/// The most elements that a reply may announce in one array.
const MOST_ELEMENTS: i64 = 1 << 28;

/// The deepest nesting of arrays in a reply: readers of replies recurse once per level. No command of Redis goes ten deep. A
/// deeper reply than this is meant to exhaust a reader's stack.
pub const MOST_DEPTH: usize = 128;

/// The longest first line of a reply that is no status and no error, in bytes: a sign, 19 digits and the end of the
/// line fit.
const LONGEST_NUMBER_LINE: usize = 32;

/// The longest status or error, in bytes.
const LONGEST_TEXT_LINE: usize = 64 << 10;

/// The initial size of a reply buffer, to which it shrinks after a big reply.
const BUFFER_BYTES: usize = 16 << 10;

/// Writes the header of a command with this many arguments, its name included.
pub fn begin_command(out: &mut Vec<u8>, arguments: usize) {
    write_header(out, b'*', arguments);
}

/// Appends one argument of a command.
pub fn write_argument(out: &mut Vec<u8>, argument: &[u8]) {
    write_header(out, b'$', argument.len());
    out.extend_from_slice(argument);
    out.extend_from_slice(b"\r\n");
}

fn write_header(out: &mut Vec<u8>, kind: u8, number: usize) {
    let mut line = [0; 24];
    let mut at = line.len() - 2;
    line[at] = b'\r';
    line[at + 1] = b'\n';
    let mut rest = number;
    loop {
        at -= 1;
        #[expect(clippy::cast_possible_truncation, reason = "a digit")]
        let digit = (rest % 10) as u8;
        line[at] = b'0' + digit;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= 1;
    line[at] = kind;
    out.extend_from_slice(&line[at..]);
}

/// Commands in wire format, one after the other, each found by its position.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Commands {
    /// An empty list of commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all commands and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Removes the commands behind the first `commands`.
    pub(crate) fn truncate(&mut self, commands: usize) {
        self.ends.truncate(commands);
        self.bytes.truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// The number of commands.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all commands, in wire format.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of all commands.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes of the command at a position, in wire format.
    pub fn command(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Appends a command: its name and its arguments.
    pub fn push<'a>(&mut self, arguments: impl ExactSizeIterator<Item = &'a [u8]>) {
        begin_command(&mut self.bytes, arguments.len());
        for argument in arguments {
            write_argument(&mut self.bytes, argument);
        }
        self.ends.push(self.bytes.len());
    }

    /// Appends `GET key`.
    pub fn get(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
        write_argument(&mut self.bytes, key);
        self.ends.push(self.bytes.len());
    }

    /// Appends `SET key value`.
    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
        write_argument(&mut self.bytes, key);
        write_argument(&mut self.bytes, value);
        self.ends.push(self.bytes.len());
    }

    /// Appends a command whose arguments after the name `write` writes by [`write_argument`]: exactly this many.
    pub(crate) fn push_with(&mut self, name: &[u8], arguments: usize, write: impl FnOnce(&mut Vec<u8>)) {
        begin_command(&mut self.bytes, arguments + 1);
        write_argument(&mut self.bytes, name);
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }
}

/// The arguments of a command written by this module, its name first.
pub(crate) fn arguments_of(command: &[u8]) -> impl Iterator<Item = &[u8]> {
    let items = match Reply::read_whole(command) {
        Some(Reply::Array(items)) => items,
        _ => Items { count: 0, bytes: &[] },
    };
    items.map(|item| if let Reply::Bulk(argument) = item { argument } else { &[] })
}

/// A reply, read in place.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply<'a> {
    /// A status, such as `OK`.
    Status(&'a [u8]),
    /// The message of an error reply.
    Error(&'a [u8]),
    /// An integer.
    Int(i64),
    /// A bulk string: the bytes of a value.
    Bulk(&'a [u8]),
    /// Nil: no value.
    Nil,
    /// An array of replies.
    Array(Items<'a>),
}

/// The outcome of one command of a batch.
pub(crate) type CommandOutcome<'reply, 'error> = std::result::Result<Reply<'reply>, &'error Error>;

impl<'a> Reply<'a> {
    /// Reads the reply that the bytes begin with, and returns the bytes behind it, or `None` if they hold no whole reply.
    pub fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'$' => {
                let (length, rest) = number(rest)?;
                let Ok(length) = usize::try_from(length) else { return Some((Self::Nil, rest)) };
                let (value, rest) = rest.split_at_checked(length)?;
                Some((Self::Bulk(value), rest.strip_prefix(b"\r\n")?))
            }
            b'*' => {
                let (count, rest) = number(rest)?;
                let Ok(count) = usize::try_from(count) else { return Some((Self::Nil, rest)) };
                let mut scanner = Scanner::new(usize::MAX);
                let length = scanner.scan(bytes).ok()??;
                let header = bytes.len() - rest.len();
                let items = Items { count, bytes: &bytes[header..length] };
                Some((Self::Array(items), &bytes[length..]))
            }
            b':' => number(rest).map(|(number, rest)| (Self::Int(number), rest)),
            b'+' => line(rest).map(|(text, rest)| (Self::Status(text), rest)),
            b'-' => line(rest).map(|(text, rest)| (Self::Error(text), rest)),
            _ => None,
        }
    }

    /// Reads a whole reply whose end is known. That saves finding the end of an array.
    pub(crate) fn read_whole(bytes: &'a [u8]) -> Option<Self> {
        if bytes.first() == Some(&b'*') {
            let (count, rest) = number(&bytes[1..])?;
            return Some(usize::try_from(count).map_or(Self::Nil, |count| Self::Array(Items { count, bytes: rest })));
        }
        Self::read(bytes).map(|(reply, _)| reply)
    }
}

/// The replies in an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Items<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> Items<'a> {
    /// The number of replies left.
    pub fn count_left(&self) -> usize {
        self.count
    }

    /// The bytes of the replies left, in wire format.
    pub fn bytes_left(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Reply<'a>;

    fn next(&mut self) -> Option<Reply<'a>> {
        if self.count == 0 {
            return None;
        }
        let (reply, rest) = Reply::read(self.bytes)?;
        self.count -= 1;
        self.bytes = rest;
        Some(reply)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.count))
    }
}

/// The text before the end of the line, and the bytes behind it.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    // A text may hold a CR or LF alone.
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

/// The number before the end of the line, and the bytes behind it. Most numbers are lengths of one or two digits.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = match bytes.first()? {
        b'-' => (true, &bytes[1..]),
        b'+' => (false, &bytes[1..]),
        _ => (false, bytes),
    };
    let mut value: i64 = 0;
    // Digits beyond the longest line are not scanned, whether they have arrived or not.
    let most = LONGEST_NUMBER_LINE - 1 - (bytes.len() - digits.len());
    for (at, byte) in digits.iter().enumerate().take(most) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let is_end = at > 0 && digits[at..].starts_with(b"\r\n");
            return is_end.then(|| (value, &digits[at + 2..]));
        }
        // Negative numbers are accumulated as such: the smallest one has no positive counterpart.
        let digit = if negative { -i64::from(digit) } else { i64::from(digit) };
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    None
}

/// Finds the end of a reply, and resumes where it stopped when more bytes have arrived.
#[derive(Debug, Clone)]
struct Scanner {
    /// The position up to which all bytes were scanned.
    position: usize,
    /// The number of replies still expected after the next one: an array adds its elements.
    more: u64,
    /// The most bytes of a reply.
    most_bytes: usize,
    /// The bytes of all values up to the position.
    values: usize,
    /// For each open array, the outermost first, the value of `more` at its last element.
    open: Vec<u64>,
}

impl Scanner {
    fn new(most_bytes: usize) -> Self {
        Self { position: 0, more: 0, most_bytes, values: 0, open: Vec::new() }
    }

    /// The end of the reply that `bytes` begin with, or `None` while it is incomplete. An announced length counts towards the
    /// limit before its bytes arrive.
    fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>> {
        loop {
            if self.position > self.most_bytes {
                return Err(response_limit::exceeded("a reply", self.most_bytes));
            }
            let Some((kind, rest)) = bytes.get(self.position..).and_then(<[u8]>::split_first) else { return Ok(None) };
            let next = match kind {
                b'$' | b'*' | b':' => {
                    let Some((number, after)) = number(rest) else {
                        let is_cut = rest.len() < LONGEST_NUMBER_LINE && !rest.contains(&b'\n');
                        return if is_cut { Ok(None) } else { Err(not_resp(bytes, self.position)) };
                    };
                    let after = bytes.len() - after.len();
                    match kind {
                        b'$' if number >= 0 => {
                            let length = usize::try_from(number).unwrap_or(usize::MAX);
                            let next = after.saturating_add(length).saturating_add(2);
                            // The limit of Redis for a value counts the value alone.
                            let values = self.values.saturating_add(length);
                            if values > self.most_bytes {
                                return Err(response_limit::exceeded("a reply", self.most_bytes));
                            }
                            if next > bytes.len() {
                                return Ok(None);
                            }
                            if &bytes[next - 2..next] != b"\r\n" {
                                return Err(not_resp(bytes, next - 2));
                            }
                            self.values = values;
                            next
                        }
                        b'*' if number > MOST_ELEMENTS => return Err(not_resp(bytes, self.position)),
                        b'*' if number > 0 => {
                            if !self.enter() {
                                return Err(too_deep());
                            }
                            self.more += number.unsigned_abs();
                            after
                        }
                        _ => after,
                    }
                }
                b'+' | b'-' => match line(rest) {
                    Some((_, after)) => bytes.len() - after.len(),
                    None if rest.len() > LONGEST_TEXT_LINE => return Err(not_resp(bytes, self.position)),
                    None => return Ok(None),
                },
                _ => return Err(not_resp(bytes, self.position)),
            };
            self.position = next;
            if self.more == 0 {
                let end = self.position;
                (self.position, self.values) = (0, 0);
                self.open.clear();
                return Ok(Some(end));
            }
            self.more -= 1;
        }
    }

    /// Enters the next array, before its elements are counted. Returns false if it would be nested too deeply.
    fn enter(&mut self) -> bool {
        while self.open.last().is_some_and(|last_element| *last_element > self.more) {
            self.open.pop();
        }
        let is_allowed = self.open.len() < MOST_DEPTH;
        self.open.push(self.more);
        is_allowed
    }
}

fn too_deep() -> Error {
    engine_error(format!(
        "the server sent arrays more than {MOST_DEPTH} deep in each other, as no server of Redis does"
    ))
}

fn not_resp(bytes: &[u8], position: usize) -> Error {
    let from = &bytes[position..bytes.len().min(position + 40)];
    engine_error(format!(
        "the server does not speak the Redis protocol: it sent \"{}\"; does a Redis server listen on this port?",
        from.escape_ascii()
    ))
}

/// The bytes that were received and not read yet.
#[derive(Debug)]
pub struct ReplyBuffer {
    bytes: Vec<u8>,
    /// The start of the next reply.
    start: usize,
    /// The end of the received bytes.
    end: usize,
    scanner: Scanner,
}

impl Default for ReplyBuffer {
    fn default() -> Self {
        Self::new(MOST_BYTES)
    }
}

impl ReplyBuffer {
    /// A buffer that refuses replies of more than `most_bytes`.
    pub fn new(most_bytes: usize) -> Self {
        Self { bytes: vec![0; BUFFER_BYTES], start: 0, end: 0, scanner: Scanner::new(most_bytes) }
    }

    /// The part of the buffer to receive into, at least a quarter of it.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > BUFFER_BYTES {
                self.bytes.truncate(BUFFER_BYTES);
                self.bytes.shrink_to_fit();
            }
        }
        if self.bytes.len() - self.end < self.bytes.len() / 4 {
            if self.start > self.bytes.len() / 2 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// Marks this many bytes of the buffer as received.
    pub fn received(&mut self, bytes: usize) {
        self.end = self.bytes.len().min(self.end + bytes);
    }

    /// The next reply, if it is whole.
    ///
    /// # Errors
    /// [`Error::Engine`] if the bytes are not of this protocol, [`Error::TooLarge`] beyond the limit. The buffer is unusable then.
    pub fn next_reply(&mut self) -> Result<Option<Reply<'_>>> {
        Ok(self.next_bytes()?.and_then(Reply::read_whole))
    }

    /// The next reply in wire format, if it is whole. [`Reply`] can then read it.
    pub fn next_bytes(&mut self) -> Result<Option<&[u8]>> {
        if self.start == self.end {
            return Ok(None);
        }
        let Some(length) = self.scanner.scan(&self.bytes[self.start..self.end])? else { return Ok(None) };
        let start = self.start;
        self.start += length;
        Ok(Some(&self.bytes[start..self.start]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Reply<'_> {
        let (reply, rest) = Reply::read(bytes).unwrap();
        assert!(rest.is_empty());
        reply
    }

    #[test]
    fn commands_are_written_as_the_wire_wants_them() {
        let mut commands = Commands::new();
        commands.get(b"a\r\n");
        commands.set(b"", b"12345678901");
        commands.push([b"PING".as_slice()].into_iter());
        assert_eq!(commands.command(0), b"*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n");
        assert_eq!(commands.command(1), b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$11\r\n12345678901\r\n");
        assert_eq!(arguments_of(commands.command(1)).collect::<Vec<_>>(), [b"SET".as_slice(), b"", b"12345678901"]);
        assert_eq!((commands.len(), commands.command(2)), (3, b"*1\r\n$4\r\nPING\r\n".as_slice()));
    }

    #[test]
    fn the_limit_counts_values_without_their_framing() {
        for (reply, is_taken) in [
            ("$9\r\n123456789\r\n", true),
            ("$10\r\n", false),
            ("*1\r\n$9\r\n123456789\r\n", true),
            ("*2\r\n$5\r\n12345\r\n$5\r\n", false),
        ] {
            let mut buffer = ReplyBuffer::new(9);
            buffer.room()[..reply.len()].copy_from_slice(reply.as_bytes());
            buffer.received(reply.len());
            assert_eq!(buffer.next_bytes().is_ok_and(|reply| reply.is_some()), is_taken, "{reply}");
        }
    }

    #[test]
    fn every_kind_of_reply_is_read() {
        assert_eq!(whole(b"+OK\r\n"), Reply::Status(b"OK"));
        assert_eq!(whole(b"-ERR no\r\n"), Reply::Error(b"ERR no"));
        assert_eq!(whole(b":-9223372036854775808\r\n"), Reply::Int(i64::MIN));
        assert_eq!(whole(b"$-1\r\n"), Reply::Nil);
        assert_eq!(whole(b"*-1\r\n"), Reply::Nil);
        assert_eq!(whole(b"$0\r\n\r\n"), Reply::Bulk(b""));
        let Reply::Array(items) = whole(b"*3\r\n$1\r\na\r\n*1\r\n:7\r\n$-1\r\n") else { panic!() };
        let items = items.collect::<Vec<_>>();
        assert_eq!((items.len(), &items[0], &items[2]), (3, &Reply::Bulk(b"a"), &Reply::Nil));
        let Reply::Array(inner) = &items[1] else { panic!() };
        assert_eq!(inner.clone().collect::<Vec<_>>(), [Reply::Int(7)]);
    }

    #[test]
    fn replies_in_pieces_of_any_size_are_found_once_they_are_whole() {
        let stream = b"*2\r\n$3\r\na\r\n\r\n*0\r\n+OK\r\n$-1\r\n*-1\r\n:12\r\n";
        for piece in 1..stream.len() {
            let mut buffer = ReplyBuffer::default();
            let mut found = Vec::new();
            for bytes in stream.chunks(piece) {
                buffer.room()[..bytes.len()].copy_from_slice(bytes);
                buffer.received(bytes.len());
                while let Some(reply) = buffer.next_reply().unwrap() {
                    found.push(format!("{reply:?}"));
                }
            }
            assert_eq!(found.len(), 5, "pieces of {piece}: {found:?}");
            assert_eq!(found[1..], ["Status([79, 75])", "Nil", "Nil", "Int(12)"]);
        }
    }

    #[test]
    fn a_line_ends_with_both_of_its_bytes() {
        assert_eq!(whole(b"-ERR a\rb\nc\r\n"), Reply::Error(b"ERR a\rb\nc"));
        let Reply::Array(items) = whole(b"*2\r\n+a\r+\r\n:1\r\n") else { panic!() };
        assert_eq!(items.collect::<Vec<_>>(), [Reply::Status(b"a\r+"), Reply::Int(1)]);
        let mut buffer = ReplyBuffer::default();
        buffer.room()[..6].copy_from_slice(b":1\rx\r\n");
        buffer.received(6);
        assert!(buffer.next_reply().is_err());
    }

    #[test]
    fn what_is_no_reply_is_an_error_at_once_and_not_waited_for() {
        let invalid: [&[u8]; 7] = [
            b"HTTP/1.1 400 Bad Request\r\n",
            b"$x\r\n",
            b"$1\r\nab\r\n",
            b"*1\r\n$1\r\na\n\r\n",
            b"*999999999\r\n",
            b":\r\n",
            b"*1\r\n?\r\n",
        ];
        for bytes in invalid {
            assert_eq!(Reply::read(bytes), None, "{}", bytes.escape_ascii());
            let mut buffer = ReplyBuffer::default();
            buffer.room()[..bytes.len()].copy_from_slice(bytes);
            buffer.received(bytes.len());
            assert_eq!(buffer.next_reply().unwrap_err().code(), "BB_ENGINE", "{}", bytes.escape_ascii());
        }
    }

    /// The depth of a reply's nested arrays.
    fn depth(reply: &Reply<'_>) -> usize {
        let Reply::Array(items) = reply else { return 0 };
        1 + items.clone().map(|item| depth(&item)).max().unwrap_or_default()
    }

    fn scanned(bytes: &[u8]) -> Result<Option<usize>> {
        let mut buffer = ReplyBuffer::default();
        let mut sent = 0;
        while sent < bytes.len() {
            let room = buffer.room();
            let length = room.len().min(bytes.len() - sent);
            room[..length].copy_from_slice(&bytes[sent..sent + length]);
            buffer.received(length);
            sent += length;
        }
        Ok(buffer.next_reply()?.map(|reply| depth(&reply)))
    }

    #[test]
    fn arrays_lie_in_each_other_as_deep_as_allowed_and_no_deeper() {
        // The nested array as the only element, the first, the last, and behind arrays that have ended.
        for (before, after) in [("", ""), ("", ":1\r\n"), (":1\r\n", ""), ("*1\r\n:1\r\n", "*1\r\n$-1\r\n")] {
            let elements = 1 + usize::from(!before.is_empty()) + usize::from(!after.is_empty());
            let nested = |depth: usize| {
                let open = format!("*{elements}\r\n{before}").repeat(depth - 1);
                format!("{open}*1\r\n:7\r\n{}", after.repeat(depth - 1)).into_bytes()
            };
            assert_eq!(scanned(&nested(MOST_DEPTH)).unwrap(), Some(MOST_DEPTH), "{before}");
            for depth in [MOST_DEPTH + 1, 100_000] {
                assert_eq!(scanned(&nested(depth)).unwrap_err().code(), "BB_ENGINE", "{before}");
            }
        }
        let beside = format!("*1000\r\n{}", "*1\r\n*1\r\n:1\r\n".repeat(1000)).into_bytes();
        assert_eq!(scanned(&beside).unwrap(), Some(3));
    }

    #[test]
    fn a_reply_beyond_the_limit_is_refused_before_it_takes_memory() {
        let refused: [&[u8]; 5] = [
            b"$99999999999\r\n",
            b"$9223372036854775807\r\n",
            b"$81\r\n",
            b"*3\r\n$40\r\n0123456789012345678901234567890123456789\r\n$41\r\n",
            b"*99\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n",
        ];
        for bytes in refused {
            let mut buffer = ReplyBuffer::new(80);
            buffer.room()[..bytes.len()].copy_from_slice(bytes);
            buffer.received(bytes.len());
            assert_eq!(buffer.next_reply().unwrap_err().code(), "BB_TOO_LARGE", "{}", bytes.escape_ascii());
            assert_eq!(buffer.bytes.len(), BUFFER_BYTES);
        }
        // The limit is on one reply, not on the replies that arrive together.
        let mut buffer = ReplyBuffer::new(80);
        let reply = b"$40\r\n0123456789012345678901234567890123456789\r\n";
        for at in 0..3 {
            buffer.room()[at * reply.len()..][..reply.len()].copy_from_slice(reply);
        }
        buffer.received(3 * reply.len());
        assert_eq!(std::iter::from_fn(|| buffer.next_reply().unwrap().map(drop)).count(), 3);
    }

    #[test]
    fn a_big_reply_makes_the_buffer_grow_for_its_time() {
        let value = vec![b'x'; 5 * BUFFER_BYTES];
        let mut stream = Vec::new();
        write_argument(&mut stream, &value);
        let mut buffer = ReplyBuffer::default();
        let mut sent = 0;
        while sent < stream.len() {
            let room = buffer.room();
            let bytes = room.len().min(stream.len() - sent);
            room[..bytes].copy_from_slice(&stream[sent..sent + bytes]);
            buffer.received(bytes);
            sent += bytes;
        }
        assert_eq!(buffer.next_reply().unwrap(), Some(Reply::Bulk(&value)));
        assert_eq!(buffer.room().len(), BUFFER_BYTES);
    }

    mod any {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn arguments_come_back_whatever_their_bytes(
                arguments in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20),
            ) {
                let mut commands = Commands::new();
                commands.push(arguments.iter().map(Vec::as_slice));
                let read = arguments_of(commands.command(0)).map(<[u8]>::to_vec).collect::<Vec<_>>();
                prop_assert_eq!(read, arguments);
            }

            #[test]
            fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
                let mut buffer = ReplyBuffer::default();
                buffer.room()[..bytes.len()].copy_from_slice(&bytes);
                buffer.received(bytes.len());
                while let Ok(Some(reply)) = buffer.next_reply() {
                    let _ = format!("{reply:?}");
                }
                let _ = Reply::read(&bytes);
            }
        }
    }
}
