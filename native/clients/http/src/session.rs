//! A connection of HTTP/1.1 without its socket, for the driver of one: it takes requests and received bytes, and gives
//! bytes to send and responses in the requests' order. Nothing here blocks.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use boundary_bench_kernel::Result;
use boundary_bench_kernel::outbox::Outbox;

use crate::request::{Head, Method, Request};
use crate::response::{Response, ResponseReader, Whole};

/// A connection that was answered this recently is not probed before its next use.
const FRESH: Duration = Duration::from_millis(1);

/// The requests in flight on one connection, each with a ticket of the caller's.
#[derive(Debug)]
pub struct Session<T> {
    output: Outbox,
    reader: ResponseReader,
    waiting: VecDeque<Waiting<T>>,
    is_over: bool,
    /// Whether the connection ends with the last response: no response to the requests behind it follows.
    is_closing: bool,
    /// The time of the last response that left no request in flight. At first, the time of the session's start.
    answered: Instant,
}

#[derive(Debug)]
struct Waiting<T> {
    ticket: T,
    is_head: bool,
}

/// A whole response. [`Session::response`] gives it until the session offers room again.
#[derive(Debug)]
pub struct Arrived<T> {
    /// The ticket of its request.
    pub ticket: T,
    whole: Whole,
}

impl<T> Session<T> {
    /// A session that refuses bodies of more than `most_bytes`.
    pub fn new(most_bytes: usize) -> Self {
        let reader = ResponseReader::new(most_bytes);
        Self {
            output: Outbox::default(),
            reader,
            waiting: VecDeque::new(),
            is_over: false,
            is_closing: false,
            answered: Instant::now(),
        }
    }

    /// The number of requests without a response.
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the session takes no more requests: the server closes the connection, or sent bytes that answer no
    /// request.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether no request is in flight and none was answered lately: the server may have closed the connection.
    pub fn has_rested(&self) -> bool {
        self.waiting.is_empty() && self.answered.elapsed() >= FRESH
    }

    /// Makes the session refuse further requests.
    pub fn retire(&mut self) {
        self.is_over = true;
    }

    /// Takes a checked request.
    pub fn submit(&mut self, ticket: T, head: &Head, request: &Request<'_>) {
        head.write(self.output.end(), request);
        self.waiting.push_back(Waiting { ticket, is_head: request.method == Method::Head });
    }

    /// Takes a request that is already in wire format.
    pub(crate) fn submit_written(&mut self, ticket: T, is_head: bool, message: &[u8]) {
        self.output.end().extend_from_slice(message);
        self.waiting.push_back(Waiting { ticket, is_head });
    }

    /// The bytes to be sent.
    pub fn unsent(&self) -> &[u8] {
        self.output.unsent()
    }

    /// The bytes to be sent, and the buffer to receive into.
    pub(crate) fn unsent_and_room(&mut self) -> (&[u8], &mut [u8]) {
        (self.output.unsent(), self.reader.room())
    }

