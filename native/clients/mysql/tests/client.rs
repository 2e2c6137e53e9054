//! Tests of batches and inserts against a real server, and of their errors.

mod common;
#[path = "common/lists.rs"]
mod lists;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use boundary_bench_engine::{Engine, QueryOptions, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result, needs};
use boundary_bench_mysql::server::{Server, executable, start, start_with};
use boundary_bench_mysql::{
    Batch, Cell, CellLists, MysqlEngine, Outcome, Results, SqlSession, StatementLists, Url, testing,
};

use common::Client;
use lists::lists_of;

static SERVER: LazyLock<Server> = LazyLock::new(|| start(None).unwrap());

/// The time-out of all work. Only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    // The start of the server blocks, and a runtime does not allow that.
    LazyLock::force(&SERVER);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("no answer") })
}

/// A client of a new database of the server.
async fn client_of(server: &Server) -> (Client, Url) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let admin = Client::connect(server.url()).await.unwrap();
    admin.text(&format!("CREATE DATABASE {name}")).await.unwrap();
    let url = Url { database: Some(name), ..server.url().clone() };
    (Client::connect(&url).await.unwrap(), url)
}

async fn insert_rows(client: &Client, table: &str, columns: &[String], rows: &CellLists) -> Result<u64> {
    testing::insert(&mut *client.0.lock().await, table, columns, rows).await
}

/// The result of a query for a single number, as text.
async fn number(client: &Client, sql: &str) -> String {
    let results = client.text(&format!("SELECT CAST(({sql}) AS CHAR)")).await.unwrap();
    let batch = &results.rows[0].as_ref().unwrap().batch;
    arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).value(0).to_owned()
}

/// A batch of one statement, run with each of the lists.
fn batch_of(sql: &str, lists: CellLists) -> Batch {
    let order = vec![0; lists.len()];
    Batch { statements: vec![StatementLists { sql: sql.to_owned(), lists, is_text: false }], order }
}

/// One list of no values.
fn no_values() -> CellLists {
    CellLists::new(Vec::new(), 1, 0).unwrap()
}

#[test]
fn an_error_in_one_request_of_a_batch_is_its_own() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        client.text("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, name VARCHAR(20))").await.unwrap();
        let name = |text: &str| Value::Text(text.to_owned());
        let rows = lists_of::<&[Value]>(&[
            &[Value::Int(1), name("a")],
            &[Value::Int(1), name("b")],
            &[Value::Null, name("c")],
            &[Value::Int(2), Value::Double(f64::NAN)],
            &[Value::Int(3), Value::Null],
        ]);
        let results = client.run(&batch_of("INSERT INTO t VALUES (?, ?)", rows)).await.unwrap();
        let errors: Vec<_> =
            results.requests.iter().map(|request| request.error.as_ref().map(ToString::to_string)).collect();
        assert_eq!((&errors[0], &errors[4]), (&None, &None));
        assert!(errors[1].as_ref().unwrap().contains("error 1062 (23000): Duplicate entry"), "{errors:?}");
        assert!(errors[2].as_ref().unwrap().contains("error 1048"), "{errors:?}");
        assert_eq!(errors[3].as_deref(), Some("parameter 2: the server has no NaN and no infinity"));
        assert_eq!(results.requests.iter().map(|request| request.affected_rows).sum::<u64>(), 2);
        assert_eq!(number(&client, "SELECT SUM(id) FROM t").await, "4");
    });
}

