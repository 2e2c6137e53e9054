//! The form in which requests and their responses cross between languages: many in one buffer each way.
//!
//! A *submission* is a sequence of groups of requests, in 32-bit words of the machine's order: `pool, id, count`, then for
//! each request `method, path, headers, body`. The method is its index in [`Method::ALL`], the others are lengths in bytes. A
//! body of [`NO_BODY`] is none. Then come the bytes of all paths, headers and bodies, padded to a whole word.
//!
//! A *frame* is a sequence of results, one per group: `id, status, count, bytes, flags`, then for each request the words `status,
//! start, head, body`. `start` is the place of its header lines among the bytes, `head` their length, and `body` the length of the
//! body behind them. Then come the bytes, padded to a whole word. The status 0 of a response marks an error: the body is the
//! error's text, with its code in brackets. A result with the status 2 reports a lost connection. Its id is that connection's.

use boundary_bench_kernel::frame::{ASCII, Frame, word, words};
use boundary_bench_kernel::{Error, Result};

use crate::request::{Method, Request};
use crate::response::Response;

/// The length of a body that is absent.
pub const NO_BODY: u32 = u32::MAX;

const GROUP_WORDS: usize = 3;
const REQUEST_WORDS: usize = 4;

/// The number of words for each response of a result.
const RESPONSE_WORDS: usize = 4;

/// The numbers by which JavaScript knows the layouts of submissions and results, with their names. The methods are numbered by
/// their order in [`Method::ALL`].
pub fn layout() -> Vec<(&'static str, u32)> {
    let methods = (0..).zip(Method::ALL).map(|(number, method)| (method.name(), number));
    let words = [
        ("GROUP_WORDS", word(GROUP_WORDS)),
        ("REQUEST_WORDS", word(REQUEST_WORDS)),
        ("RESPONSE_WORDS", word(RESPONSE_WORDS)),
        ("NO_BODY", NO_BODY),
    ];
    methods.chain(words).collect()
}

/// A group of requests in a submission.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// The number of the pool of connections that the group is for.
    pub pool: u32,
    /// The id of the group, repeated in its result.
    pub id: u32,
    heads: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Group<'a> {
    /// The number of requests.
    pub fn count(&self) -> usize {
        self.heads.len() / (REQUEST_WORDS * 4)
    }

    /// The requests, each checked: one that can't be sent is an error in its place.
    pub fn requests(&self) -> impl Iterator<Item = Result<Request<'a>>> + use<'a> {
        let mut bytes = self.bytes;
        self.heads.chunks_exact(REQUEST_WORDS * 4).map(move |head| {
            let head = words(head).collect::<Vec<_>>();
            let mut next = |length: u32| {
                let (part, rest) = bytes.split_at_checked(length as usize)?;
                bytes = rest;
                Some(part)
            };
            let parts =
                (next(head[1]), next(head[2]), if head[3] == NO_BODY { Some([].as_slice()) } else { next(head[3]) });
            let (Some(path), Some(headers), Some(body)) = parts else { return Err(malformed()) };
            let text = |bytes| std::str::from_utf8(bytes).map_err(|_| malformed());
            let request = Request {
                method: *Method::ALL.get(head[0] as usize).ok_or_else(malformed)?,
                path: text(path)?,
                headers: text(headers)?,
                body: (head[3] != NO_BODY).then_some(body),
            };
            request.check().map(|()| request)
        })
    }
}

fn malformed() -> Error {
    Error::InvalidArgument("not a submission of requests".to_owned())
}

/// The groups of a submission. An error is the last item.
pub fn groups(mut bytes: &[u8]) -> impl Iterator<Item = Result<Group<'_>>> {
    std::iter::from_fn(move || {
        (!bytes.is_empty()).then(|| Group::read(&mut bytes).ok_or_else(malformed).inspect_err(|_| bytes = &[]))
    })
}

impl<'a> Group<'a> {
    /// Reads the group that a submission begins with, and leaves the bytes behind it.
    fn read(submission: &mut &'a [u8]) -> Option<Self> {
        let (head, rest) = submission.split_at_checked(GROUP_WORDS * 4)?;
        let head = words(head).collect::<Vec<_>>();
        let count = head[2] as usize;
        let (heads, rest) = rest.split_at_checked(count.checked_mul(REQUEST_WORDS * 4)?)?;
        let length = |word: u32| if word == NO_BODY { 0 } else { u64::from(word) };
        let lengths = heads.chunks_exact(REQUEST_WORDS * 4).map(|head| words(head).skip(1).map(length).sum::<u64>());
        let total = usize::try_from(lengths.sum::<u64>()).ok()?;
        let (bytes, _) = rest.split_at_checked(total)?;
        *submission = rest.get(total.next_multiple_of(4)..).unwrap_or_default();
        (count > 0).then_some(Self { pool: head[0], id: head[1], heads, bytes })
    }
}

/// The result of a group, collected response by response.
#[derive(Debug)]
pub struct Responses {
    entries: Vec<[u32; RESPONSE_WORDS]>,
    bytes: Vec<u8>,
    left: usize,
}

impl Responses {
    /// The empty result of a group of `count` requests.
    pub fn new(count: usize) -> Self {
        Self { entries: vec![[0; RESPONSE_WORDS]; count], bytes: Vec::new(), left: count }
    }

