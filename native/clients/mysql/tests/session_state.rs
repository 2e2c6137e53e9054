//! Tests of what a caller sets in a session, and of what the client leaves as it is.

mod common;
#[path = "common/lists.rs"]
mod lists;

use std::sync::LazyLock;

use boundary_bench_engine::{Engine, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::server::{Server, executable, start};
use boundary_bench_mysql::{Batch, Cell, CellLists, MysqlEngine, Results, StatementLists, Url, testing};

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

/// Clients of new databases: one with the extensions of `MariaDB`, and one without.
async fn both_clients_of(name: &str) -> [(Client, Url); 2] {
    let (with, url) = client_of(name).await;
    let (_, other) = client_of(&format!("{name}_plain")).await;
    let other = Url { extensions: false, ..other };
    [(with, url), (Client::connect(&other).await.unwrap(), other)]
}

fn on_runtime(work: impl Future<Output = ()>) {
    LazyLock::force(&SERVER);
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work);
}

/// Rows of several packets. The last one has this key.
fn many_rows(last: i64) -> CellLists {
    rows_of((0..19).chain([last]))
}

fn rows_of(keys: impl Iterator<Item = i64>) -> CellLists {
    let text = "x".repeat(100_000);
    let rows: Vec<_> = keys.map(|id| [Value::Int(id), Value::Text(text.clone())]).collect();
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
        for (client, _) in both_clients_of("without_autocommit").await {
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
        }
    });
}

#[test]
fn inserted_rows_leave_the_locks_of_tables() {
    needs!("mysql", executable(None));
    on_runtime(async {
        for (client, url) in both_clients_of("with_locks").await {
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
        }
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
        // The rest of a batch is run.
        let batch = ["SET CHARACTER SET latin1", "INSERT INTO t VALUES (1, 'ü漢🚀')", "SET NAMES utf8mb4"];
        let results = client.run(&batch_of(&batch.map(|sql| (sql, &[][..])))).await.unwrap();
        let code = boundary_bench_kernel::Error::code;
        let codes: Vec<_> = results.requests.iter().map(|request| request.error.as_ref().map(code)).collect();
        assert_eq!(codes, [Some("BB_UNSUPPORTED"), None, None]);
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

/// A batch of statements in order: without parameters as text, else prepared, with one list of them.
fn batch_of(requests: &[(&str, &[Value])]) -> Batch {
    let statements = requests.iter().map(|(sql, values)| StatementLists {
        sql: (*sql).to_owned(),
        lists: if values.is_empty() { CellLists::new(Vec::new(), 1, 0).unwrap() } else { lists_of(&[*values]) },
        is_text: values.is_empty(),
    });
    Batch { statements: statements.collect(), order: (0..u32::try_from(requests.len()).unwrap()).collect() }
}

/// The requests that failed, and the errors.
fn errors_of(results: &Results) -> Vec<(usize, String)> {
    let errors = results.requests.iter().enumerate();
    errors.filter_map(|(place, request)| Some((place, request.error.as_ref()?.to_string()))).collect()
}

/// The first value of the rows of `SqlSession::execute`, as text.
async fn executed(client: &Client, sql: &str, parameters: &[Value]) -> String {
    let mut found = String::new();
    let row = |row: boundary_bench_mysql::RowView<'_>| {
        row.visit(|_, cell| {
            if let Cell::Text(text) = cell {
                text.clone_into(&mut found);
            }
        })
        .unwrap();
    };
    client.0.lock().await.execute(sql, parameters, row).await.unwrap();
    found
}

#[test]
fn prepared_statements_mean_what_they_mean_after_use_and_set() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of("plans_one").await;
        let (other, _) = client_of("plans_two").await;
        let read = "SELECT v FROM t WHERE id = ?";
        let one = [Value::Int(1)];
        for client in [&client, &other] {
            client.text("INSERT INTO t SELECT 1, DATABASE()").await.unwrap();
        }
        // By `execute`, over both ways of sending `USE`.
        for (database, queued) in [("plans_one", false), ("plans_two", true), ("plans_one", true), ("plans_two", false)]
        {
            let sql = format!("USE {database}");
            if queued {
                let mut session = client.0.lock().await;
                session.queue_text(&sql);
                session.answer(None, |_| {}).await.unwrap();
            } else {
                client.text(&sql).await.unwrap();
            }
            assert_eq!(executed(&client, read, &one).await, database);
        }
        // By requests of one batch, in front of and behind `USE`, also on a table of one database alone.
        client.text("CREATE TABLE plans_one.own (v TEXT)").await.unwrap();
        let insert: &[Value] = &[Value::Text("own".to_owned())];
        let batch = [
            (read, &one[..]),
            ("/* to the first */ USE plans_one", &[]),
            (read, &one),
            ("INSERT INTO own VALUES (?)", insert),
            ("CREATE TABLE later (v TEXT)", &[]),
            ("INSERT INTO later VALUES (?)", insert),
        ];
        let results = client.run(&batch_of(&batch)).await.unwrap();
        assert_eq!(errors_of(&results), []);
        let texts = |place: usize| {
            let batch = &results.rows[place].as_ref().unwrap().batch;
            arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).value(0).to_owned()
        };
        assert_eq!([texts(0), texts(2)], ["plans_two", "plans_one"]);
        assert_eq!(number(&client, "SELECT COUNT(*) FROM plans_one.later").await, "1");
        // By an insert.
        let row = lists_of(&[[Value::Int(2), Value::Null]]);
        insert_into_both(&client, &row).await;
        // By settings that change what a text means.
        for (sql, expected) in [("SET sql_mode = 'PIPES_AS_CONCAT'", "12"), ("SET sql_mode = ''", "1")] {
            client.text(sql).await.unwrap();
            assert_eq!(executed(&client, "SELECT CAST(1 || 2 AS CHAR)", &[]).await, expected);
        }
        for (collation, expected) in [("utf8mb4_bin", "0"), ("utf8mb4_general_ci", "1")] {
            client.text(&format!("SET collation_connection = {collation}")).await.unwrap();
            assert_eq!(executed(&client, "SELECT CAST('a' = 'A' AS CHAR)", &[]).await, expected);
        }
        client.text("SET NAMES utf8mb4").await.unwrap();
        assert_eq!(executed(&client, "SELECT CAST('a' = 'A' AS CHAR)", &[]).await, "1");
    });
}