#[test]
fn statements_of_all_kinds_go_in_one_batch() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        client.text("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)").await.unwrap();
        let statement = |sql: &str, lists: CellLists, is_text| StatementLists { sql: sql.to_owned(), lists, is_text };
        let batch = Batch {
            statements: vec![
                statement("BEGIN", no_values(), true),
                statement(
                    "INSERT INTO t (v) VALUES (?)",
                    lists_of::<&[Value]>(&[&[Value::Int(7)], &[Value::Int(8)]]),
                    false,
                ),
                statement(
                    "SELECT v FROM t WHERE id >= ? ORDER BY id",
                    lists_of::<&[Value]>(&[&[Value::Int(1)], &[Value::Int(2)]]),
                    false,
                ),
                statement("SELECT * FROM missing", no_values(), false),
                statement("ROLLBACK", no_values(), true),
            ],
            order: vec![0, 1, 2, 1, 3, 2, 4],
        };
        let results = client.run(&batch).await.unwrap();
        let [_, first, select, second, missing, again, _] = results.requests.as_slice() else { panic!() };
        assert_eq!((first.last_insert_id, second.last_insert_id), (1, 2));
        assert_eq!((select.first_row, select.rows, again.first_row, again.rows), (0, 1, 1, 1));
        assert!(missing.error.as_ref().unwrap().to_string().contains("error 1146"));
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "0");
    });
}

#[test]
fn many_rows_go_in_all_or_none() {
    needs!("mysql", executable(None));
    on_runtime(async {
        for extensions in [true, false] {
            let (_, url) = client_of(&SERVER).await;
            let url = Url { extensions, ..url };
            let client = Client::connect(&url).await.unwrap();
            client.text("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v TEXT)").await.unwrap();
            let columns = ["id", "v"].map(str::to_owned);
            let rows = |ids: std::ops::Range<i64>, last: i64| {
                let values: Vec<_> =
                    ids.chain([last]).map(|id| [Value::Int(id), Value::Text("x".repeat(100))]).collect();
                lists_of(&values)
            };
            // More rows than fit into one packet.
            let inserted = insert_rows(&client, "t", &columns, &rows(0..30_000, 30_000)).await.unwrap();
            assert_eq!(inserted, 30_001);
            let error = insert_rows(&client, "t", &columns, &rows(40_000..70_000, 5)).await.unwrap_err();
            assert!(error.to_string().contains("1062"), "{error}");
            assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "30001");
            // Within a transaction of the caller's, only the insert is rolled back.
            client.text("BEGIN").await.unwrap();
            client.text("DELETE FROM t WHERE id < 10").await.unwrap();
            insert_rows(&client, "t", &columns, &rows(40_000..70_000, 50)).await.unwrap_err();
            client.text("COMMIT").await.unwrap();
            assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "29991");
            let database = url.database.unwrap();
            assert_eq!(insert_rows(&client, &format!("{database}.t"), &columns, &rows(1..3, 3)).await.unwrap(), 3);
            // A column may get values of several types.
            client.text("CREATE TABLE mixed (id INT NOT NULL PRIMARY KEY, v TEXT)").await.unwrap();
            let mixed = lists_of::<&[Value]>(&[
                &[Value::Int(1), Value::Int(5)],
                &[Value::Double(2.0), Value::Double(0.5)],
                &[Value::Int(3), Value::Null],
                &[Value::Int(4), Value::Text("ü".to_owned())],
            ]);
            assert_eq!(insert_rows(&client, "mixed", &columns, &mixed).await.unwrap(), 4);
            assert_eq!(number(&client, "SELECT GROUP_CONCAT(v ORDER BY id) FROM mixed").await, "5,0.5,ü");
            assert_eq!(insert_rows(&client, "mixed", &columns, &CellLists::default()).await.unwrap(), 0);
            let error = insert_rows(&client, "mixed", &columns[..1], &mixed).await.unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        }
    });
}

