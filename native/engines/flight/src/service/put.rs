//! `DoPut`: the commands, parameters and rows to insert that clients send.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::PutResult;
use arrow_flight::sql::{
    Command, CommandStatementIngest, DoPutPreparedStatementResult, DoPutUpdateResult, TableExistsOption,
    TableNotExistOption,
};
use arrow_schema::{Schema, SchemaRef};
use boundary_bench_engine::arrow_in::Decoded;
use boundary_bench_engine::lanes::statement::BoundStatement;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{CreateMode, Engine, Ingest, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::runtime::blocking;
use boundary_bench_kernel::{Error, Result};
use prost::Message;
use tokio::sync::mpsc;
use tonic::Status;

use super::query::no_transaction;
use super::{Call, CallResult, FlightService, command, not_offered, one};
use crate::data::{BatchReader, Data};
use crate::grpc::{Frames, Messages};
use crate::status::of_error;
use crate::values::{by_name, columns_of, rows};

/// Maximum number of batches that wait for the engine.
const AHEAD: usize = 2;

impl FlightService {
    pub(super) async fn put<B: Frames>(self: &Arc<Self>, mut messages: Messages<B>, call: &Call) -> CallResult {
        let first = Data::next(&mut messages).await?;
        let first = first.ok_or_else(|| Status::invalid_argument("the call has no message"))?;
        let descriptor = first.descriptor.as_ref();
        let descriptor = descriptor.ok_or_else(|| Status::invalid_argument("the first message has no descriptor"))?;
        let given = command(&descriptor.cmd)?;
        let mut stream = Batches { messages, reader: BatchReader::default(), first: Some(first) };
        let changed = match given {
            Command::CommandStatementUpdate(update) => {
                self.quirks.check("do_put_statement_update")?;
                no_transaction(update.transaction_id.as_ref())?;
                self.run(call, move |this, cancel| this.engine.execute(&update.query, cancel)).await?
            }
            Command::CommandStatementIngest(target) => {
                self.quirks.check("do_put_statement_ingest")?;
                no_transaction(target.transaction_id.as_ref())?;
                self.ingest(target, stream, call).await?
            }
            Command::CommandPreparedStatementQuery(query) => {
                let open = self.statements.get(&query.prepared_statement_handle)?;
                open.bind(stream.parameters().await?);
                // The handle does not change.
                let result = DoPutPreparedStatementResult { prepared_statement_handle: None };
                return Ok(one(&PutResult { app_metadata: result.encode_to_vec().into() }));
            }
            Command::CommandPreparedStatementUpdate(update) => {
                let open = self.statements.get(&update.prepared_statement_handle)?;
                let runs = open.runs_of(stream.parameters().await?);
                self.run(call, move |_, cancel| execute(&runs, cancel)).await?
            }
            other => return Err(not_offered(&other)),
        };
        let record_count = i64::try_from(changed).unwrap_or(i64::MAX);
        Ok(one(&PutResult { app_metadata: DoPutUpdateResult { record_count }.encode_to_vec().into() }))
    }

    /// Inserts the rows of a stream, all of them or none.
    async fn ingest<B: Frames>(
        self: &Arc<Self>,
        target: CommandStatementIngest,
        mut stream: Batches<B>,
        call: &Call,
    ) -> std::result::Result<u64, Status> {
        let schema = stream.schema().await?;
        let is_here = target.catalog.as_deref().is_none_or(|name| name.is_empty() || name == self.catalog);
        if target.temporary || !is_here {
            let catalog = &self.catalog;
            let refusal = format!("rows go to tables of {catalog} that stay; leave out catalog and temporary");
            return Err(Status::unimplemented(refusal));
        }
        let (sender, receiver) = mpsc::channel(AHEAD);
        // A task of its own. It removes a table that it has made if this call is dropped.
        let inserting = Arc::clone(self).insert(target, schema, receiver, call.cancel.clone());
        let inserting = tokio::spawn(inserting);
        // If the engine has failed, the task returns its error.
        let sent = stream.send(&sender).await;
        if sent.is_ok() {
            let _ = sender.send(Step::Commit).await;
        }
        drop(sender);
        let inserted = match inserting.await {
            Ok(result) => result,
            Err(error) => Err(Error::Internal(error.to_string())),
        };
        sent?;
        inserted.map_err(|error| of_error(&error))
    }

    /// Inserts the batches as they arrive.
    async fn insert(
        self: Arc<Self>,
        target: CommandStatementIngest,
        schema: SchemaRef,
        steps: mpsc::Receiver<Step>,
        cancel: CancelToken,
    ) -> Result<u64> {
        let this = Arc::clone(&self);
        let (table, is_new) = blocking(move || this.target(&target, &schema)).await?;
        let inserted = take(Arc::clone(&self.engine), table.clone(), steps, &cancel).await;
        if inserted.is_err() && is_new {
            // The table was created for these rows.
            let _ = blocking(move || self.engine.drop_table(&table.name)).await;
        }
        inserted
    }

    /// The table that the rows go to, and whether it was created for them.
    fn target(&self, target: &CommandStatementIngest, schema: &Schema) -> Result<(TableDefinition, bool)> {
        let options = target.table_definition_options.unwrap_or_default();
        let missing = TableNotExistOption::try_from(options.if_not_exist).unwrap_or(TableNotExistOption::Unspecified);
        let exists = TableExistsOption::try_from(options.if_exists).unwrap_or(TableExistsOption::Unspecified);
        let name = match target.schema.as_deref().filter(|name| !name.is_empty() && *name != self.schema) {
            Some(schema) if !self.schema_names().iter().any(|known| known == schema) => {
                return Err(Error::TableNotFound(format!("{schema}.{}", target.table)));
            }
            Some(schema) => self.name_in(schema, &target.table),
            None => target.table.clone(),
        };
        let new =
            || -> Result<TableDefinition> { Ok(TableDefinition { name: name.clone(), columns: columns_of(schema)? }) };
        match (self.engine.describe_table(&name), exists, missing) {
            (Ok(_), TableExistsOption::Replace, _) => {
                let table = new()?;
                self.engine.create_table(&table, CreateMode::Replace)?;
                Ok((table, true))
            }
            (Ok(_), TableExistsOption::Fail, _) => Err(Error::TableExists(name)),
            (Ok(table), ..) => Ok((table, false)),
            (Err(Error::TableNotFound(_)), _, TableNotExistOption::Create) => {
                let table = new()?;
                self.engine.create_table(&table, CreateMode::Create)?;
                Ok((table, true))
            }
            (Err(error), ..) => Err(error),
        }
    }
}

async fn take(
    engine: Arc<dyn Engine>,
    table: TableDefinition,
    mut steps: mpsc::Receiver<Step>,
    cancel: &CancelToken,
) -> Result<u64> {
    let schema = table.to_arrow();
    let mut ingest: Box<dyn Ingest> = blocking(move || engine.ingest(&table)).await?;
    let mut rows = 0;
    while let Some(step) = steps.recv().await
        && !cancel.is_cancelled()
    {
        match step {
            Step::Batch(batch) => {
                let schema = Arc::clone(&schema);
                let first_row = rows;
                rows += batch.num_rows() as u64;
                let write = move || {
                    ingest.write(&by_name(&batch, &schema, first_row)?)?;
                    Ok(ingest)
                };
                ingest = blocking(write).await?;
            }
            Step::Commit => return blocking(move || ingest.commit()).await,
        }
    }
    // The stream broke off.
    blocking(move || ingest.abort()).await?;
    Err(Error::Cancelled)
}

/// The next step of an insert.
enum Step {
    Batch(RecordBatch),
    Commit,
}

fn execute(runs: &[BoundStatement], cancel: &CancelToken) -> Result<u64> {
    runs.iter().try_fold(0, |changed, run| Ok(changed + run.execute(cancel)?))
}

/// The batches that a client sends.
struct Batches<B> {
    messages: Messages<B>,
    reader: BatchReader,
    /// The message with the command. It may have a schema, too. `None` once it is read.
    first: Option<Data>,
}

impl<B: Frames> Batches<B> {
    async fn next(&mut self) -> std::result::Result<Option<Decoded>, Status> {
        let data = match self.first.take() {
            Some(first) => Some(first),
            None => Data::next(&mut self.messages).await?,
        };
        let decoded = data.map(|data| self.reader.read(&data)).transpose();
        decoded.map_err(|error| of_error(&error))
    }

    /// Reads the schema. It precedes all rows.
    async fn schema(&mut self) -> std::result::Result<SchemaRef, Status> {
        loop {
            match self.next().await? {
                Some(Decoded::Schema(schema)) => return Ok(schema),
                Some(Decoded::Nothing) => {}
                Some(Decoded::Batch(_)) | None => return Err(Status::invalid_argument("the rows have no schema")),
            }
        }
    }

    /// Sends all rows to `sender`. It also ends once the receiver is dropped.
    async fn send(&mut self, sender: &mpsc::Sender<Step>) -> std::result::Result<(), Status> {
        while let Some(decoded) = self.next().await? {
            if let Decoded::Batch(batch) = decoded
                && batch.num_rows() > 0
                && sender.send(Step::Batch(batch)).await.is_err()
            {
                break;
            }
        }
        Ok(())
    }

    /// All rows as sets of parameters.
    async fn parameters(&mut self) -> std::result::Result<Vec<Vec<Value>>, Status> {
        let mut parameters = Vec::new();
        while let Some(decoded) = self.next().await? {
            if let Decoded::Batch(batch) = decoded {
                parameters.extend(rows(&batch).map_err(|error| of_error(&error))?);
            }
        }
        Ok(parameters)
    }
}
