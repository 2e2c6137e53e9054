//! Selects the contract of a request by its path.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

use boundary_bench_core::api_key::ApiKey;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode};

use crate::front::answer::{Answer, PROMETHEUS, empty, text, with_body};
use crate::front::body;
use crate::front::listen::{Front, Service};
use crate::ingest::{self, Ingest, IngestError};
use crate::metrics::{Kind, Metrics};
use crate::options::Limits;
use crate::rest::{Endpoint, Rest, RestError, body_error};

/// The versions of the REST contract, and whether errors are wrapped in an object.
const VERSIONS: [(&str, bool); 2] = [("/0.1.0/", false), ("/0.2.0/", true)];

/// The body of a 405: the path takes another method.
pub(crate) const NOT_ALLOWED: &str = "Method Not Allowed";

/// The service of the reference server: both contracts and the metrics.
pub(crate) struct Routes {
    pub(crate) rest: Rest,
    pub(crate) ingest: Ingest,
    pub(crate) metrics: Metrics,
    /// The API key that all paths but pings and healths require.
    pub(crate) api_key: ApiKey,
    pub(crate) limits: Limits,
    /// The front whose connections the metrics count.
    pub(crate) front: OnceLock<Weak<Front<Routes>>>,
}

impl Service for Routes {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (kind, answer) = self.route(request).await;
        self.metrics.count(kind, answer.status());
        answer
    }
}

impl Routes {
    async fn route(&self, request: Request<Incoming>) -> (Kind, Answer) {
        let path = request.uri().path();
        for (version, wrapped) in VERSIONS {
            if let Some(rest) = path.strip_prefix(version) {
                let path = decoded(rest).into_owned();
                let kind = Endpoint::of(&path).map_or(Kind::Other, kind_of);
                let answer = self.rest(&path, request).await;
                return (kind, answer.unwrap_or_else(|error| error.answer(wrapped)));
            }
        }
        match (request.method(), path) {
            (&Method::GET | &Method::HEAD, "/ping") => (Kind::Other, ingest::ping()),
            (&Method::GET | &Method::HEAD, "/health") => (Kind::Other, ingest::health(&self.ingest.store.status())),
            (_, "/ping" | "/health") => (Kind::Other, not_allowed()),
            (_, path) => match self.check_key(&request) {
                Ok(()) => self.guarded(request).await,
                Err(problem) => (kind_of_path(path), IngestError::unauthorized(problem).answer()),
            },
        }
    }

    /// Checks the API key of a request, where the server requires one.
    fn check_key(&self, request: &Request<Incoming>) -> Result<(), &'static str> {
        self.api_key.check(|name| request.headers().get(name).map(HeaderValue::as_bytes))
    }

    /// Answers the paths that require the API key, after its check.
    async fn guarded(&self, request: Request<Incoming>) -> (Kind, Answer) {
        let path = request.uri().path();
        let kind = kind_of_path(path);
        match (request.method(), path) {
            (&Method::GET, "/metrics") => {
                let front = self.front.get().and_then(Weak::upgrade);
                let connections = front.map_or(0, |front: Arc<Front<Self>>| front.connections());
                let text = self.metrics.text(connections, &self.rest.scans, &self.ingest.store.status());
                (kind, with_body(StatusCode::OK, PROMETHEUS, text))
            }
            (_, "/write") => {
                let written = self.write(request).await;
                if let Ok(points) = written {
                    self.metrics.count_points(points as u64);
                }
                let written = written.map(|_| ingest::versioned(empty(StatusCode::NO_CONTENT)));
                (kind, written.unwrap_or_else(|error| error.answer()))
            }
            (_, "/query") => (kind, self.query(request).await.unwrap_or_else(|error| error.answer())),
            (_, "/metrics") => (kind, not_allowed()),
            _ => (kind, text(StatusCode::NOT_FOUND, "Not Found")),
        }
    }

    async fn write(&self, request: Request<Incoming>) -> Result<usize, IngestError> {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST {
            return Err(IngestError::not_allowed());
        }
        self.ingest.check_write(&parts)?;
        let body = body::collect(body, self.limits.ingest_body, self.limits.body_time).await?;
        self.ingest.write(parts, body).await
    }

    async fn query(&self, request: Request<Incoming>) -> Result<Answer, IngestError> {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST && parts.method != Method::GET {
            return Err(IngestError::not_allowed());
        }
        let body = body::collect(body, self.limits.rest_body, self.limits.body_time).await?;
        self.ingest.query(&parts, &body).await
    }

    async fn rest(&self, path: &str, request: Request<Incoming>) -> Result<Answer, RestError> {
        let endpoint = Endpoint::of(path).ok_or_else(|| RestError::new(StatusCode::NOT_FOUND, "Not Found"))?;
        let method = if endpoint.is_get() { Method::GET } else { Method::POST };
        if request.method() != method {
            return Err(RestError::new(StatusCode::METHOD_NOT_ALLOWED, NOT_ALLOWED));
        }
        if !endpoint.is_get() {
            self.check_key(&request).map_err(|problem| RestError::new(StatusCode::UNAUTHORIZED, problem))?;
            self.rest.admit()?;
        }
        let body = body::collect(request.into_body(), self.limits.rest_body, self.limits.body_time).await;
        self.rest.answer(endpoint, body.map_err(body_error)?).await
    }
}

fn kind_of_path(path: &str) -> Kind {
    match path {
        "/write" => Kind::Write,
        "/query" => Kind::Query,
        _ => Kind::Other,
    }
}

fn not_allowed() -> Answer {
    text(StatusCode::METHOD_NOT_ALLOWED, NOT_ALLOWED)
}

fn kind_of(endpoint: Endpoint<'_>) -> Kind {
    match endpoint {
        Endpoint::PkRead { .. } => Kind::PkRead,
        Endpoint::Batch => Kind::Batch,
        Endpoint::BatchWrite => Kind::BatchWrite,
        Endpoint::BatchDelete => Kind::BatchDelete,
        Endpoint::Scan { .. } => Kind::Scan,
        Endpoint::RonSql => Kind::RonSql,
        Endpoint::Ping | Endpoint::Health => Kind::Other,
    }
}

/// The path with its percent escapes decoded; unchanged where the decoded bytes are not UTF-8.
pub(crate) fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |index: usize| after.get(index).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_decoded_where_they_stand_for_text() {
        for (path, expected) in
            [("a/b", "a/b"), ("a%20b%2Fc", "a b/c"), ("%C3%A4", "ä"), ("%ff", "%ff"), ("%4", "%4"), ("%zz%", "%zz%")]
        {
            assert_eq!(decoded(path), expected);
        }
    }
}