async fn insert_into_both(client: &Client, row: &CellLists) {
    for database in ["plans_one", "plans_two"] {
        client.text(&format!("USE {database}")).await.unwrap();
        insert(client, row).await.unwrap();
        assert_eq!(number(client, &format!("SELECT COUNT(*) FROM {database}.t WHERE id = 2")).await, "1");
    }
}

/// Makes a client the victim of a deadlock: the connection `id` waits for a lock of `heavy`, which then asks for the row that
/// the client has locked.
async fn end_by_deadlock(heavy: &Client, id: &str, row: i64) {
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = {id}"
    );
    while number(heavy, &waits).await == "0" {
        // The server shows what it saw at the last question, if that was less than 100 ms ago.
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    }
    heavy.text(&format!("UPDATE t SET v = 'heavy' WHERE id = {row}")).await.unwrap();
    heavy.text("ROLLBACK").await.unwrap();
}

/// A client in a transaction that has changed more rows than the others, and has locked the row 1.
async fn heavy_of(url: &Url) -> Client {
    let heavy = Client::connect(url).await.unwrap();
    heavy.text("INSERT INTO t VALUES (1, ''), (2, '')").await.unwrap();
    heavy.text("BEGIN").await.unwrap();
    heavy.text("INSERT INTO t SELECT 1000 + seq, '' FROM seq_1_to_200").await.unwrap();
    heavy.text("UPDATE t SET v = 'heavy' WHERE id = 1").await.unwrap();
    heavy
}

