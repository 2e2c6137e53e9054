//! SQL: `RonSQL`'s endpoint over the embedded engine. Where `RonSQL` takes aggregations of one table alone, this takes any
//! `SELECT`; its answers have the same forms.

use std::sync::Arc;
use std::time::Duration;

use boundary_bench_core::Error;
use boundary_bench_core::engine::{CancelToken, Engine, QueryOptions};
use hyper::StatusCode;

use super::error::RestError;
use super::json::{Query, text};
use super::validate;
use super::values::{Form, write, write_text};
use crate::front::answer::{Answer, JSON, TEXT, with_body};
use crate::lineitem;
use crate::tables::escaped;

/// The bytes of an answer, at most: it is whole before it is sent. A scan has no such limit.
const MAX_ANSWER: usize = 256 << 20;

/// What a query is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    JsonAscii,
    Text { header: bool },
}

/// A query that is validated.
struct Checked {
    sql: String,
    format: Format,
    operation_id: Option<String>,
}

/// The answer to a query.
pub(super) async fn answer(engine: &Arc<dyn Engine>, body: &[u8], time: Duration) -> Result<Answer, RestError> {
    let Checked { sql, format, operation_id } = checked(body)?;
    let cancel = CancelToken::default();
    let (engine, token) = (Arc::clone(engine), cancel.clone());
    let work = tokio::task::spawn_blocking(move || {
        boundary_bench_core::error::catch_panic(|| Ok(run(&engine, &sql, format, operation_id.as_deref(), token)))
    });
    // A client that goes away drops this future: the query ends with it.
    let _ends = CancelOnDrop(cancel.clone());
    let done = tokio::time::timeout(time, work).await.map_err(|_| {
        cancel.cancel();
        temporary(format!("the query took longer than {} s", time.as_secs()))
    })?;
    let body = done.map_err(|error| temporary(error.to_string()))?.map_err(RestError::from)??;
    let content_type = if matches!(format, Format::Text { .. }) { TEXT } else { JSON };
    Ok(with_body(StatusCode::OK, content_type, body))
}

/// Ends a query whose answer nobody waits for.
pub(super) struct CancelOnDrop(pub(super) CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
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
        other => return Err(general(format!("outputFormat {other:?}: JSON, JSON_ASCII, TEXT or TEXT_NOHEADER"))),
    };
    match text(query.explain_mode.as_ref()) {
        "" | "ALLOW" | "FORBID" | "REMOVE" => {}
        "REQUIRE" => return Err(general("explainMode REQUIRE: this server explains no queries")),
        other => return Err(general(format!("explainMode {other:?}: ALLOW, FORBID, REQUIRE or REMOVE"))),
    }
    match text(query.database.as_ref()) {
        "" => return Err(required("database")),
        lineitem::DATABASE => {}
        other => return Err(RestError::no_table(other, "")),
    }
    let is_select = sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("SELECT"));
    if !is_select {
        return Err(general("a query must be a SELECT"));
    }
    Ok(Checked { sql: sql.to_owned(), format, operation_id })
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
    // What stands before the value of each column.
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
