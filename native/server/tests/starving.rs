//! Clients that do not read or do not send delay no other clients, and are disconnected in the end.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use boundary_bench_server::{Limits, Options};
use common::{Answer, Target};

/// More than the blocking threads of a runtime.
const MANY: usize = 560;

const SCAN: &str = "/0.1.0/rdrs_bench/table_3/scan";

/// Rows of eleven kilobytes each: a scan of this many does not fit into the buffers between a server and its client.
const WIDE_ROWS: usize = 900;

/// Fills `table_3` with wide rows.
fn fill(target: &Target) {
    let columns: Vec<String> =
        (0..100).map(|index| format!(r#"{{"column":"col{index}","value":"{}"}}"#, "x".repeat(100))).collect();
    let columns = columns.join(",");
    for part in 0..WIDE_ROWS / 150 {
        let rows = (0..150).map(|row| {
            let key = part * 150 + row;
            format!(
                r#"{{"method":"POST","relative-url":"rdrs_bench/table_3/pk-write","body":{{"filters":[{{"column":"id0","value":{key}}}],"writeColumns":[{columns}]}}}}"#
            )
        });
        let body = format!(r#"{{"operations":[{}]}}"#, rows.collect::<Vec<_>>().join(","));
        let written = target.post("/0.1.0/batchwrite", body);
        assert_eq!(written.status, 200, "{}", written.text());
    }
}

/// Requests a scan over a socket with a receive buffer of `bytes`.
fn scan(target: &Target, bytes: libc::c_int) -> TcpStream {
    let mut stream = target.connect();
    let size = libc::socklen_t::try_from(size_of_val(&bytes)).unwrap();
    // SAFETY: the socket is open, and the option is read from that one integer.
    let set = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw const bytes).cast(), size)
    };
    assert_eq!(set, 0);
    let head = format!("POST {SCAN} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// A scan of which the client reads nearly nothing.
fn unread_scan(target: &Target) -> TcpStream {
    scan(target, 4096)
}

/// The value of a metric.
fn metric(target: &Target, name: &str) -> u64 {
    let metrics = target.get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("boundary_bench_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn scans_that_nobody_reads_keep_nobody_waiting() {
    let target = Target::process(&["--stall-timeout", "600"]);
    fill(&target);
    let unread: Vec<TcpStream> = (0..MANY).map(|_| unread_scan(&target)).collect();
    wait_until(|| metric(&target, "open_scans") == MANY as u64);
    // Each of these requests needs a thread that may block.
    assert_eq!(target.post("/query?q=CREATE+DATABASE+ordinary", "").status, 200);
    assert_eq!(target.post("/write?db=ordinary", "m v=1 1").status, 204);
    let scanned = target.post(SCAN, r#"{"limit":3}"#);
    assert_eq!(scanned.json()["data"].as_array().unwrap().len(), 3);
    assert_eq!(metric(&target, "open_scans"), MANY as u64, "a scan ended, so it did not fill what lies between");
    drop(unread);
    wait_until(|| metric(&target, "open_scans") == 0);
    assert_eq!(metric(&target, "stalled_scans_total"), 0);
}

#[test]
fn a_scan_that_nobody_reads_is_cut_and_another_takes_its_place() {
    let limits = Limits { stall_time: Duration::from_millis(400), open: 1, ..Limits::default() };
    let target = Target::new(Options { limits, ..Options::default() });
    fill(&target);
    let mut unread = scan(&target, 256 << 10);
    wait_until(|| metric(&target, "open_scans") == 1);
    // Scans are refused while the unread one is open.
    loop {
        let answer = target.post(SCAN, r#"{"limit":1}"#);
        match answer.status {
            200 => break,
            status => assert_eq!(status, 503, "{}", answer.text()),
        }
        assert!(answer.text().contains("1 scans are under way, which is the limit"), "{}", answer.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(metric(&target, "stalled_scans_total"), 1);
    // The received part of the response can't be taken for the whole.
    let mut bytes = Vec::new();
    let _ = unread.read_to_end(&mut bytes);
    assert!(bytes.starts_with(b"HTTP/1.1 200"));
    assert!(Answer::parse(&bytes).is_none(), "a scan that was cut has an end");
}

#[test]
fn a_slow_reader_gets_all_rows() {
    let limits = Limits { stall_time: Duration::from_secs(4), ..Limits::default() };
    let target = Target::new(Options { limits, ..Options::default() });
    fill(&target);
    let mut slow = scan(&target, 256 << 10);
    let mut bytes = Vec::new();
    // The whole read takes longer than the stall time-out.
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(500));
        (&mut slow).take(500_000).read_to_end(&mut bytes).unwrap();
    }
    slow.read_to_end(&mut bytes).unwrap();
    let answer = Answer::parse(&bytes).unwrap();
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 1000);
    assert_eq!(answer.body, target.post(SCAN, "{}").body);
}

#[test]
fn answers_that_nobody_reads_are_not_gathered() {
    /// Bytes of requests, more than fit into the buffers between a client and a server; the responses are larger still.
    const MOST: usize = 48 << 20;
    let target = Target::new(Options::default());
    let body = r#"{"filters":[{"column":"id0","value":1}]}"#;
    let length = body.len();
    let head = "POST /0.1.0/rdrs_bench/table_1/pk-read HTTP/1.1\r\nHost: test\r\n";
    let requests = format!("{head}Content-Length: {length}\r\n\r\n{body}").repeat(400);
    let mut stream = target.connect();
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let mut sent = 0;
    while sent < MOST && stream.write_all(requests.as_bytes()).is_ok() {
        sent += requests.len();
    }
    assert!(sent < MOST, "the server reads on, though nobody takes its answers");
    assert_eq!(target.get("/0.1.0/ping").status, 200);
}
