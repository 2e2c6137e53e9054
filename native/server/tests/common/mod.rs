//! Common parts of the tests: a server of ours or at a URL, and a client that sends exactly the given bytes.
#![expect(dead_code, reason = "each test uses a part of it")]

pub mod flight;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_server::{Options, PrivateServer, Server};

/// A server to test.
pub struct Target {
    pub address: SocketAddr,
    pub api_key: Option<String>,
    server: Option<Server>,
    process: Option<PrivateServer>,
}

impl Target {
    /// A new server on a free port.
    pub fn new(options: Options) -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let api_key = options.api_key.clone();
        let server = Server::start(&Options { listen, ..options }).unwrap();
        Self { address: server.address(), api_key, server: Some(server), process: None }
    }

    /// A new server process with these arguments, which has its own files and threads.
    pub fn process(arguments: &[&str]) -> Self {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_boundary-bench-server"));
        let process = PrivateServer::start(Some(program), arguments, &CancelToken::default()).unwrap();
        let address = process.url().strip_prefix("http://").unwrap().parse().unwrap();
        Self { address, api_key: None, server: None, process: Some(process) }
    }

    /// The server at the URL in an environment variable, or a new one.
    pub fn of(variable: &str, options: Options) -> Self {
        let Ok(url) = std::env::var(variable) else { return Self::new(options) };
        let place = url.strip_prefix("http://").unwrap_or_else(|| panic!("{variable} must begin with http://"));
        let place = place.trim_end_matches('/');
        let address = place.to_socket_addrs().unwrap().next().unwrap();
        Self { address, api_key: std::env::var("REST_API_KEY").ok(), server: None, process: None }
    }

    /// Whether the server is ours, not one at a URL.
    pub fn is_own(&self) -> bool {
        self.server.is_some()
    }

    pub fn stop(&self) {
        self.server.as_ref().unwrap().stop();
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends one request over a new connection, and reads the response.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
        if let Some(key) = &self.api_key
            && !headers.iter().any(|(name, _)| *name == "X-API-KEY")
        {
            write!(head, "X-API-KEY: {key}\r\n").unwrap();
        }
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() || method == "POST" {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        // The server may respond before it has read the whole request.
        let _ = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(body));
        Answer::read(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("POST", path, &[("Content-Type", "application/json")], body.as_ref())
    }
}

/// The response to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads a response up to the end of the connection.
    pub fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A server that refuses a body may reset the connection after its response.
        let _ = stream.read_to_end(&mut bytes);
        Self::parse(&bytes).unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)))
    }

    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut answer = Self { status, head, body: bytes[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(&answer.body)?;
        }
        Some(answer)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// Decodes a chunked body; `None` where the last chunk is missing.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + size)?);
        rest = &rest[line + 2 + size + 2..];
    }
}

/// Waits until written points can be read; some servers need a flush for that.
pub fn await_flush() {
    if let Ok(seconds) = std::env::var("INGEST_FLUSH_SECONDS") {
        std::thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap()));
    }
}

/// A key of the right form.
pub fn api_key() -> String {
    format!("{}.{}", "p".repeat(16), "s".repeat(64))
}

/// The key of row `number` of `table_2`.
pub fn binary_key(number: u64) -> String {
    use base64::Engine;
    let mut key = vec![0; 2992];
    key.extend_from_slice(&number.to_le_bytes());
    base64::engine::general_purpose::STANDARD.encode(key)
}

/// The response to one request to a server at this URL.
pub fn ask_at(url: &str, method: &str, path: &str, body: &str) -> Answer {
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    let target = Target { address, api_key: None, server: None, process: None };
    target.ask(method, path, &[("Content-Type", "application/json")], body.as_bytes())
}
