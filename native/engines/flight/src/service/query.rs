//! Queries: their schemas and tickets, and their results.

use std::sync::Arc;

use arrow_flight::sql::{Any, Command, CommandStatementQuery, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, Ticket};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::Schema;
use boundary_bench_engine::dialect;
use boundary_bench_engine::lanes::reader::QueryReader;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_engine::table::arrow_schema_of;
use boundary_bench_engine::{QueryOptions, not_a_query};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use tokio::sync::mpsc;
use tonic::Status;

use super::{Call, CallResult, FlightService, Purpose, Running, command};
use crate::data::{BatchWriter, schema_message};
use crate::grpc::{MessageBody, Parts};
use crate::status::of_error;

/// The size of the number at the beginning of a ticket, in bytes.
const NUMBER: usize = 8;

/// The ticket number of a command that has run already.
const DONE: u64 = 0;

impl FlightService {
    /// The ticket of a command's result, and the result's schema.
    pub(super) async fn flight_info(
        self: &Arc<Self>,
        descriptor: FlightDescriptor,
        call: &Call,
    ) -> std::result::Result<FlightInfo, Status> {
        let given = Any::decode(&*descriptor.cmd).map_err(|error| crate::grpc::malformed(&error))?;
        let command = command(&descriptor.cmd)?;
        self.quirks.check_info(&command)?;
        let mut endpoints = Vec::new();
        let (schema, ticket) = match command {
            Command::CommandStatementQuery(query) => {
                no_transaction(query.transaction_id.as_ref())?;
                let sql = query.query.clone();
                let statement = self.run(call, move |this, cancel| this.prepare(&sql, cancel)).await?;
                let schema = columns_of(&statement);
                if is_command(&statement) {
                    let run = BoundStatement::Prepared { statement: Arc::new(statement), parameters: Vec::new() };
                    (schema, self.execute_now(vec![run], call).await?)
                } else {
                    endpoints = self.divided(&query, call).await?;
                    (schema, self.ticket(&query).as_any())
                }
            }
            Command::CommandPreparedStatementQuery(query) => {
                let open = self.statements.get(&query.prepared_statement_handle)?;
                let schema = columns_of(&open.statement);
                if is_command(&open.statement) {
                    (schema, self.execute_now(open.runs(), call).await?)
                } else {
                    (schema, given)
                }
            }
            other => (Some(self.metadata_schema(&other)?), given),
        };
        if endpoints.is_empty() {
            endpoints.push(FlightEndpoint::new().with_ticket(Ticket::new(ticket.encode_to_vec())));
        }
        let ordered = self.quirks.ordered.unwrap_or(self.engine.capabilities().ordered);
        let mut info = endpoints
            .into_iter()
            .fold(FlightInfo::new().with_descriptor(descriptor).with_ordered(ordered), FlightInfo::with_endpoint);
        if let Some(schema) = schema {
            info.schema = ipc_schema(&schema)?;
        }
        Ok(info)
    }

    /// Runs a command that is sent as a query, by a client with only one way to run a statement. The client need not fetch the
    /// result. Returns the ticket of the empty result.
    async fn execute_now(self: &Arc<Self>, runs: Vec<BoundStatement>, call: &Call) -> std::result::Result<Any, Status> {
        match call.purpose {
            Purpose::Run => {}
            Purpose::Describe => return Ok(Any::default()),
            Purpose::Read => return Err(of_error(&not_a_query())),
        }
        self.run(call, move |_, cancel| runs.iter().try_for_each(|run| run.execute(cancel).map(drop))).await?;
        Ok(TicketStatementQuery { statement_handle: Bytes::copy_from_slice(&DONE.to_be_bytes()) }.as_any())
    }

    /// The result of a ticket.
    pub(super) async fn get(self: &Arc<Self>, command: Command, call: &Call) -> CallResult {
        match command {
            Command::TicketStatementQuery(ticket) => {
                let (number, sql) = parse_ticket(&ticket.statement_handle)?;
                if number == DONE {
                    return Ok(MessageBody::whole(schema_message(&Schema::empty(), None)));
                }
                let running = self.running(number);
                self.text(sql, call, Some(running)).await
            }
            Command::CommandStatementQuery(query) => {
                no_transaction(query.transaction_id.as_ref())?;
                self.text(query.query, call, None).await
            }
            Command::CommandPreparedStatementQuery(query) => {
                let open = self.statements.get(&query.prepared_statement_handle)?;
                self.results(open.runs(), call, None).await
            }
            other => {
                let this = Arc::clone(self);
                let batch = self.run(call, move |_, _| this.metadata(other)).await?;
                let mut parts = schema_message(batch.schema_ref(), None);
                let written = BatchWriter::new(batch.schema_ref()).and_then(|mut writer| writer.write(&batch));
                parts.extend(written.map_err(|error| of_error(&error))?);
                Ok(MessageBody::whole(parts))
            }
        }
    }

