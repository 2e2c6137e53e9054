//! A running query as a stream of Arrow batches.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::column_builder::{ColumnBuilder, Misfit};
use super::ffi::{Connection, DataChunk, LogicalType, c_string};
use super::library as duckdb;
use super::only_statement::{Facts, OnlyStatement};
use super::statement::{Prepared, QueryResult, Statements};
use super::transaction::Transaction;
use super::vector::{Mapping, Vector, mapping, type_name};
use super::{engine_error, interruptible};
use boundary_bench_engine::table::{Column, arrow_schema_of, unique_names};
use boundary_bench_engine::{BatchStream, QueryOptions, check_parameter_count, not_a_query};
use boundary_bench_kernel::cancel::CancelGuard;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The most rows for which buffers are allocated ahead. The buffers of larger batches grow.
const MAX_ROWS_AHEAD: usize = 1 << 20;

/// The rows of a query, fetched on demand. The query and its snapshot end with the stream, drained or not.
pub(super) struct EmbeddedStream {
    // The result comes first, so that it is dropped before the transaction and the connection.
    running: Option<QueryResult>,
    /// The transaction that the query runs in, unless it is one of its own.
    transaction: Option<Transaction>,
    chunk: Option<PartlyRead>,
    /// Batches that were read ahead of the reader.
    gathered: VecDeque<RecordBatch>,
    /// The error behind the gathered batches.
    failed: Option<Error>,
    columns: Vec<Column>,
    mappings: Vec<Mapping>,
    schema: SchemaRef,
    batch_rows: usize,
    /// The number of rows to allocate buffers for: the number in the last batch, or in the first chunk.
    expected_rows: usize,
    rows_before: u64,
    is_published: bool,
    cancel: CancelToken,
    /// The hook that interrupts the query, while it runs: later, another statement may run on the connection.
    guard: Option<CancelGuard>,
    connection: Connection,
}

/// A chunk, and the range of its rows that are in no batch yet.
struct PartlyRead {
    chunk: DataChunk,
    rows: Range<usize>,
}

impl EmbeddedStream {
    /// Starts the only statement of `sql`. It must return rows. `must_hold` says whether any statement must be planned
    /// in the transaction in which it runs.
    pub(super) fn start(
        connection: Connection,
        sql: &str,
        must_hold: impl FnOnce(&Connection) -> bool,
        options: &QueryOptions,
    ) -> Result<Self> {
        let only = OnlyStatement::parse(&connection, sql, "a query")?;
        let is_held = only.facts.is_planned_anew || must_hold(&connection);
        let transaction = is_held.then(|| Transaction::begin(&connection)).transpose()?;
        let statement = only.prepare(&options.cancel)?;
        check_parameter_count(0, statement.parameter_count())?;
        Self::run(connection, &only.facts, &statement, transaction, options)
    }

    /// Starts a prepared statement with its bound parameters, as [`EmbeddedStream::start`] does.
    pub(super) fn run(
        connection: Connection,
        facts: &Facts,
        statement: &Prepared,
        transaction: Option<Transaction>,
        options: &QueryOptions,
    ) -> Result<Self> {
        if statement.reads() {
            facts.check_only_reads(&connection)?;
            return Self::run_reading(connection, statement, true, transaction, options);
        }
        let returns = statement.changes_rows() && facts.returns_changed_rows;
        if !returns && statement.kind() != duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXECUTE {
            return Err(not_a_query());
        }
        // Rows that are changed are read before the change is published, so that no change is published whose rows can't be read.
        let transaction = transaction.map_or_else(|| Transaction::begin(&connection), Ok)?;
        let mut stream = Self::run_reading(connection, statement, false, None, options)?;
        while stream.gather_batch() {}
        if let Some(error) = stream.failed.take() {
            return Err(error);
        }
        // The last cancellation that counts. Later ones end nothing.
        options.cancel.check()?;
        stream.cancel = CancelToken::default();
        stream.is_published = true;
        transaction.commit()?;
        Ok(stream)
    }

    /// Starts a query of the engine's own, whose text is right.
    pub(super) fn internal(connection: &Connection, sql: &str) -> Result<Self> {
        let statement = Statements::parse(connection, &c_string(sql, "a query")?)?.prepare(0)?;
        Self::run_reading(connection.clone(), &statement, true, None, &QueryOptions::default())
    }

    /// Starts a statement that returns rows, whose result is either `streaming` or made before the first row is read.
    pub(super) fn run_reading(
        connection: Connection,
        statement: &Prepared,
        streaming: bool,
        transaction: Option<Transaction>,
        options: &QueryOptions,
    ) -> Result<Self> {
        let cancel = options.cancel.clone();
        let interrupted = connection.clone();
        let guard = cancel.on_cancel(move || interrupted.interrupt());
        let mut result = interruptible(&cancel, || statement.run(streaming, &cancel))?;
        if !streaming && !result.returns_rows() {
            return Err(not_a_query());
        }
        let (columns, mappings) = described(&result.columns())?;
        Ok(Self {
            running: Some(result),
            transaction,
            chunk: None,
            gathered: VecDeque::new(),
            failed: None,
            schema: arrow_schema_of(&columns),
            batch_rows: options.rows_per_batch(&columns),
            columns,
            mappings,
            expected_rows: 0,
            rows_before: 0,
            is_published: false,
            cancel,
            guard: Some(guard),
            connection,
        })
    }