#[test]
fn what_no_packet_takes_is_refused_and_what_takes_several_is_split() {
    needs!("mysql", executable(None));
    let server = start_with(None, &["--max-allowed-packet=1M"], &CancelToken::default()).unwrap();
    on_runtime(async {
        let (client, _) = client_of(&server).await;
        client.text("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v LONGTEXT)").await.unwrap();
        let row = |id, length| [Value::Int(id), Value::Text("x".repeat(length))];
        let (small, large) = (row(1, 10), row(2, 2 << 20));
        let rows = lists_of::<&[Value]>(&[&small, &large, &row(3, 900_000)]);
        let results = client.run(&batch_of("INSERT INTO t VALUES (?, ?)", rows.clone())).await.unwrap();
        let error = results.requests[1].error.as_ref().unwrap();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        assert!(error.to_string().contains("max_allowed_packet"), "{error}");
        assert_eq!(number(&client, "SELECT SUM(id) FROM t").await, "4");
        let columns = ["id", "v"].map(str::to_owned);
        let error = insert_rows(&client, "t", &columns, &rows).await.unwrap_err();
        assert!(error.to_string().starts_with("row 1 takes"), "{error}");
        let many: Vec<_> = (10..40).map(|id| row(id, 300_000)).collect();
        let many = lists_of(&many);
        assert_eq!(insert_rows(&client, "t", &columns, &many).await.unwrap(), 30);
        assert_eq!(number(&client, "SELECT SUM(LENGTH(v)) FROM t WHERE id >= 10").await, "9000000");
    });
}

#[test]
fn results_longer_than_a_packet_arrive_whole() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        for length in [0xff_ffff - 9, 0xff_ffff - 4, 0xff_ffff, 0x1ff_ffff] {
            let results = client.text(&format!("SELECT REPEAT('x', {length}), 7")).await.unwrap();
            let batch = &results.rows[0].as_ref().unwrap().batch;
            assert_eq!(arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).value(0).len(), length);
        }
        // A statement may be longer than one packet, too.
        let long = format!("SELECT LENGTH('{}')", "x".repeat(0xff_ffff));
        assert_eq!(number(&client, &long[7..]).await, "16777215");
    });
}

#[test]
fn the_types_of_a_request_are_those_of_its_own_answer() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        client.text("SET sql_mode = ''").await.unwrap();
        client.text("CREATE TABLE t (id INT, d DATE, b TINYINT(1), x DOUBLE)").await.unwrap();
        client
            .text("INSERT INTO t VALUES (1, '2024-02-29', 1, 2), (2, '0000-00-00', 0, 1), (3, NULL, 7, 0.5), (4, '2024-03-01', 0, 4)")
            .await
            .unwrap();
        let int = |ids: &[i64]| ids.iter().map(|id| vec![Value::Int(*id)]).collect::<Vec<_>>();
        let decimal = |value, precision| vec![Value::Decimal { value, precision, scale: 2 }];
        for (sql, lists) in [
            ("SELECT d, b, x FROM t WHERE id = ?", int(&[1, 2, 1, 3, 4, 2, 9, 1])),
            ("SELECT d, b, x FROM t WHERE id <= ? ORDER BY id", int(&[1, 4, 1, 3, 2, 1])),
            ("SELECT ? AS v", vec![vec![Value::Int(1)], vec![Value::Null], vec![Value::Text("a".to_owned())]]),
            ("SELECT ? * 1.5 AS v", vec![decimal(100, 5), decimal(123_456, 12), decimal(100, 5)]),
        ] {
            let results = client.run(&batch_of(sql, lists_of(&lists))).await.unwrap();
            for (request, list) in lists.iter().enumerate() {
                let alone = client.run(&batch_of(sql, lists_of(&[list]))).await.unwrap();
                assert!(!alone.split[0], "{sql} {list:?}");
                assert_eq!(columns_of(&results, request), columns_of(&alone, 0), "{sql} {list:?}");
            }
        }
    });
}

/// The columns of a request, with their types and values.
fn columns_of(results: &Results, request: usize) -> String {
    let Outcome { part, first_row, rows, .. } = results.requests[request];
    let mut parts = results.rows.iter().flatten().chain(&results.more);
    format!("{:?}", parts.nth(part.unwrap()).unwrap().batch.slice(first_row, rows).columns())
}

