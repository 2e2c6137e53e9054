//! The form in which requests and their results cross between languages: many in one buffer each way.
//!
//! A *submission* is a sequence of requests, in 32-bit words of the machine's order. Each request is `connection, id,
//! kind, commands, arguments`, then for a pipeline the number of arguments of each of its commands. Then come the length
//! of each argument, and the bytes of all arguments, padded to a whole word.
//!
//! A *frame* is a sequence of results. Each result is `id, status, entries, bytes, flags`, then the end of each entry's bytes. Then
//! come a byte for each entry's kind, padded to a whole word, and the bytes of all entries, padded as well. A status other than 0
//! means that the request failed as a whole: the bytes are the error's text, with its code in brackets. A result with the status 2
//! reports a lost connection. Its id is that connection's. The status 3 is like 0, for a connection that must be replaced.

use boundary_bench_kernel::frame::{ASCII, Frame, word, words};
use boundary_bench_kernel::{Error, Result};

use crate::resp::{Commands, Reply};
use crate::state::{Hinge, Transactions, is_misdirected, refusal};

/// The status of a result with an error that says that the server is not, or not now, the one to ask. The result is otherwise
/// like any other. Its connection takes no further calls.
const OUTDATED: u32 = 3;

/// The number of words before a request's lengths.
const REQUEST_WORDS: usize = 5;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// GET: the value of one key.
    Get,
    /// SET: one key set to one value.
    Set,
    /// MGET: the values of keys.
    Mget,
    /// MSET: keys set to values. They alternate in the arguments.
    Mset,
    /// Any commands, as one pipeline.
    Pipeline,
    /// A pipeline with commands that change the state of the connection. It is refused if it would leave it changed.
    CheckedPipeline,
}

impl RequestKind {
    /// Whether the command of this kind, on this many keys, can have this reply. A reply of another type is the reply to another command.
    pub(crate) fn takes(self, reply: &Reply<'_>, keys: usize) -> bool {
        match (self, reply) {
            (Self::Pipeline | Self::CheckedPipeline, _) | (_, Reply::Error(_)) => true,
            (Self::Get, reply) => matches!(reply, Reply::Bulk(_) | Reply::Nil),
            (Self::Set | Self::Mset, reply) => matches!(reply, Reply::Status(_)),
            (Self::Mget, Reply::Array(items)) => {
                items.count_left() == keys && items.clone().all(|item| Self::Get.takes(&item, 1))
            }
            (Self::Mget, _) => false,
        }
    }

    /// The error for a reply that the command can't have. Its connection must be dropped: further replies may be out of step as well.
    pub(crate) fn misfit(self, reply: &Reply<'_>) -> Error {
        let kind = match reply {
            Reply::Int(_) => "an integer",
            Reply::Array(_) => "an array",
            Reply::Nil => "nil",
            Reply::Status(_) => "a status",
            Reply::Bulk(_) | Reply::Error(_) => "a value",
        };
        let name = format!("{self:?}").to_ascii_uppercase();
        crate::engine_error(format!("the server answered {name} with {kind}, which is no reply to that command"))
    }
}

/// A request in a submission.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The number of the connection that the request is for.
    pub connection: u32,
    /// The id of the request, repeated in its result.
    pub id: u32,
    /// The operation of the request.
    pub kind: RequestKind,
    /// The number of arguments of each command of a pipeline, in words.
    counts: &'a [u8],
    lengths: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Request<'a> {
    /// All arguments of the request.
    pub fn arguments(&self) -> Arguments<'a> {
        Arguments { lengths: self.lengths, bytes: self.bytes }
    }

    /// Appends the commands of a GET, a SET or a pipeline, and returns their number. Not for MGET and MSET, whose keys are
    /// divided among commands.
    pub fn write(&self, commands: &mut Commands) -> usize {
        let mut arguments = self.arguments();
        let mut next = || arguments.next().unwrap_or_default();
        match self.kind {
            RequestKind::Get => commands.get(next()),
            RequestKind::Set => {
                let key = next();
                commands.set(key, next());
            }
            _ => {
                for count in words(self.counts) {
                    commands.push(arguments.by_ref().take(count as usize));
                }
                return self.counts.len() / 4;
            }
        }
        1
    }

    /// Checks that a checked pipeline leaves its connection as it was if the server executes it, and returns the commands that must
    /// not be refused for that, by their positions. Does nothing for other requests.
    pub(crate) fn check(&self) -> Result<Vec<(usize, Hinge)>> {
        let mut hinges = Vec::new();
        if self.kind != RequestKind::CheckedPipeline {
            return Ok(hinges);
        }
        let (mut arguments, mut transactions) = (self.arguments(), Transactions::default());
        for (position, count) in words(self.counts).enumerate() {
            let mut command = arguments.by_ref().take(count as usize).map(<[u8]>::to_ascii_uppercase);
            let (name, first) = (command.next().unwrap_or_default(), command.next().unwrap_or_default());
            command.for_each(drop);
            if let Some(refusal) = refusal(&String::from_utf8_lossy(&name), &String::from_utf8_lossy(&first)) {
                return Err(refusal);
            }
            transactions.next(&name, || count > 1)?;
            hinges.extend(Hinge::of(&name).map(|hinge| (position, hinge)));
        }
        transactions.end().map(|()| hinges)
    }
}

