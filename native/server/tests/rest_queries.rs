//! The REST contract of `RonDB`: scans, and `RonSQL`. With `REST_URL` (and `REST_API_KEY`) the tests of features that every
//! build has run against another server, which holds `lineitem` in `tpch`.

mod common;

use boundary_bench_server::{Limits, Options};
use common::{Target, binary_key};
use serde_json::{Value, json};

fn target() -> Target {
    Target::of("REST_URL", Options { scale_factor: 0.001, ..Options::default() })
}

/// TPC-H's first query.
const Q1: &str = "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
    sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), \
    avg(l_extendedprice), avg(l_discount), count(*) from lineitem \
    where l_shipdate <= date '1998-12-01' - interval '90' day \
    group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus";

#[test]
fn sql_aggregates_what_a_scan_pulls() {
    let target = target();
    let ask = |format: &str| {
        let mut body = json!({"query": Q1, "database": "tpch", "outputFormat": format});
        if format.starts_with("JSON") {
            body["operationId"] = json!("q1");
        }
        let answer = target.post("/0.1.0/ronsql", body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    let answer = ask("JSON");
    assert!(answer.text().starts_with("{\"operationId\":\"q1\",\n\"data\":\n[{"), "{}", answer.text());
    let rows = answer.json()["data"].as_array().unwrap().clone();
    let groups: Vec<_> =
        rows.iter().map(|row| (row["l_returnflag"].as_str().unwrap(), row["l_linestatus"].as_str().unwrap())).collect();
    assert_eq!(groups, [("A", "F"), ("N", "F"), ("N", "O"), ("R", "F")]);
    let ascii = ask("JSON_ASCII");
    assert!(ascii.body.is_ascii());
    assert_eq!(ascii.json(), answer.json());
    let table = ask("TEXT").text();
    let bare = ask("TEXT_NOHEADER").text();
    assert_eq!(table.lines().count(), 5);
    assert_eq!(table.lines().skip(1).collect::<Vec<_>>(), bare.lines().collect::<Vec<_>>());
    assert_eq!(table.lines().next().unwrap().split('\t').take(2).collect::<Vec<_>>(), ["l_returnflag", "l_linestatus"]);
    if !target.is_own() {
        return;
    }
    let columns =
        ["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
    let columns: Vec<Value> = columns.iter().map(|name| json!({"column": name})).collect();
    let scan =
        target.post("/0.1.0/tpch/lineitem/scan", json!({"readColumns": columns, "operationId": "s"}).to_string());
    assert_eq!(scan.status, 200);
    let scanned = scan.json();
    assert_eq!(scanned["operationId"], "s");
    let pulled = scanned["data"].as_array().unwrap();
    assert_eq!(pulled.len(), 6000);
    for row in &rows {
        let of_group = pulled.iter().filter(|pulled| {
            pulled["l_returnflag"] == row["l_returnflag"]
                && pulled["l_linestatus"] == row["l_linestatus"]
                && pulled["l_shipdate"].as_str().unwrap() <= "1998-09-02"
        });
        let (mut count, mut charge) = (0, 0.0);
        for pulled in of_group {
            let number = |name: &str| pulled[name].as_f64().unwrap();
            count += 1;
            charge += number("l_extendedprice") * (1.0 - number("l_discount")) * (1.0 + number("l_tax"));
        }
        let values: Vec<f64> = row.as_object().unwrap().values().filter_map(Value::as_f64).collect();
        assert!(values.contains(&f64::from(count)), "{row}: {count}");
        assert!(values.iter().any(|value| ((value - charge) / charge).abs() < 1e-9), "{row}: {charge}");
    }
}

#[test]
fn tables_are_scanned_too() {
    let target = Target::new(Options::default());
    let scan = |table: &str, body: Value| target.post(&format!("/0.1.0/rdrs_bench/{table}/scan"), body.to_string());
    let all = scan("table_1", json!({})).json();
    let rows = all["data"].as_array().unwrap();
    assert_eq!(rows.len(), 1000);
    assert_eq!((&rows[0]["id0"], &rows[999]["id0"]), (&json!(0), &json!(999)));
    let few = scan("table_2", json!({"limit": 3, "readColumns": [{"column": "id0"}]})).json();
    // Keys sort by their bytes, of which the lowest come first.
    assert_eq!(few["data"][2], json!({"id0": binary_key(512)}));
    assert_eq!(scan("table_3", json!({})).json()["data"][0].as_object().unwrap().len(), 101);
    assert_eq!(scan("table_1", json!({"limit": 0})).json()["data"], json!([]));
    assert_eq!(scan("none", json!({})).status, 404);
    assert_eq!(scan("table_1", json!({"readColumns": [{"column": "none"}]})).status, 400);
    assert_eq!(scan("table_1", json!({"limit": "all"})).status, 400);
    assert_eq!(target.post("/0.1.0/tpch/lineitem/scan", "{}").status, 404);
    assert_eq!(target.post("/0.1.0/ronsql", json!({"query": "SELECT 1", "database": "tpch"}).to_string()).status, 501);
}

#[test]
fn sql_reaches_one_table_and_ends_in_time() {
    let limits = Limits { query_time: std::time::Duration::from_millis(300), ..Limits::default() };
    let target = Target::new(Options { scale_factor: 0.001, limits, ..Options::default() });
    let ask = |sql: &str| target.post("/0.1.0/ronsql", json!({"query": sql, "database": "tpch"}).to_string());
    for sql in [
        "DROP TABLE lineitem",
        "SELECT count(*) FROM read_csv('/etc/passwd')",
        "SELECT 1; DROP TABLE lineitem",
        "SET threads = 1",
        "COPY lineitem TO '/tmp/bb-never'",
    ] {
        let answer = ask(sql);
        assert_eq!(answer.status, 400, "{sql}: {}", answer.text());
    }
    let endless = ask("SELECT count(*) FROM range(100000000) a, range(100000000) b");
    assert_eq!(endless.status, 500, "{}", endless.text());
    assert!(endless.text().contains("temporary error"));
    assert_eq!(ask("SELECT count(*) FROM lineitem").json()["data"][0], json!({"count_star()": 6000}));
}

#[test]
fn a_plan_is_told_where_the_mode_lets_it() {
    let target = target();
    let ask = |explain: &str, mode: &str, format: &str| {
        let query = format!("{explain}{Q1}");
        let mut body = json!({"query": query, "database": "tpch", "outputFormat": format});
        if !mode.is_empty() {
            body["explainMode"] = json!(mode);
        }
        target.post("/0.1.0/ronsql", body.to_string())
    };
    // The prefix of the query, its mode, whether it is refused, and whether the plan is returned.
    for (explain, mode, is_refused, is_plan) in [
        ("", "", false, false),
        ("EXPLAIN ", "", false, true),
        ("explain\n", "ALLOW", false, true),
        ("", "FORBID", false, false),
        ("EXPLAIN ", "FORBID", true, false),
        ("", "REQUIRE", true, false),
        ("EXPLAIN ", "REQUIRE", false, true),
        ("EXPLAIN ", "REMOVE", false, false),
        ("", "REMOVE", false, false),
        ("", "FORCE", false, true),
    ] {
        let answer = ask(explain, mode, "TEXT");
        if !target.is_own() && is_refused {
            assert_ne!(answer.status, 200, "{explain}{mode}");
            continue;
        }
        assert_eq!(answer.status, if is_refused { 400 } else { 200 }, "{explain}{mode}: {}", answer.text());
        if is_refused {
            assert!(answer.text().contains(mode), "{}", answer.text());
        } else {
            let is_table = answer.text().starts_with("l_returnflag\tl_linestatus\t");
            assert_eq!(is_table, !is_plan, "{explain}{mode}: {}", answer.text());
            let content_type = answer.header("content-type").unwrap();
            assert_eq!(content_type.starts_with("text/plain"), is_plan, "{content_type}");
        }
    }
    assert_eq!(ask("", "", "TEXT_NOHEADER").header("content-type").unwrap().rsplit_once('=').unwrap().1, "absent");
    assert!(ask("", "", "JSON_ASCII").header("content-type").unwrap().to_ascii_lowercase().contains("ascii"));
    if target.is_own() {
        assert!(ask("EXPLAIN ", "", "JSON").json()["data"][0].is_object());
    }
}

#[test]
fn tables_are_scanned_by_their_key() {
    let target = Target::new(Options::default());
    let scan = |table: &str, body: &Value| {
        let answer = target.post(&format!("/0.1.0/rdrs_bench/{table}/scan"), body.to_string());
        (answer.status, answer)
    };
    let index = |ranges: Value, order: &str| json!({"name": "PRIMARY", "key_columns": ["id0"], "ranges": ranges, "order": order});
    let bound = |value: i32, inclusive: bool| json!({"values": [value], "inclusive": inclusive});
    let ids = |body: &Value| {
        let (status, answer) = scan("table_1", body);
        assert_eq!(status, 200, "{}", answer.text());
        let rows = answer.json()["data"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id0"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let column = json!([{"column": "id0"}]);
    let ask = |ranges: Value, order: &str, limit: u64| {
        ids(&json!({"limit": limit, "readColumns": column, "index": index(ranges, order)}))
    };
    let range = json!([{"lower": bound(5, true), "upper": bound(8, false)}]);
    assert_eq!(ask(range.clone(), "asc", 10), [5, 6, 7]);
    assert_eq!(ask(range.clone(), "desc", 2), [7, 6]);
    let open = json!([{"lower": bound(996, false), "upper": {"values": [], "inclusive": true}}]);
    assert_eq!(ask(open, "asc", 10), [997, 998, 999]);
    // Each row comes once, in one order, even if ranges overlap or are out of order.
    let several = json!([range[0], {"lower": bound(7, true), "upper": bound(9, true)}, {"lower": bound(1, true), "upper": bound(1, true)},
        {"lower": bound(9, true), "upper": bound(2, true)}]);
    assert_eq!(ask(several.clone(), "asc", 10), [1, 5, 6, 7, 8, 9]);
    assert_eq!(ask(several, "desc", 10), [9, 8, 7, 6, 5, 1]);
    assert_eq!(ask(json!([]), "desc", 2), [999, 998]);
    for (what, body) in [
        ("no such index", json!({"index": {"name": "other", "key_columns": ["id0"]}})),
        ("no name", json!({"index": {"key_columns": ["id0"]}})),
        ("no columns", json!({"index": {"name": "PRIMARY", "key_columns": []}})),
        ("another column", json!({"index": {"name": "PRIMARY", "key_columns": ["col0"]}})),
        ("another order", json!({"index": index(json!([]), "ascending")})),
        ("a bound of another type", json!({"index": index(json!([{"lower": {"values": ["x"]}}]), "asc")})),
        ("a bound of too many", json!({"index": index(json!([{"lower": {"values": [1, 2]}}]), "asc")})),
        ("filters", json!({"filters": {"op": "CMP", "column": "id0", "cond": "EQ", "value": 1}})),
    ] {
        assert_eq!(scan("table_1", &body).0, 400, "{what}");
    }
}