#[test]
fn timestamps_are_points_in_time_whatever_the_zone_of_the_server() {
    needs!("mysql", executable(None));
    let server = start_with(None, &["--default-time-zone=+05:00"], &CancelToken::default()).unwrap();
    on_runtime(async {
        let (client, url) = client_of(&server).await;
        client.text("CREATE TABLE t (s TIMESTAMP)").await.unwrap();
        client
            .run(&batch_of("INSERT INTO t VALUES (?)", lists_of(&[[Value::Timestamp(86_400_000_000)]])))
            .await
            .unwrap();
        let told = "(SELECT CONCAT(UNIX_TIMESTAMP(s), ' ', s, ' ', @@time_zone) FROM t)";
        assert_eq!(number(&client, told).await, "86400 1970-01-02 00:00:00 +00:00");
        assert_eq!(number(&client, "SELECT ABS(TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP())) < 5").await, "1");
        for (zone, expected) in [("-03:30", "86400 1970-01-01 20:30:00 -03:30"), ("SYSTEM", " SYSTEM")] {
            let url = Url { time_zone: Some(zone.to_owned()), ..url.clone() };
            let client = Client::connect(&url).await.unwrap();
            assert!(number(&client, told).await.ends_with(expected), "{zone}");
            let engine = url.secret_text();
            let read = tokio::task::spawn_blocking(move || {
                let engine = MysqlEngine::open(&engine).unwrap();
                let mut rows = engine.query("SELECT @@time_zone AS z", &QueryOptions::default()).unwrap();
                let batch = rows.next_batch().unwrap().unwrap();
                arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).value(0).to_owned()
            });
            assert_eq!(read.await.unwrap(), zone);
        }
        let url = Url { time_zone: Some("Nowhere/Land".to_owned()), ..url };
        let error = Client::connect(&url).await.err().unwrap();
        assert!(error.code() == "BB_UNSUPPORTED" && error.to_string().contains("Nowhere/Land"), "{error}");
    });
}

#[test]
fn a_login_that_is_refused_says_so_without_the_password() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let url = Url { password: Some("wrong-secret".to_owned()), ..SERVER.url().clone() };
        let error = Client::connect(&url).await.err().unwrap();
        assert_eq!(error.code(), "BB_CONNECTION");
        assert!(error.to_string().contains("1045") && !error.to_string().contains("wrong-secret"), "{error}");
        let url = Url { database: Some("missing".to_owned()), ..SERVER.url().clone() };
        let error = Client::connect(&url).await.err().unwrap();
        assert!(error.to_string().contains("1049"), "{error}");
        let url = Url { port: 1, ..SERVER.url().clone() };
        let error = Client::connect(&url).await.err().unwrap();
        assert!(error.to_string().contains("can't connect to 127.0.0.1:1"), "{error}");
        let url = Url { tls: Some(Trust::Anyone), ..SERVER.url().clone() };
        let error = Client::connect(&url).await.err().unwrap();
        assert!(error.to_string().contains("offers no TLS"), "{error}");
        SqlSession::open(&SERVER.socket_url()).await.unwrap().ping().await.unwrap();
    });
}

#[test]
fn a_server_killed_in_the_middle_of_a_batch_is_an_error_for_what_was_in_flight() {
    needs!("mysql", executable(None));
    let server = start(None).unwrap();
    on_runtime(async {
        let (client, _) = client_of(&server).await;
        let sleeps = lists_of::<&[Value]>(&[&[Value::Double(0.0)], &[Value::Int(20)], &[Value::Int(0)]]);
        let batch = batch_of("SELECT SLEEP(?)", sleeps);
        let (results, ()) = tokio::join!(client.run(&batch), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            server.stop();
        });
        let results = results.unwrap();
        assert!(results.requests[0].error.is_none());
        for request in &results.requests[1..] {
            let error = request.error.as_ref().unwrap();
            assert!(error.to_string().contains("may or may not be done"), "{error}");
        }
        assert_eq!(Client::connect(server.url()).await.err().unwrap().code(), "BB_CONNECTION");
    });
}

