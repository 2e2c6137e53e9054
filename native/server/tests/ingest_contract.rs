//! The ingest contract of `HyperbyteDB`, request by request and error by error. With `INGEST_URL` the tests run against another
//! server, in a new database; where that server makes points readable only by a flush, `INGEST_FLUSH_SECONDS` is how long to
//! wait.

mod common;

use std::io::Write;

use boundary_bench_ingest::msgpack::ColumnsWriter;
use boundary_bench_server::{Limits, Options};
use common::{Target, api_key, await_flush};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

const LINES: &str = "text/plain";
const ROWS: &str = "application/msgpack";
const COLUMNS: &str = "application/vnd.hyperbytedb.columnar-msgpack.v1";

/// A server, with a database of this name.
fn target(database: &str) -> Target {
    let target = Target::of("INGEST_URL", Options::default());
    let created = query(&target, &format!("CREATE DATABASE \"{database}\""), "");
    assert_eq!(created["results"][0]["statement_id"], 0);
    assert!(created["results"][0].get("error").is_none(), "{created}");
    target
}

fn query(target: &Target, text: &str, parameters: &str) -> serde_json::Value {
    let text = text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    let form = format!("q={text}{parameters}");
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = target.ask("POST", "/query", &headers, form.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn columns(points: usize) -> Vec<u8> {
    let values: Vec<f64> = (0..points).map(|index| index as f64).collect();
    let times: Vec<i64> = (0..points).map(|index| 1_700_000_000_000 + i64::try_from(index).unwrap()).collect();
    let mut body = Vec::new();
    let writer = ColumnsWriter::new("bench", &[("host", "bench")], "v").unwrap();
    writer.encode_vec(&values, Some(&times), &mut body).unwrap();
    body
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `[{measurement: "bench", tags: {host: "rows"}, fields: {v: {"Float": 1.5}}, timestamp: 5}]`.
fn rows() -> Vec<u8> {
    let mut body = vec![0x91, 0x84];
    let text = |text: &str| {
        let mut bytes = vec![0xa0 | u8::try_from(text.len()).unwrap()];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    for part in [text("measurement"), text("bench"), text("tags"), vec![0x81], text("host"), text("rows")] {
        body.extend(part);
    }
    for part in [text("fields"), vec![0x81], text("v"), vec![0x81], text("Float"), vec![0xcb]] {
        body.extend(part);
    }
    body.extend(1.5_f64.to_be_bytes());
    body.extend([text("timestamp"), vec![0x05]].concat());
    body
}

#[test]
fn ping_and_health_answer() {
    let target = Target::of("INGEST_URL", Options::default());
    for method in ["GET", "HEAD"] {
        let ping = target.ask(method, "/ping", &[], b"");
        assert_eq!((ping.status, ping.body.len()), (204, 0));
    }
    let health = target.get("/health");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["status"], "pass");
}

#[test]
fn every_format_is_written_and_counted() {
    let database = "bb_formats";
    let target = target(database);
    let lines: Vec<_> =
        (0..10).map(|index| format!("bench,host=lines v={index}.5 {}\n", 1_700_000_000_000_i64 + index)).collect();
    let lines = lines.concat();
    for (content_type, encoding, body) in [
        (LINES, "", lines.clone().into_bytes()),
        ("text/plain; charset=utf-8", "gzip", gzip(lines.replace("lines", "zipped").as_bytes())),
        (ROWS, "", rows()),
        // The rows have another tag, so that no point replaces another.
        ("Application/MsgPack; v=1", "", rows_of_another_host()),
        (COLUMNS, "", columns(1000)),
        (COLUMNS, "gzip", gzip(&columns(1000))),
    ] {
        let mut headers = vec![("Content-Type", content_type)];
        if !encoding.is_empty() {
            headers.push(("Content-Encoding", encoding));
        }
        let answer = target.ask("POST", &format!("/write?db={database}&precision=ms"), &headers, &body);
        assert_eq!((answer.status, answer.text().as_str()), (204, ""), "{content_type} {encoding}");
    }
    await_flush();
    let counted = query(&target, "SELECT count(v) FROM bench", &format!("&db={database}"));
    let series = &counted["results"][0]["series"][0];
    assert_eq!((&series["name"], &series["columns"]), (&json!("bench"), &json!(["count_v"])));
    // A server may merge equal points of two writes.
    let count = series["values"][0][0].as_u64().unwrap();
    assert!(count == 2022 || (count == 1022 && !target.is_own()), "{count}");
    let selected = query(&target, "SELECT v FROM bench ORDER BY time LIMIT 1", &format!("&db={database}&epoch=ms"));
    assert_eq!(selected["results"][0]["series"][0]["values"][0][1], 1.5, "{selected}");
}

fn rows_of_another_host() -> Vec<u8> {
    let mut body = rows();
    let at = body.windows(4).position(|window| window == b"rows").unwrap();
    body[at..at + 4].copy_from_slice(b"ROWS");
    body
}

#[test]
fn what_is_wrong_is_refused_with_its_code() {
    let database = "bb_errors";
    let target = target(database);
    let own = format!("/write?db={database}");
    let seed = target.ask("POST", &own, &[("Content-Type", LINES)], b"typed v=1.5,s=\"text\" 1");
    assert_eq!(seed.status, 204);
    let wrong_columns = {
        let mut body = columns(3);
        body.truncate(body.len() - 4);
        body
    };
    for (what, path, content_type, body, status, said) in [
        ("no database", "/write".to_owned(), LINES, b"m v=1".to_vec(), 400, "database is required"),
        ("an empty database", "/write?db=".to_owned(), LINES, b"m v=1".to_vec(), 400, "database is required"),
        (
            "another database",
            "/write?db=bb_none".to_owned(),
            LINES,
            b"m v=1".to_vec(),
            404,
            "database not found: \"bb_none\"",
        ),
        ("no line protocol", own.clone(), LINES, b"m v=1\nm nothing".to_vec(), 400, ""),
        ("no rows", own.clone(), ROWS, b"\xc1".to_vec(), 400, ""),
        ("columns cut short", own.clone(), COLUMNS, wrong_columns, 400, ""),
        ("a type conflict", own.clone(), COLUMNS, typed_columns(), 400, "field type conflict"),
        ("too many points", own.clone(), COLUMNS, columns(500_001), 413, ""),
    ] {
        let answer = target.ask("POST", &path, &[("Content-Type", content_type)], &body);
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(said) && !error.is_empty(), "{what}: {error}");
    }
    let broken = target.ask("POST", &own, &[("Content-Encoding", "gzip")], b"no gzip");
    assert_eq!(broken.status, 400);
    let bomb = gzip(&vec![b'#'; 26_214_401]);
    let bomb = target.ask("POST", &own, &[("Content-Encoding", "gzip")], &bomb);
    assert_eq!(bomb.status, 413, "{}", bomb.text());
    // No point of a refused write is kept.
    await_flush();
    let counted = query(&target, "SELECT count(v) FROM typed", &format!("&db={database}"));
    assert_eq!(counted["results"][0]["series"][0]["values"][0][0], 1, "{counted}");
}

/// Columns for a field that holds text.
fn typed_columns() -> Vec<u8> {
    let mut body = Vec::new();
    ColumnsWriter::new("typed", &[], "s").unwrap().encode_vec(&[1.5], None, &mut body).unwrap();
    body
}

#[test]
fn several_statements_are_answered_in_their_order() {
    let target = target("bb_statements");
    let several = query(&target, "SHOW DATABASES; SHOW MEASUREMENTS", "");
    assert_eq!(several["results"].as_array().unwrap().len(), 2);
    let names = several["results"][0]["series"][0]["values"].to_string();
    assert!(names.contains("bb_statements"), "{names}");
    assert_eq!(several["results"][1], json!({"statement_id": 1, "series": [], "error": "database is required"}));
}

#[test]
fn names_of_databases_have_any_characters() {
    let target = Target::new(Options::default());
    let name = "a \"b\" & c=d; \u{fc}\\";
    query(&target, &format!("CREATE DATABASE \"{}\"", name.replace('"', "\"\"")), "");
    let databases = query(&target, "SHOW DATABASES", "");
    assert_eq!(databases["results"][0]["series"][0]["values"], json!([[name]]));
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    assert_eq!(target.ask("POST", &format!("/write?db={encoded}"), &[], b"m v=1 1").status, 204);
    let counted = query(&target, "SELECT count(*) FROM m", &format!("&db={encoded}"));
    assert_eq!(counted["results"][0]["series"][0]["values"], json!([[1]]));
}

#[test]
fn the_key_guards_all_that_has_data() {
    let target = Target::new(Options { api_key: Some(api_key()), ..Options::default() });
    let key = api_key();
    let create = "/query?q=CREATE%20DATABASE%20db";
    let guarded = [
        ("POST", create, 200),
        ("GET", create, 200),
        ("POST", "/write?db=db", 204),
        ("GET", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/nothing", 404),
    ];
    let ask = |method, path, name, value: &str| target.ask(method, path, &[(name, value)], b"m v=1");
    for (method, path, status) in guarded {
        assert_eq!(ask(method, path, "X-API-KEY", &key).status, status, "{method} {path}");
        for wrong in ["", "short", &key.replace('s', "t")] {
            let refused = ask(method, path, "X-API-KEY", wrong);
            assert_eq!((refused.status, refused.text().as_str()), (401, "authorization failed: bad API key"));
            assert!(refused.header("content-type").unwrap().starts_with("text/plain"));
        }
    }
    let mut bare = target;
    bare.api_key = None;
    for (method, path, status) in guarded {
        for scheme in ["Token", "Bearer"] {
            let answer = bare.ask(method, path, &[("Authorization", &format!("{scheme} {key}"))], b"m v=1");
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        }
        let refused = bare.ask(method, path, &[], b"m v=1");
        assert_eq!(refused.status, 401, "{method} {path}");
        assert_eq!(refused.text(), "authorization failed: the header X-API-KEY is missing");
    }
    for (method, path, status) in
        [("GET", "/ping", 204), ("HEAD", "/ping", 204), ("GET", "/health", 200), ("GET", "/0.1.0/ping", 200)]
    {
        assert_eq!(bare.ask(method, path, &[], b"").status, status, "{path}");
    }
    // No point of the refused writes is kept.
    let counted = bare.ask("GET", "/query?db=db&q=SELECT%20count(v)%20FROM%20m", &[("X-API-KEY", &key)], b"");
    assert_eq!(counted.json()["results"][0]["series"][0]["values"], json!([[3]]));
}

#[test]
fn limits_of_our_own_hold() {
    let limits = Limits { points: 10, ingest_body: 1000, ..Limits::default() };
    let target = Target::new(Options { limits, ..Options::default() });
    query(&target, "CREATE DATABASE small", "");
    let write = |body: &[u8], headers: &[(&str, &str)]| target.ask("POST", "/write?db=small", headers, body).status;
    let lines = |count: usize| (0..count).map(|index| format!("m v={index} {index}\n")).collect::<Vec<_>>().concat();
    assert_eq!(write(lines(10).as_bytes(), &[]), 204);
    assert_eq!(write(lines(11).as_bytes(), &[]), 413);
    assert_eq!(write(&[b'#'; 1001], &[]), 413);
    assert_eq!(write(&gzip(&[b'#'; 1001]), &[("Content-Encoding", "gzip")]), 413);
    assert_eq!(target.get("/write?db=small").status, 405);
    let metrics = target.get("/metrics").text();
    assert!(metrics.contains("boundary_bench_points_total 10"), "{metrics}");
}

#[test]
fn what_can_t_be_stored_is_refused_with_its_reason() {
    let database = "bb_unstorable";
    let target = Target::new(Options::default());
    query(&target, &format!("CREATE DATABASE {database}"), "");
    let write = |content_type: &str, body: &[u8]| {
        target.ask("POST", &format!("/write?db={database}"), &[("Content-Type", content_type)], body)
    };
    let mut columns = Vec::new();
    let writer = ColumnsWriter::new("m", &[("h\0", "a")], "v").unwrap();
    writer.encode_vec(&[1.0], Some(&[1]), &mut columns).unwrap();
    let rows = rows().iter().map(|byte| if *byte == b'v' { 0 } else { *byte }).collect::<Vec<_>>();
    let many = (0..100_000).map(|index| format!("wide f{index}=1 1\n")).collect::<Vec<_>>().concat();
    let measurements = (0..20_000).map(|index| format!("m{index} v=1 1\n")).collect::<Vec<_>>().concat();
    for (content_type, body, status, said) in [
        (LINES, &b"m,h\0=a v=1 1"[..], 400, "the tag \"h\\0\": a name must have no NUL character"),
        (LINES, b"m time=1 1", 400, "the field \"time\" of \"m\""),
        (LINES, b"m v=1 9223372036854775807", 400, "timestamps[0]"),
        (COLUMNS, &columns, 400, "the tag \"h\\0\""),
        (ROWS, &rows, 400, "the field \"\\0\""),
        (LINES, many.as_bytes(), 422, "the measurement \"wide\" would have more than 1024 tags and fields"),
        (LINES, measurements.as_bytes(), 422, "more than 10000 measurements"),
    ] {
        let answer = write(content_type, body);
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == status && error.contains(said), "{said}: {} {error}", answer.status);
    }
    assert_eq!(write(LINES, b"m,h=a v=1 1").status, 204);
    let selected = query(&target, "SELECT * FROM m", &format!("&db={database}&epoch=ns"));
    assert_eq!(selected["results"][0]["series"][0]["values"], json!([[1, "a", 1]]), "{selected}");
    assert_eq!(target.get("/health").status, 200);
}
