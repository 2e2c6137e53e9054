//! Inserts: a transaction of its own, filled by one short `COPY ... FROM STDIN` a piece.
//!
//! An open COPY keeps every reader of its table waiting, one that has ended does not. So rows are held back until they
//! make a piece, and sent in one go. Each COPY is one whole Arrow stream: of several in one, the server takes the first
//! and drops the rest without a word.

use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use boundary_bench_core::engine::{Ingest, check_batch};
use boundary_bench_core::table::TableDefinition;
use boundary_bench_core::{Error, Result};

use crate::pool::Lease;
use crate::wire::{CopyWriter, Failure};
use crate::{catalog, engine_error, sql, unusable};

/// Bytes of a piece, where `BOUNDARY_BENCH_FLUSH_BYTES` does not say otherwise.
const PIECE_BYTES: usize = 16 << 20;

/// An insert under way.
pub(crate) struct CopyIn {
    /// `None` once it has failed; the session is closed then, which ends the transaction and any COPY.
    session: Option<Lease>,
    copy: String,
    schema: SchemaRef,
    piece_bytes: usize,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    held_rows: u64,
    rows: u64,
}

impl CopyIn {
    /// Begins to insert into a table, which must have these columns.
    pub(crate) fn begin(mut session: Lease, table: &TableDefinition) -> Result<Self> {
        let rows = session.rows(&catalog::columns_query(&table.name))?;
        catalog::check_columns(&catalog::definition(&table.name, rows)?, table)?;
        session.command("BEGIN")?;
        let columns: Vec<_> = table.columns.iter().map(|column| sql::identifier(&column.name)).collect();
        Ok(Self {
            copy: format!(
                "COPY {} ({}) FROM STDIN WITH (FORMAT ARROWSTREAM)",
                sql::identifier(&table.name),
                columns.join(", ")
            ),
            session: Some(session),
            schema: table.to_arrow(),
            piece_bytes: crate::setting("BOUNDARY_BENCH_FLUSH_BYTES")?.unwrap_or(PIECE_BYTES),
            held: Vec::new(),
            held_bytes: 0,
            held_rows: 0,
            rows: 0,
        })
    }

    fn hold(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch, self.rows)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // Under the table's own schema: the server compares what the stream says of nulls with the table.
        let batch = RecordBatch::try_new(SchemaRef::clone(&self.schema), batch.columns().to_vec()).map_err(unusable)?;
        let bytes = batch.columns().iter().map(|array| array.to_data().get_slice_memory_size().map_err(unusable));
        self.held_bytes += bytes.sum::<Result<usize>>()?;
        self.held_rows += batch.num_rows() as u64;
        self.rows += batch.num_rows() as u64;
        self.held.push(batch);
        if self.held_bytes >= self.piece_bytes { self.send() } else { Ok(()) }
    }

    /// Sends what is held.
    fn send(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        session.begin_copy(&self.copy)?;
        let mut writer = CopyWriter::new(session);
        let encoded = encode(&mut writer, &self.schema, &self.held);
        // A socket's own error says more than that of the encoder above it.
        writer.finish()?;
        encoded?;
        let taken = session.finish_copy()?;
        if taken != self.held_rows {
            return Err(engine_error(format!("the server took {taken} rows of {}", self.held_rows)));
        }
        self.held.clear();
        (self.held_bytes, self.held_rows) = (0, 0);
        Ok(())
    }

    fn publish(&mut self) -> Result<u64> {
        self.send()?;
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        let tag = session.command("COMMIT")?;
        // A COMMIT of a transaction that failed is answered like this, not refused.
        if tag == "COMMIT" { Ok(self.rows) } else { Err(engine_error(format!("the insert was undone ({tag})"))) }
    }

    fn undo(&mut self) -> Result<()> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        match session.command("ROLLBACK") {
            Ok(_) => Ok(()),
            Err(failure) => {
                // Without its session there is no transaction.
                session.close();
                match failure {
                    Failure::Refused(error) => Err(error.into()),
                    Failure::Lost(_) => Ok(()),
                }
            }
        }
    }

    /// Ends the insert where `result` is an error.
    fn ended_by<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.held.clear();
            if let Some(session) = self.session.take() {
                end(session);
            }
        }
        result
    }
}

/// Ends the transaction of an insert that failed. A session in the middle of a COPY is closed: telling the server so frees
/// the table.
fn end(mut session: Lease) {
    if session.status().is_none() || session.command("ROLLBACK").is_err() {
        session.close();
    }
}

fn encode(writer: &mut CopyWriter<'_>, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<()> {
    let mut stream = StreamWriter::try_new(writer, schema).map_err(unusable)?;
    for batch in batches {
        stream.write(batch).map_err(unusable)?;
    }
    stream.finish().map_err(unusable)
}

impl Ingest for CopyIn {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.session.is_none() {
            return Err(Error::Closed("the insert that failed"));
        }
        let held = self.hold(batch);
        self.ended_by(held)
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        let published = self.publish();
        let published = self.ended_by(published);
        // Committed: nothing is left to be undone.
        self.session = None;
        published
    }

    fn abort(mut self: Box<Self>) -> Result<()> {
        self.undo()
    }
}

impl Drop for CopyIn {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            end(session);
        }
    }
}
