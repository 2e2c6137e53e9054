//! Queries over `PostgreSQL`'s protocol: `COPY (...) TO STDOUT` as an Arrow stream, read on demand.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use boundary_bench_engine::sql_text::Statement;
use boundary_bench_engine::{BatchStream, QueryOptions};
use boundary_bench_kernel::cancel::{CancelGuard, CancelToken};
use boundary_bench_kernel::{Error, Result};

use crate::arrow_stream::Pieces;
use crate::batches::{Batches, Source};
use crate::engine_error;
use crate::pool::Lease;
use crate::wire::{Message, ServerError};

/// A query under way.
struct CopyOut {
    /// The session, until the server has ended the query.
    running: Option<Running>,
    refusal: Option<ServerError>,
}

struct Running {
    // The guard is dropped first: no cancellation may hit the session's next user.
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
    options.cancel.check()?;
    // The line break ends a comment at the end of the query.
    session.send_query(&format!("COPY ({}\n) TO STDOUT WITH (FORMAT ARROWSTREAM)", statement.text))?;
    let pieces = CopyOut { running: Some(Running { _guard: guard, session }), refusal: None };
    Batches::start(pieces, options)
}

/// Runs a statement such as `EXPLAIN` or `SHOW`, whose result is text.
pub(crate) fn display(
    mut session: Lease,
    statement: &Statement<'_>,
    options: &QueryOptions,
) -> Result<Box<dyn BatchStream>> {
    let guard = guard(&session, &options.cancel);
    options.cancel.check()?;
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let run = session.run(statement.text, |message| match message {
        Message::RowDescription(fields) => names = fields.into_iter().map(|field| field.name).collect(),
        Message::Row(row) => rows.push(row),
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
    let batch = batch.transpose().map_err(engine_error)?;
    Ok(Box::new(Batches::new(Shown(batch), &schema, options)?))
}

/// Makes `cancel` end the session's running statement, while the guard lives.
pub(crate) fn guard(session: &Lease, cancel: &CancelToken) -> CancelGuard {
    let canceller = session.canceller();
    cancel.on_cancel(move || canceller.cancel())
}

impl Pieces for CopyOut {
    fn next_piece(&mut self) -> Result<Option<Buffer>> {
        while let Some(running) = &mut self.running {
            match running.session.receive()? {
                Message::CopyData(data) => return Ok(Some(data)),
                Message::Failed(error) => self.refusal = Some(error),
                Message::Ready => self.running = None,
                _ => {}
            }
        }
        self.refusal.take().map_or(Ok(None), |error| Err(error.into()))
    }
}

impl Drop for CopyOut {
    fn drop(&mut self) {
        // A running query is cancelled and its remaining messages are read, so that the session locks nothing and can
        // be reused.
        if let Some(running) = &mut self.running
            && running.session.status().is_none()
        {
            running.session.canceller().cancel();
            running.session.settle();
        }
    }
}

/// A result that is complete already: one batch, or none.
struct Shown(Option<RecordBatch>);

impl Source for Shown {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.0.take())
    }
}