    /// Whether the query has ended, so that its connection is not needed any more.
    pub(super) fn has_ended(&self) -> bool {
        self.running.is_none() && self.chunk.is_none()
    }

    /// Reads a batch ahead of the reader. Returns false at the end.
    pub(super) fn gather_batch(&mut self) -> bool {
        match self.fill_batch() {
            Ok(Some(batch)) => {
                self.gathered.push_back(batch);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.end();
                self.failed = Some(error);
                false
            }
        }
    }

    /// The next rows to read, or `None` at the end of the result.
    fn next_chunk(&mut self) -> Result<Option<PartlyRead>> {
        if let Some(chunk) = self.chunk.take() {
            return Ok(Some(chunk));
        }
        while let Some(result) = &mut self.running {
            match interruptible(&self.cancel, || result.fetch())? {
                // DuckDB may return an empty chunk in the middle of a result.
                Some(chunk) if chunk.rows() == 0 => {}
                Some(chunk) => return Ok(Some(PartlyRead { rows: 0..chunk.rows(), chunk })),
                None => {
                    self.running = None;
                    self.guard = None;
                    self.transaction.take().map_or(Ok(()), Transaction::commit)?;
                }
            }
        }
        Ok(None)
    }

    fn fill_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut builders: Vec<ColumnBuilder> = Vec::new();
        let mut filled = 0;
        while filled < self.batch_rows {
            self.cancel.check()?;
            let Some(PartlyRead { chunk, mut rows }) = self.next_chunk()? else { break };
            if filled == 0 {
                let ahead = self.expected_rows.max(rows.len()).min(self.batch_rows).min(MAX_ROWS_AHEAD);
                builders = self.mappings.iter().map(|mapping| ColumnBuilder::new(mapping.clone(), ahead)).collect();
            }
            let wanted = rows.start..rows.end.min(rows.start + (self.batch_rows - filled));
            let taken = builders
                .iter()
                .enumerate()
                .map(|(index, builder)| builder.rows_that_fit(Vector::of(&chunk, index), wanted.clone(), filled == 0))
                .min()
                .unwrap_or(wanted.len());
            let part = rows.start..rows.start + taken;
            for (index, builder) in builders.iter_mut().enumerate() {
                builder
                    .append(Vector::of(&chunk, index), part.clone())
                    .map_err(|misfit| self.invalid_value(index, filled, part.start, misfit))?;
            }
            filled += taken;
            rows.start += taken;
            let closed_early = taken < wanted.len();
            if !rows.is_empty() {
                self.chunk = Some(PartlyRead { chunk, rows });
            }
            if closed_early {
                break;
            }
        }
        if filled == 0 {
            return Ok(None);
        }
        self.expected_rows = filled;
        self.rows_before += filled as u64;
        let arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(SchemaRef::clone(&self.schema), arrays).map(Some).map_err(engine_error)
    }

    fn invalid_value(&self, column: usize, filled: usize, chunk_start: usize, (row, problem): Misfit) -> Error {
        Error::InvalidValue {
            row: self.rows_before + (filled + row - chunk_start) as u64,
            column: self.columns[column].name.clone(),
            problem: problem.to_owned(),
        }
    }

    /// Ends the query: interrupts it if it still runs, and frees its memory.
    fn end(&mut self) {
        self.chunk = None;
        if let Some(result) = self.running.take() {
            self.connection.interrupt();
            drop(result);
        }
        self.guard = None;
        self.transaction = None;
    }
}

impl BatchStream for EmbeddedStream {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.gathered.pop_front() {
            return Ok(Some(batch));
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let batch = self.fill_batch();
        if batch.is_err() {
            self.end();
        }
        batch
    }

    fn is_published(&self) -> bool {
        self.is_published
    }
}

impl Drop for EmbeddedStream {
    fn drop(&mut self) {
        self.end();
    }
}

/// The columns of a result, with unique names, and their types and layouts.
pub(super) fn described(described: &[(String, LogicalType)]) -> Result<(Vec<Column>, Vec<Mapping>)> {
    let names = unique_names(described.iter().map(|(name, _)| name.as_str()));
    let mut columns = Vec::with_capacity(described.len());
    let mut mappings = Vec::with_capacity(described.len());
    for (name, (_, logical)) in names.into_iter().zip(described) {
        let Some(mapping) = mapping(logical) else {
            return Err(Error::Unsupported(format!(
                "column \"{name}\" has the type {}, which has no counterpart here; CAST it to VARCHAR in the query",
                type_name(logical)
            )));
        };
        columns.push(Column { name, sql_type: mapping.sql_type, nullable: true });
        mappings.push(mapping);
    }
    Ok((columns, mappings))
}
