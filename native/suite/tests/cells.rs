//! Cells of the `rust` side on servers and transports that a run does not begin with. The tests of the family in TypeScript open every cell.

use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use boundary_bench_engine::Engine;
use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_engines::open;
use boundary_bench_flight::{Login, Quirks};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_server::{FlightOptions, Options, Server};
use boundary_bench_suite::{CellSpec, Client, Flavor, Lane, Workload, expected, load, run_cell, unload, verify_cell};
use serde::Deserialize;
use serde_json::Value;

const ROWS: u64 = 10_007;

/// At least three lanes in and four out, each in both flavours and with one and two workers.
const ALL: usize = 4 * 7;

/// A cell of one worker without a client of others.
fn spec(workload: Workload, lane: Lane, flavor: Flavor, rows: u64, table: &str) -> CellSpec {
    let table = table.to_owned();
    CellSpec { workload, lane, flavor, workers: 1, rows, table, client: None, batch_rows: None }
}

/// The part of the matrix that defines the family.
fn family() -> &'static Value {
    static MATRIX: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(include_str!("../../../bench/matrix.json")).unwrap());
    &MATRIX["families"]["measurements"]
}

/// Whether a list of an entry of the matrix has a value. An entry without the list allows all.
fn allows(list: &Value, value: &str) -> bool {
    list.as_array().is_none_or(|allowed| allowed.iter().any(|allowed| allowed == value))
}

/// Whether an engine can do what a workload needs.
fn can_do(engine: &dyn Engine, workload: Workload) -> bool {
    let needs = family()["workloads"][workload.name()]["needs"].as_array();
    let can = &family()["engines"][engine.name()]["can"];
    needs.into_iter().flatten().all(|need| allows(can, need.as_str().unwrap()))
}

/// Every cell of the rust side that runs on this engine over its transport.
fn cells_of(engine: &dyn Engine, workers: u32) -> Vec<CellSpec> {
    let of_engine = &family()["engines"][engine.name()];
    let transport = match engine.transport().map(|transport| &of_engine["transports"][transport]["limit"]) {
        None => "any",
        Some(Value::Null) => "full",
        Some(_) => "limited",
    };
    let count = if workers == 1 { "one" } else { "many" };
    let mut cells = Vec::new();
    for lane in family()["lanes"].as_array().unwrap().iter().filter(|lane| lane["side"] == "rust") {
        let is_of_engine = lane["engine"].as_str().is_none_or(|name| name == engine.name());
        let is_over = transport == "any" || lane["transports"].as_str().is_none_or(|over| over == transport);
        if !is_of_engine || !is_over || !allows(&of_engine["workers"], count) || !allows(&lane["workers"], count) {
            continue;
        }
        for workload in Vec::<Workload>::deserialize(&lane["workloads"]).unwrap() {
            for flavor in lane["flavors"].as_array().unwrap() {
                if !allows(&of_engine["flavors"], flavor.as_str().unwrap()) {
                    continue;
                }
                let table = if workload == Workload::InsertBulk { "inserted" } else { "loaded" }.to_owned();
                cells.push(CellSpec {
                    workload,
                    lane: Lane::deserialize(&lane["lane"]).unwrap(),
                    flavor: Flavor::deserialize(flavor).unwrap(),
                    workers,
                    rows: ROWS,
                    table,
                    client: Option::deserialize(&lane["client"]).unwrap(),
                    batch_rows: None,
                });
            }
        }
    }
    cells
}

