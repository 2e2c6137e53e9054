//! Actions. They create and close prepared statements and cancel queries.

use std::sync::Arc;

use boundary_bench_kernel::lock;

use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, ActionClosePreparedStatementRequest,
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, Command, ProstMessageExt,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo, Result as Outcome,
};
use bytes::Bytes;
use prost::Message;
use tonic::Status;

use super::query::{columns_of, ipc_schema, no_transaction, parse_ticket};
use super::{Call, CallResult, FlightService, command, one};
use crate::grpc::{MessageBody, Parts, framed, malformed};
use crate::values::parameter_schema;

const CREATE_STATEMENT: &str = "CreatePreparedStatement";
const CLOSE_STATEMENT: &str = "ClosePreparedStatement";
const CANCEL_FLIGHT_INFO: &str = "CancelFlightInfo";
/// The older action that cancels a query.
const CANCEL_QUERY: &str = "CancelQuery";

/// The name and the description of every action.
const ACTIONS: [(&str, &str); 4] = [
    (
        CREATE_STATEMENT,
        "Prepares a statement. ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult",
    ),
    (CLOSE_STATEMENT, "Closes a prepared statement. ActionClosePreparedStatementRequest, nothing"),
    (CANCEL_FLIGHT_INFO, "Cancels a query whose result is under way. CancelFlightInfoRequest, CancelFlightInfoResult"),
    (CANCEL_QUERY, "As CancelFlightInfo. ActionCancelQueryRequest, ActionCancelQueryResult"),
];

/// The list of the actions.
pub(super) fn list() -> MessageBody {
    let types = ACTIONS.iter().map(|(name, description)| {
        framed(&ActionType { r#type: (*name).to_owned(), description: (*description).to_owned() })
    });
    MessageBody::whole(types.collect())
}

impl FlightService {
    pub(super) async fn act(self: &Arc<Self>, action: Action, call: &Call) -> CallResult {
        match action.r#type.as_str() {
            CREATE_STATEMENT => {
                self.quirks.check("do_action_create_prepared_statement")?;
                let request: ActionCreatePreparedStatementRequest = unpacked(&action.body)?;
                no_transaction(request.transaction_id.as_ref())?;
                let statement = self.run(call, move |this, cancel| this.prepare(&request.query, cancel)).await?;
                let dataset_schema = columns_of(&statement).map(|schema| ipc_schema(&schema)).transpose()?;
                let parameters = parameter_schema(statement.parameters());
                let result = ActionCreatePreparedStatementResult {
                    dataset_schema: dataset_schema.unwrap_or_default(),
                    parameter_schema: ipc_schema(&parameters)?,
                    prepared_statement_handle: self.statements.insert(statement),
                };
                Ok(outcome(result.as_any().encode_to_vec()))
            }
            CLOSE_STATEMENT => {
                let request: ActionClosePreparedStatementRequest = unpacked(&action.body)?;
                self.statements.close(&request.prepared_statement_handle);
                Ok(MessageBody::whole(Parts::new()))
            }
            CANCEL_FLIGHT_INFO => {
                let request = CancelFlightInfoRequest::decode(action.body).map_err(|error| malformed(&error))?;
                let status = self.cancel(request.info.as_ref());
                Ok(outcome(CancelFlightInfoResult { status: status.into() }.encode_to_vec()))
            }
            CANCEL_QUERY => {
                let request: ActionCancelQueryRequest = unpacked(&action.body)?;
                let info = FlightInfo::decode(request.info).map_err(|error| malformed(&error))?;
                // The numbers of the statuses are the same in both messages.
                let result = self.cancel(Some(&info)).into();
                Ok(outcome(ActionCancelQueryResult { result }.as_any().encode_to_vec()))
            }
            other => Err(Status::unimplemented(format!("the action {} is not offered here", other.escape_debug()))),
        }
    }

    /// Cancels the queries of these tickets whose results are being sent.
    fn cancel(&self, info: Option<&FlightInfo>) -> CancelStatus {
        let tickets = info.into_iter().flat_map(|info| &info.endpoint).filter_map(|endpoint| endpoint.ticket.as_ref());
        let running = lock(&self.running);
        let mut status = CancelStatus::NotCancellable;
        for ticket in tickets {
            if let Ok(Command::TicketStatementQuery(ticket)) = command(&ticket.ticket)
                && let Ok((number, _)) = parse_ticket(&ticket.statement_handle)
                && let Some(stop) = running.get(&number)
            {
                stop.notify_one();
                status = CancelStatus::Cancelled;
            }
        }
        status
    }
}

fn unpacked<M: ProstMessageExt>(body: &Bytes) -> Result<M, Status> {
    let any = Any::decode(&**body).map_err(|error| malformed(&error))?;
    let message = any.unpack().map_err(|error| malformed(&error))?;
    message.ok_or_else(|| Status::invalid_argument("the action has another kind of message"))
}

fn outcome(body: Vec<u8>) -> MessageBody {
    one(&Outcome { body: body.into() })
}
