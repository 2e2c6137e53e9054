//! The REST contract of `RonDB`, over the point tables and, for SQL, the embedded engine.

mod batch;
mod error;
mod index;
mod json;
mod rate;
mod row;
mod scan;
mod sql;
mod validate;
mod values;

use std::sync::Arc;
use std::time::Duration;

use boundary_bench_core::engine::Engine;
use boundary_bench_core::error::catch_panic;
use boundary_bench_core::workers::Workers;
use bytes::Bytes;
use hyper::StatusCode;

use crate::front::answer::{Answer, empty, json as json_answer, named, text};
use crate::front::body::BodyError;
use crate::tables::Tables;

pub(crate) use error::RestError;
pub(crate) use rate::RateLimit;

/// The endpoint that a path of the contract names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint<'path> {
    Ping,
    Health,
    Batch,
    BatchWrite,
    BatchDelete,
    PkRead { database: &'path str, table: &'path str },
    Scan { database: &'path str, table: &'path str },
    RonSql,
}

impl<'path> Endpoint<'path> {
    /// The endpoint of a path, which begins behind the version.
    pub(crate) fn of(path: &'path str) -> Option<Self> {
        Some(match path {
            "ping" => Self::Ping,
            "health" => Self::Health,
            "batch" => Self::Batch,
            "batchwrite" => Self::BatchWrite,
            "batchdelete" => Self::BatchDelete,
            "ronsql" => Self::RonSql,
            _ => {
                let mut parts = path.splitn(3, '/');
                let (database, table, name) = (parts.next()?, parts.next()?, parts.next()?);
                match name {
                    "pk-read" => Self::PkRead { database, table },
                    "scan" => Self::Scan { database, table },
                    _ => return None,
                }
            }
        })
    }

    /// Whether the endpoint takes GET; the others take POST.
    pub(crate) fn is_get(self) -> bool {
        matches!(self, Self::Ping | Self::Health)
    }
}

/// The service that answers the requests of the REST contract.
pub(crate) struct Rest {
    pub(crate) tables: Arc<Tables>,
    pub(crate) batch_limit: Option<usize>,
    pub(crate) rate_limit: Option<RateLimit>,
    /// The engine that runs SQL; `None` without `lineitem`.
    pub(crate) sql: Option<Arc<dyn Engine>>,
    pub(crate) query_time: Duration,
    /// Admits and runs the queries.
    pub(crate) queries: Workers,
    /// Admits and runs the scans.
    pub(crate) scans: Workers,
    /// How long the client of a scan may take nothing before the scan is cut.
    pub(crate) stall_time: Duration,
}

impl Rest {
    /// Checks the rate limit, and counts the request.
    ///
    /// # Errors
    /// 429 above the rate limit.
    pub(crate) fn admit(&self) -> Result<(), RestError> {
        match &self.rate_limit {
            Some(limit) if !limit.admits() => {
                Err(RestError::new(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests: the rate limit is exceeded"))
            }
            _ => Ok(()),
        }
    }

    /// The response of an endpoint to a body.
    ///
    /// # Errors
    /// The contract's error for an unusable body or a failed operation.
    pub(crate) async fn answer(&self, endpoint: Endpoint<'_>, body: Bytes) -> Result<Answer, RestError> {
        let tables = &self.tables;
        match endpoint {
            Endpoint::Ping | Endpoint::Health if !body.is_empty() => {
                Err(RestError::new(StatusCode::BAD_REQUEST, "this request takes no body"))
            }
            Endpoint::Ping => Ok(named(empty(StatusCode::OK))),
            // RonDB's health is 1 where its data nodes are out of reach; this server has none.
            Endpoint::Health => Ok(named(text(StatusCode::OK, "0"))),
            Endpoint::PkRead { database, table } => {
                caught(|| row::read(tables, database, table, &body)).map(json_answer)
            }
            Endpoint::Scan { database, table } => caught(|| scan::answer(self, (database, table), &body)),
            Endpoint::RonSql => {
                let engine = self.sql.as_ref().ok_or_else(|| {
                    let problem = "this server has no table for SQL: start it with --scale-factor";
                    RestError::new(StatusCode::NOT_IMPLEMENTED, problem)
                })?;
                sql::answer(engine, &body, &self.queries, self.query_time).await
            }
            Endpoint::Batch => caught(|| batch::read(tables, &body, self.batch_limit)).map(json_answer),
            Endpoint::BatchWrite => batch::write(tables, &body, self.batch_limit, false).await.map(json_answer),
            Endpoint::BatchDelete => batch::write(tables, &body, self.batch_limit, true).await.map(json_answer),
        }
    }
}

/// The error for a body that could not be read.
pub(crate) fn body_error(error: BodyError) -> RestError {
    match error {
        BodyError::TooLarge => RestError::new(StatusCode::BAD_REQUEST, "Request too large"),
        BodyError::TooSlow => RestError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
        BodyError::Broken => RestError::new(StatusCode::BAD_REQUEST, "the body is not readable"),
    }
}

/// Runs work; a panic becomes a 500.
fn caught<T>(work: impl FnOnce() -> Result<T, RestError>) -> Result<T, RestError> {
    match catch_panic(|| Ok(work())) {
        Ok(done) => done,
        Err(panic) => Err(panic.into()),
    }
}
