//! The REST contract of `RonDB`, request by request and error by error. With `REST_URL` (and `REST_API_KEY`) the tests run
//! against another server, which holds the tables of `RonDB`'s benchmarks, and `lineitem` in `tpch` for SQL. Features of newer
//! builds, or of ours, are tested on ours only.

mod common;

use boundary_bench_server::{Limits, Options};
use common::{Answer, Target, api_key, binary_key};
use serde_json::{Value, json};

const TABLE_1: &str = "/0.1.0/rdrs_bench/table_1/pk-read";

fn target() -> Target {
    Target::of("REST_URL", Options { scale_factor: 0.001, ..Options::default() })
}

#[expect(clippy::needless_pass_by_value, reason = "so that callers can write it in place")]
fn filters(value: Value) -> Value {
    json!([{"column": "id0", "value": value}])
}

#[test]
fn ping_and_health_answer_without_a_body() {
    let target = target();
    let ping = target.get("/0.1.0/ping");
    assert_eq!((ping.status, ping.text().as_str()), (200, ""));
    let health = target.get("/0.1.0/health");
    assert_eq!(health.status, 200);
    assert!(["0", "1"].contains(&health.text().trim()), "{}", health.text());
    for path in ["/0.1.0/ping", "/0.1.0/health"] {
        assert_eq!(target.ask("GET", path, &[], b"{}").status, 400, "{path}");
    }
    assert_eq!(target.get("/metrics").status, 200);
}

