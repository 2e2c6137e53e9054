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
use boundary_bench_ingest::line::{LineOptions, parse_lines};
use boundary_bench_ingest::store::{Entry, Wal, read_entries, read_entry};
use boundary_bench_server::Options;
use common::{Answer, Target};

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

/// The response to one request; `None` where it is missing or incomplete.
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
            // Each round kills at another moment.
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

#[test]
fn tables_that_were_emptied_stay_empty() {
    let folder = Folder(std::env::temp_dir().join(format!("bb-server-emptied-{}", std::process::id())));
    let options = || Options { folder: Some(folder.0.clone()), ..Options::default() };
    let read = |target: &Target| {
        let body = r#"{"filters":[{"column":"id0","value":7}]}"#;
        target.post("/0.1.0/rdrs_bench/table_1/pk-read", body).status
    };
    let target = Target::new(options());
    assert_eq!(read(&target), 200);
    let delete = |key: u32| {
        let filters = format!(r#""filters":[{{"column":"id0","value":{key}}}]"#);
        format!(r#"{{"method":"POST","relative-url":"rdrs_bench/table_1/pk-delete","body":{{{filters}}}}}"#)
    };
    let operations: Vec<_> = (0..1000).map(delete).collect();
    let deleted = target.post("/0.1.0/batchdelete", format!(r#"{{"operations":[{}]}}"#, operations.join(",")));
    assert_eq!((deleted.status, read(&target)), (200, 404), "{}", deleted.text());
    drop(target);
    let target = Target::new(options());
    assert_eq!(read(&target), 404, "the row is back");
    // The rows of the other tables are still there.
    let other = target.post("/0.1.0/rdrs_bench/table_3/pk-read", r#"{"filters":[{"column":"id0","value":7}]}"#);
    assert_eq!(other.status, 200, "{}", other.text());
}

#[test]
fn what_an_older_version_accepted_and_can_t_be_stored_is_set_aside_and_told() {
    let folder = Folder(std::env::temp_dir().join(format!("bb-server-poison-{}", std::process::id())));
    let options = || Options { folder: Some(folder.0.clone()), ..Options::default() };
    let log = folder.0.join("points").join("wal");
    // A log as written by a server that accepted any name.
    let lines = ["m,h\0=a v=1 1", "m,h=a v=2 2\nm,h=a v=3 9223372036854775807"];
    let wal = Wal::open(&log, true).unwrap();
    for lines in lines {
        let points = parse_lines(lines.as_bytes(), &LineOptions::default()).unwrap();
        wal.append(|out| Entry::of_points("old", &points).write(out)).unwrap();
    }
    drop(wal);
    let check = |target: &Target, points: u64| {
        let health = target.get("/health");
        let message = health.json()["message"].as_str().unwrap().to_owned();
        assert!(health.status == 200 && message.contains("files of points were set aside"), "{message}");
        let metrics = target.get("/metrics").text();
        assert!(metrics.contains(&format!("boundary_bench_set_aside_points_total {points}\n")), "{metrics}");
        let written = target.ask("POST", "/write?db=old", &[], b"m,h=a v=5 5");
        assert_eq!(written.status, 204, "{}", written.text());
        target.get("/query?db=old&q=SELECT+v+FROM+m&epoch=ns").json()["results"][0]["series"][0]["values"].to_string()
    };
    let target = Target::new(options());
    assert_eq!(check(&target, 0), "[[2,2],[5,5]]");
    // The end flushes: one point has a time that can't be stored in a file.
    drop(target);
    let target = Target::new(options());
    assert_eq!(check(&target, 0), "[[2,2],[5,5],[5,5]]");
    drop(target);
    let mut kept = Vec::new();
    for file in std::fs::read_dir(&log).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "aside") {
            let keep = |entry: &[u8]| {
                let (database, points) = read_entry(entry).unwrap();
                kept.push(format!("{database} {} {:?}", points.series()[0].text, points.times()));
                Ok(())
            };
            read_entries(&file, keep).unwrap();
        }
    }
    kept.sort();
    assert_eq!(kept, ["old m,h\0=a [1]", "old m,h=a [9223372036854775807]"]);
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
