//! SQL: `RonSQL`'s endpoint over the embedded engine. Where `RonSQL` takes only aggregations of one table, this takes any
//! `SELECT`; its responses have the same formats.

use std::sync::Arc;
use std::time::Duration;

use boundary_bench_core::Error;
use boundary_bench_core::engine::{CancelOnDrop, CancelToken, Engine, QueryOptions};
use boundary_bench_core::workers::Workers;
use hyper::StatusCode;

use super::error::RestError;
use super::json::{Query, text};
use super::validate;
use super::values::{Form, write, write_text};
use crate::front::answer::{Answer, BARE_TABLE, JSON, JSON_ASCII, TABLE, TEXT, with_body};
use crate::lineitem;
use crate::tables::escaped;

/// Bytes of a response, at most: it is complete before it is sent. A scan has no such limit.
const MAX_ANSWER: usize = 256 << 20;

/// The output format of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    JsonAscii,
    Text { header: bool },
}

/// A validated query.
struct Checked {
    sql: String,
    /// Whether the query's plan is requested instead of its rows.
    explains: bool,
    format: Format,
    operation_id: Option<String>,
}

/// The response to a query.
pub(super) async fn answer(
    engine: &Arc<dyn Engine>,
    body: &[u8],
    queries: &Workers,
    time: Duration,
) -> Result<Answer, RestError> {
    let Checked { sql, explains, format, operation_id } = checked(body)?;
    let cancel = CancelToken::default();
    let (engine, token) = (Arc::clone(engine), cancel.clone());
    let place = queries.admit()?;
    let work = place.run(move || Ok(run(&engine, &sql, format, operation_id.as_deref(), token)));
    // A client that disconnects drops this future, which cancels the query.
    let _ends = CancelOnDrop(cancel.clone());
    let done = tokio::time::timeout(time, work).await.map_err(|_| {
        cancel.cancel();
        temporary(format!("the query took longer than {} s", time.as_secs()))
    })?;
    let body = done??;
    let content_type = match format {
        Format::Json => JSON,
        Format::JsonAscii => JSON_ASCII,
        Format::Text { .. } if explains => TEXT,
        Format::Text { header: true } => TABLE,
        Format::Text { header: false } => BARE_TABLE,
    };
    Ok(with_body(StatusCode::OK, content_type, body))
}

fn checked(body: &[u8]) -> Result<Checked, RestError> {
    let query: Query<'_> = serde_json::from_slice(body).map_err(|error| RestError::parse(&error))?;
    let sql = text(query.sql.as_ref()).trim();
    let required =
        |field: &str| RestError::coded(64, format!("Field validation for '{field}' failed on the 'required' tag"));
    if sql.is_empty() {
        return Err(required("query"));
    }
    let operation_id = query.operation_id.as_ref().map(|id| id.0.clone().into_owned());
    validate::operation_id(operation_id.as_deref().unwrap_or_default())?;
    let format = match text(query.output_format.as_ref()) {
        "" | "JSON" => Format::Json,
        "JSON_ASCII" => Format::JsonAscii,
        "TEXT" => Format::Text { header: true },
        "TEXT_NOHEADER" => Format::Text { header: false },
        other => return Err(general(format!("Invalid outputFormat {other:?}"))),
    };
    if matches!(format, Format::Text { .. }) && operation_id.as_ref().is_some_and(|id| !id.is_empty()) {
        let format = text(query.output_format.as_ref());
        return Err(general(format!("operationId not supported with output format {format}")));
    }
    match text(query.database.as_ref()) {
        "" => return Err(required("database")),
        lineitem::DATABASE => {}
        other => return Err(RestError::no_table(other, "")),
    }
    let (select, explains) = explained(sql, text(query.explain_mode.as_ref()))?;
    if !begins_with(select, "SELECT") {
        return Err(general("a query must be a SELECT"));
    }
    let sql = if explains { format!("EXPLAIN {select}") } else { select.to_owned() };
    Ok(Checked { sql, explains, format, operation_id })
}

