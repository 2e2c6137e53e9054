//! Tests of what a caller sets in a session, and of what the client leaves as it is.

mod common;
#[path = "common/lists.rs"]
mod lists;

use std::sync::LazyLock;

use boundary_bench_engine::{Engine, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::server::{Server, executable, start};
use boundary_bench_mysql::{CellLists, MysqlEngine, Url, testing};

use common::Client;
use lists::lists_of;

static SERVER: LazyLock<Server> = LazyLock::new(|| start(None).unwrap());

/// A client of a new database.
async fn client_of(name: &str) -> (Client, Url) {
    let admin = Client::connect(SERVER.url()).await.unwrap();
    admin.text(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await.unwrap();
    let url = Url { database: Some(name.to_owned()), ..SERVER.url().clone() };
    let client = Client::connect(&url).await.unwrap();
    client.text("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT) ENGINE = InnoDB").await.unwrap();
    (client, url)
}

fn on_runtime(work: impl Future<Output = ()>) {
    LazyLock::force(&SERVER);
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work);
}

/// Rows of several packets. The last one has this key.
fn many_rows(last: i64) -> CellLists {
    let text = "x".repeat(100_000);
    let rows: Vec<_> =
        (0..20).map(|id| [Value::Int(if id == 19 { last } else { id }), Value::Text(text.clone())]).collect();
    lists_of(&rows)
}

async fn insert(client: &Client, rows: &CellLists) -> Result<u64, boundary_bench_kernel::Error> {
    testing::insert(&mut *client.0.lock().await, "t", &["id".to_owned(), "v".to_owned()], rows).await
}

/// The result of a query for a single number, as text.
async fn number(client: &Client, sql: &str) -> String {
    let results = client.text(&format!("SELECT CAST(({sql}) AS CHAR)")).await.unwrap();
    let batch = &results.rows[0].as_ref().unwrap().batch;
    arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).value(0).to_owned()
}

#[test]
fn inserted_rows_belong_to_the_transaction_of_a_session_without_autocommit() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of("without_autocommit").await;
        client.text("SET autocommit = 0").await.unwrap();
        assert_eq!(insert(&client, &many_rows(19)).await.unwrap(), 20);
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "20");
        client.text("ROLLBACK").await.unwrap();
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "0");
        // All or none, with the rows before.
        client.text("INSERT INTO t VALUES (100, '')").await.unwrap();
        assert!(insert(&client, &many_rows(0)).await.unwrap_err().to_string().contains("1062"));
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "1");
        client.text("ROLLBACK").await.unwrap();
        assert!(insert(&client, &many_rows(0)).await.unwrap_err().to_string().contains("1062"));
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "0");
        client.text("SET autocommit = 1").await.unwrap();
        assert_eq!(insert(&client, &many_rows(19)).await.unwrap(), 20);
        client.text("ROLLBACK").await.unwrap();
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "20");
    });
}

#[test]
fn inserted_rows_leave_the_locks_of_tables() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, url) = client_of("with_locks").await;
        let other = Client::connect(&url).await.unwrap();
        other.text("SET SESSION lock_wait_timeout = 1").await.unwrap();
        client.text("/* mine */ LOCK TABLES t WRITE").await.unwrap();
        for (last, taken) in [(19, true), (0, false)] {
            assert_eq!(insert(&client, &many_rows(last)).await.is_ok(), taken);
            let refused = other.text("INSERT INTO t VALUES (200, '')").await.unwrap_err().to_string();
            assert!(refused.contains("1205"), "{refused}");
            assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "20");
            assert_eq!(number(&client, "SELECT @@autocommit + 0").await, "1");
            client.text("DELETE FROM t WHERE id = 19").await.unwrap();
            client.text("INSERT INTO t VALUES (19, '')").await.unwrap();
        }
        client.text("UNLOCK TABLES").await.unwrap();
        other.text("INSERT INTO t VALUES (200, '')").await.unwrap();
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "21");
    });
}

#[test]
fn another_character_set_is_refused_and_texts_stay_what_they_are() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, url) = client_of("with_charsets").await;
        for sql in ["SET NAMES latin1", "SET CHARACTER SET latin1", "/*!40101 SET character_set_client = latin1 */"] {
            assert_eq!(client.text(sql).await.err().unwrap().code(), "BB_UNSUPPORTED", "{sql}");
            let mut session = client.0.lock().await;
            assert_eq!(
                boundary_bench_kernel::Error::from(session.prepare(sql).await.err().unwrap()).code(),
                "BB_UNSUPPORTED",
                "{sql}"
            );
            let refused = session.execute(sql, &[], |_| {}).await.err().unwrap();
            assert_eq!(boundary_bench_kernel::Error::from(refused).code(), "BB_UNSUPPORTED", "{sql}");
        }
        client.text("SET NAMES utf8mb4").await.unwrap();
        client.text("INSERT INTO t VALUES (1, 'ü漢🚀')").await.unwrap();
        assert_eq!(number(&client, "SELECT HEX(v) FROM t").await, "C3BCE6BCA2F09F9A80");
        let uri = url.secret_text();
        let refused = tokio::task::spawn_blocking(move || {
            let engine = MysqlEngine::open(&uri).unwrap();
            let sql = "SET NAMES latin1; INSERT INTO t VALUES (2, 'ü')";
            engine.execute(sql, &CancelToken::default()).unwrap_err()
        });
        assert_eq!(refused.await.unwrap().code(), "BB_UNSUPPORTED");
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "1");
    });
}