/// Checks every cell, of which there are at least `least`.
fn check_every_cell(uri: &str, least: usize) {
    let engine: Arc<dyn Engine> = open(uri).unwrap();
    let mut completed = 0;
    for workers in [1, 2] {
        load(&engine, "loaded", ROWS, workers).unwrap();
        let tables = engine.list_tables().unwrap();
        for spec in cells_of(&*engine, workers) {
            let outcome = run_cell(&engine, &spec);
            if !can_do(&*engine, spec.workload) {
                assert_eq!(outcome.unwrap_err().code(), "BB_UNSUPPORTED", "{uri} {spec:?}");
                continue;
            }
            let sample = outcome.unwrap_or_else(|error| panic!("{uri} {spec:?}: {error}"));
            let difference = sample.checksum.difference(&expected(&spec).unwrap(), FLOAT_TOLERANCE);
            assert_eq!(difference, None, "{uri} {spec:?}");
            assert!(sample.seconds > 0.0, "{uri} {spec:?}");
            assert_eq!(sample.cpu_user_seconds.is_some(), cfg!(target_os = "linux"));
            let (is_in, is_ipc) = (spec.workload == Workload::InsertBulk, spec.lane == Lane::ArrowIpc);
            assert_eq!(sample.encode_seconds.is_some(), is_ipc && is_in, "{uri} {spec:?}");
            assert_eq!(sample.decode_seconds.is_some(), is_ipc && !is_in, "{uri} {spec:?}");
            verify_cell(&engine, &spec).unwrap_or_else(|error| panic!("{uri} {spec:?}: {error}"));
            completed += 1;
        }
        assert_eq!(engine.list_tables().unwrap(), tables, "inserts leave no tables");
    }
    assert!(completed >= least, "{uri}: only {completed} cells");
}

#[test]
fn every_cell_returns_its_checksum_on_memory() {
    check_every_cell("memory:", ALL);
}

#[test]
fn every_cell_returns_its_checksum_on_hyper_over_each_transport() {
    needs!("hyperd", boundary_bench_hyper::executable());
    for transport in ["tcp", "ipc", "grpc-sync", "grpc-adaptive", "grpc-async"] {
        check_every_cell(&format!("hyper:?transport={transport}"), ALL);
    }
}