    /// Marks this many of the unsent bytes as sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output.sent(bytes);
    }

    /// The buffer to receive into.
    pub fn room(&mut self) -> &mut [u8] {
        self.reader.room()
    }

    /// Marks this many bytes of the buffer as received.
    pub fn received(&mut self, bytes: usize) {
        self.reader.received(bytes);
    }

    /// The next whole response. Call it until it returns `None`.
    ///
    /// # Errors
    /// [`Error::Engine`](boundary_bench_kernel::Error::Engine) if the server does not speak the protocol, or a response is too large.
    /// The session is unusable then.
    pub fn next_response(&mut self) -> Result<Option<Arrived<T>>> {
        if self.is_closing {
            return Ok(None);
        }
        let Some(waiting) = self.waiting.front() else {
            // Before it closes an idle connection, a server may send a reason. That answers no request.
            self.is_over |= !self.reader.is_idle();
            return Ok(None);
        };
        let Some(whole) = self.reader.next_whole(waiting.is_head)? else { return Ok(None) };
        // A response to a request that was sent in part is the last one: the server would take the rest for the next
        // request.
        self.is_closing = !whole.is_reusable;
        self.is_over |= self.is_closing || (self.waiting.len() == 1 && !self.unsent().is_empty());
        let waiting = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.answered = Instant::now();
        }
        Ok(waiting.map(|waiting| Arrived { ticket: waiting.ticket, whole }))
    }

    /// Ends the connection's input, and returns the response whose body ends with it, if there is one.
    pub fn at_end(&mut self) -> Option<Arrived<T>> {
        self.is_over = true;
        let whole = self.reader.at_end()?;
        self.is_closing = true;
        self.waiting.pop_front().map(|waiting| Arrived { ticket: waiting.ticket, whole })
    }

    /// The response that has arrived.
    pub fn response(&self, arrived: &Arrived<T>) -> Response<'_> {
        self.reader.response(&arrived.whole)
    }

    /// Gives up the requests behind a response that ends the connection, and returns their tickets. The server must not process them
    /// ([RFC 9112, 9.6](https://www.rfc-editor.org/rfc/rfc9112#section-9.6)). Some servers begin to, so only those may be sent again of which
    /// [`Method::is_idempotent`] says that twice is as good as once.
    pub fn cut_off(&mut self) -> impl Iterator<Item = T> {
        let cut_off = if self.is_closing { self.waiting.len() } else { 0 };
        self.waiting.drain(..cut_off).map(|waiting| waiting.ticket)
    }

    /// Whether the connection ends with the last response.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Gives up the requests in flight, and returns their tickets.
    pub fn abandon(&mut self) -> impl Iterator<Item = T> {
        self.is_over = true;
        self.waiting.drain(..).map(|waiting| waiting.ticket)
    }

    /// The tickets of the requests without a response.
    pub fn tickets(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|waiting| &waiting.ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(session: &mut Session<u32>, text: &str) -> Result<Vec<(u32, u16, String)>> {
        session.room()[..text.len()].copy_from_slice(text.as_bytes());
        session.received(text.len());
        let mut found = Vec::new();
        while let Some(arrived) = session.next_response()? {
            let response = session.response(&arrived);
            found.push((arrived.ticket, response.status, String::from_utf8_lossy(response.body).into_owned()));
        }
        Ok(found)
    }

    fn session() -> (Session<u32>, Head) {
        (Session::new(1000), Head::new(&"http://h".parse().unwrap(), "").unwrap())
    }

    #[test]
    fn responses_answer_the_requests_in_their_order() {
        let (mut session, head) = session();
        session.submit(7, &head, &Request { method: Method::Head, ..Request::get("/a") });
        session.submit(8, &head, &Request::get("/b"));
        assert!(session.unsent().starts_with(b"HEAD /a HTTP/1.1\r\nhost: h\r\n\r\nGET /b"));
        session.sent(1000);
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(receive(&mut session, text).unwrap(), [(7, 200, String::new())]);
        assert_eq!(receive(&mut session, "no").unwrap(), [(8, 404, "no".to_owned())]);
        assert_eq!((session.in_flight(), session.is_over()), (0, false));
        // A response that answers no request.
        assert_eq!(receive(&mut session, "HTTP/1.1 408 Timeout\r\n").unwrap(), []);
        assert!(session.is_over());
    }

    #[test]
    fn the_end_of_a_connection_ends_a_body_without_a_length_and_no_other() {
        let (mut session, head) = session();
        session.submit(1, &head, &Request::get("/"));
        session.submit(2, &head, &Request::get("/"));
        session.sent(1000);
        assert_eq!(receive(&mut session, "HTTP/1.1 200 OK\r\n\r\nabc").unwrap(), []);
        let arrived = session.at_end().unwrap();
        assert_eq!((arrived.ticket, session.response(&arrived).body), (1, b"abc".as_slice()));
        assert!(session.at_end().is_none());
        assert_eq!(session.abandon().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn an_answer_to_half_a_request_is_the_last_one() {
        let (mut session, head) = session();
        session.submit(1, &head, &Request::post("/", &[0; 100]));
        session.sent(50);
        let answered = receive(&mut session, "HTTP/1.1 413 Too\r\ncontent-length: 0\r\n\r\n").unwrap();
        assert_eq!((answered[0].1, session.is_over()), (413, true));
    }
}