#[test]
fn nothing_is_sent_twice_where_a_connection_is_cut() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, url) = client_of(&SERVER).await;
        client.text("CREATE TABLE t (id INT NOT NULL PRIMARY KEY)").await.unwrap();
        let id = number(&client, "SELECT CONNECTION_ID()").await;
        let admin = Client::connect(&url).await.unwrap();
        let batch = batch_of(
            "INSERT INTO t SELECT ? FROM DUAL WHERE SLEEP(?) = 0",
            lists_of::<&[Value]>(&[&[Value::Int(1), Value::Int(20)]]),
        );
        let (results, ()) = tokio::join!(client.run(&batch), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            admin.text(&format!("KILL {id}")).await.unwrap();
        });
        assert!(results.unwrap().requests[0].error.is_some());
        assert_eq!(number(&admin, "SELECT COUNT(*) FROM t").await, "0");
    });
}

#[test]
fn values_of_all_types_come_alike_from_text_and_from_prepared_statements() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, url) = client_of(&SERVER).await;
        client
            .text(
                "CREATE TABLE t (a TINYINT, b TINYINT UNSIGNED, c SMALLINT UNSIGNED, d MEDIUMINT, e INT UNSIGNED, \
             f BIGINT UNSIGNED, g DECIMAL(20, 4), h YEAR, i BIT(1), j BIT(9), k BIT(64), l TIME(6), m DATETIME(3), \
             n TIMESTAMP NULL, o DATE, p ENUM('x', 'y'), q SET('x', 'y'), r JSON, s VARBINARY(4), t CHAR(4), \
             u BOOL, v DOUBLE, w MEDIUMTEXT, x TINYBLOB)",
            )
            .await
            .unwrap();
        client.text(
            "INSERT INTO t VALUES (-128, 255, 65535, -8388608, 4294967295, 18446744073709551615, -1234.5, 1999, 1, 511, \
             18446744073709551615, '-838:59:59.5', '2024-02-29 23:59:59.123', '2024-02-29 12:00:00', '9999-12-31', \
             'y', 'x,y', '{\\\"a\\\": 1}', x'00ff', 'ü', TRUE, -0.125, '漢字', x'')",
        )
        .await
        .unwrap();
        client.text("INSERT INTO t (a) VALUES (NULL)").await.unwrap();
        let from_text = client.text("SELECT * FROM t").await.unwrap();
        let prepared = client.run(&batch_of("SELECT * FROM t", no_values())).await;
        let prepared = prepared.unwrap();
        let (a, b) = (from_text.rows[0].as_ref().unwrap(), prepared.rows[0].as_ref().unwrap());
        assert_eq!(a.batch, b.batch);
        assert_eq!(a.shape.columns(), b.shape.columns());
        let shown = format!("{:?}", b.batch.slice(0, 1));
        for value in [
            "-128",
            "255",
            "65535",
            "-8388608",
            "4294967295",
            "18446744073709551615",
            "-12345000",
            "1999",
            "true",
            "511",
            "-838:59:59.500000",
            "2024-02-29T23:59:59.123",
            "2024-02-29T12:00:00",
            "9999-12-31",
            "x,y",
            "漢字",
            "-0.125",
        ] {
            assert!(shown.contains(value), "{value}: {shown}");
        }
        assert!(b.batch.columns().iter().all(|column| arrow_array::Array::is_null(column, 1)));
        // A session reads the same values without Arrow.
        let mut session = SqlSession::open(&url).await.unwrap();
        let statement = session.prepare("SELECT f, g, l, o, s, u FROM t").await.unwrap();
        session.queue(&statement, std::iter::empty()).unwrap();
        let mut values = Vec::new();
        session
            .answer(Some(&statement), |row| row.visit(|_, cell| values.push(format!("{cell:?}"))).unwrap())
            .await
            .unwrap();
        assert_eq!(
            values[..6],
            [
                format!("{:?}", Cell::Decimal("18446744073709551615")),
                format!("{:?}", Cell::Decimal("-1234.5000")),
                format!("{:?}", Cell::Text("-838:59:59.500000")),
                format!("{:?}", Cell::Date(2_932_896)),
                format!("{:?}", Cell::Bytes(&[0, 255])),
                format!("{:?}", Cell::Int(1)),
            ]
        );
        assert!(values[6..].iter().all(|value| value == "Null"));
    });
}

