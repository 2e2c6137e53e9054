//! Inserts: each is a transaction of its own, filled by `COPY ... FROM STDIN` of Arrow streams.
//!
//! An open COPY blocks every reader of its table, an ended one does not. So a COPY ends after some bytes ([`COPY_BYTES`]), and a
//! watchman thread ends a COPY whose caller pauses. Until then the batches are sent as they arrive, so that the server stores
//! them while the next ones are made. An insert whose pieces are held back and sent in one go takes longer. Each COPY is one
//! whole Arrow stream. Of several streams in one COPY, the server takes the first and drops the rest without an error.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};
use boundary_bench_engine::catalog::TablePath;
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{Ingest, check_batch};
use boundary_bench_kernel::{Error, Result, lock};

use crate::catalog::{self, Form};
use crate::engine_error;
use crate::pool::Lease;
use crate::sql::Hyperd;
use crate::wire::{CopyWriter, Failure};

/// Default bytes of one COPY: about a second of the server's work, for which readers of the table may have to wait. Smaller COPYs
/// cost more.
pub(crate) const COPY_BYTES: usize = 256 << 20;

/// Batches of fewer bytes in total are held back, so that a small insert is one COPY, opened by its commit.
const HELD_BYTES: usize = 1 << 20;

/// A COPY without a write for this long is ended, so that readers of its table need not wait for its caller.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// An insert under way.
pub(crate) struct CopyIn {
    shared: Arc<Shared>,
}

/// The state that an insert shares with its watchman thread.
struct Shared {
    insert: Mutex<Insert>,
    /// Notified when a COPY is opened, and when the insert has ended.
    changed: Condvar,
}

struct Insert {
    /// The session of the transaction, or `None` once the insert has ended or failed.
    session: Option<Lease>,
    copy: String,
    schema: SchemaRef,
    /// The schema of the Arrow streams, and the form of each column in them.
    sent: SchemaRef,
    forms: Vec<Form>,
    copy_bytes: usize,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    open: Option<OpenCopy>,
    rows: u64,
    written_at: Instant,
    /// An error of the watchman. The next call returns it.
    failure: Option<Error>,
    is_watched: bool,
}

/// An open COPY: its Arrow stream, encoded batch by batch into reused memory, and the number of its bytes and rows.
struct OpenCopy {
    stream: StreamWriter<Vec<u8>>,
    bytes: usize,
    rows: u64,
}

impl CopyIn {
    /// Begins an insert, by COPYs of that many bytes, into the table at a place. It must have the columns of `table`.
    pub(crate) fn begin(
        mut session: Lease,
        path: &TablePath,
        table: &TableDefinition,
        copy_bytes: usize,
    ) -> Result<Self> {
        let rows = session.rows(&catalog::columns_query(path))?;
        let (stored, forms) = catalog::definition(&table.name, rows)?;
        stored.check_columns(table, Hyperd::column)?;
        let schema = table.to_arrow();
        let fields = forms.iter().zip(schema.fields()).map(|(form, field)| form.field(field));
        let sent = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        session.command("BEGIN")?;
        let columns: Vec<_> = table.columns.iter().map(|column| identifier(&column.name)).collect();
        let insert = Insert {
            copy: format!(
                "COPY {} ({}) FROM STDIN WITH (FORMAT ARROWSTREAM)",
                path.to_sql(identifier),
                columns.join(", ")
            ),
            session: Some(session),
            schema,
            sent,
            forms,
            copy_bytes,
            held: Vec::new(),
            held_bytes: 0,
            open: None,
            rows: 0,
            written_at: Instant::now(),
            failure: None,
            is_watched: false,
        };
        Ok(Self { shared: Arc::new(Shared { insert: Mutex::new(insert), changed: Condvar::new() }) })
    }