/// The arguments of a request.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    lengths: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.lengths.split_first_chunk::<4>()?;
        let (argument, bytes) = self.bytes.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
        (self.lengths, self.bytes) = (rest, bytes);
        Some(argument)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.lengths.len() / 4, Some(self.lengths.len() / 4))
    }
}

impl ExactSizeIterator for Arguments<'_> {}

/// Keys with their values, from arguments that alternate.
#[derive(Debug, Clone)]
pub struct Entries<'a>(pub Arguments<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len() / 2, Some(self.0.len() / 2))
    }
}

impl ExactSizeIterator for Entries<'_> {}

/// The requests of a submission. An error is the last item.
pub fn requests(bytes: &[u8]) -> impl Iterator<Item = Result<Request<'_>>> {
    pieces(bytes).map(|piece| piece.map(|(request, _)| request))
}

/// The requests of a submission, each with its bytes. An error is the last item.
pub fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = Result<(Request<'_>, &[u8])>> {
    std::iter::from_fn(move || {
        let before = bytes;
        (!bytes.is_empty()).then(|| {
            let request = Request::read(&mut bytes).inspect_err(|_| bytes = &[])?;
            Ok((request, &before[..before.len() - bytes.len()]))
        })
    })
}

impl<'a> Request<'a> {
    /// Reads the request that a submission begins with, and leaves the bytes behind it.
    pub(crate) fn read(submission: &mut &'a [u8]) -> Result<Self> {
        let malformed = || Error::InvalidArgument("not a submission of requests".to_owned());
        let (head, rest) = submission.split_at_checked(REQUEST_WORDS * 4).ok_or_else(malformed)?;
        let mut head = words(head);
        let mut next = || head.next().unwrap_or_default();
        let (connection, id, kind, commands, arguments) = (next(), next(), next(), next() as usize, next() as usize);
        let (kind, fits) = match kind {
            0 => (RequestKind::Get, commands == 0 && arguments == 1),
            1 => (RequestKind::Set, commands == 0 && arguments == 2),
            2 => (RequestKind::Mget, commands == 0 && arguments > 0),
            3 => (RequestKind::Mset, commands == 0 && arguments > 0 && arguments.is_multiple_of(2)),
            4 => (RequestKind::Pipeline, commands > 0),
            5 => (RequestKind::CheckedPipeline, commands > 0),
            _ => return Err(malformed()),
        };
        if !fits || commands > rest.len() || arguments > rest.len() {
            return Err(malformed());
        }
        let (counts, rest) = rest.split_at_checked(commands * 4).ok_or_else(malformed)?;
        let (lengths, rest) = rest.split_at_checked(arguments * 4).ok_or_else(malformed)?;
        let total = words(lengths).map(|length| length as usize).sum::<usize>();
        let (bytes, _) = rest.split_at_checked(total).ok_or_else(malformed)?;
        if matches!(kind, RequestKind::Pipeline | RequestKind::CheckedPipeline) {
            // A command without a name gets no reply.
            let sum = words(counts).map(|count| count as usize).sum::<usize>();
            if sum != arguments || words(counts).any(|count| count == 0) {
                return Err(malformed());
            }
        }
        *submission = rest.get(total.next_multiple_of(4)..).unwrap_or_default();
        Ok(Self { connection, id, kind, counts, lengths, bytes })
    }
}

/// The kind of an entry of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Nil,
    Value,
    Status,
    Int,
    Error,
    /// An array in wire format.
    Array,
}