#[test]
fn a_value_that_its_type_does_not_have_comes_as_the_server_writes_it_and_the_engine_says_what_to_do() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, url) = client_of(&SERVER).await;
        client.text("CREATE TABLE t (flag TINYINT(1), day DATE, wide DECIMAL(65, 30))").await.unwrap();
        client.text("SET sql_mode = ''").await.unwrap();
        client.text("INSERT INTO t VALUES (5, '0000-00-00', 1e34), (1, '2024-02-29', 0)").await.unwrap();
        let from_text = client.text("SELECT * FROM t").await.unwrap();
        let prepared = client.run(&batch_of("SELECT * FROM t", no_values())).await.unwrap();
        let shown = |results: &Results| format!("{:?}", results.rows[0].as_ref().unwrap().batch);
        assert_eq!(shown(&from_text), shown(&prepared));
        for value in ["5", "\"0000-00-00\"", "\"2024-02-29\"", "\"1000000000000000000000000000"] {
            assert!(shown(&prepared).contains(value), "{value}: {}", shown(&prepared));
        }
        let uri = url.secret_text();
        let refused = tokio::task::spawn_blocking(move || {
            let engine = MysqlEngine::open(&uri).unwrap();
            ["flag", "day"].map(|column| {
                let mut rows = engine.query(&format!("SELECT {column} FROM t"), &QueryOptions::default()).unwrap();
                rows.next_batch().unwrap_err().to_string()
            })
        });
        let [flag, day] = refused.await.unwrap();
        assert!(flag.contains("CAST it to SIGNED") && day.contains("date-strings=on"), "{flag}, {day}");
    });
}

#[test]
fn a_table_that_changes_between_two_runs_is_read_as_it_is() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        client.text("CREATE TABLE t (a INT)").await.unwrap();
        client.text("INSERT INTO t VALUES (1)").await.unwrap();
        let select = batch_of("SELECT * FROM t", no_values());
        assert_eq!(client.run(&select).await.unwrap().rows[0].as_ref().unwrap().batch.num_columns(), 1);
        client.text("ALTER TABLE t ADD b VARCHAR(3) DEFAULT 'x', MODIFY a BIGINT").await.unwrap();
        let results = client.run(&select).await.unwrap();
        assert_eq!(results.requests[0].rows, 1);
        assert_eq!(results.rows[0].as_ref().unwrap().batch.num_columns(), 2);
    });
}

