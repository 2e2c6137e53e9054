//! The reference server responds as `HyperbyteDB` does: the fixture holds the recorded responses of `HyperbyteDB`. With
//! `INGEST_URL` the fixture is checked against another server, in a new database; `INGEST_FLUSH_SECONDS` is how long that takes
//! to make points readable.

mod common;

use base64::Engine;
use boundary_bench_server::Options;
use common::{Answer, Target};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    version: Version,
    exchanges: Vec<Exchange>,
    too_large: TooLarge,
}

#[derive(Deserialize)]
struct Version {
    header: String,
    value: String,
    absent: String,
}

#[derive(Deserialize)]
struct TooLarge {
    bytes: usize,
    status: u16,
    text: String,
}

#[derive(Deserialize)]
struct Exchange {
    what: String,
    method: String,
    path: String,
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    body: String,
    base64: Option<String>,
    status: u16,
    /// The whole body, as text.
    text: Option<String>,
    json: Option<Value>,
    /// A part of the response's object.
    has: Option<Map<String, Value>>,
    /// A part of the error's text.
    error: Option<String>,
    /// Some columns of each row of the only series.
    rows: Option<Vec<Map<String, Value>>>,
}

fn recorded() -> Recorded {
    serde_json::from_str(include_str!("../../../__test__/fixtures/hyperbytedb-answers.json")).unwrap()
}

fn ask(target: &Target, exchange: &Exchange) -> Answer {
    let body = match &exchange.base64 {
        Some(text) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        None => exchange.body.clone().into_bytes(),
    };
    let headers = [("Content-Type", exchange.r#type.as_str()), ("Content-Encoding", exchange.encoding.as_str())];
    let headers: Vec<_> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    target.ask(&exchange.method, &exchange.path, &headers, &body)
}

fn check(exchange: &Exchange, answer: &Answer) {
    let what = &exchange.what;
    assert_eq!(answer.status, exchange.status, "{what}: {}", answer.text());
    if let Some(text) = &exchange.text {
        assert_eq!(&answer.text(), text, "{what}");
    }
    if let Some(json) = &exchange.json {
        assert_eq!(&answer.json(), json, "{what}");
    }
    if let Some(has) = &exchange.has {
        let found = answer.json();
        assert!(has.iter().all(|(name, value)| &found[name] == value), "{what}: {found}");
    }
    if let Some(error) = &exchange.error {
        let found = answer.json();
        let names: Vec<_> = found.as_object().unwrap().keys().collect();
        assert_eq!(names, ["error"], "{what}");
        let found = found["error"].as_str().unwrap();
        assert!(found.contains(error.as_str()) && !found.is_empty(), "{what}: {found}");
    }
    if let Some(rows) = &exchange.rows {
        let found = answer.json();
        let series = &found["results"][0]["series"][0];
        let columns: Vec<&str> =
            series["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let values = series["values"].as_array().unwrap();
        assert_eq!(values.len(), rows.len(), "{what}: {found}");
        for (row, values) in rows.iter().zip(values) {
            for (name, expected) in row {
                let place = columns.iter().position(|column| column == name);
                let value = &values[place.unwrap_or_else(|| panic!("{what}: there is no {name} in {columns:?}"))];
                let is_equal =
                    value == expected || value.as_f64().is_some_and(|value| Some(value) == expected.as_f64());
                assert!(is_equal, "{what}: {name} is {value}, not {expected}");
            }
        }
    }
}

#[test]
fn the_answers_are_those_of_hyperbytedb() {
    let target = Target::of("INGEST_URL", Options::default());
    let Recorded { version, exchanges, .. } = recorded();
    let (name, _) = version.value.split_once('-').unwrap();
    assert!(!name.is_empty());
    let mut has_written = false;
    for exchange in &exchanges {
        let is_write = exchange.path.starts_with("/write");
        if has_written && !is_write {
            common::await_flush();
        }
        has_written = is_write;
        let answer = ask(&target, exchange);
        check(exchange, &answer);
        let told = answer.header(&version.header).unwrap_or_else(|| panic!("{}: no version", exchange.what));
        assert!(
            told.rsplit_once('-').is_some_and(|(_, number)| number.starts_with(|digit: char| digit.is_ascii_digit()))
        );
        assert_eq!(answer.header(&version.absent), None, "{}", exchange.what);
        if target.is_own() {
            // The server does not pose as `HyperbyteDB`.
            assert_eq!(told, format!("boundary-bench-{}", env!("CARGO_PKG_VERSION")));
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_in_plain_text() {
    let target = Target::of("INGEST_URL", Options::default());
    let TooLarge { bytes, status, text } = recorded().too_large;
    let created = target.ask("POST", "/query?q=CREATE%20DATABASE%20bb_recorded", &[], b"");
    assert_eq!(created.status, 200);
    let answer = target.ask("POST", "/write?db=bb_recorded", &[], &vec![b'#'; bytes]);
    assert_eq!((answer.status, answer.text()), (status, text));
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
}
