//! The errors of the REST contract: plain text in version 0.1.0, a JSON object in 0.2.0.

use std::fmt::Write;

use boundary_bench_core::Error;
use boundary_bench_core::workers::Full;
use hyper::StatusCode;

use crate::front::answer::{Answer, JSON, text, with_body};

/// The code of an error to which the contract assigns no number.
const NO_CODE: i32 = -1;

/// Why a request, or an operation of a batch, is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestError {
    pub(crate) status: StatusCode,
    /// The error's number in the contract; `ndbCode` in version 0.2.0.
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl RestError {
    /// A 400 with a number of the contract.
    pub(crate) fn coded(code: i32, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, message: message.into() }
    }

    /// An error without a number of the contract.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, code: NO_CODE, message: message.into() }
    }

    /// The error of a body that is not JSON, or is JSON of another shape.
    pub(crate) fn parse(error: &serde_json::Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("the body is not readable: {error}"))
    }

    pub(crate) fn no_table(database: &str, table: &str) -> Self {
        let message = format!("Database/Table does not exist. Database: {database} Table: {table}");
        Self { status: StatusCode::NOT_FOUND, code: 11, message }
    }

    pub(crate) fn no_column(name: &str) -> Self {
        Self::coded(12, format!("Column does not exist. Column: {name}"))
    }

    pub(crate) fn no_row() -> Self {
        // 626 is the number that RonDB's data nodes give this error.
        Self { status: StatusCode::NOT_FOUND, code: 626, message: "Not Found".to_owned() }
    }

    /// The response, as a JSON object where `wrapped`, else as plain text.
    pub(crate) fn answer(&self, wrapped: bool) -> Answer {
        if !wrapped {
            return text(self.status, self.message.clone());
        }
        let mut body = format!(r#"{{"error":{{"code":{},"message":"#, self.status.as_u16());
        body.push_str(&serde_json::Value::from(self.message.as_str()).to_string());
        let _ = write!(body, r#","status":-1,"classification":-1,"ndbCode":{},"mysqlCode":-1}}}}"#, self.code);
        with_body(self.status, JSON, body)
    }
}

impl From<Full> for RestError {
    fn from(full: Full) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, full.to_string())
    }
}

impl From<Error> for RestError {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Closed(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
