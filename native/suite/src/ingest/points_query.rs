//! The queries of the soak beside its writes: to create a database, and to count points. It is
//! `src/families/ingest/points-query.ts` in Rust.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_engine::sql_text::identifier;
use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, percent};
use serde::Deserialize;
use serde_json::Value;

use super::soak_client::{SoakResponse, ingest_error, key_header};
use super::{Family, family};

/// The time-out of counting few points. `HyperbyteDB` counts only flushed points, and flushes every ten seconds.
const COUNT_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two counts.
const COUNT_AGAIN: Duration = Duration::from_millis(50);

/// The least counting speed that is expected of a server, in points per second.
const COUNTED_PER_SECOND: f64 = 1e6;

/// The most points that one query reads back.
const READ_AT_ONCE: u64 = 500_000;

/// The time-out of a query that counts nothing.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client of the server's `/query`.
pub(super) struct PointsQuery {
    address: Address,
}

impl PointsQuery {
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self { address: url.trim_end_matches('/').parse()? })
    }

    pub async fn create_database(&self, database: &str) -> Result<()> {
        let query = format!("CREATE DATABASE {}", identifier(database));
        ask(&mut self.client(TIMEOUT)?, &query, "").await.map(drop)
    }

    /// The number of points of a measurement: polls until it is at least `wanted`, and returns the last count at the time-out.
    pub async fn count(&self, database: &str, measurement: &str, wanted: u64) -> Result<u64> {
        let query = format!("SELECT count({}) FROM {}", identifier(&family()?.field), identifier(measurement));
        let within = count_within(wanted);
        let (mut client, until) = (self.client(within)?, Instant::now() + within);
        loop {
            let counted = count_of(&ask(&mut client, &query, database).await?)?;
            if counted >= wanted || Instant::now() > until {
                return Ok(counted);
            }
            tokio::time::sleep(COUNT_AGAIN).await;
        }
    }

    /// Checks that a measurement with this many points holds the points with these numbers, each with its value at its time.
    pub async fn check(&self, database: &str, measurement: &str, points: u64, cancel: &CancelToken) -> Result<()> {
        let Family { timestamp_start, field, .. } = family()?;
        let mut client = self.client(count_within(points))?;
        let mut first = 0;
        while first < points {
            cancel.check()?;
            let end = points.min(first + READ_AT_ONCE);
            let [from, until] = [first, end].map(|point| timestamp_start.saturating_add_unsigned(point));
            let query = format!(
                "SELECT {} FROM {} WHERE time >= {from}ms AND time < {until}ms ORDER BY time",
                identifier(field),
                identifier(measurement)
            );
            check_points(&ask(&mut client, &query, database).await?, first..end)?;
            first = end;
        }
        Ok(())
    }

    fn client(&self, timeout: Duration) -> Result<HttpClient> {
        let options =
            HttpOptions { headers: key_header(&self.address), timeout: Some(timeout), ..self.address.options() };
        Ok(HttpClient::new(Arc::new(Origin::new(self.address.url.clone(), options)?)))
    }
}

async fn ask(client: &mut HttpClient, query: &str, database: &str) -> Result<Vec<Series>> {
    let path = format!("/query?epoch=ms&db={}&q={}", percent::encoded(database), percent::encoded(query));
    let request = Request::post(&path, b"");
    let answer = client.call(&request, |response| Ok(SoakResponse::of(&response))).await?;
    series_of(&answer).map_err(|why| ingest_error(format!("the server answers {query} with {why}")))
}

/// The time-out of flushing and counting `points` points.
fn count_within(points: u64) -> Duration {
    COUNT_WITHIN + Duration::from_secs_f64(points as f64 / COUNTED_PER_SECOND)
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    series: Vec<Series>,
    error: Option<String>,
}

/// A series of a query's answer.
#[derive(Debug, Deserialize)]
struct Series {
    columns: Vec<String>,
    #[serde(default)]
    values: Vec<Vec<Value>>,
}

/// The series of an answer, or the server's error text.
fn series_of(answer: &SoakResponse) -> std::result::Result<Vec<Series>, String> {
    if answer.status != 200 {
        return Err(answer.kind());
    }
    let parsed: std::result::Result<Results, _> = serde_json::from_str(&answer.text);
    let results = parsed.map_err(|error| format!("what is no answer to a query: {error}"))?.results;
    let Outcome { series, error } = results.into_iter().next().ok_or("no result")?;
    error.map_or(Ok(series), Err)
}

/// The count of the points' field, found by the name of its column, or 0 if nothing has been stored yet.
fn count_of(series: &[Series]) -> Result<u64> {
    let Some((series, row)) = series.first().and_then(|series| Some((series, series.values.first()?))) else {
        return Ok(0);
    };
    let unusable = |what: &str| ingest_error(format!("the server answers a count with {what}"));
    // InfluxDB names the column without the field.
    let names = [format!("count_{}", family()?.field), "count".to_owned()];
    let column = names.iter().find_map(|name| series.columns.iter().position(|column| column == name));
    let column = column.ok_or_else(|| unusable(&format!("the columns {}", series.columns.join(", "))))?;
    let count = row.get(column).and_then(Value::as_u64);
    count.ok_or_else(|| unusable("what is no number"))
}

