//! Flight SQL over a database of DuckDB.

use std::sync::Arc;

use boundary_bench_core::engine::{CancelToken, Engine, open};
use boundary_bench_core::{Error, Result};
use boundary_bench_flight::{FlightService, ServiceLimits};
use hyper::Request;
use hyper::body::Incoming;

use crate::front::answer::{Answer, AnswerBody, named};
use crate::front::listen::Service;
use crate::options::{FlightOptions, Options};

/// The service that answers all requests of a Flight SQL server.
pub(crate) struct Flight(Arc<FlightService>);

impl Flight {
    /// Opens the database; its queries read and write no other files.
    ///
    /// # Errors
    /// [`Error::Engine`] where it can't be opened.
    pub(crate) fn open(options: &Options, flight: &FlightOptions) -> Result<Self> {
        let path = flight.database.as_deref().map(|path| path.to_str().ok_or_else(|| unusable(path))).transpose()?;
        let engine = open(&format!("embedded:{}", path.unwrap_or_default()))?;
        lock(&engine)?;
        let limits = ServiceLimits {
            message: options.limits.message,
            query_time: options.limits.query_time,
            stall_time: options.limits.stall_time,
            open: options.limits.open,
            ..ServiceLimits::default()
        };
        Ok(Self(Arc::new(FlightService::new(engine, limits, flight.login.clone())?)))
    }
}

/// Closes external access and locks the settings: statements come from anybody who reaches the port.
fn lock(engine: &Arc<dyn Engine>) -> Result<()> {
    let sql = "SET enable_external_access = false; SET lock_configuration = true";
    engine.execute(sql, &CancelToken::default()).map(drop)
}

fn unusable(path: &std::path::Path) -> Error {
    Error::InvalidArgument(format!("{}: the path of a database must be UTF-8", path.display()))
}

impl Service for Flight {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        named(self.0.answer(request).await.map(|body| AnswerBody::Messages(body, None)))
    }
}