/// A query without its EXPLAIN, and whether it explains: as the query says, as far as the mode allows.
fn explained<'sql>(sql: &'sql str, mode: &str) -> Result<(&'sql str, bool), RestError> {
    let is_asked = begins_with(sql, "EXPLAIN");
    let select = if is_asked { sql["EXPLAIN".len()..].trim_start() } else { sql };
    let explains = match (mode, is_asked) {
        ("" | "ALLOW", _) => is_asked,
        ("FORBID", false) | ("REMOVE", _) => false,
        ("REQUIRE", true) | ("FORCE", _) => true,
        ("FORBID", true) => return Err(general("Tried to EXPLAIN with explain mode set to FORBID.")),
        ("REQUIRE", false) => return Err(general("Tried to query with explain mode set to REQUIRE.")),
        (other, _) => return Err(general(format!("Invalid explainMode {other:?}"))),
    };
    Ok((select, explains))
}

/// Whether a query begins with a word, ignoring case.
fn begins_with(sql: &str, word: &str) -> bool {
    let (begin, rest) = sql.split_at_checked(word.len()).unwrap_or_default();
    begin.eq_ignore_ascii_case(word) && !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
}

fn run(
    engine: &Arc<dyn Engine>,
    sql: &str,
    format: Format,
    operation_id: Option<&str>,
    cancel: CancelToken,
) -> Result<Vec<u8>, RestError> {
    let options = QueryOptions { cancel, ..QueryOptions::default() };
    let mut stream = engine.query(sql, &options).map_err(failed)?;
    let names: Vec<String> = stream.columns().iter().map(|column| column.name.clone()).collect();
    let mut out = Vec::new();
    let form = match format {
        Format::Json => Form::Json,
        Format::JsonAscii => Form::JsonAscii,
        Format::Text { .. } => Form::Text,
    };
    // The text before the value of each column.
    let labels: Vec<Vec<u8>> = names.iter().enumerate().map(|(index, name)| label(index, name, form)).collect();
    if form == Form::Text {
        if format == (Format::Text { header: true }) {
            for (index, name) in names.iter().enumerate() {
                out.extend_from_slice(if index == 0 { b"" } else { b"\t" });
                write_text(name, form, &mut out);
            }
            out.push(b'\n');
        }
    } else {
        out.push(b'{');
        if let Some(id) = operation_id {
            out.extend_from_slice(br#""operationId":"#);
            escaped(id, &mut out);
            out.extend_from_slice(b",\n");
        }
        out.extend_from_slice(b"\"data\":\n[");
    }
    let mut is_first = true;
    while let Some(batch) = stream.next_batch().map_err(failed)? {
        for row in 0..batch.num_rows() {
            if form != Form::Text && !std::mem::take(&mut is_first) {
                out.extend_from_slice(b"\n,");
            }
            for (column, label) in labels.iter().enumerate() {
                out.extend_from_slice(label);
                write(&batch, column, row, form, &mut out);
            }
            out.push(if form == Form::Text { b'\n' } else { b'}' });
        }
        if out.len() > MAX_ANSWER {
            return Err(general("the answer is too large: aggregate, or scan the table"));
        }
    }
    if form != Form::Text {
        out.extend_from_slice(b"\n]\n}");
    }
    Ok(out)
}

fn label(index: usize, name: &str, form: Form) -> Vec<u8> {
    let mut label = Vec::new();
    match (form, index) {
        (Form::Text, 0) => {}
        (Form::Text, _) => label.push(b'\t'),
        (Form::Json | Form::JsonAscii, _) => {
            label.push(if index == 0 { b'{' } else { b',' });
            write_text(name, form, &mut label);
            label.push(b':');
        }
    }
    label
}

fn failed(error: Error) -> RestError {
    match error {
        Error::Engine { message, .. } | Error::Unsupported(message) | Error::InvalidArgument(message) => {
            general(message)
        }
        Error::Cancelled => temporary("the query was ended"),
        other => other.into(),
    }
}

fn general(problem: impl std::fmt::Display) -> RestError {
    RestError::coded(66, format!("RonSQL general error: {problem}"))
}

fn temporary(problem: impl std::fmt::Display) -> RestError {
    RestError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: 65,
        message: format!("RonSQL temporary error: {problem}"),
    }
}