/// The numbers by which JavaScript knows the layouts of submissions and results, with their names.
pub fn layout() -> Vec<(&'static str, u32)> {
    vec![
        ("REQUEST_WORDS", word(REQUEST_WORDS)),
        ("GET", RequestKind::Get as u32),
        ("SET", RequestKind::Set as u32),
        ("MGET", RequestKind::Mget as u32),
        ("MSET", RequestKind::Mset as u32),
        ("PIPELINE", RequestKind::Pipeline as u32),
        ("CHECKED_PIPELINE", RequestKind::CheckedPipeline as u32),
        ("OUTDATED", OUTDATED),
        ("NIL", EntryKind::Nil as u32),
        ("STATUS", EntryKind::Status as u32),
        ("INT", EntryKind::Int as u32),
        ("ERROR", EntryKind::Error as u32),
        ("ARRAY", EntryKind::Array as u32),
    ]
}

/// The entries of a result that is being built.
#[derive(Debug, Default)]
pub struct Entered {
    ends: Vec<u32>,
    kinds: Vec<u8>,
    bytes: Vec<u8>,
    is_outdated: bool,
}

impl Entered {
    fn push(&mut self, kind: EntryKind, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // A result this long is refused by [`Frame::finish`].
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        self.kinds.push(kind as u8);
    }

