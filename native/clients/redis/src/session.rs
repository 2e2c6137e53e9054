//! A connection without its socket, for an event loop that drives many: it takes requests of submissions and received
//! bytes, and gives bytes to send and frames of results. Nothing here blocks.

use std::collections::VecDeque;

use boundary_bench_kernel::driven_stream::Driven;
use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::outbox::Outbox;
use boundary_bench_kernel::socket::lost;
use boundary_bench_kernel::{Error, Result};

use crate::groups::Groups;
use crate::resp::{Commands, Reply, ReplyBuffer};
use crate::server_error;
use crate::state::{Hinge, still_open};
use crate::submission::{Entered, Entries, Request, RequestKind};

/// The requests in flight on one connection.
#[derive(Debug)]
pub struct Session {
    place: String,
    commands: Commands,
    output: Outbox,
    replies: ReplyBuffer,
    waiting: VecDeque<Waiting>,
    /// The entries so far of the oldest request's result.
    entered: Entered,
    /// The number of replies to the oldest request so far.
    seen: usize,
    /// The first error of an MSET, with the position of the first entry of its command.
    refusal: Option<(usize, Error)>,
}

/// A request that was taken and has no result yet.
#[derive(Debug)]
struct Waiting {
    id: u32,
    kind: RequestKind,
    replies: usize,
    /// The commands whose refusal changes the state of the connection, by their positions.
    hinges: Vec<(usize, Hinge)>,
    /// The division of the keys of an MGET or MSET among commands.
    groups: Groups,
}

impl Waiting {
    /// The hinge at a position, if the command there is one.
    fn hinge_at(&self, position: usize) -> Option<Hinge> {
        let found = self.hinges.binary_search_by_key(&position, |(at, _)| *at).ok()?;
        Some(self.hinges[found].1)
    }
}

impl Driven for Session {
    fn unsent(&self) -> &[u8] {
        self.output.unsent()
    }

    fn room(&mut self) -> &mut [u8] {
        self.replies.room()
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }
}

impl Session {
    /// A session with the server at `place`. Errors name the place. Replies of more than `most_bytes` are refused.
    pub fn new(place: String, most_bytes: usize) -> Self {
        Self {
            place,
            commands: Commands::new(),
            output: Outbox::default(),
            replies: ReplyBuffer::new(most_bytes),
            waiting: VecDeque::new(),
            entered: Entered::default(),
            seen: 0,
            refusal: None,
        }
    }

    /// Takes a request, and appends its commands to the bytes to send.
    ///
    /// # Errors
    /// [`Error::Unsupported`] and [`Error::InvalidArgument`] for a pipeline that would leave the connection's state changed. Nothing of
    /// it is sent.
    pub fn submit(&mut self, request: &Request<'_>) -> Result<()> {
        let hinges = request.check()?;
        self.commands.clear();
        let (id, kind) = (request.id, request.kind);
        let mut groups = Groups::default();
        let replies = match kind {
            RequestKind::Mget => {
                groups = Groups::of_keys(request.arguments());
                groups.write_mget(&mut self.commands, request.arguments());
                groups.len()
            }
            RequestKind::Mset => {
                groups = Groups::of_entries(Entries(request.arguments()));
                groups.write_mset(&mut self.commands, Entries(request.arguments()));
                groups.len()
            }
            _ => request.write(&mut self.commands),
        };
        self.output.end().extend_from_slice(self.commands.bytes());
        self.waiting.push_back(Waiting { id, kind, replies, hinges, groups });
        Ok(())
    }

