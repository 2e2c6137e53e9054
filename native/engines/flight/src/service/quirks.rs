//! Quirks of other servers. A service takes them on so that clients are tested against them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_flight::sql::{Command, CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightEndpoint, Ticket};
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_kernel::{Error, Result};
use prost::Message;
use tonic::Status;

use super::{Call, FlightService};

/// The quirks of a service. The default has only the quirks of our own servers.
#[derive(Debug, Clone, Default)]
pub struct Quirks {
    /// The URIs of the locations of each endpoint of a query's result. The result is divided among the endpoints. Empty: one
    /// endpoint, at this service.
    pub endpoints: Vec<Vec<String>>,
    /// Whether the endpoints of a result are said to be in its order. `None`: if the engine's rows are.
    pub ordered: Option<bool>,
    /// Whether statements that are sent as queries are all that is offered, as by Sail: no updates, no bulk ingestion, no prepared
    /// statements and no metadata.
    pub only_queries: bool,
}

impl Quirks {
    /// Refuses a call that is not offered, in the words of arrow-flight's own service, on which Sail's is built.
    pub(super) fn check(&self, call: &str) -> std::result::Result<(), Status> {
        if self.only_queries {
            return Err(Status::unimplemented(format!("{call} has no default implementation")));
        }
        Ok(())
    }

    /// Refuses the metadata that is not offered.
    pub(super) fn check_info(&self, command: &Command) -> std::result::Result<(), Status> {
        match command {
            Command::CommandStatementQuery(_) => Ok(()),
            Command::CommandGetSqlInfo(_) => self.check("get_flight_info_sql_info"),
            Command::CommandGetTables(_) => self.check("get_flight_info_tables"),
            _ => self.check("get_flight_info"),
        }
    }
}

impl FlightService {
    /// The endpoints among which the rows of a query are divided. None for a result that is at this service as a whole, such as a
    /// result of fewer rows than endpoints.
    pub(super) async fn divided(
        self: &Arc<Self>,
        query: &CommandStatementQuery,
        call: &Call,
    ) -> std::result::Result<Vec<FlightEndpoint>, Status> {
        let parts = self.quirks.endpoints.len() as u64;
        if parts == 0 {
            return Ok(Vec::new());
        }
        let sql = query.query.clone();
        let rows = self.run(call, move |this, _| count(&*this.engine, &sql)).await?;
        if rows < parts {
            return Ok(Vec::new());
        }
        let share = rows.div_ceil(parts);
        let endpoints = self.quirks.endpoints.iter().zip(0..).map(|(locations, part)| {
            let query = format!("SELECT * FROM ({}) LIMIT {share} OFFSET {}", query.query, share * part);
            let ticket = self.ticket(&CommandStatementQuery { query, transaction_id: None });
            let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket.as_any().encode_to_vec()));
            locations.iter().fold(endpoint, FlightEndpoint::with_location)
        });
        Ok(endpoints.collect())
    }
}

/// The number of rows of a query.
fn count(engine: &dyn Engine, sql: &str) -> Result<u64> {
    let mut stream = engine.query(&format!("SELECT count(*) FROM ({sql})"), &QueryOptions::default())?;
    let batch = stream.next_batch()?;
    let count = batch.as_ref().and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>());
    let count = count.filter(|count| !count.values().is_empty()).map(|count| count.value(0));
    count.and_then(|count| u64::try_from(count).ok()).ok_or_else(|| Error::Internal("a count is none".to_owned()))
}
