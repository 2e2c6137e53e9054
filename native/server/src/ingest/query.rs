//! Runs the statements of `/query` and writes the response.

use std::io::Write;

use boundary_bench_ingest::store::{QueryRows, Select, Value};
use boundary_bench_ingest::{IngestStore, Precision};
use hyper::StatusCode;

use super::IngestError;
use super::statement::{Statement, parse};
use crate::tables::escaped;

/// One series of a response.
struct Series {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// The result of a statement.
enum Outcome {
    Series(Vec<Series>),
    /// The error in the place of one statement's result; every other error is the response to the whole request.
    DatabaseRequired,
}

/// How times are written: as numbers of a unit, or as RFC 3339 text (`None`).
type Epoch = Option<Precision>;

/// The response body for the statements in `text`. An absent database or epoch is the empty string.
///
/// # Errors
/// The contract's error for a statement that can't be parsed, and for each error of the store.
pub(super) fn answer(store: &IngestStore, text: &str, database: &str, epoch: &str) -> Result<Vec<u8>, IngestError> {
    let unreadable =
        |problem: String| IngestError::new(StatusCode::BAD_REQUEST, format!("error parsing query: {problem}"));
    let statements = parse(text).map_err(unreadable)?;
    let epoch = epoch_of(epoch);
    let mut out = br#"{"results":["#.to_vec();
    for (id, statement) in statements.into_iter().enumerate() {
        let outcome = run(store, statement, database)?;
        let _ = write!(out, "{}{{\"statement_id\":{id},\"series\":[", if id == 0 { "" } else { "," });
        match outcome {
            Outcome::Series(series) => {
                write_series(&series, epoch, &mut out);
                out.extend_from_slice(b"]}");
            }
            Outcome::DatabaseRequired => out.extend_from_slice(br#"],"error":"database is required"}"#),
        }
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

/// The unit of an `epoch` parameter; any other name means text.
fn epoch_of(name: &str) -> Epoch {
    match name {
        "n" => Some(Precision::Nanoseconds),
        "ns" | "u" | "us" | "ms" | "s" => Some(Precision::of(name)),
        _ => None,
    }
}

fn run(store: &IngestStore, statement: Statement, database: &str) -> Result<Outcome, IngestError> {
    let names = |name: &str, names: Vec<String>| Series {
        name: name.to_owned(),
        columns: vec!["name".to_owned()],
        rows: names.into_iter().map(|name| vec![Value::Text(name)]).collect(),
    };
    let series = match statement {
        Statement::CreateDatabase(name) => {
            store.create_database(&name)?;
            Vec::new()
        }
        Statement::ShowDatabases => vec![names("databases", store.databases())],
        _ if database.is_empty() => return Ok(Outcome::DatabaseRequired),
        Statement::ShowMeasurements => vec![names("measurements", store.database(database)?.measurements())],
        Statement::Count { measurement, field } => counted(store, database, measurement, field.as_deref())?,
        Statement::Select(select) => selected(store, database, select)?,
    };
    Ok(Outcome::Series(series))
}

/// The count of a field's values, or of all points. The column's name holds the field's, and there is no column of times.
fn counted(
    store: &IngestStore,
    database: &str,
    measurement: String,
    field: Option<&str>,
) -> Result<Vec<Series>, IngestError> {
    let fields = store.database(database)?.fields(&measurement);
    // An unknown measurement gives no series, as one without points does.
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    let (column, count) = match field {
        None => ("count".to_owned(), store.count(database, &measurement, None)?),
        Some(field) => {
            let known = known(fields.iter().map(|(name, _)| name.as_str()), field, &measurement)?;
            (format!("count_{field}"), store.count(database, &measurement, Some(known))?)
        }
    };
    let count = Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(vec![Series { name: measurement, columns: vec![column], rows: vec![vec![count]] }])
}

fn selected(store: &IngestStore, database: &str, mut select: Select) -> Result<Vec<Series>, IngestError> {
    let registered = store.database(database)?;
    let fields = registered.fields(&select.measurement);
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    if !select.columns.is_empty() {
        let tags = registered.tags(&select.measurement);
        for column in &mut select.columns {
            let names = fields.iter().map(|(name, _)| name).chain(&tags).map(String::as_str);
            *column = known(names, column, &select.measurement)?.to_owned();
        }
    }
    let QueryRows { columns, rows } = store.select(database, &select)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns.iter().map(|column| name_read_back(column)).collect();
    Ok(vec![Series { name: select.measurement, columns, rows }])
}

/// The stored name of a field or tag, which may be asked for as it was written or as `HyperbyteDB` reads it back.
fn known<'names>(
    mut names: impl Iterator<Item = &'names str> + Clone,
    asked: &str,
    measurement: &str,
) -> Result<&'names str, IngestError> {
    let found = names.clone().find(|name| *name == asked);
    found.or_else(|| names.find(|name| name_read_back(name) == asked)).ok_or_else(|| {
        let problem = format!("there is no field {asked:?} in the measurement {measurement:?}");
        IngestError::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
    })
}

/// A name as `HyperbyteDB` reads it back: its columns' names consist of letters, digits and underscores, and begin with no
/// digit.
fn name_read_back(name: &str) -> String {
    let digit = name.starts_with(|first: char| first.is_ascii_digit()).then_some('_');
    let plain = name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' });
    digit.into_iter().chain(plain).collect()
}

fn write_series(series: &[Series], epoch: Epoch, out: &mut Vec<u8>) {
    for (index, Series { name, columns, rows }) in series.iter().enumerate() {
        out.extend_from_slice(if index == 0 { br#"{"name":"# } else { br#",{"name":"# });
        escaped(name, out);
        out.extend_from_slice(br#","columns":["#);
        separated(columns, out, |column, out| escaped(column, out));
        out.extend_from_slice(br#"],"values":["#);
        let has_time = columns.first().is_some_and(|column| column == "time");
        separated(rows, out, |row, out| {
            out.push(b'[');
            let mut is_time = has_time;
            separated(row, out, |value, out| write_value(value, std::mem::take(&mut is_time), epoch, out));
            out.push(b']');
        });
        out.extend_from_slice(b"]}");
    }
}

fn separated<T>(items: &[T], out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
}

fn write_value(value: &Value, is_time: bool, epoch: Epoch, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = match value {
        Value::Integer(time) if is_time => {
            if let Some(unit) = epoch {
                write!(out, "{}", time.div_euclid(unit.nanoseconds()))
            } else {
                write_time(*time, out);
                Ok(())
            }
        }
        Value::Integer(number) => write!(out, "{number}"),
        Value::UInteger(number) => write!(out, "{number}"),
        Value::Float(number) if number.is_finite() => write!(out, "{number}"),
        Value::Float(_) | Value::Null => write!(out, "null"),
        Value::Boolean(value) => write!(out, "{value}"),
        Value::Text(text) => {
            escaped(text, out);
            Ok(())
        }
    };
}

/// Writes a time in quotes as RFC 3339 text, without the zeros at the end of the fraction.
fn write_time(nanoseconds: i64, out: &mut Vec<u8>) {
    const SECOND: i64 = 1_000_000_000;
    let (seconds, fraction) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = crate::date::of_days(i32::try_from(days).unwrap_or_default());
    let (hours, minutes) = (second / 3600, second / 60 % 60);
    let _ = write!(out, "\"{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{:02}", second % 60);
    if fraction > 0 {
        let _ = write!(out, ".{fraction:09}");
        while out.pop_if(|digit| *digit == b'0').is_some() {}
    }
    out.extend_from_slice(b"Z\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_their_unit() {
        let text = |time: i64, epoch: Epoch| {
            let mut out = Vec::new();
            write_value(&Value::Integer(time), true, epoch, &mut out);
            String::from_utf8(out).unwrap()
        };
        let time = 1_700_000_000_001_000_000;
        assert_eq!(text(time, None), "\"2023-11-14T22:13:20.001Z\"");
        assert_eq!(text(0, None), "\"1970-01-01T00:00:00Z\"");
        assert_eq!(text(time, Some(Precision::of("ms"))), "1700000000001");
        assert_eq!(text(-1, Some(Precision::of("s"))), "-1");
        assert_eq!(
            ["", "n", "us", "s", "hours"].map(epoch_of),
            [None, Some(Precision::Nanoseconds), Some(Precision::Microseconds), Some(Precision::Seconds), None]
        );
    }

    #[test]
    fn names_are_read_back_with_underscores() {
        for (name, read) in [("v", "v"), ("a b-c", "a_b_c"), ("1st", "_1st"), ("gr\u{fc}n_2", "gr_n_2"), ("\"", "_")] {
            assert_eq!(name_read_back(name), read);
        }
    }
}
