//! Prepared statements of the server.

use std::sync::Arc;

use arrow_flight::PutResult;
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    CommandPreparedStatementQuery, CommandPreparedStatementUpdate, DoPutPreparedStatementResult,
};
use arrow_schema::DataType;
use boundary_bench_engine::arrow_in::sql_type_of;
use boundary_bench_engine::table::{Column, SqlType};
use boundary_bench_engine::{BatchStream, QueryOptions, Statement, Value, check_parameter_count, not_a_query};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use prost::Message;

use crate::channel::{Channel, Waiter};
use crate::client::{not_understood, rows_changed, schema_of};
use crate::grpc::Intent;
use crate::stream::FlightStream;
use crate::values::{columns_of, parameter_batch};
use crate::{engine_error, runtime};

/// A prepared statement and its handle. Dropping it closes the statement on the server.
pub(crate) struct PreparedStatement {
    channel: Arc<Channel>,
    handle: Bytes,
    parameters: Vec<Option<SqlType>>,
    /// Whether the server has reported the number of parameters.
    counts: bool,
    columns: Option<Vec<Column>>,
}

impl PreparedStatement {
    pub(crate) fn prepare(channel: &Arc<Channel>, sql: &str, cancel: &CancelToken) -> Result<Self> {
        let request = ActionCreatePreparedStatementRequest { query: sql.to_owned(), transaction_id: None };
        let prepared: Option<ActionCreatePreparedStatementResult> =
            Waiter::new(cancel).wait(channel.act("CreatePreparedStatement", &request))?;
        let prepared = prepared.ok_or_else(|| engine_error("the server prepared nothing"))?;
        let fields = schema_of(prepared.parameter_schema)?;
        let parameters = fields.iter().flat_map(arrow_schema::Schema::fields).map(|field| match field.data_type() {
            DataType::Null => None,
            data_type => sql_type_of(data_type),
        });
        let columns = schema_of(prepared.dataset_schema)?.and_then(|schema| columns_of(&schema).ok());
        Ok(Self {
            channel: Arc::clone(channel),
            handle: prepared.prepared_statement_handle,
            parameters: parameters.collect(),
            counts: fields.is_some(),
            columns,
        })
    }

    fn check(&self, parameters: &[Value]) -> Result<()> {
        if self.counts { check_parameter_count(parameters.len(), self.parameters.len()) } else { Ok(()) }
    }
}

impl Statement for PreparedStatement {
    fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>> {
        self.check(parameters)?;
        if self.columns.as_ref().is_some_and(Vec::is_empty) {
            return Err(not_a_query());
        }
        let waiter = Waiter::new(&options.cancel);
        waiter.check()?;
        let batch = parameter_batch(parameters, &self.parameters)?;
        let channel = Arc::clone(&self.channel);
        FlightStream::start(&channel, waiter, options, async {
            let mut query = CommandPreparedStatementQuery { prepared_statement_handle: self.handle.clone() };
            if batch.num_columns() > 0
                && let Some(handle) = renewed(self.channel.put(&query, Some(&batch)).await?)?
            {
                self.handle.clone_from(&handle);
                query.prepared_statement_handle = handle;
            }
            self.channel.flight_info(&query, Intent::Read).await
        })
    }

    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64> {
        self.check(parameters)?;
        let batch = parameter_batch(parameters, &self.parameters)?;
        let batch = (batch.num_columns() > 0).then_some(&batch);
        let update = CommandPreparedStatementUpdate { prepared_statement_handle: self.handle.clone() };
        rows_changed(Waiter::new(cancel).wait(self.channel.put(&update, batch))?)
    }
}

/// The new handle of a statement with bound parameters, if the server keeps them in the handle.
fn renewed(result: Option<PutResult>) -> Result<Option<Bytes>> {
    let metadata = result.map(|result| result.app_metadata).unwrap_or_default();
    let result = DoPutPreparedStatementResult::decode(metadata).map_err(|error| not_understood(&error))?;
    Ok(result.prepared_statement_handle)
}

impl Drop for PreparedStatement {
    fn drop(&mut self) {
        let request =
            ActionClosePreparedStatementRequest { prepared_statement_handle: std::mem::take(&mut self.handle) };
        let channel = Arc::clone(&self.channel);
        // The response is not waited for: a drop may run on any thread. If the call fails, the server closes the
        // statement in the end by itself.
        runtime().spawn(async move {
            let closed: std::result::Result<Option<ActionCreatePreparedStatementResult>, Error> =
                channel.act("ClosePreparedStatement", &request).await;
            drop(closed);
        });
    }
}
