//! The catalog: the tables of the database, and their columns.

use arrow_array::Array;
use arrow_array::cast::AsArray;

use super::ffi::Connection;
use super::stream::EmbeddedStream;
use super::vector::Mapping;
use boundary_bench_engine::sql_text::{identifier, literal};
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_engine::{BatchStream, QueryOptions};
use boundary_bench_kernel::{Error, Result};

/// The values of the first column of a result, which must be texts.
fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut stream = EmbeddedStream::start(connection.clone(), sql, &QueryOptions::default())?;
    let mut texts = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        let column = batch.column(0).as_string::<i32>();
        texts.extend((0..column.len()).map(|row| column.value(row).to_owned()));
    }
    Ok(texts)
}

/// The names of all tables of the current schema, sorted.
pub(super) fn table_names(connection: &Connection) -> Result<Vec<String>> {
    texts(
        connection,
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() \
         AND schema_name = current_schema() AND NOT internal ORDER BY table_name",
    )
}

/// Whether a table or view of this name exists; names are compared without regard to case.
pub(super) fn exists(connection: &Connection, name: &str) -> Result<bool> {
    Ok(!columns_in_catalog(connection, "column_name", name)?.is_empty())
}

/// The text of `expression` for each column of a table, from the whole catalog; none if there is no such table.
fn columns_in_catalog(connection: &Connection, expression: &str, name: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT {expression} FROM duckdb_columns() WHERE database_name = current_database() \
         AND schema_name = current_schema() AND lower(table_name) = lower({}) ORDER BY column_index",
        literal(name)
    );
    texts(connection, &sql)
}

/// The text `true` or `false` for each column of a table: whether it may be null.
fn nullability(connection: &Connection, name: &str) -> Result<Vec<String>> {
    // The function for a single table is tried first: the whole catalog takes a millisecond, which would show in a
    // small insert.
    let sql = format!("SELECT (NOT \"notnull\")::VARCHAR FROM pragma_table_info({})", literal(&identifier(name)));
    if let Ok(flags) = texts(connection, &sql) {
        return Ok(flags);
    }
    // The table does not exist, or its name has quotes, which that function can't read.
    let flags = columns_in_catalog(connection, "is_nullable::VARCHAR", name)?;
    if flags.is_empty() { Err(Error::TableNotFound(name.to_owned())) } else { Ok(flags) }
}

/// The columns of a table, and the types that they are stored in.
fn stored_columns(connection: &Connection, name: &str) -> Result<Vec<(Column, Mapping)>> {
    let nullability = nullability(connection, name)?;
    let sql = format!("SELECT * FROM {} LIMIT 0", identifier(name));
    let mut stream = EmbeddedStream::start(connection.clone(), &sql, &QueryOptions::default())?;
    // The query is read to its end, since dropping an unfinished one would interrupt the caller's transaction.
    stream.next_batch()?;
    let columns = stream.columns().iter().zip(stream.mappings()).zip(nullability);
    Ok(columns
        .map(|((column, mapping), nullable)| (Column { nullable: nullable == "true", ..column.clone() }, *mapping))
        .collect())
}

/// The definition of a table.
pub(super) fn describe(connection: &Connection, name: &str) -> Result<TableDefinition> {
    let columns = stored_columns(connection, name)?.into_iter().map(|(column, _)| column).collect();
    Ok(TableDefinition { name: name.to_owned(), columns })
}

/// Checks that the table exists with exactly these columns.
pub(super) fn check_columns(connection: &Connection, table: &TableDefinition) -> Result<()> {
    let (columns, mappings): (Vec<_>, Vec<_>) = stored_columns(connection, &table.name)?.into_iter().unzip();
    TableDefinition { name: table.name.clone(), columns }.check_columns(table, Column::to_sql)?;
    match table.columns.iter().zip(mappings).find(|(_, mapping)| !mapping.exact) {
        None => Ok(()),
        Some((column, _)) => Err(Error::Unsupported(format!(
            "column \"{}\" of table \"{}\" has a type that can be read but not inserted to; declare it {}",
            column.name,
            table.name,
            column.sql_type.to_sql()
        ))),
    }
}