#[test]
fn columns_that_depend_on_the_values_are_read_as_they_are() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        for value in [Value::Int(7), Value::Int(8), Value::Text("7".to_owned()), Value::Int(9), Value::Double(1.5)] {
            for _ in 0..2 {
                let results = client
                    .run(&batch_of("SELECT ? AS v", lists_of::<&[Value]>(&[std::slice::from_ref(&value)])))
                    .await
                    .unwrap();
                let batch = &results.rows[0].as_ref().unwrap().batch;
                let shown = format!("{:?}", batch.column(0));
                let expected = match &value {
                    Value::Int(value) => value.to_string(),
                    Value::Double(value) => value.to_string(),
                    value => format!("{value:?}").replace("Text(", "").replace(')', ""),
                };
                assert!(shown.contains(&expected), "{expected}: {shown}");
            }
        }
        // Results with other columns are in a part of their own.
        let text = [Value::Text("a".to_owned())];
        let mixed = lists_of::<&[Value]>(&[&[Value::Int(1)], &text, &[Value::Null], &[Value::Int(2)]]);
        let results = client.run(&batch_of("SELECT ? AS v", mixed)).await.unwrap();
        let places: Vec<_> =
            results.requests.iter().map(|request| (request.part, request.first_row, request.rows)).collect();
        assert_eq!(places, [(Some(0), 0, 1), (Some(1), 0, 1), (Some(2), 0, 1), (Some(0), 1, 1)]);
        assert_eq!(
            (results.split.as_slice(), results.more.len(), results.failed.as_slice()),
            (&[true][..], 2, &[None][..])
        );
    });
}

#[test]
fn procedures_and_files_are_answered_to_their_end() {
    needs!("mysql", executable(None));
    on_runtime(async {
        let (client, _) = client_of(&SERVER).await;
        client.text("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2, 3; END").await.unwrap();
        for _ in 0..2 {
            let prepared = client.run(&batch_of("CALL p()", no_values())).await.unwrap();
            for results in [client.text("CALL p()").await.unwrap(), prepared] {
                let [first] = results.requests.as_slice() else { panic!() };
                let next = &results.further[first.next.unwrap()];
                assert_eq!((first.rows, next.rows, next.next), (1, 1, None));
                assert_eq!(results.more[next.part.unwrap() - 1].shape.columns().len(), 2);
            }
            assert_eq!(number(&client, "SELECT 5").await, "5");
        }
        client.text("CREATE TABLE t (a INT)").await.unwrap();
        let error = client.text("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t").await.unwrap_err();
        assert!(error.to_string().contains("file of this machine"), "{error}");
        assert_eq!(number(&client, "SELECT COUNT(*) FROM t").await, "0");
    });
}

#[test]
fn tls_is_used_and_certificates_are_looked_at() {
    needs!("mysql", executable(None));
    check_tls("localhost", Some("127.0.0.1"));
    check_tls("authority", None);
}

/// `other_host` leads to the server too, and is no name of the certificate.
fn check_tls(own: &str, other_host: Option<&str>) {
    let files = certificate(own);
    let (certificate, key) = (files.certificate, files.key);
    let settings = [format!("--ssl-key={}", key.display()), format!("--ssl-cert={}", certificate.display())];
    let server = start_with(None, &settings.each_ref().map(String::as_str), &CancelToken::default()).unwrap();
    on_runtime(async {
        let url = |tls, host: &str| Url { tls: Some(tls), host: host.to_owned(), ..server.url().clone() };
        let connect = async |url: Url| Client::connect(&url).await;
        let verified = || Trust::Authorities(certificate.clone());
        for url in [url(Trust::Anyone, "127.0.0.1"), url(verified(), "localhost")] {
            let client = connect(url).await.unwrap();
            let cipher = client.text("SHOW STATUS LIKE 'Ssl_cipher'").await.unwrap();
            let batch = &cipher.rows[0].as_ref().unwrap().batch;
            assert!(!arrow_array::cast::AsArray::as_string::<i32>(batch.column(1)).value(0).is_empty());
        }
        let other = other_host.map(|host| url(verified(), host));
        for url in other.into_iter().chain([url(Trust::System, "localhost")]) {
            let error: Error = connect(url).await.err().unwrap();
            assert!(error.to_string().contains("is its certificate trusted?"), "{error}");
        }
    });
}

#[test]
fn servers_start_side_by_side() {
    needs!("mysql", executable(None));
    let starting: Vec<_> = (0..4).map(|_| std::thread::spawn(|| start(None).map(|server| server.stop()))).collect();
    for started in starting {
        started.join().unwrap().unwrap();
    }
}
