//! Tests of the cells of the family `sql`, on a private server.

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::server;
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use serde_json::json;

#[test]
fn a_cell_whose_connections_are_cut_fails_and_connects_anew() {
    needs!("mysql", server::executable(None));
    let server = server::start(None).unwrap();
    let spec = serde_json::from_value::<FamilySpec>(json!({
        "family": "sql", "workload": "select_pk", "lane": "call", "url": server.url().secret_text(), "connections": 3, "batch": 1,
        "operations": 1000, "prefix": "bb_test", "options": { "rows": 1200 }
    }));
    let cell = open_request_cell(&spec.unwrap(), &CancelToken::default()).unwrap();
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
