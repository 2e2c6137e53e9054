//! Requests, and their form on the wire in HTTP/1.1.

use boundary_bench_kernel::{Error, Result};

use crate::url::{Url, sent_path};

/// The method of a request. These are all that a server of data needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Sends a body.
    Post,
    /// Replaces a resource.
    Put,
    /// Deletes a resource.
    Delete,
    /// Changes a resource.
    Patch,
    /// Reads the headers alone.
    Head,
    /// Asks which methods are allowed.
    Options,
}

impl Method {
    /// All methods. A submission names one by its index here.
    pub const ALL: [Self; 7] = [Self::Get, Self::Post, Self::Put, Self::Delete, Self::Patch, Self::Head, Self::Options];

    /// The name of the method on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Patch => "PATCH",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether a request may be executed twice with the effect of once
    /// ([RFC 9110, 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
    pub fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }

    /// Whether a request without a body states a content-length of 0.
    fn expects_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method of the request.
    pub method: Method,
    /// The path with the query, appended to the path of the client's URL.
    pub path: &'a str,
    /// Headers, each as `name: value` and a line break. They replace the client's of the same names.
    pub headers: &'a str,
    /// The body. `None` sends no body.
    pub body: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// A GET request without a body.
    pub fn get(path: &'a str) -> Self {
        Self { method: Method::Get, path, headers: "", body: None }
    }

    /// A POST request with a body.
    pub fn post(path: &'a str, body: &'a [u8]) -> Self {
        Self { method: Method::Post, path, headers: "", body: Some(body) }
    }

    /// Whether the head states the length of the body.
    pub(crate) fn states_length(&self) -> bool {
        self.body.is_some() || self.method.expects_body()
    }

    /// Checks the parts of the request's head, so that none can end a line.
    pub fn check(&self) -> Result<()> {
        // A fragment is never sent: a parser of URLs would cut it off, and the server would get another path.
        if !self.path.starts_with('/') || !self.path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(Error::InvalidArgument(
                "the path of a request must begin with / and be percent-encoded".to_owned(),
            ));
        }
        check_headers(self.headers)
    }
}

/// Headers that only the client sets: they say how a message is framed and how a connection is used.
const OURS: [&str; 9] =
    ["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// The names and values in a block of header lines.
pub(crate) fn header_lines(block: &str) -> impl Iterator<Item = (&str, &str)> {
    block.split_terminator("\r\n").map(|line| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name, value.trim_matches([' ', '\t']))
    })
}

/// Whether a block of header lines has a header with this name.
fn has_header(block: &str, name: &str) -> bool {
    header_lines(block).any(|(found, _)| found.eq_ignore_ascii_case(name))
}

fn check_headers(block: &str) -> Result<()> {
    let refused = |problem: &str| Err(Error::InvalidArgument(format!("a header of a request: {problem}")));
    if !block.is_empty() && !block.ends_with("\r\n") {
        return refused("its line does not end");
    }
    if block.split_terminator("\r\n").any(|line| !line.contains(':')) {
        return refused("it has no colon");
    }
    for (name, value) in header_lines(block) {
        if name.is_empty() || !name.bytes().all(is_token) {
            return refused("its name has characters that names can't have");
        }
        if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            return refused(&format!("the value of {name} has characters that are no printable ASCII"));
        }
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            return refused(&format!("{name} is set by the client itself"));
        }
    }
    Ok(())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The part of the head that all requests of a client share, in wire format.
#[derive(Clone)]
pub struct Head {
    prefix: String,
    /// The part of the head from the version to the client's headers.
    common: String,
    headers: String,
}

impl Head {
    /// The part that comes from a URL and a block of headers.
    pub fn new(url: &Url, headers: &str) -> Result<Self> {
        check_headers(headers)?;
        let common = format!(" HTTP/1.1\r\nhost: {}\r\n{headers}", url.authority());
        Ok(Self { prefix: url.path.clone(), common, headers: headers.to_owned() })
    }

    /// The lines of the client's headers for which a request has none of the same name.
    pub(crate) fn lines_beside(&self, request: &Request<'_>) -> impl Iterator<Item = &str> {
        self.headers.split_inclusive("\r\n").filter(|line| {
            request.headers.is_empty() || header_lines(line).all(|(name, _)| !has_header(request.headers, name))
        })
    }

