//! A server that is killed under load, again and again, has every write that it acknowledged.

mod common;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_core::private_server::free_port;
use common::Answer;

const KILLS: u64 = 20;
const WRITERS: u64 = 4;

struct Killed {
    process: Child,
    port: u16,
}

impl Killed {
    fn start(folder: &Path) -> Self {
        let port = free_port().unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_boundary-bench-server"))
            .args(["--durable", "--listen", &format!("127.0.0.1:{port}"), "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { process, port };
        while ask(port, "GET", "/0.1.0/ping", "").is_none() {
            assert!(server.process.try_wait().unwrap().is_none(), "the server ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The answer to one request; `None` where none came whole.
fn ask(port: u16, method: &str, path: &str, body: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    Answer::parse(&bytes)
}

fn write_row(port: u16, key: u64) -> bool {
    let body = format!(
        r#"{{"operations":[{{"method":"POST","relative-url":"rdrs_bench/table_1/pk-write","body":{{"filters":[{{"column":"id0","value":{key}}}],"writeColumns":[{{"column":"col0","value":"row {key}"}}]}}}}]}}"#
    );
    ask(port, "POST", "/0.1.0/batchwrite", &body).is_some_and(|answer| answer.status == 200)
}

fn write_point(port: u16, key: u64) -> bool {
    let body = format!("killed,writer=w{} v={key}i {key}\n", key % WRITERS);
    ask(port, "POST", "/write?db=kill", &body).is_some_and(|answer| answer.status == 204)
}

#[test]
fn twenty_kills_lose_no_acknowledged_write() {
    let folder = Folder(std::env::temp_dir().join(format!("bb-server-kill-{}", std::process::id())));
    let next = AtomicU64::new(10_000);
    let (rows, points) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    for kill in 0..KILLS {
        let mut server = Killed::start(&folder.0);
        let port = server.port;
        let created = ask(port, "POST", "/query?q=CREATE+DATABASE+kill", "").unwrap();
        assert_eq!(created.status, 200, "{}", created.text());
        let ends = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (ends, next, rows, points) = (Arc::clone(&ends), &next, &rows, &points);
                scope.spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        let key = next.fetch_add(1, Ordering::Relaxed);
                        if writer % 2 == 0 && write_row(port, key) {
                            rows.lock().unwrap().push(key);
                        } else if writer % 2 == 1 && write_point(port, key) {
                            points.lock().unwrap().push(key);
                        }
                    }
                });
            }
            // Another moment each time.
            std::thread::sleep(Duration::from_millis(60 + kill * 7));
            server.process.kill().unwrap();
            server.process.wait().unwrap();
            ends.store(true, Ordering::Relaxed);
        });
    }
    let (rows, points) = (rows.into_inner().unwrap(), points.into_inner().unwrap());
    assert!(rows.len() > 20 && points.len() > 20, "{} rows, {} points", rows.len(), points.len());
    let server = Killed::start(&folder.0);
    for key in &rows {
        let body = format!(r#"{{"filters":[{{"column":"id0","value":{key}}}]}}"#);
        let answer = ask(server.port, "POST", "/0.1.0/rdrs_bench/table_1/pk-read", &body).unwrap();
        assert_eq!(answer.status, 200, "the row {key} is lost");
        assert_eq!(answer.json()["data"]["col0"], format!("row {key}"));
    }
    let answer = ask(server.port, "GET", "/query?db=kill&q=SELECT+v+FROM+killed&epoch=ns", "").unwrap();
    let answer = answer.json();
    let values = answer["results"][0]["series"][0]["values"].as_array().unwrap();
    let found: HashSet<u64> = values.iter().filter_map(|row| row[1].as_u64()).collect();
    let lost: Vec<_> = points.iter().filter(|key| !found.contains(key)).collect();
    assert!(lost.is_empty(), "lost: {lost:?} of {}", points.len());
}

/// A folder that is removed.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
