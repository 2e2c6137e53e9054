//! An insert in progress: Arrow batches through DuckDB's appender, in one transaction.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;

use super::catalog::{self, InsertColumns, TablePath};
use super::engine_error;
use super::ffi::{Appender, Connection, DataChunk, LogicalType, c_string};
use super::row_groups::RowGroups;
use super::session::Session;
use super::statement::Statements;
use super::stream::EmbeddedStream;
use super::vector::{Mapping, VECTOR_ROWS};
use super::vector_writer::fill;
use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{BatchStream, Ingest, QueryOptions, Value, check_batch};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use serde::de::IgnoredAny;

/// The types, as DuckDB names them, whose values are the same in Arrow.
const ARROW_TYPES: [&str; 10] =
    ["BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR", "BLOB"];

/// The bytes of texts at which the appender is flushed: it buffers some 200,000 rows, and these take too much memory if
/// their texts are long.
const MAX_HELD_BACK_BYTES: usize = 64 << 20;

/// An insert into a table on a connection of its own, between `BEGIN` and `COMMIT`.
pub(super) struct EmbeddedIngest {
    // The appender comes first, so that it is dropped before the connection.
    appender: Option<Appender>,
    /// The rows that are kept for DuckDB to store by whole row groups, if it can.
    groups: Option<RowGroups>,
    chunk: DataChunk,
    columns: Vec<Column>,
    mappings: Vec<Mapping>,
    type_names: Vec<String>,
    schema: SchemaRef,
    rows: u64,
    held_back_bytes: usize,
    /// Whether the rows are inserted by SQL, a vector at a time.
    by_sql: bool,
    /// Whether a value depends on the session that inserts it.
    needs_session: bool,
    connection: Connection,
}

impl EmbeddedIngest {
    /// Begins an insert into the table that `find` finds. It must have the columns of `table`.
    pub(super) fn begin(
        connection: &Connection,
        table: &TableDefinition,
        find: impl FnOnce(&Connection) -> Result<TablePath>,
    ) -> Result<Self> {
        table.validate()?;
        connection.run(c"BEGIN TRANSACTION")?;
        let begun = find(connection).and_then(|path| Self::begin_at(connection.clone(), &path, table));
        // The connection may belong to a session, and the session goes on.
        begun.inspect_err(|_| drop(connection.run(c"ROLLBACK")))
    }

    /// Does as [`EmbeddedIngest::begin`], for a table whose place is known, in the transaction that has begun.
    fn begin_at(connection: Connection, path: &TablePath, table: &TableDefinition) -> Result<Self> {
        let InsertColumns { mappings, type_names, are_all, computes_defaults } =
            catalog::insert_columns(&connection, path, table)?;
        let types: Vec<LogicalType> = mappings.iter().map(Mapping::appended_type).collect();
        let by_sql = mappings.iter().any(Mapping::is_converted_by_sql);
        let appender = if by_sql {
            let columns = table.columns.iter().map(|column| identifier(&column.name)).collect::<Vec<_>>().join(", ");
            let sql = format!("INSERT INTO {} ({columns}) SELECT * FROM appended_data", path.to_sql());
            Appender::of_command(&connection, &c_string(&sql, "the definition")?, &types)?
        } else {
            Self::appender(&connection, path, table, are_all)?
        };
        let are_plain = mappings.iter().zip(&type_names).all(|(mapping, name)| {
            ARROW_TYPES.contains(&name.as_str()) && !mapping.is_text_form() && !mapping.is_converted_by_sql()
        });
        Ok(Self {
            appender: Some(appender),
            groups: (are_all && are_plain).then(|| RowGroups::new(path.clone(), table.to_arrow())),
            chunk: DataChunk::new(&types),
            columns: table.columns.clone(),
            mappings,
            type_names,
            schema: table.to_arrow(),
            rows: 0,
            held_back_bytes: 0,
            by_sql,
            needs_session: by_sql || computes_defaults,
            connection,
        })
    }

    /// An appender to the columns of a table, which `are_all` of the table's in its order or not.
    fn appender(connection: &Connection, path: &TablePath, table: &TableDefinition, are_all: bool) -> Result<Appender> {
        let name = c_string(&path.table, "the table's name")?;
        let within = match &path.within {
            Some((database, schema)) => {
                Some((c_string(database, "the database's name")?, c_string(schema, "the schema's name")?))
            }
            None => None,
        };
        let within = within.as_ref().map(|(database, schema)| (database.as_c_str(), schema.as_c_str()));
        let mut appender = Appender::new(connection, within, &name)?;
        if !are_all {
            for column in &table.columns {
                appender.add_column(&c_string(&column.name, "the column's name")?)?;
            }
        }
        Ok(appender)
    }