    /// The prefix of every path: the path of the client's URL.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Appends a checked request to `out`.
    pub fn write(&self, out: &mut Vec<u8>, request: &Request<'_>) {
        let length = request.body.map_or(0, <[u8]>::len);
        out.reserve(self.prefix.len() + self.common.len() + request.path.len() + request.headers.len() + length + 64);
        let mut add = |part: &str| out.extend_from_slice(part.as_bytes());
        for part in [request.method.name(), " ", &self.prefix, &sent_path(request.path)] {
            add(part);
        }
        if request.headers.is_empty() || self.headers.is_empty() {
            add(&self.common);
        } else {
            add(&self.common[..self.common.len() - self.headers.len()]);
            self.lines_beside(request).for_each(&mut add);
        }
        add(request.headers);
        if request.states_length() {
            out.extend_from_slice(b"content-length: ");
            out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(request.body.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(request: &Request<'_>) -> String {
        let head = Head::new(&"http://h:4406/api/".parse().unwrap(), "x-api-key: k\r\n").unwrap();
        let mut out = Vec::new();
        head.write(&mut out, request);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_are_written_with_what_frames_them() {
        assert_eq!(written(&Request::get("/p?q=1")), "GET /api/p?q=1 HTTP/1.1\r\nhost: h:4406\r\nx-api-key: k\r\n\r\n");
        let request = Request { headers: "a: b\r\n", ..Request::post("/p", b"{}") };
        assert_eq!(
            written(&request),
            "POST /api/p HTTP/1.1\r\nhost: h:4406\r\nx-api-key: k\r\na: b\r\ncontent-length: 2\r\n\r\n{}"
        );
        let request = Request { method: Method::Put, body: None, ..request };
        assert!(written(&request).ends_with("content-length: 0\r\n\r\n"));
    }

    #[test]
    fn the_headers_of_a_request_replace_those_of_the_client() {
        let head = Head::new(&"http://h".parse().unwrap(), "x-a: 1\r\nAccept: x\r\nX-A: 2\r\n").unwrap();
        for (headers, expected) in [
            ("", "x-a: 1\r\nAccept: x\r\nX-A: 2\r\n"),
            ("x-: 3\r\n", "x-a: 1\r\nAccept: x\r\nX-A: 2\r\nx-: 3\r\n"),
            ("x-A: 3\r\nx-a: 4\r\n", "Accept: x\r\nx-A: 3\r\nx-a: 4\r\n"),
            ("accept:\r\nX-A: 5\r\n", "accept:\r\nX-A: 5\r\n"),
        ] {
            let mut out = Vec::new();
            head.write(&mut out, &Request { headers, ..Request::get("/") });
            assert_eq!(String::from_utf8(out).unwrap(), format!("GET / HTTP/1.1\r\nhost: h\r\n{expected}\r\n"));
        }
    }

    #[test]
    fn what_would_end_a_line_or_change_the_framing_is_refused() {
        let get = Request::get("/");
        for request in [
            Request { path: "p", ..get },
            Request { path: "/a b", ..get },
            Request { path: "/a\r\nx: y", ..get },
            Request { path: "/\u{e9}", ..get },
            Request { path: "/a#b", ..get },
            Request { headers: "a: b", ..get },
            Request { headers: "a b: c\r\n", ..get },
            Request { headers: "a: b\r\nc\r\n", ..get },
            Request { headers: "a: b\nc: d\r\n", ..get },
            Request { headers: ": b\r\n", ..get },
            Request { headers: "Content-Length: 5\r\n", ..get },
            Request { headers: "\r\n", ..get },
            Request { headers: "a: \u{e9}\r\n", ..get },
        ] {
            assert_eq!(request.check().unwrap_err().code(), "BB_INVALID_ARGUMENT", "{request:?}");
        }
        assert!(Request { headers: "a: b\r\nc:\r\n", ..get }.check().is_ok());
    }

    #[test]
    fn a_path_is_the_same_over_both_versions() {
        for byte in (0x21..0x7f).filter(|byte| *byte != b'#') {
            let byte = char::from(byte);
            let path = format!("/a{byte}b?c{byte}d");
            let text = written(&Request::get(&path));
            let sent = text.split(' ').nth(1).unwrap();
            // As the client of HTTP/2 gives it to h2.
            let uri: hyper::Uri = format!("http://h/api{}", sent_path(&path)).parse().unwrap();
            assert_eq!(uri.path_and_query().unwrap().as_str(), sent, "{byte}");
        }
        assert_eq!("http://h/<^>".parse::<Url>().unwrap().path, "/%3C^%3E");
    }

    proptest! {
        #[test]
        fn what_passes_the_check_is_one_request_to_a_parser(
            path in "/[ -~]{0,20}", headers in "([a-zA-Z:\r\n\t-]{0,6}: ?[ -~\r\n]{0,10}\r\n){0,3}", body in "[ -~\r\n]{0,30}",
        ) {
            let request = Request { method: Method::Post, path: &path, headers: &headers, body: Some(body.as_bytes()) };
            if request.check().is_ok() {
                let text = written(&request);
                let mut space = [httparse::EMPTY_HEADER; 32];
                let mut parsed = httparse::Request::new(&mut space);
                let head = parsed.parse(text.as_bytes()).unwrap().unwrap();
                let expected = format!("/api{}", sent_path(&path));
                prop_assert_eq!(parsed.path, Some(expected.as_str()));
                prop_assert_eq!(parsed.headers.len(), header_lines(&headers).count() + 3);
                prop_assert_eq!(&text[head..], &body);
            }
        }
    }
}