#[test]
fn the_crate_arrow_flight_logs_in() {
    let listen = "127.0.0.1:0".parse().unwrap();
    let login = Login { user: "me".to_owned(), password: "s3cret".to_owned() };
    let flight = Some(FlightOptions { login: Some(login), ..FlightOptions::default() });
    let server = Server::start(&Options { flight, listen, ..Options::default() }).unwrap();
    let engine = open(&server.url().replace("flight://", "flight://me:s3cret@")).unwrap();
    load(&engine, "loaded", ROWS, 1).unwrap();
    let by_crate = |spec: &CellSpec| spec.client == Some(Client::ArrowFlight);
    let cells: Vec<CellSpec> = cells_of(&*engine, 1).into_iter().filter(by_crate).collect();
    assert_eq!(cells.len(), 6);
    for spec in cells {
        verify_cell(&engine, &spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    }
}

/// Checks that the server makes the rows, that every lane out reads them, and that every lane in is refused in the server's words.
fn check_rows_of_the_server(uri: &str) {
    let engine = open(uri).unwrap();
    load(&engine, "loaded", ROWS, 1).unwrap();
    let (mut read, mut refused) = (0, 0);
    for spec in cells_of(&*engine, 1).into_iter().filter(|spec| spec.client.is_none()) {
        let outcome = run_cell(&engine, &spec);
        if spec.workload == Workload::InsertBulk {
            let error = outcome.unwrap_err();
            assert_eq!(error.code(), "BB_UNSUPPORTED", "{uri} {spec:?}");
            assert!(error.to_string().ends_with("do_put_statement_ingest has no default implementation"), "{error}");
            refused += 1;
            continue;
        }
        let sample = outcome.unwrap_or_else(|error| panic!("{uri} {spec:?}: {error}"));
        let difference = sample.checksum.difference(&expected(&spec).unwrap(), FLOAT_TOLERANCE);
        assert_eq!(difference, None, "{uri} {spec:?}");
        verify_cell(&engine, &spec).unwrap_or_else(|error| panic!("{uri} {spec:?}: {error}"));
        read += 1;
    }
    assert!(read >= 10 && refused >= 3, "{uri}: {read} lanes out, {refused} lanes in");
    assert_eq!(engine.list_tables().unwrap(), ["loaded"]);
    unload(&engine, "loaded", 1).unwrap();
    assert!(engine.list_tables().unwrap().is_empty());
}

#[test]
fn a_server_that_takes_no_rows_makes_them_and_every_lane_out_reads_them() {
    let quirks = Quirks { only_queries: true, ..Quirks::default() };
    let flight = Some(FlightOptions { quirks, ..FlightOptions::default() });
    let server =
        Server::start(&Options { flight, listen: "127.0.0.1:0".parse().unwrap(), ..Options::default() }).unwrap();
    for dialect in ["duckdb", "plain"] {
        check_rows_of_the_server(&format!("{}?dialect={dialect}", server.url()));
    }
}

#[test]
fn sail_makes_its_rows_and_every_lane_out_reads_them() {
    needs!("sail", boundary_bench_flight::sail::executable());
    check_rows_of_the_server("sail:?workers=3");
}

#[test]
fn sail_is_also_reached_as_any_server_whose_dialect_is_found() {
    let program = needs!("sail", boundary_bench_flight::sail::executable());
    let workers = NonZeroU32::new(2).unwrap();
    let server = boundary_bench_flight::sail::SailServer::start(&program, workers, &CancelToken::default()).unwrap();
    check_rows_of_the_server(&server.url().unwrap().to_string());
}

/// Inserts more rows than the client sends at once, and so few that a worker has none.
#[test]
fn the_client_library_of_hyper_stores_every_row_of_every_piece() {
    needs!("hyperd", boundary_bench_hyper::executable());
    let engine = open("hyper:").unwrap();
    for (lane, flavor, workers) in [
        (Lane::Row, Flavor::Sync, 1),
        (Lane::Row, Flavor::Sync, 3),
        (Lane::Row, Flavor::Async, 3),
        (Lane::ArrowIpc, Flavor::Async, 1),
        (Lane::ArrowIpc, Flavor::Async, 3),
    ] {
        for rows in [0, 2, 700_001] {
            let many = spec(Workload::InsertBulk, lane, flavor, rows, "many");
            let spec = CellSpec { workers, client: Some(Client::HyperdbApi), ..many };
            let sample = run_cell(&engine, &spec).unwrap();
            assert_eq!(sample.checksum.difference(&expected(&spec).unwrap(), FLOAT_TOLERANCE), None, "{spec:?}");
        }
    }
    assert!(engine.list_tables().unwrap().is_empty());
}

#[test]
fn an_engine_without_that_server_refuses_its_client_library() {
    let engine = open("memory:").unwrap();
    let client = Some(Client::HyperdbApi);
    let spec = CellSpec { client, ..spec(Workload::QueryFullScan, Lane::Stream, Flavor::Sync, 10, "t") };
    assert_eq!(run_cell(&engine, &spec).unwrap_err().code(), "BB_UNSUPPORTED");
}

#[test]
fn several_batches_and_more_workers_than_cores_arrive_whole() {
    let engine = open("memory:").unwrap();
    for lane in [Lane::Row, Lane::Columns, Lane::ArrowIpc] {
        for flavor in [Flavor::Sync, Flavor::Async] {
            let spec = CellSpec { workers: 5, ..spec(Workload::InsertBulk, lane, flavor, 700_001, "many") };
            let sample = run_cell(&engine, &spec).unwrap();
            assert_eq!(sample.checksum.difference(&expected(&spec).unwrap(), FLOAT_TOLERANCE), None, "{spec:?}");
        }
    }
}

#[test]
fn rows_that_are_missing_are_noticed() {
    let engine = open("memory:").unwrap();
    load(&engine, "short", 99, 1).unwrap();
    for lane in [Lane::Objects, Lane::Stream, Lane::Columnar, Lane::ArrowIpc] {
        let spec = spec(Workload::QueryFullScan, lane, Flavor::Sync, 100, "short");
        let found = run_cell(&engine, &spec).unwrap().checksum;
        assert_eq!(
            found.difference(&expected(&spec).unwrap(), FLOAT_TOLERANCE).unwrap(),
            "99 rows instead of 100",
            "{lane:?}"
        );
    }
}

#[test]
fn a_missing_table_is_an_error_in_every_flavor() {
    let engine = open("memory:").unwrap();
    for lane in [Lane::Objects, Lane::ArrowIpc] {
        for (flavor, workers) in [(Flavor::Sync, 1), (Flavor::Sync, 3), (Flavor::Async, 1), (Flavor::Async, 3)] {
            let spec = CellSpec { workers, ..spec(Workload::QueryFullScan, lane, flavor, 10, "missing") };
            assert_eq!(run_cell(&engine, &spec).unwrap_err().code(), "BB_TABLE_NOT_FOUND", "{spec:?}");
        }
    }
}