    /// Marks this many of the unsent bytes as sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output.sent(bytes);
    }

    /// Handles this many bytes received into the buffer: appends the results that they complete to the frame.
    ///
    /// # Errors
    /// [`Error::Engine`] if the server does not speak the protocol, or sends a reply that the command can't have, [`Error::TooLarge`]
    /// beyond the limit, [`Error::Connection`] behind a DISCARD that the server refused. The session is unusable then.
    pub fn received(&mut self, bytes: usize, frame: &mut Frame) -> Result<()> {
        self.replies.received(bytes);
        let mut is_open = false;
        while let Some(reply) = self.replies.next_reply()? {
            let Some(waiting) = self.waiting.front() else {
                return Err(crate::engine_error("the server sent a reply that nothing was asked for".to_owned()));
            };
            let keys = if waiting.kind == RequestKind::Mget { waiting.groups.range(self.seen).len() } else { 1 };
            if !waiting.kind.takes(&reply, keys) {
                return Err(waiting.kind.misfit(&reply));
            }
            match waiting.kind {
                RequestKind::Mget => enter_values(&mut self.entered, keys, reply),
                RequestKind::Mset => {
                    if let (Reply::Error(text), None) = (&reply, &self.refusal) {
                        self.entered.notice(text);
                        self.refusal = Some((waiting.groups.range(self.seen).start, server_error(text)));
                    }
                }
                _ => {
                    self.entered.reply(&reply);
                    if let Reply::Error(text) = reply
                        && let Some(hinge) = waiting.hinge_at(self.seen)
                    {
                        self.entered.outdate();
                        is_open = hinge.keeps_open(text);
                    }
                }
            }
            self.seen += 1;
            // The next result is no reply to a command, but the command's place in a transaction.
            if is_open && self.seen < waiting.replies {
                return Err(still_open());
            }
            if self.seen < waiting.replies {
                continue;
            }
            if waiting.kind == RequestKind::Mset {
                match self.refusal.take() {
                    None => self.entered.reply(&Reply::Status(b"OK")),
                    Some((position, error)) => self.entered.error(&waiting.groups.at_entry(position, error)),
                }
            }
            self.entered.finish(waiting.id, frame);
            self.waiting.pop_front();
            self.seen = 0;
            if is_open {
                return Err(still_open());
            }
        }
        Ok(())
    }

    /// Gives every request without a result this error, since the connection is lost. Of a pipeline or an MGET that was
    /// answered in part, the replies received are kept.
    pub fn fail(&mut self, error: &Error, frame: &mut Frame) {
        for waiting in self.waiting.drain(..) {
            if self.entered.is_empty() || waiting.kind == RequestKind::Mset {
                frame.fail(waiting.id, error);
                continue;
            }
            let missing = match waiting.kind {
                RequestKind::Mget => (self.seen..waiting.groups.len()).map(|at| waiting.groups.range(at).len()).sum(),
                _ => waiting.replies - self.seen,
            };
            (0..missing).for_each(|_| self.entered.error(error));
            self.entered.finish(waiting.id, frame);
        }
        self.seen = 0;
    }

    /// The error for a connection that was lost.
    pub fn lost(&self, error: &std::io::Error) -> Error {
        lost(&self.place, error)
    }
}

