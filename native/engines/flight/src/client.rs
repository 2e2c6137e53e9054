//! The calls of Flight SQL that the engine makes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::{Any, DoPutUpdateResult, ProstMessageExt};
use arrow_flight::{Action, FlightDescriptor, FlightInfo, IpcMessage, PutResult, Result as Outcome};
use arrow_schema::Schema;
use boundary_bench_engine::arrow_in::logical_schema;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use prost::Message;

use crate::channel::{Channel, Reply};
use crate::data::{BatchWriter, schema_message};
use crate::engine_error;
use crate::grpc::{Intent, MessageBody, Parts, framed};

impl Channel {
    /// The endpoints of a command's result.
    pub(crate) async fn flight_info(&self, command: &impl ProstMessageExt, intent: Intent) -> Result<FlightInfo> {
        let request = MessageBody::request(Parts::from([framed(&descriptor(command))]));
        let mut reply = self.call_with("GetFlightInfo", request, intent).await?;
        only(&mut reply).await
    }

    /// Sends a command and perhaps a batch, and returns the response.
    pub(crate) async fn put(
        &self,
        command: &impl ProstMessageExt,
        batch: Option<&RecordBatch>,
    ) -> Result<Option<PutResult>> {
        // Arrow's C++ refuses a call without a schema.
        let schema = batch.map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        let mut parts = schema_message(&schema, Some(&descriptor(command)));
        if let Some(batch) = batch {
            parts.extend(BatchWriter::new(&schema)?.write(batch)?);
        }
        let mut reply = self.call("DoPut", MessageBody::request(parts)).await?;
        last(&mut reply).await
    }

    /// Runs an action, and returns the message of its response.
    pub(crate) async fn act<M: ProstMessageExt>(
        &self,
        name: &str,
        request: &impl ProstMessageExt,
    ) -> Result<Option<M>> {
        let action = Action::new(name, request.as_any().encode_to_vec());
        let mut reply = self.call("DoAction", MessageBody::request(Parts::from([framed(&action)]))).await?;
        let outcome: Option<Outcome> = last(&mut reply).await?;
        let Some(outcome) = outcome else { return Ok(None) };
        let any = Any::decode(outcome.body).map_err(|error| not_understood(&error))?;
        any.unpack().map_err(|error| not_understood(&error))
    }
}

pub(crate) fn descriptor(command: &impl ProstMessageExt) -> FlightDescriptor {
    FlightDescriptor::new_cmd(command.as_any().encode_to_vec())
}

/// Reads a reply to its end and returns its last message.
pub(crate) async fn last<M: Message + Default>(reply: &mut Reply) -> Result<Option<M>> {
    let mut last = None;
    while let Some(message) = reply.next().await? {
        last = Some(message);
    }
    Ok(last)
}

async fn only<M: Message + Default>(reply: &mut Reply) -> Result<M> {
    last(reply).await?.ok_or_else(|| engine_error("the server's answer is empty"))
}

/// The number of rows that an update changed, or 0 if the server does not know it.
pub(crate) fn rows_changed(result: Option<PutResult>) -> Result<u64> {
    let Some(result) = result else { return Ok(0) };
    let result = DoPutUpdateResult::decode(result.app_metadata).map_err(|error| not_understood(&error))?;
    Ok(u64::try_from(result.record_count).unwrap_or(0))
}

/// A schema that the server sends outside of a stream, or `None` if it sends none.
pub(crate) fn schema_of(bytes: Bytes) -> Result<Option<Schema>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    // The decoder panics on types that Arrow does not have.
    let schema = catch_panic(|| Schema::try_from(IpcMessage(bytes)).map_err(|error| not_understood(&error)))?;
    Ok(Some(logical_schema(&schema).unwrap_or(schema)))
}

pub(crate) fn not_understood(error: &dyn std::fmt::Display) -> Error {
    engine_error(format!("the server's answer is not understood: {error}"))
}
