//! Queries over PostgreSQL's protocol: `COPY (...) TO STDOUT` as an Arrow stream, read as it is asked for.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use boundary_bench_core::engine::{BatchStream, CancelGuard, CancelToken, QueryOptions};
use boundary_bench_core::{Error, Result};

use crate::batches::{Batches, Source};
use crate::pool::Lease;
use crate::sql::Statement;
use crate::wire::{Message, ServerError};
use crate::{engine_error, unusable};

/// What ends a stream of Arrow's format.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// A query under way.
struct CopyOut {
    /// The session, until the server is done with the query.
    running: Option<Running>,
    decoder: StreamDecoder,
    /// Bytes that are not decoded yet.
    data: Buffer,
    refusal: Option<ServerError>,
}

struct Running {
    // Dropped in this order: no cancellation may hit the session's next user.
    _guard: CancelGuard,
    session: Lease,
}

/// Starts a query whose result is Arrow.
pub(crate) fn start(
    mut session: Lease,
    statement: &Statement<'_>,
    options: &QueryOptions,
) -> Result<Box<dyn BatchStream>> {
    let guard = guard(&session, &options.cancel);
    let interruptible = |error: Error| if options.cancel.is_cancelled() { Error::Cancelled } else { error };
    options.cancel.check()?;
    // The line break ends a comment at the end of the query.
    session.send_query(&format!("COPY ({}\n) TO STDOUT WITH (FORMAT ARROWSTREAM)", statement.text))?;
    let mut copy = CopyOut {
        running: Some(Running { _guard: guard, session }),
        decoder: StreamDecoder::new(),
        data: Buffer::default(),
        refusal: None,
    };
    // Errors of the query come before its schema.
    let mut first = None;
    let schema = loop {
        if let Some(schema) = copy.decoder.schema() {
            break schema;
        }
        match copy.step().map_err(interruptible)? {
            Step::Batch(batch) => first = Some(batch),
            Step::More => {}
            Step::End if copy.decoder.schema().is_some() => {}
            Step::End => return Err(engine_error("the server sent a result without a schema")),
        }
    };
    Ok(Box::new(Batches::new(First { first, copy }, &schema, options)?))
}

/// Runs a statement that shows something; its result is text.
pub(crate) fn display(
    mut session: Lease,
    statement: &Statement<'_>,
    options: &QueryOptions,
) -> Result<Box<dyn BatchStream>> {
    let guard = guard(&session, &options.cancel);
    options.cancel.check()?;
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let run = session.run(statement.text, |message| match message {
        Message::RowDescription(found) => names.clone_from(found),
        Message::Row(row) => rows.push(row.clone()),
        _ => {}
    });
    drop(guard);
    run.map_err(|failure| if options.cancel.is_cancelled() { Error::Cancelled } else { failure.into() })?;
    drop(session);
    let fields = names.iter().map(|name| Field::new(name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let column = |index: usize| rows.iter().map(|row| row.get(index)?.as_deref()).collect::<StringArray>();
    let arrays = (0..names.len()).map(|index| Arc::new(column(index)) as _).collect();
    let batch = (!rows.is_empty()).then(|| RecordBatch::try_new(SchemaRef::clone(&schema), arrays));
    let batch = batch.transpose().map_err(unusable)?;
    Ok(Box::new(Batches::new(Shown(batch), &schema, options)?))
}

/// Makes `cancel` end what the session runs, while the guard lives.
pub(crate) fn guard(session: &Lease, cancel: &CancelToken) -> CancelGuard {
    let canceller = session.canceller();
    cancel.on_cancel(move || canceller.cancel())
}

enum Step {
    Batch(RecordBatch),
    More,
    End,
}

impl CopyOut {
    fn step(&mut self) -> Result<Step> {
        if !self.data.is_empty() {
            return Ok(match self.decoder.decode(&mut self.data).map_err(unusable)? {
                Some(batch) => Step::Batch(batch),
                None => Step::More,
            });
        }
        let Some(running) = &mut self.running else { return Ok(Step::End) };
        match running.session.receive()? {
            Message::CopyData(data) => self.data = data,
            Message::Failed(error) => self.refusal = Some(error),
            Message::Ready => {
                self.running = None;
                if let Some(error) = self.refusal.take() {
                    return Err(error.into());
                }
                // The server leaves out the mark of the end. The decoder wants it, and takes a schema that no batch
                // follows only then.
                self.decoder.decode(&mut Buffer::from(END_OF_STREAM)).map_err(unusable)?;
                self.decoder.finish().map_err(unusable)?;
            }
            _ => {}
        }
        Ok(Step::More)
    }
}

impl Drop for CopyOut {
    fn drop(&mut self) {
        // What still runs is ended, and the session emptied of it, so that it locks nothing and can be used again.
        if let Some(running) = &mut self.running
            && running.session.status().is_none()
        {
            running.session.canceller().cancel();
            running.session.settle();
        }
    }
}

/// A result of which the first batch may have come with the schema.
struct First {
    first: Option<RecordBatch>,
    copy: CopyOut,
}

impl Source for First {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.first.take() {
            return Ok(Some(batch));
        }
        loop {
            match self.copy.step()? {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::More => {}
                Step::End => return Ok(None),
            }
        }
    }
}

/// A result that is there already.
struct Shown(Option<RecordBatch>);

impl Source for Shown {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.0.take())
    }
}