#[test]
fn rows_are_read_by_their_key() {
    let target = target();
    let body = json!({"filters": filters(json!(5)), "readColumns": [{"column": "col0", "dataReturnType": "default"}], "operationId": "x"});
    let answer = target.post(TABLE_1, body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let read = answer.json();
    assert_eq!(read["operationId"], "x");
    assert_eq!(read["data"], json!({"col0": "a".repeat(100)}));
    // Without columns, all of them outside the key are read. An absent id is an empty one.
    let all = target.post(TABLE_1, json!({"filters": filters(json!(999))}).to_string()).json();
    assert_eq!(all["data"], json!({"col0": "a".repeat(100)}));

    let body = json!({"filters": filters(json!(binary_key(7)))}).to_string();
    let binary = target.post("/0.1.0/rdrs_bench/table_2/pk-read", body);
    assert_eq!(binary.status, 200, "{}", binary.text());
    assert!(binary.json()["data"]["col0"].is_string());

    let many =
        target.post("/0.1.0/rdrs_bench/table_3/pk-read", json!({"filters": filters(json!(0))}).to_string()).json();
    let columns = many["data"].as_object().unwrap();
    assert_eq!(columns.len(), 100);
    assert!((0..100).all(|index| columns[&format!("col{index}")] == "abcd"));
    let two = json!({"filters": filters(json!(0)), "readColumns": [{"column": "col99"}, {"column": "col3"}]});
    let two = target.post("/0.1.0/rdrs_bench/table_3/pk-read", two.to_string()).json();
    assert_eq!(two["data"], json!({"col99": "abcd", "col3": "abcd"}));
}

/// A request, the status that it must have, and a part of the response's text.
type Case = (&'static str, &'static str, Value, u16, &'static str);

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn refused() -> Vec<Case> {
    let long = "n".repeat(65);
    let read = |columns: Value| json!({"filters": filters(json!(1)), "readColumns": columns});
    let filter = |column: &str, value: Value| json!({"filters": [{"column": column, "value": value}]});
    vec![
        ("no body", TABLE_1, Value::Null, 400, ""),
        ("no filters", TABLE_1, json!({}), 400, "'Filters'"),
        ("null for filters", TABLE_1, json!({"filters": null}), 400, "'Filters'"),
        ("empty filters", TABLE_1, json!({"filters": []}), 400, "'Filters'"),
        ("filters of another type", TABLE_1, json!({"filters": {}}), 400, ""),
        ("a filter of another type", TABLE_1, json!({"filters": [["id0", 1]]}), 400, ""),
        ("an array for the object", TABLE_1, json!([filters(json!(1))]), 400, ""),
        ("no column", TABLE_1, json!({"filters": [{"value": 1}]}), 400, "'Column' failed on the 'required'"),
        ("an empty column", TABLE_1, filter("", json!(1)), 400, "'Column' failed on the 'required'"),
        ("a long column", TABLE_1, filter(&long, json!(1)), 400, "'Column' failed on the 'max'"),
        ("a column of a strange name", TABLE_1, filter("\u{1F600}", json!(1)), 400, "invalid character"),
        ("no value", TABLE_1, json!({"filters": [{"column": "id0"}]}), 400, "'Value' failed on the 'required'"),
        ("null for a value", TABLE_1, filter("id0", Value::Null), 400, "'Value' failed on the 'required'"),
        (
            "a filter twice",
            TABLE_1,
            json!({"filters": [{"column": "id0", "value": 1}, {"column": "id0", "value": 1}]}),
            400,
            "'unique'",
        ),
        (
            "a key of more columns",
            TABLE_1,
            json!({"filters": [{"column": "id0", "value": 1}, {"column": "col0", "value": "a"}]}),
            400,
            "Wrong number of primary-key columns",
        ),
        ("another column than the key's", TABLE_1, filter("col0", json!("a")), 400, "Wrong primay-key column"),
        ("text for an INT", TABLE_1, filter("id0", json!("one")), 400, "Wrong data type"),
        ("a fraction for an INT", TABLE_1, filter("id0", json!(1.5)), 400, "Wrong data type"),
        ("no base64 for a VARBINARY", "/0.1.0/rdrs_bench/table_2/pk-read", filter("id0", json!("*")), 400, ""),
        ("a column that is not there", TABLE_1, read(json!([{"column": "none"}])), 400, "Column does not exist"),
        ("a column of the key to read", TABLE_1, read(json!([{"column": "id0"}])), 400, "already included in filter"),
        ("a column to read twice", TABLE_1, read(json!([{"column": "col0"}, {"column": "col0"}])), 400, "'unique'"),
        ("an empty column to read", TABLE_1, read(json!([{"column": ""}])), 400, "identifier is empty"),
        ("a long column to read", TABLE_1, read(json!([{"column": long}])), 400, "identifier is too large"),
        (
            "another return type",
            TABLE_1,
            read(json!([{"column": "col0", "dataReturnType": "raw"}])),
            400,
            "return type",
        ),
        (
            "a long id",
            TABLE_1,
            json!({"filters": filters(json!(1)), "operationId": "i".repeat(257)}),
            400,
            "operationId is invalid",
        ),
        ("a row that is not there", TABLE_1, json!({"filters": filters(json!(100_000))}), 404, "Not Found"),
        (
            "a table that is not there",
            "/0.1.0/rdrs_bench/none/pk-read",
            json!({"filters": filters(json!(1))}),
            404,
            "does not exist",
        ),
        (
            "a database that is not there",
            "/0.1.0/none/table_1/pk-read",
            json!({"filters": filters(json!(1))}),
            404,
            "does not exist",
        ),
        ("a batch of nothing", "/0.1.0/batch", json!({"operations": []}), 400, ""),
        ("a batch of another type", "/0.1.0/batch", json!({"operations": 5}), 400, ""),
        (
            "an operation without a method",
            "/0.1.0/batch",
            json!({"operations": [{"relative-url": "rdrs_bench/table_1/pk-read", "body": {"filters": filters(json!(1))}}]}),
            400,
            "'Method'",
        ),
        (
            "an operation without a place",
            "/0.1.0/batch",
            json!({"operations": [{"method": "POST", "relative-url": "pk-read", "body": {"filters": filters(json!(1))}}]}),
            400,
            "'RelativeURL'",
        ),
        (
            "an operation with a wrong request",
            "/0.1.0/batch",
            json!({"operations": [{"method": "POST", "relative-url": "rdrs_bench/table_1/pk-read", "body": {"filters": []}}]}),
            400,
            "'Filters'",
        ),
        ("SQL without a query", "/0.1.0/ronsql", json!({"database": "tpch"}), 400, ""),
        ("SQL with another key", "/0.1.0/ronsql", json!({"query": "SELECT 1", "database": "tpch", "more": 1}), 400, ""),
        (
            "SQL in another format",
            "/0.1.0/ronsql",
            json!({"query": "SELECT count(*) FROM lineitem", "database": "tpch", "outputFormat": "XML"}),
            400,
            "",
        ),
        (
            "SQL with an id in a format without room for it",
            "/0.1.0/ronsql",
            json!({"query": "SELECT count(*) FROM lineitem", "database": "tpch", "outputFormat": "TEXT", "operationId": "x"}),
            400,
            "operationId not supported",
        ),
        (
            "SQL in a mode of explaining that there is none of",
            "/0.1.0/ronsql",
            json!({"query": "SELECT count(*) FROM lineitem", "database": "tpch", "explainMode": "MAYBE"}),
            400,
            "Invalid explainMode",
        ),
        (
            "SQL that is none",
            "/0.1.0/ronsql",
            json!({"query": "SELECT count( FROM lineitem", "database": "tpch"}),
            400,
            "",
        ),
        (
            "SQL of no such table",
            "/0.1.0/ronsql",
            json!({"query": "SELECT count(*) FROM none", "database": "tpch"}),
            400,
            "",
        ),
    ]
}

#[test]
fn what_is_wrong_is_refused_with_its_code() {
    let target = target();
    for (what, path, body, status, said) in refused() {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = target.post(path, body);
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        if target.is_own() {
            assert!(answer.text().contains(said), "{what}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{what}");
        }
    }
    for broken in ["{", "{\"filters\":[{\"column\":\"id0\",\"value\":1}]} more", "\u{feff}{}", "nonsense"] {
        assert_eq!(target.post(TABLE_1, broken).status, 400, "{broken}");
    }
}

#[test]
fn the_second_version_wraps_its_errors() {
    let target = Target::new(Options::default());
    for (what, path, body, status, said) in refused().into_iter().filter(|case| case.1 == TABLE_1) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = target.post(&path.replace("0.1.0", "0.2.0"), body);
        assert_eq!(answer.status, status, "{what}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], status, "{what}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{what}: {error}");
        assert!(["status", "classification", "ndbCode", "mysqlCode"].iter().all(|name| error[name].is_number()));
    }
    let read = target.post("/0.2.0/rdrs_bench/table_1/pk-read", json!({"filters": filters(json!(1))}).to_string());
    assert_eq!(read.status, 200);
}

#[test]
fn names_in_the_path_are_checked() {
    let target = Target::new(Options::default());
    let body = json!({"filters": filters(json!(1))}).to_string();
    let long = "n".repeat(65);
    for (path, said) in [
        (format!("/0.1.0/{long}/t/pk-read"), "'DB' failed on the 'max'"),
        (format!("/0.1.0/d/{long}/pk-read"), "'Table' failed on the 'max'"),
        ("/0.1.0/%F0%9F%98%80/t/pk-read".to_owned(), "contains invalid characters"),
        ("/0.1.0/d/%F0%9F%98%80/pk-read".to_owned(), "contains invalid characters"),
        ("/0.1.0//t/pk-read".to_owned(), "'DB' failed on the 'min'"),
        ("/0.1.0/d//pk-read".to_owned(), "'Table' failed on the 'min'"),
    ] {
        let answer = target.post(&path, &body);
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text().contains(said), "{path}: {}", answer.text());
    }
    for path in ["/", "/0.1.0/", "/0.1.0/none", "/0.3.0/ping", "/0.1.0/a/b/c/pk-read"] {
        assert_eq!(target.post(path, &body).status, 404, "{path}");
    }
    assert_eq!(target.get(TABLE_1).status, 405);
    assert_eq!(target.post("/0.1.0/ping", "").status, 405);
}

fn operation(url: &str, body: &Value) -> Value {
    json!({"method": "POST", "relative-url": url, "body": body})
}

fn results(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["result"].as_array().unwrap().clone()
}

#[test]
fn a_batch_answers_in_its_order() {
    let target = target();
    let operations = [
        operation("rdrs_bench/table_1/pk-read", &json!({"filters": filters(json!(1)), "operationId": "first"})),
        operation("rdrs_bench/table_1/pk-read", &json!({"filters": filters(json!(100_000)), "operationId": "lost"})),
        operation(
            "rdrs_bench/table_3/pk-read",
            &json!({"filters": filters(json!(2)), "readColumns": [{"column": "col5"}]}),
        ),
    ];
    let results = results(&target.post("/0.1.0/batch", json!({"operations": operations}).to_string()));
    let codes: Vec<u64> = results.iter().map(|result| result["code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [200, 404, 200]);
    assert_eq!(results[0]["body"], json!({"operationId": "first", "data": {"col0": "a".repeat(100)}}));
    assert_eq!(results[1]["body"]["operationId"], "lost");
    assert!(results[1]["body"]["data"].as_object().is_none_or(serde_json::Map::is_empty));
    assert_eq!(results[2]["body"]["data"], json!({"col5": "abcd"}));
}

#[test]
fn a_batch_above_the_limit_is_refused_where_there_is_one() {
    let operation = operation("rdrs_bench/table_1/pk-read", &json!({"filters": filters(json!(1))}));
    let batch = |size: usize| json!({"operations": vec![operation.clone(); size]}).to_string();
    let limited =
        Target::new(Options { limits: Limits { batch: Some(128), ..Limits::default() }, ..Options::default() });
    assert_eq!(results(&limited.post("/0.1.0/batch", batch(128))).len(), 128);
    assert_eq!(limited.post("/0.1.0/batch", batch(129)).status, 400);
    let other = Target::new(Options::default());
    assert_eq!(results(&other.post("/0.1.0/batch", batch(256))).len(), 256);
}

#[test]
fn rows_are_written_and_deleted_in_batches() {
    let target = Target::new(Options { durable: true, ..Options::default() });
    let id = |id: i32| filters(json!(id));
    let column = |text: &str| json!([{"column": "col0", "value": text}]);
    let write = |name: &str, key: i32, text: &str| {
        operation(&format!("rdrs_bench/table_1/{name}"), &json!({"filters": id(key), "writeColumns": column(text)}))
    };
    let codes = |path: &str, operations: Value| {
        let results = results(&target.post(path, json!({"operations": operations}).to_string()));
        results.iter().map(|result| result["code"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let read = |key: i32| target.post(TABLE_1, json!({"filters": id(key)}).to_string());
    let writes = json!([
        write("pk-write", 5, "written"),
        write("pk-write", 5000, "new"),
        write("pk-insert", 5000, "twice"),
        write("pk-insert", 5001, "inserted"),
        write("pk-update", 5002, "nobody"),
        write("pk-update", 6, "updated \"\n"),
    ]);
    assert_eq!(codes("/0.1.0/batchwrite", writes), [200, 200, 409, 200, 404, 200]);
    for (key, text) in [(5, "written"), (5000, "new"), (5001, "inserted"), (6, "updated \"\n")] {
        assert_eq!(read(key).json()["data"]["col0"], text);
    }
    assert_eq!(read(5002).status, 404);
    let delete = |key: i32| operation("rdrs_bench/table_1/pk-delete", &json!({"filters": id(key)}));
    assert_eq!(codes("/0.1.0/batchdelete", json!([delete(5000), delete(5000), delete(7777)])), [200, 404, 404]);
    assert_eq!(read(5000).status, 404);
    // An update keeps the columns that it does not name; NULL is a value.
    let null = json!({"filters": id(9), "writeColumns": [{"column": "col1", "value": null}]});
    assert_eq!(codes("/0.1.0/batchwrite", json!([operation("rdrs_bench/table_3/pk-update", &null)])), [200]);
    let read = target.post("/0.1.0/rdrs_bench/table_3/pk-read", json!({"filters": id(9)}).to_string()).json();
    assert_eq!((&read["data"]["col0"], &read["data"]["col1"]), (&json!("abcd"), &Value::Null));
    // An error in one operation refuses all of them.
    let long = write("pk-write", 8, &"x".repeat(101));
    let wrong = json!({"operations": [write("pk-write", 8, "kept out"), long]}).to_string();
    assert_eq!(target.post("/0.1.0/batchwrite", wrong).status, 400);
    assert_eq!(target.post(TABLE_1, json!({"filters": id(8)}).to_string()).json()["data"]["col0"], "a".repeat(100));
    let read_in_write = json!({"operations": [operation("rdrs_bench/table_1/pk-read", &json!({"filters": id(1)}))]});
    assert_eq!(target.post("/0.1.0/batchwrite", read_in_write.to_string()).status, 400);
}

#[test]
fn more_requests_than_the_limit_are_told_so() {
    let limits = Limits { rate: Some(1), ..Limits::default() };
    let target = Target::new(Options { limits, ..Options::default() });
    let body = json!({"filters": filters(json!(1))}).to_string();
    let answers: Vec<Answer> = (0..20).map(|_| target.post(TABLE_1, &body)).collect();
    let limited: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(answers[0].status == 200 && !limited.is_empty());
    assert!(limited[0].text().contains("rate limit"));
    // Pings are not counted by the rate limit.
    assert_eq!(target.get("/0.1.0/ping").status, 200);
    let wrapped =
        (0..20).map(|_| target.post(&TABLE_1.replace("0.1.0", "0.2.0"), &body)).find(|answer| answer.status == 429);
    assert_eq!(wrapped.unwrap().json()["error"]["code"], 429);
}

#[test]
fn a_key_is_asked_for() {
    let target = Target::new(Options { api_key: Some(api_key()), ..Options::default() });
    let body = json!({"filters": filters(json!(1))}).to_string();
    assert_eq!(target.post(TABLE_1, &body).status, 200);
    let wrong = api_key().replace('s', "t");
    for key in ["", "short.key", &wrong, &api_key()[1..]] {
        let answer = target.ask("POST", TABLE_1, &[("X-API-KEY", key)], body.as_bytes());
        assert_eq!(answer.status, 401, "{key}");
        assert!(!answer.text().contains("ssss"));
        let wrapped = target.ask("POST", &TABLE_1.replace("0.1.0", "0.2.0"), &[("X-API-KEY", key)], body.as_bytes());
        assert_eq!(wrapped.json()["error"]["code"], 401);
    }
    assert_eq!(target.ask("GET", "/0.1.0/ping", &[("X-API-KEY", "")], b"").status, 200);
}
