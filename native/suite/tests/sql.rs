//! Tests of the cells of the family `sql`, on a private server.

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::server;
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use serde_json::{Value, json};

fn spec(url: &str, workload: &str, more: &Value) -> FamilySpec {
    let mut spec = json!({
        "family": "sql", "workload": workload, "lane": "call", "url": url, "connections": 3, "batch": 1, "operations": 60,
        "prefix": "bb_test", "options": { "rows": 1200 }
    });
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    serde_json::from_value(spec).unwrap()
}

#[test]
fn every_workload_does_what_it_must_on_every_lane() {
    needs!("mysql", server::executable(None));
    let server = server::start(None).unwrap();
    let url = server.url().secret_text();
    let matrix: Value = serde_json::from_str(include_str!("../../../bench/matrix.json")).unwrap();
    let workloads = matrix["families"]["sql"]["workloads"].as_object().unwrap();
    assert!(workloads.len() > 10);
    for workload in workloads.keys() {
        for more in [
            json!({}),
            json!({ "connections": 1 }),
            json!({ "lane": "batch", "batch": 16 }),
            json!({ "lane": "batch", "batch": 7, "connections": 1, "operations": 61 }),
            json!({ "batch": 8, "prefix": "bb`test", "setting": "values" }),
        ] {
            let spec = spec(&url, workload, &more);
            let cell = open_request_cell(&spec, &CancelToken::default()).unwrap();
            for _ in 0..2 {
                let sample = cell.sample(&CancelToken::default()).unwrap();
                let difference = sample.checksum.difference(cell.expected(), FLOAT_TOLERANCE);
                assert_eq!(difference, None, "{workload} {more}");
                assert!(sample.latency.is_some());
            }
            cell.verify(&CancelToken::default()).unwrap_or_else(|error| panic!("{workload} {more}: {error}"));
            cell.close().unwrap();
        }
    }
}

#[test]
fn a_cell_whose_connections_are_cut_fails_and_connects_anew() {
    needs!("mysql", server::executable(None));
    let server = server::start(None).unwrap();
    let cell_spec = spec(&server.url().secret_text(), "select_pk", &json!({ "operations": 1000 }));
    let cell = open_request_cell(&cell_spec, &CancelToken::default()).unwrap();
    cell.sample(&CancelToken::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = boundary_bench_mysql::SqlSession::open(server.url()).await.unwrap();
        let own =
            "SELECT id FROM information_schema.processlist WHERE user = 'boundary_bench' AND id <> CONNECTION_ID()";
        session.queue_text(own);
        let mut ids = Vec::new();
        session
            .answer(None, |row| {
                row.visit(|_, cell| {
                    if let boundary_bench_mysql::Cell::Int(id) = cell {
                        ids.push(id);
                    }
                })
                .unwrap();
            })
            .await
            .unwrap();
        for id in ids {
            session.queue_text(&format!("KILL {id}"));
            session.answer(None, |_| {}).await.unwrap();
        }
    });
    let error = cell.sample(&CancelToken::default()).unwrap_err();
    assert_eq!(error.code(), "BB_CONNECTION");
    assert_eq!(cell.sample(&CancelToken::default()).unwrap().checksum.rows, 1000);
    let token = CancelToken::default();
    token.cancel();
    assert_eq!(cell.sample(&token).unwrap_err().code(), "BB_ABORTED");
    cell.close().unwrap();
}
