//! Runs the statements of `/query` and writes their answer.

use std::io::Write;

use boundary_bench_ingest::store::{QueryRows, Value};
use boundary_bench_ingest::{IngestStore, Precision};

use super::statement::{Statement, parse};
use crate::tables::escaped;

/// One series of an answer.
struct Series {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// How times are written: as numbers of a unit, or as text.
type Epoch = Option<Precision>;

/// The answer to a text of statements.
pub(super) fn answer(store: &IngestStore, text: &str, database: Option<&str>, epoch: Option<&str>) -> Vec<u8> {
    let epoch = epoch.filter(|epoch| !epoch.is_empty()).map(Precision::of);
    let mut out = br#"{"results":["#.to_vec();
    for (id, statement) in parse(text).into_iter().enumerate() {
        let outcome = statement.and_then(|statement| run(store, statement, database));
        let _ = write!(out, "{}{{\"statement_id\":{id}", if id == 0 { "" } else { "," });
        match outcome {
            Ok(series) => write_series(&series, epoch, &mut out),
            Err(problem) => {
                out.extend_from_slice(br#","error":"#);
                escaped(&problem, &mut out);
            }
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}\n");
    out
}

fn run(store: &IngestStore, statement: Statement, database: Option<&str>) -> Result<Vec<Series>, String> {
    let said = |error: boundary_bench_ingest::Error| error.to_string();
    let database = || database.filter(|name| !name.is_empty()).ok_or_else(|| "database is required".to_owned());
    let names = |name: &str, names: Vec<String>| Series {
        name: name.to_owned(),
        columns: vec!["name".to_owned()],
        rows: names.into_iter().map(|name| vec![Value::Text(name)]).collect(),
    };
    Ok(match statement {
        Statement::CreateDatabase(name) => {
            store.create_database(&name).map_err(said)?;
            Vec::new()
        }
        Statement::ShowDatabases => vec![names("databases", store.databases())],
        Statement::ShowMeasurements => {
            let measurements = store.database(database()?).map_err(said)?.measurements();
            vec![names("measurements", measurements)]
        }
        Statement::Count { measurement, field } => {
            let database = database()?;
            let known = store.database(database).map_err(said)?.fields(&measurement);
            let (columns, fields): (Vec<String>, Vec<String>) = match field {
                Some(field) => (vec!["count".to_owned()], vec![field]),
                None => known.iter().map(|(field, _)| (format!("count_{field}"), field.clone())).unzip(),
            };
            // As where nothing was written.
            if !fields.iter().any(|field| known.iter().any(|(known, _)| known == field)) {
                return Ok(Vec::new());
            }
            let count = |field: &String| {
                let count = store.count(database, &measurement, Some(field)).map_err(said)?;
                Ok(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
            };
            let counts = fields.iter().map(count).collect::<Result<Vec<_>, String>>()?;
            let row = std::iter::once(Value::Integer(0)).chain(counts).collect();
            let columns = std::iter::once("time".to_owned()).chain(columns).collect();
            vec![Series { name: measurement, columns, rows: vec![row] }]
        }
        Statement::Select(select) => {
            let QueryRows { columns, rows } = store.select(database()?, &select).map_err(said)?;
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            vec![Series { name: select.measurement, columns, rows }]
        }
    })
}

fn write_series(series: &[Series], epoch: Epoch, out: &mut Vec<u8>) {
    if series.is_empty() {
        return;
    }
    out.extend_from_slice(br#","series":["#);
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
    out.push(b']');
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

/// In quotes, as RFC 3339 has it, without the zeros at the end of the fraction.
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
    }
}