    /// Adds the outcome of the request `index`, once per request. Returns true for the last one.
    pub fn add(&mut self, index: usize, answer: std::result::Result<Response<'_>, &Error>) -> bool {
        let text;
        let (status, head, body) = match answer {
            Ok(Response { status, head, body }) if self.fits(head.len() + body.len()) => (status.into(), head, body),
            Ok(_) => {
                text = Error::Unsupported("results of more than 4 GiB; ask for less at once".to_owned()).coded();
                (0, [].as_slice(), text.as_bytes())
            }
            Err(error) => {
                text = error.coded();
                (0, [].as_slice(), text.as_bytes())
            }
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(body);
        self.entries[index] = [status, word(start), word(head.len()), word(body.len())];
        self.left -= 1;
        self.left == 0
    }

    /// Appends the result of the group to a frame.
    pub fn finish(&self, id: u32, frame: &mut Frame) {
        add(frame, id, &self.entries, &[&self.bytes]);
    }

    /// Whether this many bytes fit below the limit of 32 bits, with 64 MiB left for the texts of errors.
    fn fits(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes < u32::MAX as usize - (64 << 20)
    }
}

/// Appends the result of a group of one request.
pub(crate) fn finish_one(frame: &mut Frame, id: u32, answer: std::result::Result<Response<'_>, &Error>) {
    match answer {
        Ok(Response { status, head, body }) => {
            add(frame, id, &[[status.into(), 0, word(head.len()), word(body.len())]], &[head, body]);
        }
        Err(error) => {
            let text = error.coded();
            add(frame, id, &[[0, 0, 0, word(text.len())]], &[text.as_bytes()]);
        }
    }
}

fn add(frame: &mut Frame, id: u32, entries: &[[u32; RESPONSE_WORDS]], parts: &[&[u8]]) {
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    let flags = if parts.iter().all(|part| part.is_ascii()) { ASCII } else { 0 };
    frame.begin([id, 0, word(entries.len()), word(bytes), flags], entries.len() * RESPONSE_WORDS * 4 + bytes + 4);
    entries.iter().for_each(|entry| frame.words(entry));
    parts.iter().for_each(|part| frame.put(part));
    frame.fill();
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of a submission of one group.
    pub(crate) fn submission(pool: u32, id: u32, requests: &[Request<'_>]) -> Vec<u8> {
        let length = |text: &[u8]| u32::try_from(text.len()).unwrap();
        let mut words = vec![pool, id, u32::try_from(requests.len()).unwrap()];
        let mut bytes = Vec::new();
        for request in requests {
            let method = Method::ALL.iter().position(|method| *method == request.method).unwrap();
            let (path, headers) = (request.path.as_bytes(), request.headers.as_bytes());
            words.extend([u32::try_from(method).unwrap(), length(path), length(headers)]);
            words.push(request.body.map_or(NO_BODY, length));
            [path, headers, request.body.unwrap_or_default()].iter().for_each(|part| bytes.extend_from_slice(part));
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        words.iter().flat_map(|word| word.to_ne_bytes()).chain(bytes).collect()
    }

    #[test]
    fn groups_are_read_one_after_the_other() {
        let mut bytes = submission(1, 2, &[Request::get("/a"), Request::post("/b", b"{}")]);
        bytes.extend(submission(3, 4, &[Request { headers: "a: b\r\n", ..Request::get("/c") }]));
        let groups = super::groups(&bytes).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!((groups[0].pool, groups[0].id, groups[0].count()), (1, 2, 2));
        let requests = groups[0].requests().collect::<Result<Vec<_>>>().unwrap();
        assert_eq!((requests[0].path, requests[0].body), ("/a", None));
        assert_eq!((requests[1].method, requests[1].body), (Method::Post, Some(b"{}".as_slice())));
        let request = groups[1].requests().next().unwrap().unwrap();
        assert_eq!((request.path, request.headers), ("/c", "a: b\r\n"));
    }

    #[test]
    fn what_is_no_submission_is_refused_and_a_bad_request_in_its_place() {
        for bytes in
            [vec![1, 2, 3], submission(0, 0, &[]), submission(0, 0, &[Request::get("/abcdefgh")])[..32].to_vec()]
        {
            let error = groups(&bytes).collect::<Result<Vec<_>>>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        }
        let bytes = submission(0, 0, &[Request::get("no"), Request::get("/yes")]);
        let group = groups(&bytes).next().unwrap().unwrap();
        let requests = group.requests().map(|request| request.is_ok()).collect::<Vec<_>>();
        assert_eq!(requests, [false, true]);
    }

    #[test]
    fn frames_are_laid_out_as_described() {
        let mut frame = Frame::default();
        let mut responses = Responses::new(2);
        let response = Response { status: 200, head: b"a: b", body: b"xyz" };
        assert!(!responses.add(1, Ok(response)));
        assert!(responses.add(0, Err(&Error::Cancelled)));
        responses.finish(7, &mut frame);
        let bytes = frame.take();
        let read = words(&bytes).collect::<Vec<_>>();
        let text = u32::try_from(Error::Cancelled.coded().len()).unwrap();
        assert_eq!(read[..5], [7, 0, 2, 7 + text, 1]);
        assert_eq!(read[5..13], [0, 7, 0, text, 200, 0, 4, 3]);
        assert!(bytes[13 * 4..].starts_with(b"a: bxyz[BB_ABORTED] "));
        finish_one(&mut frame, 8, Ok(response));
        frame.gone(9);
        let read = words(frame.bytes()).collect::<Vec<_>>();
        assert_eq!((read[..9].to_vec(), read[11..13].to_vec()), (vec![8, 0, 1, 7, 1, 200, 0, 4, 3], vec![9, 2]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), few in proptest::collection::vec(0_u32..9, 0..12)) {
            let all = few.iter().flat_map(|word| word.to_ne_bytes()).chain(bytes).collect::<Vec<_>>();
            for group in groups(&all).flatten() {
                let _ = group.requests().count();
            }
        }
    }
}
