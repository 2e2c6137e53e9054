//! Batches: several operations in one request, whose results keep the operations' order, each with its own status code.

use hyper::StatusCode;

use super::error::RestError;
use super::json::{Batch, Operation, RowRequest, text};
use super::{row, validate};
use crate::tables::{Change, ChangeKind, ChangeOutcome, Tables, escaped};

/// A validated operation: its table and its request.
struct Checked<'body> {
    database: &'body str,
    table: &'body str,
    kind: Option<ChangeKind>,
    request: &'body RowRequest<'body>,
}

/// The response body of a `batch` of reads.
pub(super) fn read(tables: &Tables, body: &[u8], limit: Option<usize>) -> Result<Vec<u8>, RestError> {
    let batch = parse(body, limit)?;
    let operations = checked(&batch, |name| (name == "pk-read").then_some(None))?;
    let mut answer = Vec::with_capacity(operations.len() * 256);
    answer.extend_from_slice(br#"{"result":["#);
    for Checked { database, table, request, .. } in operations {
        let start = answer.len();
        answer.extend_from_slice(br#"{"code":200,"body":{"#);
        match row::read_into(tables, database, table, request, &mut answer) {
            Ok(()) => answer.extend_from_slice(b"}},"),
            Err(error) => {
                answer.truncate(start);
                without_data(error.status, request, &mut answer);
            }
        }
    }
    Ok(end(answer))
}

/// The response body of a `batchwrite` or a `batchdelete`.
pub(super) async fn write(
    tables: &Tables,
    body: &[u8],
    limit: Option<usize>,
    deletes: bool,
) -> Result<Vec<u8>, RestError> {
    let batch = parse(body, limit)?;
    let operations = checked(&batch, |name| match (deletes, name) {
        (true, "pk-delete") => Some(Some(ChangeKind::Delete)),
        (false, "pk-write") => Some(Some(ChangeKind::Write)),
        (false, "pk-insert") => Some(Some(ChangeKind::Insert)),
        (false, "pk-update") => Some(Some(ChangeKind::Update)),
        _ => None,
    })?;
    // An error that shows before anything is written refuses the whole batch.
    let change = |operation: &Checked<'_>| {
        let kind = operation.kind.unwrap_or(ChangeKind::Write);
        row::change(tables, kind, (operation.database, operation.table), operation.request)
    };
    let changes = operations.iter().map(change).collect::<Result<Vec<Change>, _>>()?;
    let outcomes = tables.write(changes).await?;
    let mut answer = br#"{"result":["#.to_vec();
    for (Checked { request, .. }, outcome) in operations.iter().zip(outcomes) {
        let status = match outcome {
            ChangeOutcome::Done => StatusCode::OK,
            ChangeOutcome::NotFound => StatusCode::NOT_FOUND,
            ChangeOutcome::Exists => StatusCode::CONFLICT,
        };
        without_data(status, request, &mut answer);
    }
    Ok(end(answer))
}

fn parse(body: &[u8], limit: Option<usize>) -> Result<Batch<'_>, RestError> {
    let batch: Batch<'_> = serde_json::from_slice(body).map_err(|error| RestError::parse(&error))?;
    let count = batch.operations.as_ref().map_or(0, Vec::len);
    if count == 0 {
        return Err(RestError::coded(64, "Field validation for 'Operations' failed: there is none"));
    }
    match limit {
        Some(limit) if count > limit => {
            let message = format!("Batch size exceeds maximum. Expecting: {limit} Got: {count}");
            Err(RestError::new(StatusCode::BAD_REQUEST, message))
        }
        _ => Ok(batch),
    }
}

/// Validates the operations; `kind` maps an operation's name to its change, and `None` refuses the name.
fn checked<'body>(
    batch: &'body Batch<'body>,
    kind: impl Fn(&str) -> Option<Option<ChangeKind>>,
) -> Result<Vec<Checked<'body>>, RestError> {
    let check = |Operation { method, relative_url, body, .. }: &'body Operation<'body>| {
        if text(method.as_ref()) != "POST" {
            return Err(RestError::coded(62, "Field validation for 'Method' failed"));
        }
        let wrong_url = || RestError::coded(63, "Field validation for 'RelativeURL' failed");
        let mut parts = text(relative_url.as_ref()).rsplitn(4, '/');
        let (Some(name), Some(table), Some(database)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong_url());
        };
        let kind = kind(name).ok_or_else(wrong_url)?;
        let request = body.as_ref();
        let request = request.ok_or_else(|| RestError::coded(64, "Field validation for 'Body' failed"))?;
        validate::path(database, table)?;
        validate::row(request)?;
        Ok(Checked { database, table, kind, request })
    };
    batch.operations.iter().flatten().map(check).collect()
}

fn without_data(status: StatusCode, request: &RowRequest<'_>, answer: &mut Vec<u8>) {
    answer.extend_from_slice(br#"{"code":"#);
    answer.extend_from_slice(status.as_str().as_bytes());
    answer.extend_from_slice(br#","body":{"operationId":"#);
    escaped(text(request.operation_id.as_ref()), answer);
    answer.extend_from_slice(br#","data":{}}},"#);
}

fn end(mut answer: Vec<u8>) -> Vec<u8> {
    answer.pop_if(|last| *last == b',');
    answer.extend_from_slice(b"]}");
    answer
}
