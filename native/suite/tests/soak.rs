//! The soak in Rust against the reference server.

use std::time::Instant;

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::latency::LatencyHistogram;
use boundary_bench_server::{Options, Server};
use boundary_bench_suite::ingest::soak::{SoakEncoding, SoakReport, SoakSpec, run_soak};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};

fn server() -> Server {
    let listen = "127.0.0.1:0".parse().unwrap();
    Server::start(&Options { listen, ..Options::default() }).unwrap()
}

fn spec(url: &str, encoding: SoakEncoding) -> SoakSpec {
    SoakSpec {
        url: url.to_owned(),
        path: "/write?db=server&precision=ms".to_owned(),
        measurement: "m".to_owned(),
        encoding,
        workers: 3,
        batch_size: 100,
        duration_seconds: 0.2,
        warmup_seconds: 0.05,
        rate: None,
        first_time: 1_700_000_000_000,
    }
}

fn run(spec: &SoakSpec) -> SoakReport {
    run_soak(spec, &CancelToken::default()).unwrap()
}

fn cell(url: &str, workload: &str) -> FamilySpec {
    let text = format!(
        r#"{{"family":"ingest","workload":"{workload}","lane":"batch","url":"{url}","connections":2,"batch":100,"operations":2550,"prefix":"bb_{workload}"}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_a_cell_posts_is_counted() {
    let server = server();
    for workload in ["soak_columnar", "soak_rows", "soak_lines"] {
        let cell = open_request_cell(&cell(&server.url(), workload), &CancelToken::default()).unwrap();
        for _ in 0..2 {
            let sample = cell.sample(&CancelToken::default()).unwrap();
            assert_eq!(sample.checksum.difference(cell.expected(), FLOAT_TOLERANCE), None, "{workload}");
        }
        cell.verify(&CancelToken::default()).unwrap();
        cell.close().unwrap();
    }
    let unknown = open_request_cell(&cell(&server.url(), "soak_what"), &CancelToken::default());
    assert_eq!(unknown.err().unwrap().code(), "BB_INVALID_ARGUMENT");
}

#[test]
fn a_soak_counts_what_was_acknowledged_and_what_was_not() {
    let server = server();
    // Without the database, every write is refused. Opening a cell creates the database.
    let refused = run(&spec(&server.url(), SoakEncoding::Lines));
    assert_eq!((refused.acknowledged, refused.uncertain, refused.points), (0, 0, 0));
    assert_eq!(refused.errors.keys().collect::<Vec<_>>(), ["HTTP 404: database not found: \"server\""]);
    drop(open_request_cell(&cell(&server.url(), "soak_rows"), &CancelToken::default()).unwrap());
    for encoding in [SoakEncoding::Columnar, SoakEncoding::Rows, SoakEncoding::Lines] {
        let report = run(&spec(&server.url(), encoding));
        assert!(report.errors.is_empty() && report.points > 0, "{report:?}");
        assert!(report.acknowledged >= report.points && report.points == 100 * report.requests, "{report:?}");
        assert_eq!((report.uncertain, report.unsent), (0, 0));
    }
    let url = server.url();
    server.stop();
    let lost = run(&spec(&url, SoakEncoding::Columnar));
    // No point reached the server.
    assert_eq!((lost.points, lost.uncertain), (0, 0));
    assert_eq!(lost.errors.keys().collect::<Vec<_>>(), ["BB_CONNECTION"]);
}

#[test]
fn an_open_loop_above_what_is_possible_shows_how_far_it_was_behind() {
    let server = server();
    drop(open_request_cell(&cell(&server.url(), "soak_rows"), &CancelToken::default()).unwrap());
    let fast = SoakSpec { rate: Some(1e6), workers: 1, warmup_seconds: 0.0, ..spec(&server.url(), SoakEncoding::Rows) };
    let report = run(&fast);
    assert!(report.unsent > 0, "{report:?}");
    // A million requests are due each second, so the last one was due `requests` microseconds after the start. Its latency, in
    // nanoseconds, is the rest of the elapsed time.
    let latency = LatencyHistogram::from_base64(&report.latency).unwrap();
    let due_at = report.requests as f64 * 1e3;
    assert!(latency.max() as f64 >= report.seconds.min(0.2) * 1e9 - due_at - 50e6, "{report:?}");
    let slow = SoakSpec { rate: Some(50.0), ..fast };
    let report = run(&slow);
    assert!(report.errors.is_empty() && report.requests <= 10, "{report:?}");
}

#[test]
fn a_soak_ends_when_it_is_cancelled() {
    let server = server();
    for rate in [None, Some(0.5)] {
        let cancel = CancelToken::default();
        let theirs = cancel.clone();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            theirs.cancel();
        });
        let started = Instant::now();
        let long = SoakSpec { duration_seconds: 3600.0, rate, ..spec(&server.url(), SoakEncoding::Columnar) };
        run_soak(&long, &cancel).unwrap();
        // The soak must end long before its duration, however busy the machine is.
        assert!(started.elapsed().as_secs() < 600);
        canceller.join().unwrap();
    }
    let wrong = SoakSpec { workers: 0, ..spec(&server.url(), SoakEncoding::Rows) };
    assert_eq!(run_soak(&wrong, &CancelToken::default()).unwrap_err().code(), "BB_INVALID_ARGUMENT");
}