    /// Adds the rows to the row groups, or appends them.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(groups) = &mut self.groups else { return self.append(batch) };
        let is_taken = groups.add(&self.connection, batch)?;
        self.rows += batch.num_rows() as u64;
        if is_taken { Ok(()) } else { self.append_held() }
    }

    /// Appends the rows that are kept. They are all rows so far.
    fn append_held(&mut self) -> Result<()> {
        let Some(groups) = self.groups.take() else { return Ok(()) };
        self.rows = 0;
        groups.held().try_for_each(|batch| self.append(&batch))
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_json(batch)?;
        let appender = self.appender.as_mut().ok_or(Error::Closed("the insert"))?;
        let mut start = 0;
        while start < batch.num_rows() {
            let end = batch.num_rows().min(start + VECTOR_ROWS);
            self.chunk.restart(end - start);
            for (index, column) in self.columns.iter().enumerate() {
                // SAFETY: the chunk was made for these columns and just reset. `check_batch` proved the array's type.
                // The batch lives until the chunk was appended, and appending copies it.
                let filled =
                    unsafe { fill(self.chunk.vector(index), &self.mappings[index], batch.column(index), start..end) };
                self.held_back_bytes += filled.map_err(|(row, problem)| Error::InvalidValue {
                    row: self.rows + row as u64,
                    column: column.name.clone(),
                    problem: problem.to_owned(),
                })?;
            }
            let outcome = appender.append(&self.chunk);
            if let Err(error) = if self.by_sql { outcome.and_then(|()| appender.flush()) } else { outcome } {
                if self.by_sql {
                    // A command that failed has ended the transaction, in which no text could be tried.
                    let _ = self.roll_back();
                }
                return Err(self.unconvertible(batch, start..end).unwrap_or(error));
            }
            start = end;
            if self.held_back_bytes > MAX_HELD_BACK_BYTES {
                appender.flush()?;
                self.held_back_bytes = 0;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Checks the texts for columns of the type `JSON`. DuckDB stores them as they are.
    fn check_json(&self, batch: &RecordBatch) -> Result<()> {
        for index in (0..self.columns.len()).filter(|index| self.type_names[*index] == "JSON") {
            let texts = batch.column(index).as_string::<i32>();
            // DuckDB takes more than the standard does, and no halves of surrogate pairs.
            let doubtful = (0..texts.len()).filter(|row| {
                let text = texts.value(*row);
                texts.is_valid(*row)
                    && (serde_json::from_str::<IgnoredAny>(text).is_err()
                        || text.contains("\\ud")
                        || text.contains("\\uD"))
            });
            if let Some(row) = self.first_unconvertible(batch, index, doubtful) {
                return Err(self.no_value(batch, row, index));
            }
        }
        Ok(())
    }

    /// The first of these rows whose text DuckDB can't convert to the type of its column.
    fn first_unconvertible(
        &self,
        batch: &RecordBatch,
        index: usize,
        mut rows: impl Iterator<Item = usize>,
    ) -> Option<usize> {
        let mut row = rows.next()?;
        // A TRY_CAST puts nulls into a nested value for what it can't convert.
        let cast = if self.by_sql { "CAST" } else { "TRY_CAST" };
        let sql = format!("SELECT {cast}($1 AS {}) IS NOT NULL", self.type_names[index]);
        let statement = Statements::parse(&self.connection, &c_string(&sql, "the type").ok()?).ok()?.prepare(0).ok()?;
        let texts = batch.column(index).as_string::<i32>();
        let converts = |row: usize| {
            statement.bind(1, &Value::Text(texts.value(row).to_owned()))?;
            let options = QueryOptions::default();
            let mut stream = EmbeddedStream::run_reading(self.connection.clone(), &statement, true, None, &options)?;
            let found = stream.next_batch()?.is_some_and(|batch| batch.column(0).as_boolean().value(0));
            // The result is read to its end, since dropping an unfinished one would interrupt the transaction.
            stream.next_batch()?;
            Ok::<_, Error>(found)
        };
        loop {
            let converted = converts(row);
            if matches!(converted, Ok(false)) || (self.by_sql && converted.is_err()) {
                return Some(row);
            }
            row = rows.next()?;
        }
    }

    fn no_value(&self, batch: &RecordBatch, row: usize, index: usize) -> Error {
        Error::InvalidValue {
            row: self.rows + row as u64,
            column: self.columns[index].name.clone(),
            problem: format!(
                "\"{}\" can't be converted to {}",
                batch.column(index).as_string::<i32>().value(row),
                self.type_names[index]
            ),
        }
    }

    /// The error for the first text of these rows that DuckDB can't convert to the type of its column, if there is one.
    fn unconvertible(&self, batch: &RecordBatch, rows: Range<usize>) -> Option<Error> {
        let first_of = |index: usize| {
            let texts = batch.column(index);
            self.first_unconvertible(batch, index, rows.clone().filter(|row| texts.is_valid(*row)))
        };
        let converted = (0..self.columns.len()).filter(|index| self.mappings[*index].is_text_form());
        let (row, index) = converted.filter_map(|index| Some((first_of(index)?, index))).min()?;
        Some(self.no_value(batch, row, index))
    }

    /// Discards all rows. The appender is destroyed first: after the end of the transaction that would write its
    /// buffered rows.
    fn roll_back(&mut self) -> Result<()> {
        let Some(mut appender) = self.appender.take() else { return Ok(()) };
        appender.clear();
        drop(appender);
        let rolled_back = self.connection.run(c"ROLLBACK");
        self.groups = None;
        rolled_back
    }
}

impl Ingest for EmbeddedIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = check_batch(&self.schema, batch, self.rows).and_then(|()| self.add(batch));
        if written.is_err() {
            // Only the first error matters to the caller. Closing the connection rolls back anyway.
            let _ = self.roll_back();
        }
        written
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        // After an error, dropping `self` rolls back.
        match &mut self.groups {
            Some(groups) if groups.are_stored() => groups.finish()?,
            _ => self.append_held()?,
        }
        self.appender.as_mut().ok_or(Error::Closed("the insert"))?.flush()?;
        self.appender = None;
        self.connection.run(c"COMMIT")?;
        Ok(self.rows)
    }

    fn abort(mut self: Box<Self>) -> Result<()> {
        self.roll_back()
    }
}

