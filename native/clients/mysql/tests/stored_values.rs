//! Tests that a value is stored as a single insert stores it, whatever stands beside it and whichever way it takes.

mod common;
#[path = "common/lists.rs"]
mod lists;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, Int16Array, Int64Array, RecordBatch, StringArray};
use boundary_bench_engine::table::SqlType;
use boundary_bench_engine::{Engine, QueryOptions, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Result, needs};
use boundary_bench_mysql::server::{Server, executable, start, start_with};
use boundary_bench_mysql::{Batch, CellLists, MysqlEngine, StatementLists, Url, testing};

use common::Client;
use lists::lists_of;

/// A URL of a new database of the server.
fn new_database(server: &Server) -> Url {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("stored_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let admin = MysqlEngine::open(&server.socket_url().secret_text()).unwrap();
    admin.execute(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"), &CancelToken::default()).unwrap();
    Url { database: Some(name), ..server.url().clone() }
}

/// The texts in the first column of a query's rows.
async fn texts(client: &Client, sql: &str) -> Vec<Option<String>> {
    let results = client.text(sql).await.unwrap();
    let batch = &results.rows[0].as_ref().unwrap().batch;
    batch.column(0).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

/// The values that are stored in `t`, as texts of their bytes, and the table emptied.
async fn take_stored(client: &Client) -> Vec<Option<String>> {
    let stored = texts(client, "SELECT HEX(CAST(v AS BINARY)) FROM t ORDER BY id").await;
    client.text("DELETE FROM t").await.unwrap();
    stored
}

#[test]
fn rows_of_several_types_are_stored_as_single_inserts_store_them() {
    needs!("mysql", executable(None));
    let server = start(None).unwrap();
    let url = new_database(&server);
    let values = [
        Value::Null,
        Value::Bool(true),
        Value::Int(5),
        Value::Int(1 << 40),
        Value::Double(2.5),
        Value::Text("é".to_owned()),
        Value::Text("2024".to_owned()),
        Value::Bytes(b"x".to_vec()),
        Value::Decimal { value: 12_500, precision: 10, scale: 3 },
        Value::Date(19_782),
        Value::Timestamp(1_709_164_923_400_000),
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::connect(&url).await.unwrap();
        client.text("SET sql_mode = ''").await.unwrap();
        for column in [
            "TINYINT",
            "INT",
            "BIGINT UNSIGNED",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(10, 2)",
            "BIT(8)",
            "YEAR",
            "DATE",
            "DATETIME(6)",
            "TIME",
            "ENUM('2', '1', '2024')",
            "SET('2', '1')",
            "VARCHAR(9) CHARACTER SET latin1",
            "VARCHAR(3)",
            "TEXT",
            "VARBINARY(9)",
            "JSON",
        ] {
            client.text("DROP TABLE IF EXISTS t").await.unwrap();
            client.text(&format!("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v {column})")).await.unwrap();
            let mut alone = Vec::new();
            for value in &values {
                let lists = lists_of(&[std::slice::from_ref(value)]);
                let insert = StatementLists { sql: "INSERT INTO t (v) VALUES (?)".to_owned(), lists, is_text: false };
                let ran = client.run(&Batch { statements: vec![insert], order: vec![0] }).await.unwrap();
                alone.push(ran.requests[0].error.is_none().then_some(take_stored(&client).await));
            }
            for (first, value) in values.iter().enumerate() {
                for (second, other) in values.iter().enumerate() {
                    let rows = lists_of(&[std::slice::from_ref(value), std::slice::from_ref(other)]);
                    let names = ["v".to_owned()];
                    let inserted = testing::insert(&mut *client.0.lock().await, "t", &names, &rows).await;
                    let together = inserted.is_ok().then_some(take_stored(&client).await);
                    let expected =
                        alone[first].iter().zip(&alone[second]).map(|(one, two)| [&one[..], two].concat()).next();
                    assert_eq!(together, expected, "{column}: {value:?}, {other:?}");
                }
            }
        }
        // The definitions of a statement's parameters are no part of a response.
        let client = Client::connect(&Url { most_bytes: 2000, ..url }).await.unwrap();
        client.text("CREATE TABLE many (a DOUBLE, b DOUBLE)").await.unwrap();
        let row = |id: i64| [Value::Int(id), if id % 2 == 0 { Value::Int(id / 2) } else { Value::Double(0.5) }];
        let rows = lists_of(&(0..2500).map(row).collect::<Vec<_>>());
        let names = ["a", "b"].map(str::to_owned);
        assert_eq!(testing::insert(&mut *client.0.lock().await, "many", &names, &rows).await.unwrap(), 2500);
        let sums = texts(&client, "SELECT CONCAT_WS(' ', COUNT(*), SUM(a), SUM(b)) FROM many").await;
        assert_eq!(sums, [Some("2500 3123750 781250".to_owned())]);
    });
}

/// Inserts a value in a new table by the engine's bulk insert, and reads it back.
fn inserted(engine: &dyn Engine, column: &str, beside: &str, value: &str) -> Result<String> {
    let none = CancelToken::default();
    engine.drop_table("tä \"漢`").unwrap();
    engine.execute(&format!("CREATE TABLE `tä \"漢``` (`é \"``` {column}{beside})"), &none)?;
    let table = engine.describe_table("tä \"漢`")?;
    let arrays = table.columns.iter().map(|column| match column.sql_type {
        SqlType::SmallInt => Arc::new(Int16Array::from(vec![value.parse::<i16>().unwrap()])) as ArrayRef,
        SqlType::BigInt => Arc::new(Int64Array::from(vec![value.parse::<i64>().unwrap()])),
        SqlType::Bytes => Arc::new(BinaryArray::from(vec![&b"\xff\x00\xe9"[..]])),
        _ => Arc::new(StringArray::from(vec![value])),
    });
    let batch = RecordBatch::try_new(table.to_arrow(), arrays.collect()).unwrap();
    let mut ingest = engine.ingest(&table)?;
    ingest.write(&batch)?;
    assert_eq!(ingest.commit()?, 1);
    let read = |column: &str| {
        let sql = format!("SELECT {column} FROM `tä \"漢```");
        let batch = engine.query(&sql, &QueryOptions::default()).unwrap().next_batch().unwrap().unwrap();
        batch.column(0).as_string::<i32>().value(0).to_owned()
    };
    if !beside.is_empty() {
        assert_eq!(read("HEX(x)"), "FF00E9");
    }
    Ok(read(if column.starts_with("BIT") { "CAST(`é \"``` + 0 AS CHAR)" } else { "CAST(`é \"``` AS CHAR)" }))
}

#[test]
fn a_text_is_stored_as_it_is_or_refused_in_columns_of_every_character_set() {
    needs!("mysql", executable(None));
    for file in ["1", "0"] {
        let server = start_with(None, &[&format!("--local-infile={file}")], &CancelToken::default()).unwrap();
        let url = new_database(&server);
        let bulk = MysqlEngine::open(&url.secret_text()).unwrap();
        let plain = MysqlEngine::open(&Url { extensions: false, ..url }.secret_text()).unwrap();
        let is_maria = bulk.version().contains("MariaDB");
        for (column, taken, refused) in [
            ("VARCHAR(20) CHARACTER SET latin1", &["é", "€"][..], &["漢", "é漢"][..]),
            ("TEXT CHARACTER SET latin2", &["ž"], &["é漢"]),
            ("ENUM('é', 'x') CHARACTER SET latin1", &["é"], &["ü"]),
            ("SET('é', 'x') CHARACTER SET latin1", &["é,x"], &["ü"]),
            ("CHAR(20) CHARACTER SET ascii", &["a"], &["é"]),
            ("TEXT CHARACTER SET ucs2", &["漢", "ab"], &["😀"]),
            ("VARCHAR(20) CHARACTER SET utf16", &["漢😀"], &[]),
            ("TEXT CHARACTER SET sjis", &["漢"], &["😀"]),
            ("VARCHAR(20) CHARACTER SET utf8mb3", &["é漢"], &["😀"]),
            ("LONGTEXT CHARACTER SET utf8mb4", &["é漢😀\\\t\n\0"], &[]),
            ("JSON", &["\"é漢😀\""], &["{"]),
            // Values whose texts other ways store as other values.
            ("BIT(8)", &["5"], &["300"]),
            ("YEAR", &["0", "2024"], &["3000"]),
            ("INET6", &["::1111:2222:3333"], &["x"]),
        ] {
            if column == "INET6" && !is_maria {
                continue;
            }
            for (engine, beside) in [(&bulk, ""), (&bulk, ", x LONGBLOB"), (&plain, ""), (&plain, ", x LONGBLOB")] {
                for value in taken {
                    let stored =
                        inserted(engine, column, beside, value).unwrap_or_else(|error| panic!("{column}: {error}"));
                    let expected = if *value == "0" { "0000" } else { value };
                    assert_eq!(stored, expected, "{column}{beside}, local-infile={file}");
                }
                for value in refused {
                    let error = inserted(engine, column, beside, value).unwrap_err();
                    assert_eq!(error.code(), "BB_ENGINE", "{column}{beside}, local-infile={file}: {error}");
                }
            }
        }
    }
}
