//! Inserts: each is one call of bulk ingestion, whose rows the server takes while the next ones are made.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::PutResult;
use arrow_flight::sql::{CommandStatementIngest, TableDefinitionOptions, TableExistsOption, TableNotExistOption};
use arrow_schema::SchemaRef;
use boundary_bench_engine::catalog::TablePath;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{Ingest, check_batch};
use boundary_bench_kernel::{Error, Result};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::Status;

use crate::channel::Channel;
use crate::client::{descriptor, last, rows_changed};
use crate::data::{BatchWriter, schema_message};
use crate::grpc::{MessageBody, Parts};
use crate::{engine_error, runtime};

/// Maximum number of batches that wait to be sent.
const AHEAD: usize = 2;

/// The command that appends rows to a table. The table must exist.
pub fn append_to(table: &str) -> CommandStatementIngest {
    CommandStatementIngest {
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: TableNotExistOption::Fail.into(),
            if_exists: TableExistsOption::Append.into(),
        }),
        table: table.to_owned(),
        ..CommandStatementIngest::default()
    }
}

/// An insert under way.
pub(crate) struct FlightIngest {
    /// The call of bulk ingestion, or `None` once the insert has ended or failed.
    call: Option<Call>,
    schema: SchemaRef,
    writer: BatchWriter,
    rows: u64,
}

/// The call that sends the rows.
struct Call {
    sender: mpsc::Sender<std::result::Result<Parts, Status>>,
    answer: JoinHandle<Result<Option<PutResult>>>,
}

impl FlightIngest {
    /// Begins an insert into the table at a place. It must have the columns of `table`.
    pub(crate) fn begin(channel: &Arc<Channel>, path: TablePath, table: &TableDefinition) -> Result<Self> {
        let schema = table.to_arrow();
        let command = CommandStatementIngest { schema: path.schema, ..append_to(&path.table) };
        let (sender, receiver) = mpsc::channel(AHEAD);
        let _ = sender.try_send(Ok(schema_message(&schema, Some(&descriptor(&command)))));
        let channel = Arc::clone(channel);
        let answer = runtime().spawn(async move {
            let mut reply = channel.call("DoPut", MessageBody::requests(receiver)).await?;
            last(&mut reply).await
        });
        Ok(Self { call: Some(Call { sender, answer }), writer: BatchWriter::new(&schema)?, schema, rows: 0 })
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch, self.rows)?;
        let Some(Call { sender, answer }) = &mut self.call else { return Err(Error::Closed("the insert that failed")) };
        let parts = self.writer.write(batch)?;
        let ended = runtime().block_on(async {
            tokio::select! {
                biased;
                sent = sender.send(Ok(parts)) => if sent.is_ok() { None } else { Some((&mut *answer).await) },
                // A server that takes no more rows leaves no room for these, also after its time-out.
                answer = &mut *answer => Some(answer),
            }
        });
        if let Some(answer) = ended {
            // The server has answered before the end of the rows, or not in time: it refuses the insert.
            self.call = None;
            let error = engine_error("the server ended the insert before its end");
            return Err(answer.map_err(|error| Error::Internal(error.to_string()))?.err().unwrap_or(error));
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Cuts the call off, so that the server discards the rows that it has.
    fn give_up(&mut self) {
        if let Some(Call { sender, answer }) = self.call.take() {
            // The end is not waited for: a drop may run on any thread.
            runtime().spawn(async move {
                let _ = sender.send(Err(Status::cancelled(""))).await;
                drop(answer.await);
            });
        }
    }
}

impl Ingest for FlightIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.put(batch).inspect_err(|_| self.give_up())
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        let Some(Call { sender, answer }) = self.call.take() else {
            return Err(Error::Closed("the insert that failed"));
        };
        // The server publishes the rows at the end of the stream.
        drop(sender);
        let answer = runtime().block_on(answer).map_err(|error| Error::Internal(error.to_string()))??;
        let taken = rows_changed(answer)?;
        if taken != self.rows {
            return Err(engine_error(format!("the server took {taken} rows of {}", self.rows)));
        }
        Ok(taken)
    }

    fn abort(mut self: Box<Self>) -> Result<()> {
        self.give_up();
        Ok(())
    }
}

impl Drop for FlightIngest {
    fn drop(&mut self) {
        self.give_up();
    }
}