impl Drop for EmbeddedIngest {
    fn drop(&mut self) {
        // A failure can't be reported here, and closing the connection rolls back, too.
        let _ = self.roll_back();
    }
}

/// An insert into a table as a session sees it. Its rows go through a connection of their own, so that other calls of the session need
/// not wait for the end of the insert. If only the session's connection can insert them, the rows are kept until the end.
pub(super) enum SessionIngest {
    /// Any connection stores the same.
    Direct(Box<EmbeddedIngest>),
    /// The table is the session's own, or has checks, or a value depends on the session's settings and variables.
    Kept {
        session: Arc<Session>,
        table: TableDefinition,
        path: TablePath,
        identity: Option<String>,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        rows: u64,
    },
}

impl SessionIngest {
    /// Begins an insert. `connection` is the session's, and the caller has the turn on it.
    pub(super) fn begin(
        session: &Arc<Session>,
        connection: &Connection,
        own: &Connection,
        table: &TableDefinition,
    ) -> Result<Self> {
        table.validate()?;
        let (path, is_kept) = TablePath::find(connection, &table.name)?.resolved(connection)?;
        if is_kept {
            catalog::insert_columns(connection, &path, table)?;
        } else {
            let ingest = EmbeddedIngest::begin(own, table, |_| Ok(path.clone()))?;
            if !ingest.needs_session {
                return Ok(Self::Direct(Box::new(ingest)));
            }
        }
        Ok(Self::Kept {
            session: Arc::clone(session),
            table: table.clone(),
            identity: path.identity(connection)?,
            path,
            schema: table.to_arrow(),
            batches: Vec::new(),
            rows: 0,
        })
    }
}

impl Ingest for SessionIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Direct(ingest) => ingest.write(batch),
            Self::Kept { schema, batches, rows, .. } => {
                check_batch(schema, batch, *rows)?;
                *rows += batch.num_rows() as u64;
                batches.push(batch.clone());
                Ok(())
            }
        }
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        match *self {
            Self::Direct(ingest) => ingest.commit(),
            Self::Kept { session, table, path, identity, batches, .. } => {
                let turn = session.turn(&CancelToken::default())?;
                let mut ingest = Box::new(EmbeddedIngest::begin(turn.connection(), &table, |connection| {
                    if path.identity(connection)? == identity {
                        return Ok(path);
                    }
                    Err(engine_error(format!(
                        "the table \"{}\" was dropped, replaced or altered before its insert ended",
                        table.name
                    )))
                })?);
                for batch in batches {
                    ingest.write(&batch)?;
                }
                ingest.commit()
            }
        }
    }

    fn abort(self: Box<Self>) -> Result<()> {
        match *self {
            Self::Direct(ingest) => ingest.abort(),
            Self::Kept { .. } => Ok(()),
        }
    }
}