    /// Runs a step of the insert. An error ends the insert.
    fn step<T>(&self, work: impl FnOnce(&mut Insert) -> Result<T>) -> Result<T> {
        let mut insert = self.shared.lock();
        let result = match insert.failure.take() {
            Some(error) => Err(error),
            None if insert.session.is_none() => Err(Error::Closed("the insert that failed")),
            None => work(&mut insert),
        };
        if result.is_err() {
            insert.end();
        }
        if insert.open.is_some() && !insert.is_watched {
            insert.is_watched = true;
            watch(&self.shared)?;
        }
        self.shared.changed.notify_all();
        result
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Insert> {
        lock(&self.insert)
    }
}

/// Starts the watchman thread. It ends a COPY whose caller pauses. The thread ends with the insert.
fn watch(shared: &Arc<Shared>) -> Result<()> {
    let theirs = Arc::clone(shared);
    let watchman = move || {
        let mut insert = theirs.lock();
        while insert.session.is_some() {
            let paused = insert.written_at.elapsed();
            let waited = if insert.open.is_none() {
                theirs.changed.wait(insert)
            } else if let Some(rest) = LONGEST_PAUSE.checked_sub(paused).filter(|rest| !rest.is_zero()) {
                theirs
                    .changed
                    .wait_timeout(insert, rest)
                    .map(|(insert, _)| insert)
                    .map_err(|error| PoisonError::new(error.into_inner().0))
            } else {
                if let Err(error) = insert.close_copy() {
                    insert.end();
                    insert.failure = Some(error);
                }
                Ok(insert)
            };
            insert = waited.unwrap_or_else(PoisonError::into_inner);
        }
    };
    let spawned = std::thread::Builder::new().name("bb-copy".to_owned()).spawn(watchman);
    spawned.map(drop).map_err(|error| Error::Internal(format!("no thread for the insert: {error}")))
}

impl Insert {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch, self.rows)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let bytes = bytes_of(batch)?;
        // A batch is split only if a COPY may be smaller than the batch.
        let rows = (self.copy_bytes.saturating_mul(batch.num_rows()) / bytes.max(1)).max(1);
        for start in (0..batch.num_rows()).step_by(rows) {
            self.hold(&batch.slice(start, rows.min(batch.num_rows() - start)))?;
        }
        self.written_at = Instant::now();
        Ok(())
    }

    fn hold(&mut self, batch: &RecordBatch) -> Result<()> {
        // The batch gets the table's own schema: the server compares types and nullability in the stream with the table.
        let columns = self.forms.iter().zip(batch.columns()).zip(self.sent.fields());
        let columns = columns.map(|((form, array), field)| form.values(array, field, self.rows));
        let batch = RecordBatch::try_new(SchemaRef::clone(&self.sent), columns.collect::<Result<_>>()?);
        let batch = batch.map_err(engine_error)?;
        self.held_bytes += bytes_of(&batch)?;
        self.rows += batch.num_rows() as u64;
        self.held.push(batch);
        if self.held_bytes >= HELD_BYTES.min(self.copy_bytes) {
            self.send()?;
        }
        Ok(())
    }

    /// Sends the held batches, and ends the COPY once it has `copy_bytes`.
    fn send(&mut self) -> Result<()> {
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        if self.open.is_none() {
            session.begin_copy(&self.copy)?;
            let stream = StreamWriter::try_new(Vec::new(), &self.sent).map_err(engine_error)?;
            self.open = Some(OpenCopy { stream, bytes: 0, rows: 0 });
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        for batch in self.held.drain(..) {
            open.stream.write(&batch).map_err(engine_error)?;
            open.rows += batch.num_rows() as u64;
            open.bytes += open.transmit(session)?;
        }
        self.held_bytes = 0;
        if open.bytes >= self.copy_bytes { self.close_copy() } else { Ok(()) }
    }

    /// Ends the COPY, if one is open, and checks the number of rows that the server took.
    fn close_copy(&mut self) -> Result<()> {
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        let Some(open) = &mut self.open else { return Ok(()) };
        open.stream.finish().map_err(engine_error)?;
        open.transmit(session)?;
        let (sent, taken) = (open.rows, session.finish_copy()?);
        self.open = None;
        if taken == sent { Ok(()) } else { Err(engine_error(format!("the server took {taken} rows of {sent}"))) }
    }

    fn publish(&mut self) -> Result<u64> {
        if !self.held.is_empty() {
            self.send()?;
        }
        self.close_copy()?;
        let Some(mut session) = self.session.take() else { return Err(Error::Closed("the insert that failed")) };
        match session.command("COMMIT") {
            // A COMMIT of a transaction that failed is answered with another tag, not refused.
            Ok(tag) if tag == "COMMIT" => Ok(self.rows),
            Ok(tag) => Err(engine_error(format!("the insert was undone ({tag})"))),
            Err(failure) => {
                end(session, false);
                Err(failure.into())
            }
        }
    }

    fn undo(&mut self) -> Result<()> {
        self.held.clear();
        let Some(mut session) = self.session.take() else { return Ok(()) };
        if self.open.take().is_some() {
            session.end_copy("the insert was aborted")?;
            session.settle();
        }
        match session.command("ROLLBACK") {
            Ok(_) => Ok(()),
            Err(failure) => {
                // Closing the session ends the transaction, too.
                session.close();
                match failure {
                    Failure::Refused(error) => Err(error.into()),
                    Failure::Lost(_) => Ok(()),
                }
            }
        }
    }

    /// Ends the transaction, and a COPY with it, in any state.
    fn end(&mut self) {
        self.held.clear();
        let is_open = self.open.take().is_some();
        if let Some(session) = self.session.take() {
            end(session, is_open);
        }
    }
}

fn bytes_of(batch: &RecordBatch) -> Result<usize> {
    batch.columns().iter().map(|array| array.to_data().get_slice_memory_size().map_err(engine_error)).sum()
}

impl OpenCopy {
    /// Sends the encoded bytes of the stream, and returns their number.
    fn transmit(&mut self, session: &mut Lease) -> Result<usize> {
        let encoded = self.stream.get_mut();
        let mut writer = CopyWriter::new(session);
        let written = writer.write_all(encoded);
        // The socket's own error says more than the error of the writer above it.
        writer.finish()?;
        written.map_err(engine_error)?;
        let bytes = encoded.len();
        encoded.clear();
        Ok(bytes)
    }
}

/// Rolls back the transaction of a failed insert. If the server does not confirm that the COPY has failed, the session
/// is closed. That frees the table.
fn end(mut session: Lease, in_copy: bool) {
    if in_copy && session.status().is_none() && session.end_copy("the insert failed").is_ok() {
        session.settle();
    }
    if session.status().is_none() || session.command("ROLLBACK").is_err() {
        session.close();
    }
}

impl Ingest for CopyIn {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.step(|insert| insert.write(batch))
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        self.step(Insert::publish)
    }

    fn abort(self: Box<Self>) -> Result<()> {
        let mut insert = self.shared.lock();
        let undone = insert.undo();
        self.shared.changed.notify_all();
        undone
    }
}

impl Drop for CopyIn {
    fn drop(&mut self) {
        self.shared.lock().end();
        self.shared.changed.notify_all();
    }
}
