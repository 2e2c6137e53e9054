//! Flight SQL clients that do not send or do not read delay no other clients, and are disconnected in the end.

mod common;

use std::time::Duration;

use boundary_bench_core::engine::{CancelToken, CreateMode, Engine, QueryOptions};
use boundary_bench_server::{FlightOptions, Limits, Options};
use common::flight::{ENDLESS, Process, connect, number, rows, serve, table};

/// More than the blocking threads of a runtime.
const MANY: usize = 560;

/// Calls of one connection, fewer than its limit of streams.
const OF_A_CONNECTION: usize = 140;

fn limited(limits: Limits) -> boundary_bench_server::Server {
    serve(FlightOptions::default(), Options { limits, ..Options::default() })
}

#[test]
fn inserts_that_send_nothing_keep_nobody_waiting() {
    let server = Process::start(&["--stall-timeout", "600"]);
    let engine = connect(&server.url);
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let clients: Vec<_> = (0..MANY / OF_A_CONNECTION).map(|_| connect(&server.url)).collect();
    let mut silent = Vec::new();
    for client in &clients {
        silent.extend((0..OF_A_CONNECTION).map(|_| client.ingest(&table()).unwrap()));
    }
    // Each insert has begun.
    for ingest in &mut silent {
        ingest.write(&rows(1)).unwrap();
    }
    assert_eq!(number(&engine, "SELECT 7::BIGINT"), 7);
    engine.execute("INSERT INTO t VALUES (1, 'a')", &CancelToken::default()).unwrap();
    let mut ordinary = engine.ingest(&table()).unwrap();
    ordinary.write(&rows(10)).unwrap();
    assert_eq!(ordinary.commit().unwrap(), 10);
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 11);
    // The silent inserts can still be continued.
    let last = silent.pop().unwrap();
    assert_eq!(last.commit().unwrap(), 1);
}

#[test]
fn an_insert_that_sends_nothing_ends_and_leaves_nothing() {
    let server = limited(Limits { stall_time: Duration::from_millis(400), ..Limits::default() });
    let engine = connect(&server.url());
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut silent = engine.ingest(&table()).unwrap();
    silent.write(&rows(10)).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let error = silent.write(&rows(10)).and_then(|()| silent.commit().map(drop)).unwrap_err();
    assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
    assert!(error.to_string().contains("--stall-timeout"), "{error}");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
}

#[test]
fn a_slow_insert_that_goes_on_is_whole() {
    let server = limited(Limits { stall_time: Duration::from_secs(4), ..Limits::default() });
    let engine = connect(&server.url());
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut slow = engine.ingest(&table()).unwrap();
    // The whole insert takes longer than the stall time-out.
    for _ in 0..10 {
        slow.write(&rows(3)).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(slow.commit().unwrap(), 30);
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 30);
}

#[test]
fn a_result_that_nobody_reads_ends_and_another_takes_its_place() {
    let server = limited(Limits { stall_time: Duration::from_millis(400), open: 1, ..Limits::default() });
    let engine = connect(&server.url());
    let mut unread = engine.query(ENDLESS, &QueryOptions::default()).unwrap();
    assert!(unread.next_batch().unwrap().is_some());
    // Far less than the whole result is in flight.
    let other = connect(&server.url());
    loop {
        match other.query("SELECT 7::BIGINT", &QueryOptions::default()) {
            Ok(mut stream) => {
                assert_eq!(stream.next_batch().unwrap().unwrap().num_rows(), 1);
                break;
            }
            Err(error) => assert!(error.to_string().contains("1 results are under way, which is the limit"), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let error = loop {
        match unread.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a result cut short is no result"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
    assert!(error.to_string().contains("--stall-timeout"), "{error}");
}
