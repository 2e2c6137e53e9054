//! Answers that are wrong although their sums are right, or could be: each cell must notice.

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::SqlSession;
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::RequestCell;
use serde_json::{Value, json};

const OPERATIONS: u64 = 100;

fn open(family: &str, url: &str, workload: &str, more: &Value) -> Box<dyn RequestCell> {
    let mut spec = json!({
        "family": family, "workload": workload, "url": url, "connections": 2, "operations": OPERATIONS, "prefix": "bb_test"
    });
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    open_request_cell(&serde_json::from_value::<FamilySpec>(spec).unwrap(), &CancelToken::default()).unwrap()
}

/// The difference of a sample's sums from the right ones.
fn difference(cell: &dyn RequestCell) -> Option<String> {
    cell.sample(&CancelToken::default()).unwrap().checksum.difference(cell.expected(), FLOAT_TOLERANCE)
}

#[track_caller]
fn check_fails(cell: &dyn RequestCell, what: &str) {
    let error = cell.verify(&CancelToken::default()).expect_err(what);
    assert_eq!(error.code(), "BB_CHECKSUM_MISMATCH", "{what}: {error}");
}

#[test]
fn every_client_of_kv_notices_values_of_other_keys() {
    needs!("redis", boundary_bench_redis::executable(None));
    let server = boundary_bench_redis::Server::start(None, &CancelToken::default()).unwrap();
    let mut admin = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    // Each kind of mistake leaves the sums of all values as they are.
    let mistakes: [(&str, &[(u64, &str)]); 4] = [
        ("two keys have exchanged their values", &[(3, "0000000000000007"), (7, "0000000000000003")]),
        ("one value came twice, instead of two", &[(10, "0000000000000020"), (30, "0000000000000020")]),
        ("a value is cut, and another one is longer", &[(3, "000000000000003"), (7, "00000000000000007")]),
        (
            "a value is the old one, zeros, and another one too large",
            &[(5, "0000000000000000"), (7, "0000000000000012")],
        ),
    ];
    for client in [json!({}), json!({ "client": "redis" })] {
        for (workload, lane, batch) in [("get", "call", 1), ("get", "batch", 8), ("mget", "batch", 8)] {
            for (what, values) in mistakes {
                let mut more = json!({ "lane": lane, "batch": batch });
                more.as_object_mut().unwrap().extend(client.as_object().unwrap().clone());
                let cell = open("kv", &server.url(), workload, &more);
                cell.verify(&CancelToken::default()).unwrap();
                for (key, value) in values {
                    let key = format!("bb_test:{key}");
                    redis::cmd("SET").arg(key).arg(*value).exec(&mut admin).unwrap();
                }
                assert_eq!(difference(&*cell), None, "{what}");
                check_fails(&*cell, what);
                cell.close().unwrap();
            }
        }
    }
}

#[test]
fn every_client_of_sql_notices_rows_of_other_keys() {
    needs!("mysql", boundary_bench_mysql::server::executable(None));
    let server = boundary_bench_mysql::server::start(None).unwrap();
    let url = server.url().secret_text();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut admin = runtime.block_on(SqlSession::open(server.url())).unwrap();
    let mut run = |sql: &str| {
        admin.queue_text(sql);
        runtime.block_on(admin.answer(None, |_| {})).ok().unwrap_or_else(|| panic!("{sql}"));
    };
    let (users, texts) = ("select_pk", "oltp_point_select");
    // The first keys that are read are 1 and 720 of 1200. Each mistake but the last leaves all sums as they are.
    let pair = "(a.id = 1 AND b.id = 720) OR (a.id = 720 AND b.id = 1)";
    let exchange = |column: &str| format!("UPDATE {{table}} a JOIN {{table}} b ON {pair} SET a.{column} = b.{column}");
    let mistakes = [
        (users, "two rows have exchanged their names", exchange("name"), true),
        (users, "two rows have exchanged their scores", exchange("score"), true),
        (
            users,
            "a row's numbers are exchanged",
            "UPDATE {table} SET age = age + 1, active = 1 - active WHERE id = 720".to_owned(),
            true,
        ),
        (
            users,
            "a name is cut",
            "UPDATE {table} SET name = LEFT(name, 10), email = CONCAT('x', email) WHERE id = 1".to_owned(),
            true,
        ),
        (texts, "two rows have exchanged their texts", exchange("c"), true),
        (
            texts,
            "a row came instead of another",
            "UPDATE {table} a JOIN {table} b ON a.id = 1 AND b.id = 720 SET a.c = b.c".to_owned(),
            true,
        ),
        (
            texts,
            "a text is an older one",
            "UPDATE {table} SET c = CONCAT('0', LEFT(c, 118)) WHERE id = 720".to_owned(),
            true,
        ),
        (users, "a row is missing", "DELETE FROM {table} WHERE id = 720".to_owned(), false),
    ];
    for client in [json!({}), json!({ "client": "mysql_async" })] {
        for batch in [1, 8] {
            for (workload, what, sql, has_sums) in &mistakes {
                let mut more = json!({ "lane": "call", "batch": 1, "options": { "rows": 1200 } });
                more.as_object_mut().unwrap().extend(client.as_object().unwrap().clone());
                if batch > 1 {
                    if client["client"].is_string() {
                        continue;
                    }
                    (more["lane"], more["batch"]) = (json!("batch"), json!(batch));
                }
                let cell = open("sql", &url, workload, &more);
                cell.verify(&CancelToken::default()).unwrap();
                run(&sql.replace("{table}", &format!("boundary_bench.bb_test_{workload}")));
                assert_eq!(difference(&*cell).is_none(), *has_sums, "{what}");
                check_fails(&*cell, what);
                cell.close().unwrap();
            }
        }
    }
    // A row that a writer has stored as another one: a trigger of the server's exchanges two values.
    for workload in ["insert_autocommit", "update_range", "oltp_write_only"] {
        let more = json!({ "lane": "call", "batch": 1, "connections": 1, "options": { "rows": 1200 } });
        let cell = open("sql", &url, workload, &more);
        cell.verify(&CancelToken::default()).unwrap();
        let (event, column) = match workload {
            "insert_autocommit" => ("INSERT", "NEW.age = NEW.age + (NEW.id = 7) - (NEW.id = 8)"),
            "update_range" => ("UPDATE", "NEW.score = NEW.score + (NEW.id = 7) - (NEW.id = 8)"),
            _ => ("INSERT", "NEW.k = NEW.k + (NEW.id = 700) - (NEW.id = 701)"),
        };
        run("USE boundary_bench");
        run(&format!("CREATE TRIGGER bb_wrong BEFORE {event} ON bb_test_{workload} FOR EACH ROW SET {column}"));
        check_fails(&*cell, workload);
        cell.close().unwrap();
    }
}