#[test]
fn what_follows_a_deadlock_in_a_transaction_is_not_run() {
    needs!("mysql", executable(None));
    on_runtime(async {
        for (name, autocommit) in [("deadlock_in_batch", 1), ("deadlock_in_batch_without_autocommit", 0)] {
            let (client, url) = client_of(name).await;
            let heavy = heavy_of(&url).await;
            client.text(&format!("SET autocommit = {autocommit}")).await.unwrap();
            let key = |id: i64| [Value::Int(id), Value::Null];
            let batch = batch_of(&[
                ("BEGIN", &[]),
                ("UPDATE t SET v = 'mine' WHERE id = 2", &[]),
                ("UPDATE t SET v = 'mine' WHERE id = 1", &[]),
                ("SELECT COUNT(*) FROM t", &[]),
                ("INSERT INTO t VALUES (?, ?)", &key(10)),
                ("COMMIT", &[]),
                ("INSERT INTO t VALUES (11, '')", &[]),
                ("START TRANSACTION", &[]),
                ("INSERT INTO t VALUES (12, '')", &[]),
                ("COMMIT", &[]),
            ]);
            let id = number(&client, "SELECT CONNECTION_ID()").await;
            let (results, ()) = tokio::join!(client.run(&batch), end_by_deadlock(&heavy, &id, 2));
            let errors = errors_of(&results.unwrap());
            assert!(errors[0].0 == 2 && errors[0].1.contains("1213"), "{errors:?}");
            let places: Vec<_> = errors.iter().map(|(place, _)| *place).collect();
            assert_eq!(places, [2, 3, 4, 5, 6]);
            assert!(
                errors[1..].iter().all(|(_, error)| error.contains("the error of request 2 has ended")),
                "{errors:?}"
            );
            assert_eq!(number(&heavy, "SELECT SUM(id) FROM t").await, "15");
        }
    });
}

#[test]
fn rows_that_follow_a_deadlock_in_an_insert_are_not_stored() {
    needs!("mysql", executable(None));
    on_runtime(async {
        // In a transaction of the caller's, and in the insert's own.
        for (name, begins) in [("deadlock_in_insert", true), ("deadlock_in_own_insert", false)] {
            let (client, url) = client_of(name).await;
            let heavy = heavy_of(&url).await;
            heavy.text("INSERT INTO t VALUES (0, '')").await.unwrap();
            if begins {
                client.text("BEGIN").await.unwrap();
            }
            // The first packet locks the row 50, and waits for the row 0.
            let rows = rows_of([50, 0].into_iter().chain(51..70));
            let id = number(&client, "SELECT CONNECTION_ID()").await;
            let (inserted, ()) = tokio::join!(insert(&client, &rows), end_by_deadlock(&heavy, &id, 50));
            assert!(inserted.unwrap_err().to_string().contains("1213"));
            assert_eq!(number(&heavy, "SELECT COUNT(*) FROM t").await, "2");
            // The session knows that it is in no transaction. So an insert has one of its own, whole or not at all.
            client.text("INSERT INTO t VALUES (69, '')").await.unwrap();
            assert!(insert(&client, &rows_of(50..70)).await.unwrap_err().to_string().contains("1062"));
            assert_eq!(number(&heavy, "SELECT COUNT(*) FROM t").await, "3");
        }
    });
}

#[test]
fn an_error_that_leaves_a_transaction_open_stops_nothing() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of("duplicate_in_batch").await;
        let batch = [
            "BEGIN",
            "INSERT INTO t VALUES (1, '')",
            "INSERT INTO t VALUES (1, '')",
            "INSERT INTO t VALUES (2, '')",
            "COMMIT",
        ];
        let results = client.run(&batch_of(&batch.map(|sql| (sql, &[][..])))).await.unwrap();
        let errors = errors_of(&results);
        assert!(matches!(&errors[..], [(2, error)] if error.contains("1062")), "{errors:?}");
        client.text("ROLLBACK").await.unwrap();
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "2");
    });
}