    async fn text(self: &Arc<Self>, sql: String, call: &Call, running: Option<Running>) -> CallResult {
        let statement = self.run(call, move |this, cancel| this.prepare(&sql, cancel)).await?;
        let run = BoundStatement::Prepared { statement: Arc::new(statement), parameters: Vec::new() };
        self.results(vec![run], call, running).await
    }

    pub(super) fn prepare(&self, sql: &str, cancel: &CancelToken) -> Result<PreparedStatement> {
        PreparedStatement::prepare(Arc::clone(&self.engine), sql, cancel)
    }

    /// The rows of these runs, one after another.
    async fn results(self: &Arc<Self>, runs: Vec<BoundStatement>, call: &Call, running: Option<Running>) -> CallResult {
        let mut runs = runs.into_iter();
        let Some(first) = runs.next() else { return Err(Status::internal("there is nothing to run")) };
        let stop = running.as_ref().map(|running| Arc::clone(&running.stop)).unwrap_or_default();
        let reader = tokio::select! {
            started = start(first) => started.map_err(|error| of_error(&error))?,
            () = stop.notified() => return Err(cancelled()),
        };
        let schema = arrow_schema_of(reader.columns());
        let (sender, receiver) = mpsc::channel(1);
        let body = MessageBody::answer(schema_message(&schema, None), receiver);
        let rest = Call { deadline: call.deadline, cancel: CancelToken::default(), purpose: Purpose::Read };
        tokio::spawn(async move {
            let sent = tokio::select! {
                sent = rest.within(send(reader, runs, &sender)) => sent,
                () = stop.notified() => Err(cancelled()),
                // The client has dropped the response.
                () = sender.closed() => return,
            };
            // The query has ended, though its client may take long to read the end of the result.
            drop(running);
            if let Err(status) = sent {
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(body)
    }

    pub(super) fn ticket(&self, query: &CommandStatementQuery) -> TicketStatementQuery {
        let mut handle = BytesMut::with_capacity(NUMBER + query.query.len());
        handle.put_u64(self.new_ticket());
        handle.put_slice(query.query.as_bytes());
        TicketStatementQuery { statement_handle: handle.freeze() }
    }
}

/// Sends the rows of a reader and of further runs, each part when the client has read the parts before it.
async fn send(
    mut reader: QueryReader<Parts>,
    mut runs: impl Iterator<Item = BoundStatement>,
    sender: &mpsc::Sender<std::result::Result<Parts, Status>>,
) -> std::result::Result<(), Status> {
    let failed = |error| of_error(&error);
    loop {
        while let Some(parts) = reader.next().await.map_err(failed)? {
            sender.send(Ok(parts)).await.map_err(|_| cancelled())?;
        }
        let Some(next) = runs.next() else { return Ok(()) };
        reader = start(next).await.map_err(failed)?;
    }
}

/// Starts a query on a thread of its own. The thread also encodes the batches.
async fn start(run: BoundStatement) -> Result<QueryReader<Parts>> {
    let mut writer: Option<BatchWriter> = None;
    QueryReader::start_bound(run, QueryOptions::default(), move |batch| {
        let writer = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(BatchWriter::new(batch.schema_ref())?),
        };
        writer.write(&batch)
    })
    .await
}

/// The number and the text in a ticket's handle.
pub(super) fn parse_ticket(handle: &[u8]) -> std::result::Result<(u64, String), Status> {
    let parsed = handle.split_at_checked(NUMBER).and_then(|(number, text)| {
        Some((u64::from_be_bytes(number.try_into().ok()?), String::from_utf8(text.to_vec()).ok()?))
    });
    parsed.ok_or_else(|| Status::invalid_argument("the ticket was not made here"))
}

fn cancelled() -> Status {
    Status::cancelled("the query was cancelled")
}

fn is_command(statement: &PreparedStatement) -> bool {
    statement.columns().is_some_and(<[_]>::is_empty)
}

/// The schema of a statement's rows, empty for a command, or `None` if it is not known.
pub(super) fn columns_of(statement: &PreparedStatement) -> Option<Schema> {
    statement.columns().map(|columns| arrow_schema_of(columns).as_ref().clone())
}

pub(super) fn no_transaction(transaction: Option<&Bytes>) -> std::result::Result<(), Status> {
    match transaction {
        Some(id) if !id.is_empty() => Err(of_error(&dialect::no_transaction())),
        _ => Ok(()),
    }
}

/// A schema as an encapsulated Arrow message.
pub(super) fn ipc_schema(schema: &Schema) -> std::result::Result<Bytes, Status> {
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &IpcWriteOptions::default()));
    message.map(|message| message.0).map_err(|error| Status::internal(error.to_string()))
}