    /// Adds a value, or nil for `None`.
    pub fn value(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.push(EntryKind::Value, value),
            None => self.push(EntryKind::Nil, &[]),
        }
    }

    /// Adds a reply. An array stays in wire format.
    pub fn reply(&mut self, reply: &Reply<'_>) {
        match reply {
            Reply::Nil => self.push(EntryKind::Nil, &[]),
            Reply::Bulk(value) => self.push(EntryKind::Value, value),
            Reply::Status(text) => self.push(EntryKind::Status, text),
            Reply::Error(text) => self.server_error(text),
            Reply::Int(number) => self.push(EntryKind::Int, number.to_string().as_bytes()),
            Reply::Array(items) => {
                let mut bytes = format!("*{}\r\n", items.count_left()).into_bytes();
                bytes.extend_from_slice(items.bytes_left());
                self.push(EntryKind::Array, &bytes);
            }
        }
    }

    /// Adds the entries of another result.
    pub fn append(&mut self, other: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.kinds.extend_from_slice(&other.kinds);
        self.ends.extend(other.ends.iter().map(|end| u32::try_from(start + *end as usize).unwrap_or(u32::MAX)));
    }

    /// Adds an error reply of the server.
    pub fn server_error(&mut self, text: &[u8]) {
        self.notice(text);
        self.error(&crate::server_error(text));
    }

    /// Notices whether an error reply says that the server is not the one to ask.
    pub(crate) fn notice(&mut self, text: &[u8]) {
        self.is_outdated |= is_misdirected(text);
    }

    /// Says that the connection is to be replaced.
    pub(crate) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// Adds an error.
    pub fn error(&mut self, error: &Error) {
        self.push(EntryKind::Error, error.coded().as_bytes());
    }

    /// Appends a result with these entries to a frame, and clears them.
    pub fn finish(&mut self, id: u32, frame: &mut Frame) {
        if self.bytes.len() >= u32::MAX as usize {
            let error = Error::Unsupported("a result of more than 4 GiB; ask for fewer keys at once".to_owned());
            frame.fail(id, &error);
        } else {
            let flags = if self.bytes.is_ascii() { ASCII } else { 0 };
            let (entries, bytes) = (self.kinds.len(), self.bytes.len());
            let status = if self.is_outdated { OUTDATED } else { 0 };
            frame.begin([id, status, word(entries), word(bytes), flags], entries * 5 + bytes + 8);
            frame.words(&self.ends);
            frame.put(&self.kinds);
            frame.fill();
            frame.put(&self.bytes);
            frame.fill();
        }
        self.is_outdated = false;
        self.ends.clear();
        self.kinds.clear();
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of a submission of one request.
    fn submission(kind: u32, commands: &[u32], arguments: &[&[u8]]) -> Vec<u8> {
        let mut words = vec![7, 9, kind, u32::try_from(commands.len()).unwrap()];
        words.push(u32::try_from(arguments.len()).unwrap());
        words.extend(commands);
        words.extend(arguments.iter().map(|argument| u32::try_from(argument.len()).unwrap()));
        let mut bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        for argument in arguments {
            bytes.extend_from_slice(argument);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn requests_are_read_one_after_the_other() {
        let mut bytes = submission(0, &[], &[b"key"]);
        bytes.extend(submission(3, &[], &[b"a", b"", b"bc", b"d"]));
        bytes.extend(submission(4, &[1, 2], &[b"PING", b"GET", b"a"]));
        let requests = super::requests(&bytes).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!((requests[0].connection, requests[0].id, requests[0].kind), (7, 9, RequestKind::Get));
        let entries = Entries(requests[1].arguments()).collect::<Vec<_>>();
        assert_eq!(entries, [(b"a".as_slice(), b"".as_slice()), (b"bc", b"d")]);
        let mut commands = Commands::new();
        assert_eq!(requests[2].write(&mut commands), 2);
        assert_eq!(commands.bytes(), b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
    }

    #[test]
    fn what_is_no_submission_is_refused() {
        for bytes in [
            submission(5, &[0, 1], &[b"a"]),
            submission(0, &[], &[]),
            submission(1, &[], &[b"a"]),
            submission(3, &[], &[b"a"]),
            submission(4, &[2], &[b"a"]),
            submission(4, &[0, 1], &[b"a"]),
            submission(9, &[], &[b"a"]),
            vec![1, 2, 3],
            submission(2, &[], &[b"abcdefgh"])[..28].to_vec(),
        ] {
            let error = requests(&bytes).collect::<Result<Vec<_>>>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        }
    }

    #[test]
    fn a_checked_pipeline_leaves_its_connection_as_it_was() {
        let check = |counts: &[u32], arguments: &[&[u8]]| {
            let bytes = submission(5, counts, arguments);
            requests(&bytes).next().unwrap().unwrap().check().map(|hinges| hinges.len())
        };
        assert_eq!(check(&[1, 3, 1], &[b"multi", b"SET", b"a", b"1", b"Exec"]).unwrap(), 1);
        assert_eq!(check(&[2], &[b"CLIENT", b"ID"]).unwrap(), 0);
        assert_eq!(check(&[1, 2], &[b"MULTI", b"discard", b"x"]).unwrap_err().code(), "BB_INVALID_ARGUMENT");
        for (counts, arguments) in [
            ([2, 1].as_slice(), [b"GET".as_slice(), b"a", b"MULTI"].as_slice()),
            (&[2], &[b"watch", b"a"]),
            (&[2], &[b"select", b"1"]),
            (&[3], &[b"Client", b"Reply", b"OFF"]),
        ] {
            assert_eq!(check(counts, arguments).unwrap_err().code(), "BB_UNSUPPORTED");
        }
    }

    #[test]
    fn a_result_says_that_its_server_is_not_the_one_to_ask() {
        let mut entered = Entered::default();
        let mut status_of = |error: &[u8]| {
            let mut frame = Frame::default();
            entered.reply(&Reply::Error(error));
            entered.finish(1, &mut frame);
            words(&frame.take()).nth(1)
        };
        assert_eq!(status_of(b"READONLY You can't write against a read only replica."), Some(OUTDATED));
        assert_eq!(status_of(b"ERR no"), Some(0));
    }

    #[test]
    fn frames_are_laid_out_as_described() {
        let (mut frame, mut entered) = (Frame::default(), Entered::default());
        entered.value(Some(b"abcde"));
        entered.reply(&Reply::Nil);
        entered.reply(&Reply::Int(-5));
        entered.finish(3, &mut frame);
        assert!(entered.is_empty());
        let bytes = frame.take();
        assert_eq!(words(&bytes[..32]).collect::<Vec<_>>(), [3, 0, 3, 7, 1, 5, 5, 7]);
        assert_eq!(&bytes[32..], b"\x01\x00\x03\x00abcde-5\x00");
        frame.fail(4, &Error::Cancelled);
        let bytes = frame.take();
        assert_eq!(words(&bytes[..20]).collect::<Vec<_>>()[..3], [4, 1, 0]);
        assert!(bytes[20..].starts_with(b"[BB_ABORTED] "));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0_u32..6) {
            let _ = requests(&bytes).count();
            // The same bytes behind a request's first words that are nearly valid.
            let mut words = vec![0, 0, kind, u32::from(kind >= 4), 1];
            words.push(u32::try_from(bytes.len()).unwrap() * 2 / 3);
            let mut all = words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
            all.extend(&bytes);
            for request in requests(&all).flatten() {
                request.write(&mut Commands::new());
                let _ = (request.arguments().count(), request.check());
            }
        }
    }
}
