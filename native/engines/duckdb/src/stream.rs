//! A running query as a stream of Arrow batches.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use libduckdb_sys as duckdb;

use super::column_builder::{ColumnBuilder, Misfit};
use super::ffi::{Connection, DataChunk, c_string};
use super::statement::{Prepared, QueryResult, Statements};
use super::vector::{Mapping, Vector, mapping, type_name};
use super::{engine_error, interruptible};
use boundary_bench_engine::table::{Column, arrow_schema_of, unique_names};
use boundary_bench_engine::{BatchStream, QueryOptions, check_parameter_count, not_a_query};
use boundary_bench_kernel::cancel::CancelGuard;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The most rows for which buffers are allocated ahead; those of larger batches grow.
const MAX_ROWS_AHEAD: usize = 1 << 20;

/// The rows of a query, fetched on demand. The query and its snapshot end with the stream, drained or not.
pub(super) struct EmbeddedStream {
    // The result comes first, so that it is dropped before the connection.
    running: Option<QueryResult>,
    chunk: Option<PartlyRead>,
    columns: Vec<Column>,
    mappings: Vec<Mapping>,
    schema: SchemaRef,
    batch_rows: usize,
    /// The rows to allocate buffers for: those of the last batch, or of the first chunk.
    expected_rows: usize,
    rows_before: u64,
    cancel: CancelToken,
    _guard: CancelGuard,
    connection: Connection,
}

/// A chunk, and the range of its rows that are in no batch yet.
struct PartlyRead {
    chunk: DataChunk,
    rows: Range<usize>,
}

impl EmbeddedStream {
    /// Starts the only statement of `sql`, which must return rows and change nothing.
    pub(super) fn start(connection: Connection, sql: &str, options: &QueryOptions) -> Result<Self> {
        let statement = the_only_statement(&connection, sql, "a query")?;
        check_parameter_count(0, statement.parameter_count())?;
        Self::run(connection, &statement, options)
    }

    /// Starts a prepared statement with its bound parameters, as [`EmbeddedStream::start`] does.
    pub(super) fn run(connection: Connection, statement: &Prepared, options: &QueryOptions) -> Result<Self> {
        check_reads(statement)?;
        let cancel = options.cancel.clone();
        let interrupted = connection.clone();
        let guard = cancel.on_cancel(move || interrupted.interrupt());
        let mut result = interruptible(&cancel, || {
            let pending = statement.start(true)?;
            // A cancellation before the start has interrupted nothing.
            cancel.check()?;
            pending.finish()
        })?;
        let (columns, mappings) = result_columns(&mut result)?;
        Ok(Self {
            running: Some(result),
            chunk: None,
            schema: arrow_schema_of(&columns),
            batch_rows: options.rows_per_batch(&columns),
            columns,
            mappings,
            expected_rows: 0,
            rows_before: 0,
            cancel,
            _guard: guard,
            connection,
        })
    }

    /// The type and layout of each column.
    pub(super) fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// The next rows to read; `None` at the end of the result.
    fn next_chunk(&mut self) -> Result<Option<PartlyRead>> {
        if let Some(chunk) = self.chunk.take() {
            return Ok(Some(chunk));
        }
        while let Some(result) = &mut self.running {
            match interruptible(&self.cancel, || result.fetch())? {
                // DuckDB may return an empty chunk in the middle of a result.
                Some(chunk) if chunk.rows() == 0 => {}
                Some(chunk) => return Ok(Some(PartlyRead { rows: 0..chunk.rows(), chunk })),
                None => self.running = None,
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
                builders = self.mappings.iter().map(|mapping| ColumnBuilder::new(*mapping, ahead)).collect();
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
        let batch = self.fill_batch();
        if batch.is_err() {
            self.end();
        }
        batch
    }
}

impl Drop for EmbeddedStream {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prepares the statement of a text that must hold exactly one; `what` names it in the error.
pub(super) fn the_only_statement(connection: &Connection, sql: &str, what: &str) -> Result<Prepared> {
    let statements = Statements::parse(connection, &c_string(sql, what)?)?;
    if statements.count() != 1 {
        return Err(Error::InvalidArgument(format!(
            "{what} is exactly one statement, here are {}",
            statements.count()
        )));
    }
    statements.prepare(0)
}

pub(super) fn check_reads(statement: &Prepared) -> Result<()> {
    match statement.kind() {
        duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT
        | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_EXPLAIN
        | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_PRAGMA
        | duckdb::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CALL => Ok(()),
        _ => Err(not_a_query()),
    }
}

/// The columns of a result, with unique names, and their types and layouts.
fn result_columns(result: &mut QueryResult) -> Result<(Vec<Column>, Vec<Mapping>)> {
    let described: Vec<_> = (0..result.column_count()).map(|index| result.column(index)).collect();
    let names = unique_names(described.iter().map(|(name, _)| name.as_str()));
    let mut columns = Vec::with_capacity(described.len());
    let mut mappings = Vec::with_capacity(described.len());
    for (name, (_, logical)) in names.into_iter().zip(&described) {
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
