//! The limits of a client: slow and huge requests, half-closed and idle connections, TLS, a stop under load.

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_core::needs;
use boundary_bench_core::testing::{Certificate, certificate};
use boundary_bench_server::{Limits, Options, TlsFiles};
use common::{Answer, Target};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const READ: &str = r#"{"filters":[{"column":"id0","value":1}]}"#;

fn limited(limits: Limits) -> Target {
    Target::new(Options { limits, ..Options::default() })
}

/// A request with its whole header, and the first `sent` bytes of its body.
fn request(body: &str, sent: usize) -> Vec<u8> {
    let head = format!(
        "POST /0.1.0/rdrs_bench/table_1/pk-read HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body.as_bytes()[..sent]].concat()
}

/// Reads one response of a connection that stays open.
fn read_one(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(answer) = Answer::parse(&bytes)
            && answer.header("content-length").is_some_and(|length| length.parse() == Ok(answer.body.len()))
        {
            return answer;
        }
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "cut: {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&part[..read]);
    }
}

/// Whether the server ends the connection, with or without a response.
fn is_ended(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    // A reset also counts as an end; a time-out does not.
    match stream.read_to_end(&mut bytes) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn slow_requests_are_ended_and_others_are_not_kept_waiting() {
    let time = Duration::from_millis(400);
    let target = limited(Limits { header_time: time, body_time: time, ..Limits::default() });
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = target.connect();
            stream.write_all(b"POST /0.1.0/rdrs_bench/table_1/pk-read HTTP/1.1\r\nHost: te").unwrap();
            stream
        })
        .collect();
    // Single bytes do not prolong the time-out of a header.
    let mut drip = target.connect();
    let dripped = Instant::now();
    let mut is_cut = false;
    while !is_cut && dripped.elapsed() < Duration::from_secs(20) {
        is_cut = drip.write_all(b"G").is_err();
        assert_eq!(target.post("/0.1.0/rdrs_bench/table_1/pk-read", READ).status, 200);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_cut, "a header may take for ever");
    for mut stream in slow {
        assert!(is_ended(&mut stream));
    }
    let mut half = target.connect();
    half.write_all(&request(READ, 10)).unwrap();
    let answer = Answer::read(&mut half);
    assert_eq!(answer.status, 408, "{}", answer.text());
}

#[test]
fn idle_connections_end_and_busy_ones_stay() {
    let target = limited(Limits { idle_time: Duration::from_millis(500), ..Limits::default() });
    let (mut idle, mut busy) = (target.connect(), target.connect());
    for _ in 0..10 {
        busy.write_all(&request(READ, READ.len())).unwrap();
        assert_eq!(read_one(&mut busy).status, 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(is_ended(&mut idle));
    assert!(is_ended(&mut busy));
}

/// The first bytes of an HTTP/2 client: the preface and its settings.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Sends an HTTP/2 ping; `false` where the connection has ended.
fn is_answered(stream: &mut TcpStream) -> bool {
    if stream.write_all(b"\0\0\x08\x06\0\0\0\0\0boundary").is_err() {
        return false;
    }
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).is_err() {
            return false;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body).unwrap();
        if head[3] == 6 && head[4] == 1 {
            return true;
        }
    }
}

#[test]
fn what_http2_says_between_requests_is_not_taken_for_a_slow_header() {
    let target = limited(Limits { header_time: Duration::from_millis(300), ..Limits::default() });
    let mut stream = target.connect();
    // The bytes are sent in parts, as the network may split them.
    for part in [&HTTP2[..2], &HTTP2[2..30], &HTTP2[30..]] {
        stream.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(900));
        assert!(is_answered(&mut stream));
    }
    // A method with the same first letter is still HTTP/1.1, and the time-out of its header applies.
    let mut slow = target.connect();
    slow.write_all(b"PR").unwrap();
    assert!(is_ended(&mut slow));
    let target = limited(Limits { idle_time: Duration::from_millis(500), ..Limits::default() });
    let mut idle = target.connect();
    idle.write_all(HTTP2).unwrap();
    assert!(is_ended(&mut idle));
}

#[test]
fn huge_bodies_are_refused_before_they_are_read() {
    let target = limited(Limits { rest_body: 1000, ..Limits::default() });
    let path = "/0.1.0/rdrs_bench/table_1/pk-read";
    assert_eq!(target.post(path, vec![b' '; 1001]).status, 400);
    // The body is announced as an exabyte, and never sent.
    let mut stream = target.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000000000000\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_one(&mut stream).status, 400);
    // The length of a chunked body is unknown beforehand.
    let mut stream = target.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("200\r\n{}\r\n", " ".repeat(0x200));
    for _ in 0..4 {
        let _ = stream.write_all(chunk.as_bytes());
    }
    assert_eq!(read_one(&mut stream).status, 400);
    // The header has no end.
    let mut stream = target.connect();
    let line = format!("X-Long: {}\r\n", "x".repeat(1000));
    let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\n").as_bytes());
    for _ in 0..200 {
        let _ = stream.write_all(line.as_bytes());
    }
    assert!(is_ended(&mut stream));
    assert_eq!(target.post(path, READ).status, 200);
}

#[test]
fn a_half_closed_connection_is_answered() {
    let target = limited(Limits::default());
    let mut stream = target.connect();
    stream.write_all(&request(READ, READ.len())).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_one(&mut stream).status, 200);
    // A connection that closes within a body is ended.
    let mut stream = target.connect();
    stream.write_all(&request(READ, 5)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(is_ended(&mut stream));
    assert_eq!(target.get("/0.1.0/ping").status, 200);
}