/// Adds the values of one MGET of this many keys, or its error for each.
fn enter_values(entered: &mut Entered, keys: usize, reply: Reply<'_>) {
    match reply {
        Reply::Array(items) => items.for_each(|item| entered.reply(&item)),
        reply => (0..keys).for_each(|_| entered.reply(&reply)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::requests;

    fn submit(session: &mut Session, id: u32, kind: u32, counts: &[u32], arguments: &[&[u8]]) {
        let mut words = vec![0, id, kind, u32::try_from(counts.len()).unwrap()];
        words.push(u32::try_from(arguments.len()).unwrap());
        words.extend(counts);
        words.extend(arguments.iter().map(|argument| u32::try_from(argument.len()).unwrap()));
        let mut bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        for argument in arguments {
            bytes.extend_from_slice(argument);
        }
        for request in requests(&bytes) {
            session.submit(&request.unwrap()).unwrap();
        }
    }

    fn receive(session: &mut Session, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut frame = Frame::default();
        session.room()[..bytes.len()].copy_from_slice(bytes);
        session.received(bytes.len(), &mut frame)?;
        Ok(frame.take())
    }

    #[test]
    fn results_come_in_order_once_they_are_whole() {
        let mut session = Session::new("here".to_owned(), crate::url::MOST_BYTES);
        submit(&mut session, 1, 0, &[], &[b"a"]);
        submit(&mut session, 2, 2, &[], &[b"a", b"b"]);
        assert_eq!(session.unsent(), b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n");
        session.sent(5);
        assert!(session.unsent().starts_with(b"3\r\nGET"));
        session.sent(1000);
        assert!(session.unsent().is_empty());
        assert!(receive(&mut session, b"$1\r\n").unwrap().is_empty());
        assert_eq!(receive(&mut session, b"x\r\n*2\r\n$1\r\ny\r\n").unwrap()[0], 1);
        let frame = receive(&mut session, b"$-1\r\n").unwrap();
        assert_eq!((frame[0], frame[8], &frame[28..30]), (2, 2, [1, 0].as_slice()));
        assert_eq!(session.in_flight(), 0);
        assert_eq!(receive(&mut session, b"+OK\r\n").unwrap_err().code(), "BB_ENGINE");
    }

    #[test]
    fn a_reply_of_a_type_that_the_command_does_not_have_ends_the_session() {
        let (get, set, mget, mset) = (0, 1, 2, 3);
        let cases: [(u32, &[&str], &[&str]); 4] = [
            (get, &[":1\r\n", "+OK\r\n", "*0\r\n"], &["$1\r\nx\r\n", "$-1\r\n", "-WRONGTYPE x\r\n"]),
            (set, &["$-1\r\n", ":1\r\n", "$2\r\nOK\r\n", "*0\r\n"], &["+OK\r\n", "-OOM x\r\n"]),
            (
                mget,
                &["*1\r\n$-1\r\n", "*2\r\n:1\r\n$-1\r\n", "$-1\r\n", "+OK\r\n"],
                &["*2\r\n$-1\r\n$0\r\n\r\n", "-ERR x\r\n"],
            ),
            (mset, &["*0\r\n", ":1\r\n", "$-1\r\n"], &["+OK\r\n", "-OOM x\r\n"]),
        ];
        for (kind, refused, taken) in cases {
            let arguments: &[&[u8]] = if kind == get { &[b"a"] } else { &[b"a", b"b"] };
            for (replies, is_taken) in [(refused, false), (taken, true)] {
                for reply in replies {
                    let mut session = Session::new("here".to_owned(), crate::url::MOST_BYTES);
                    submit(&mut session, 1, kind, &[], arguments);
                    submit(&mut session, 2, get, &[], &[b"c"]);
                    let received = receive(&mut session, reply.as_bytes());
                    assert_eq!(received.is_ok(), is_taken, "{kind} {reply}");
                    if let Err(error) = received {
                        assert!(error.code() == "BB_ENGINE" && session.in_flight() == 2, "{error}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_lost_connection_fails_what_has_no_reply_and_keeps_what_has() {
        let mut session = Session::new("here".to_owned(), crate::url::MOST_BYTES);
        submit(&mut session, 1, 4, &[1, 1], &[b"PING", b"PING"]);
        submit(&mut session, 2, 1, &[], &[b"a", b"b"]);
        receive(&mut session, b"+PONG\r\n").unwrap();
        let mut frame = Frame::default();
        let error = session.lost(&std::io::ErrorKind::UnexpectedEof.into());
        session.fail(&error, &mut frame);
        let bytes = frame.take();
        // A whole result of a status and an error, then a failure.
        assert_eq!((bytes[0], bytes[4], bytes[8]), (1, 0, 2));
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("[BB_CONNECTION] the connection to here was lost").count(), 2);
        assert_eq!(session.in_flight(), 0);
    }
}