/// Checks the answer to a query for the points with these numbers, in their order.
fn check_points(series: &[Series], points: std::ops::Range<u64>) -> Result<()> {
    let Family { timestamp_start, value_divisor, field, .. } = family()?;
    let (columns, rows) = match series {
        [] => (&[][..], &[][..]),
        [series, ..] => (series.columns.as_slice(), series.values.as_slice()),
    };
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap_or(usize::MAX);
    let (time_place, value_place) = (place("time"), place(field));
    let asked = points.end - points.start;
    if rows.len() as u64 != asked {
        return Err(Error::WrongRows(format!("{} points came instead of {asked}", rows.len())));
    }
    for (point, row) in points.zip(rows) {
        let expected = (timestamp_start.saturating_add_unsigned(point), point as f64 / f64::from(*value_divisor));
        let found = (row.get(time_place).and_then(Value::as_i64), row.get(value_place).and_then(Value::as_f64));
        if found != (Some(expected.0), Some(expected.1)) {
            let (time, value) = expected;
            return Err(Error::WrongRows(format!(
                "the point {point} came as {found:?}, and should have the value {value} at {time} ms"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Recorded answers of `HyperbyteDB`.
    #[derive(Deserialize)]
    struct Recorded {
        counts: Vec<Counting>,
        refusals: Vec<Refusal>,
    }

    #[derive(Deserialize)]
    struct Counting {
        what: String,
        answer: Value,
        count: u64,
    }

    #[derive(Deserialize)]
    struct Refusal {
        what: String,
        status: u16,
        text: String,
        said: String,
    }

    fn answer(status: u16, text: &str) -> SoakResponse {
        SoakResponse { status, text: text.to_owned() }
    }

    #[test]
    fn the_recorded_answers_of_hyperbytedb_are_understood() {
        let recorded = include_str!("../../../../__test__/fixtures/hyperbytedb-answers.json");
        let Recorded { counts, refusals } = serde_json::from_str(recorded).unwrap();
        assert!(counts.len() > 3 && refusals.len() > 3);
        for Counting { what, answer: recorded, count } in counts {
            let series = series_of(&answer(200, &recorded.to_string())).unwrap();
            assert_eq!(count_of(&series).unwrap(), count, "{what}");
        }
        for Refusal { what, status, text, said } in refusals {
            let problem = series_of(&answer(status, &text)).unwrap_err();
            assert!(problem.contains(&said), "{what}: {problem}");
        }
    }

    #[test]
    fn a_count_is_found_by_its_name() {
        let count = |text: &str| {
            let text = format!(r#"{{"results":[{{"statement_id":0,"series":[{text}]}}]}}"#);
            count_of(&series_of(&answer(200, &text)).unwrap())
        };
        let series = |columns: &str, values: &str| format!(r#"{{"name":"m","columns":{columns},"values":{values}}}"#);
        assert_eq!(count(&series(r#"["time","count"]"#, "[[0,7]]")).unwrap(), 7);
        assert_eq!(count(&series(r#"["count_w","count_v"]"#, "[[1,8]]")).unwrap(), 8);
        for (columns, values) in
            [(r#"["time","n"]"#, "[[0,7]]"), (r#"["count_v"]"#, "[[\"7\"]]"), (r#"["a","count_v"]"#, "[[1]]")]
        {
            assert!(count(&series(columns, values)).is_err(), "{columns} {values}");
        }
        for text in ["no", "{}", r#"{"results":[]}"#] {
            assert!(series_of(&answer(200, text)).is_err(), "{text}");
        }
    }

    #[test]
    fn points_that_are_not_those_asked_for_are_noticed() {
        type Spoil = fn(&mut Vec<Value>);
        let start = family().unwrap().timestamp_start;
        let right: Vec<Value> = (5..9).map(|point| json!([start + point, point as f64 / 1000.0])).collect();
        let check = |spoil: Spoil| {
            let mut values = right.clone();
            spoil(&mut values);
            let text = json!({ "results": [{ "series": [{ "columns": ["time", "v"], "values": values }] }] });
            check_points(&series_of(&answer(200, &text.to_string())).unwrap(), 5..9)
        };
        check(|_| {}).unwrap();
        let mistakes: [(&str, Spoil); 6] = [
            ("two values are exchanged", |rows| (rows[0][1], rows[1][1]) = (rows[1][1].clone(), rows[0][1].clone())),
            ("two points are exchanged", |rows| rows.swap(1, 2)),
            ("one came twice, instead of two", |rows| (rows[1], rows[3]) = (rows[2].clone(), rows[2].clone())),
            ("one is missing", |rows| drop(rows.pop())),
            ("a value is cut", |rows| rows[2][1] = json!(0.0)),
            ("a value is none", |rows| rows[2][1] = Value::Null),
        ];
        for (what, spoil) in mistakes {
            assert_eq!(check(spoil).unwrap_err().code(), "BB_CHECKSUM_MISMATCH", "{what}");
        }
        assert_eq!(check_points(&[], 0..1).unwrap_err().code(), "BB_CHECKSUM_MISMATCH");
    }

    #[test]
    fn long_counts_have_time() {
        assert_eq!(count_within(0), COUNT_WITHIN);
        assert!(count_within(100_000_000) >= Duration::from_secs(100));
    }
}
