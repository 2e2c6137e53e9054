//! The ingest contract of `HyperbyteDB`, over a store of points.

mod query;
mod statement;
mod write;

use std::sync::Arc;

use boundary_bench_core::Error as CoreError;
use boundary_bench_core::workers::{Full, Workers};
use boundary_bench_ingest::store::StoreStatus;
use boundary_bench_ingest::{Error, IngestStore};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;

use crate::front::answer::{Answer, JSON, TEXT, empty, with_body};
use crate::front::body::BodyError;
use crate::routes::{NOT_ALLOWED, decoded};

/// The header that carries the server's name and version in this contract.
const VERSION: HeaderName = HeaderName::from_static("x-influxdb-version");

/// The value of the [`VERSION`] header.
const NAME_AND_VERSION: HeaderValue = HeaderValue::from_static(concat!("boundary-bench-", env!("CARGO_PKG_VERSION")));

/// The service that answers the requests of the ingest contract.
pub(crate) struct Ingest {
    pub(crate) store: Arc<IngestStore>,
    pub(crate) max_points: usize,
    pub(crate) max_body: usize,
    /// Admits and runs the writes.
    pub(crate) writes: Workers,
    /// Admits and runs the queries.
    pub(crate) queries: Workers,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IngestError {
    status: StatusCode,
    message: String,
    /// Whether the message is sent as plain text, not as JSON.
    is_plain: bool,
}

impl IngestError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), is_plain: false }
    }

    fn plain(status: StatusCode, message: impl Into<String>) -> Self {
        Self { is_plain: true, ..Self::new(status, message) }
    }

    /// The refusal of a request without the key.
    pub(crate) fn unauthorized(problem: &str) -> Self {
        Self::plain(StatusCode::UNAUTHORIZED, format!("authorization failed: {problem}"))
    }

    /// The refusal of a method that the path does not take.
    pub(crate) fn not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, NOT_ALLOWED)
    }

    /// The response: the message as plain text, or as JSON `{"error": message}`.
    pub(crate) fn answer(&self) -> Answer {
        if self.is_plain {
            return versioned(with_body(self.status, TEXT, self.message.clone()));
        }
        let message = serde_json::Value::from(self.message.as_str());
        versioned(with_body(self.status, JSON, format!(r#"{{"error":{message}}}"#)))
    }
}

impl From<Error> for IngestError {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Parse { .. } | Error::InvalidArgument(_) | Error::TypeConflict { .. } => StatusCode::BAD_REQUEST,
            Error::DatabaseNotFound(_) => StatusCode::NOT_FOUND,
            Error::TooManyPoints { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Cardinality { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::DiskFull { .. } => StatusCode::INSUFFICIENT_STORAGE,
            Error::Core(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<Full> for IngestError {
    fn from(full: Full) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, full.to_string())
    }
}

impl From<BodyError> for IngestError {
    fn from(error: BodyError) -> Self {
        match error {
            // HyperbyteDB's text: there, such a body is refused before the handlers that answer in JSON see it.
            BodyError::TooLarge => {
                Self::plain(StatusCode::PAYLOAD_TOO_LARGE, "Failed to buffer the request body: length limit exceeded")
            }
            BodyError::TooSlow => Self::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
            BodyError::Broken => Self::new(StatusCode::BAD_REQUEST, "the body is not readable"),
        }
    }
}

/// The same response with a [`VERSION`] header.
pub(crate) fn versioned(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(VERSION, NAME_AND_VERSION);
    answer
}

/// The response to `/ping`.
pub(crate) fn ping() -> Answer {
    versioned(empty(StatusCode::NO_CONTENT))
}

/// The response to `/health`: 503 while points can't be written to files. Files that were set aside are told in the message;
/// the status stays 200, since writes still succeed.
pub(crate) fn health(points: &StoreStatus) -> Answer {
    let (status, word, message) = match (&points.flush_error, points.set_aside.len()) {
        (Some(error), _) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "fail",
            format!("points can't be written to files; they are in memory and in the log: {error}"),
        ),
        (None, 0) => (StatusCode::OK, "pass", "ready for queries and writes".to_owned()),
        (None, files) => {
            let said = format!(
                "ready for queries and writes; {files} files of points were set aside, in the folder of the log"
            );
            (StatusCode::OK, "pass", said)
        }
    };
    let message = serde_json::Value::from(message);
    let version = env!("CARGO_PKG_VERSION");
    let body = format!(r#"{{"status":"{word}","name":"boundary-bench","message":{message},"version":"{version}"}}"#);
    versioned(with_body(status, JSON, body))
}

impl Ingest {
    /// Writes the points of a body; returns how many.
    ///
    /// # Errors
    /// The contract's error for an unusable body, and for each error of the store.
    pub(crate) async fn write(&self, request: Parts, body: Bytes) -> Result<usize, IngestError> {
        let (store, max_points, max_body) = (Arc::clone(&self.store), self.max_points, self.max_body);
        off_the_threads(&self.writes, move || write::write(&store, &request, &body, max_points, max_body)).await
    }

    /// Checks what a write needs before its body is read.
    ///
    /// # Errors
    /// 400 without a database's name, 404 for an unknown database.
    pub(crate) fn check_write(&self, request: &Parts) -> Result<(), IngestError> {
        let query = request.uri.query().unwrap_or_default();
        let database = parameter(query, "db").filter(|name| !name.is_empty());
        let database = database.ok_or_else(|| IngestError::new(StatusCode::BAD_REQUEST, "database is required"))?;
        self.store.database(&database)?;
        Ok(())
    }

    /// Runs the statements of a query.
    ///
    /// # Errors
    /// 400 without a statement or for one that can't be parsed, 404 for an unknown database, 500 for an unknown field.
    pub(crate) async fn query(&self, request: &Parts, body: &[u8]) -> Result<Answer, IngestError> {
        let form = String::from_utf8_lossy(body);
        let find = |name| parameter(&form, name).or_else(|| parameter(request.uri.query().unwrap_or_default(), name));
        let Some(text) = find("q").filter(|text| !text.trim().is_empty()) else {
            return Err(IngestError::new(StatusCode::BAD_REQUEST, "missing required parameter: q"));
        };
        let (store, database, epoch) = (Arc::clone(&self.store), find("db"), find("epoch"));
        let run = move || {
            let database = database.as_deref().unwrap_or_default();
            query::answer(&store, &text, database, epoch.as_deref().unwrap_or_default())
        };
        Ok(versioned(with_body(StatusCode::OK, JSON, off_the_threads(&self.queries, run).await?)))
    }
}

/// Runs work that waits for the disk on the pool of workers; a panic becomes a 500.
async fn off_the_threads<T: Send + 'static>(
    workers: &Workers,
    work: impl FnOnce() -> Result<T, IngestError> + Send + 'static,
) -> Result<T, IngestError> {
    let internal = |error: CoreError| IngestError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    workers.admit()?.run(|| Ok(work())).await.map_err(internal)?
}

/// The decoded value of a parameter of a query string or a form.
fn parameter(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let value = pair.into_iter().find(|(key, _)| decoded(key) == name).map(|(_, value)| value)?;
    Some(decoded(&value.replace('+', " ")).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = "db=a%20b&q=CREATE+DATABASE+%22x%22&empty&d%62=other";
        assert_eq!(parameter(query, "db").as_deref(), Some("a b"));
        assert_eq!(parameter(query, "q").as_deref(), Some("CREATE DATABASE \"x\""));
        assert_eq!(parameter(query, "empty").as_deref(), Some(""));
        assert_eq!(parameter(query, "none"), None);
    }
}
