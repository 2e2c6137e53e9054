//! Results whose parts are at several endpoints, and at several servers.

mod common;

use std::net::TcpListener;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_flight::{FlightEngine, Quirks};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_server::{FlightOptions, Server};
use common::{options, serve};

/// The number of rows of the table.
const ROWS: i64 = 100_000;

/// A location where nothing listens.
const NOBODY: &str = "grpc+tcp://127.0.0.1:1";

/// The location that means the connection of the request.
const HERE: &str = "arrow-flight-reuse-connection://?";

const ALL: &str = "SELECT i FROM t";

/// A server with the table `t`.
fn filled(quirks: Quirks) -> Arc<Server> {
    let server = serve(options(FlightOptions { quirks, ..FlightOptions::default() }));
    let sql = format!("CREATE TABLE t AS SELECT i FROM range({ROWS}) AS numbers(i)");
    connect(&server.url(), "").unwrap().execute(&sql, &CancelToken::default()).unwrap();
    server
}

fn connect(url: &str, suffix: &str) -> Result<FlightEngine> {
    FlightEngine::open(format!("{url}{suffix}").parse()?, None)
}

fn location(server: &Server) -> String {
    server.url().replace("flight://", "grpc+tcp://")
}

fn quirks(endpoints: &[&[&str]], ordered: bool) -> Quirks {
    let endpoints = endpoints.iter().map(|locations| locations.iter().map(|uri| (*uri).to_owned()).collect()).collect();
    Quirks { endpoints, ordered: Some(ordered), only_queries: false }
}

fn numbers(engine: &FlightEngine) -> Result<Vec<i64>> {
    let mut stream = engine.query(ALL, &QueryOptions::default())?;
    let mut numbers = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        numbers.extend(batch.column(0).as_primitive::<Int64Type>().values());
    }
    Ok(numbers)
}

/// A location that takes connections and never answers, for as long as the listener lives.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let location = format!("grpc+tcp://{}", listener.local_addr().unwrap());
    (listener, location)
}

#[test]
fn every_part_is_read_where_it_is() {
    let (other, third) = (filled(Quirks::default()), filled(Quirks::default()));
    let (other, third) = (location(&other), location(&third));
    for ordered in [true, false] {
        // More endpoints than are read at once, of which some are here.
        let mut places: Vec<&[&str]> = vec![&[], &[HERE]];
        let elsewhere: [&[&str]; 3] = [&[&other], &[NOBODY, &third], &["https://parts.example/1", &other, &third]];
        places.extend(elsewhere.iter().cycle().take(60));
        let server = filled(quirks(&places, ordered));
        let engine = connect(&server.url(), "").unwrap();
        assert_eq!(engine.capabilities().ordered, ordered);
        let mut found = numbers(&engine).unwrap();
        if !ordered {
            found.sort_unstable();
        }
        assert!(found.iter().copied().eq(0..ROWS), "{ordered}");
    }
}

#[test]
fn a_part_that_does_not_come_holds_no_other_part_back() {
    let (_listener, silent) = silent();
    let server = filled(quirks(&[&[&silent], &[]], false));
    let engine = connect(&server.url(), "").unwrap();
    let mut stream = engine.query(ALL, &QueryOptions::default()).unwrap();
    let first = stream.next_batch().unwrap().unwrap();
    assert!(first.column(0).as_primitive::<Int64Type>().value(0) >= ROWS / 2);
}

#[test]
fn a_location_that_does_not_answer_in_time_is_passed_over_and_the_order_kept() {
    let other = filled(Quirks::default());
    let (_listener, silent) = silent();
    let server = filled(quirks(&[&[&silent, &location(&other)], &[]], true));
    let found = numbers(&connect(&server.url(), "?timeout=2").unwrap()).unwrap();
    assert!(found.into_iter().eq(0..ROWS));
}

#[test]
fn a_part_that_can_not_be_had_is_an_error() {
    let empty = serve(options(FlightOptions::default()));
    for (place, code) in
        [(location(&empty), "BB_ENGINE"), (NOBODY.to_owned(), "BB_CONNECTION"), ("s3://x".to_owned(), "BB_UNSUPPORTED")]
    {
        for ordered in [true, false] {
            let server = filled(quirks(&[&[], &[&place], &[]], ordered));
            let error = numbers(&connect(&server.url(), "").unwrap()).unwrap_err();
            assert_eq!(error.code(), code, "{place}: {error}");
        }
    }
}