#[test]
fn requests_come_one_after_another_and_all_at_once() {
    let target = limited(Limits::default());
    let mut stream = target.connect();
    let pipelined = request(READ, READ.len()).repeat(20);
    stream.write_all(&pipelined).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while bytes.windows(8).filter(|window| window == b"HTTP/1.1").count() < 20 || !bytes.ends_with(b"}}") {
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0);
        bytes.extend_from_slice(&part[..read]);
    }
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 20);
}

#[test]
fn nonsense_is_no_harm() {
    let target = limited(Limits::default());
    for nonsense in [
        &b"\x16\x03\x01\x00\xa5"[..],
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\0\0\0\0",
    ] {
        let mut stream = target.connect();
        let _ = stream.write_all(nonsense);
        let _ = stream.shutdown(Shutdown::Write);
        assert!(is_ended(&mut stream), "{}", String::from_utf8_lossy(nonsense));
    }
    assert_eq!(target.get("/0.1.0/ping").status, 200);
}

/// Raises this process's limit of open files; returns whether it is sufficient then.
fn raise_files(needed: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write that one structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return false;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0 && limit.rlim_cur >= needed
    }
}

#[test]
fn ten_thousand_idle_connections_keep_nobody_waiting() {
    const CONNECTIONS: usize = 10_000;
    // The server runs in its own process, with the same limit.
    let enough = raise_files(CONNECTIONS as u64 + 500);
    needs!("open-files", enough.then_some(()).ok_or("the system allows this user fewer open files"));
    let server = std::path::Path::new(env!("CARGO_BIN_EXE_boundary-bench-server"));
    let cancel = boundary_bench_core::engine::CancelToken::default();
    let server = boundary_bench_server::PrivateServer::start(Some(server), &[], &cancel).unwrap();
    let place = server.url().strip_prefix("http://").unwrap().to_owned();
    let idle: Vec<TcpStream> = (0..CONNECTIONS).map(|_| TcpStream::connect(&place).unwrap()).collect();
    let mut stream = TcpStream::connect(&place).unwrap();
    for _ in 0..100 {
        stream.write_all(&request(READ, READ.len())).unwrap();
        assert_eq!(read_one(&mut stream).status, 200);
    }
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let metrics = read_one(&mut stream).text();
    let connections = metrics.lines().find_map(|line| line.strip_prefix("boundary_bench_connections "));
    assert!(connections.unwrap().parse::<usize>().unwrap() > CONNECTIONS, "{metrics}");
    drop(idle);
    server.stop();
}

#[test]
fn connections_above_the_limit_wait_for_a_place() {
    let target = limited(Limits { connections: 2, ..Limits::default() });
    let ask = |stream: &mut TcpStream| {
        stream.write_all(&request(READ, READ.len())).unwrap();
        read_one(stream).status
    };
    let (mut first, mut second) = (target.connect(), target.connect());
    assert_eq!((ask(&mut first), ask(&mut second)), (200, 200));
    let mut third = target.connect();
    third.write_all(&request(READ, READ.len())).unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0; 1]).is_err());
    drop(first);
    third.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(read_one(&mut third).status, 200);
}

#[test]
fn a_stop_answers_what_is_in_flight_and_takes_no_more() {
    let target = Target::new(Options::default());
    let (mut half, idle) = (target.connect(), target.connect());
    half.write_all(&request(READ, 10)).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let address = target.address;
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| target.stop());
        while TcpStream::connect(address).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        half.write_all(&READ.as_bytes()[10..]).unwrap();
        let answer = Answer::read(&mut half);
        assert_eq!(answer.status, 200, "{}", answer.text());
        stopping.join().unwrap();
    });
    drop(idle);
    target.stop();
}

#[test]
fn a_stop_waits_no_longer_than_it_may() {
    let limits = Limits { stop_time: Duration::from_millis(300), ..Limits::default() };
    let target = Target::new(Options { limits, ..Options::default() });
    let mut half = target.connect();
    half.write_all(&request(READ, 10)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    target.stop();
    assert!(is_ended(&mut half));
}

/// Requests the health of a server whose certificate is its own authority.
fn ask_over_tls(address: SocketAddr, authority: &Path) -> Vec<u8> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    stream.write_all(b"GET /0.1.0/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // A connection may end without TLS's closing alert.
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn tls_is_spoken_with_a_certificate() {
    let Certificate { certificate, key } = certificate("localhost");
    let files = TlsFiles { certificate, key };
    let target = Target::new(Options { tls: Some(files.clone()), ..Options::default() });
    let answer = Answer::parse(&ask_over_tls(target.address, &files.certificate)).unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "0"));
    // A client that does not speak TLS, and one that sends nothing, are disconnected.
    let mut plain = target.connect();
    plain.write_all(b"GET /0.1.0/ping HTTP/1.1\r\n\r\n").unwrap();
    assert!(is_ended(&mut plain));
    let swapped = TlsFiles { certificate: files.key, key: files.certificate };
    let error = boundary_bench_server::Server::start(&Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        tls: Some(swapped),
        ..Options::default()
    });
    assert_eq!(error.unwrap_err().code(), "BB_INVALID_ARGUMENT");
}
