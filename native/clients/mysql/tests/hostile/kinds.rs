//! A server that keeps the types of the values that a prepared statement was run with, as MySQL does from 8.0.22 on.

#[path = "../common/lists.rs"]
mod lists;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::{Engine, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_mysql::{Batch, CellLists, MysqlEngine, StatementLists, Url};

use crate::common::Client;
use crate::scripted::{OK, Say, Scripted, packet};

use self::lists::lists_of;

const SQL: &str = "DO ?";

/// The statements that were run, by their numbers in the order of their preparation.
type Runs = Arc<Mutex<Vec<u8>>>;

/// A server that prepares every statement with one parameter.
async fn server() -> (Scripted, Runs) {
    let (runs, prepared) = (Runs::default(), Mutex::new(0_u8));
    let theirs = Arc::clone(&runs);
    let server = Scripted::start(move |sent| match sent.as_bytes() {
        sql if sql == SQL.as_bytes() => {
            let mut prepared = prepared.lock().unwrap();
            *prepared += 1;
            let parameter = b"\x03def\x00\x00\x00\x01?\x00\x0c\x2d\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00";
            Say::Bytes([packet(1, &[0, *prepared, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]), packet(2, parameter)].concat())
        }
        // The number of the statement, no cursor, one run.
        [id, 0, 0, 0, 0, 1, 0, 0, 0, ..] => {
            theirs.lock().unwrap().push(*id);
            Say::Bytes(packet(1, OK))
        }
        _ => Say::Ok,
    });
    (server.await, runs)
}

fn values() -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    let (large, double) = (Value::Int(1 << 40), Value::Double(2.5));
    vec![
        Value::Int(1),
        text("abc"),
        large,
        Value::Null,
        Value::Bool(true),
        text("d"),
        double,
        Value::Date(1),
        Value::Int(2),
    ]
}

/// The statement that each of the values is run by.
const EXPECTED: [u8; 9] = [1, 2, 1, 1, 1, 2, 3, 4, 1];

fn batch(values: &[Value]) -> Batch {
    let lists: Vec<_> = values.iter().map(std::slice::from_ref).collect();
    let lists: CellLists = lists_of(&lists);
    Batch {
        order: vec![0; lists.len()],
        statements: vec![StatementLists { sql: SQL.to_owned(), lists, is_text: false }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_other_types_get_statements_of_their_own() {
    let values = values();
    // In one batch, in a batch each, and by `SqlSession::execute`.
    for way in 0..3 {
        let (server, runs) = server().await;
        let client = Client::connect(&server.url).await.unwrap();
        if way == 0 {
            let results = client.run(&batch(&values)).await.unwrap();
            assert!(results.requests.iter().all(|request| request.error.is_none()));
        }
        for value in values.iter().filter(|_| way > 0) {
            if way == 1 {
                client.run(&batch(std::slice::from_ref(value))).await.unwrap();
            } else {
                client.0.lock().await.execute(SQL, std::slice::from_ref(value), |_| {}).await.unwrap();
            }
        }
        assert_eq!(*runs.lock().unwrap(), EXPECTED, "way {way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_other_types_get_statements_of_their_own_in_a_prepared_statement_of_the_engine() {
    let (server, runs) = server().await;
    let uri = Url { database: Some("db".to_owned()), ..server.url.clone() }.secret_text();
    let ran = tokio::task::spawn_blocking(move || {
        let engine = MysqlEngine::open(&uri).unwrap();
        let mut statement = engine.prepare("DO $1", &CancelToken::default()).unwrap();
        for value in values() {
            statement.execute(&[value], &CancelToken::default()).unwrap();
        }
    });
    ran.await.unwrap();
    assert_eq!(*runs.lock().unwrap(), EXPECTED);
}
