//! The tables and their columns, as the rows of queries on a server's catalog tell them.

use boundary_bench_kernel::{Error, Result};

use crate::table::{Column, TableDefinition};

/// A row of a catalog query, as texts.
pub type Row = Vec<Option<String>>;

/// The sorted names of tables, from the first column of the rows.
pub fn table_names(rows: Vec<Row>) -> Vec<String> {
    let mut names: Vec<String> = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    names.sort();
    names
}

/// A table whose columns are the rows. `column` reads a row of four values that are no NULL.
pub fn definition(
    table: &str,
    rows: impl IntoIterator<Item = Row>,
    column: impl Fn([String; 4]) -> Result<Column>,
) -> Result<TableDefinition> {
    let columns = rows.into_iter().map(|row| {
        let values = row.into_iter().collect::<Option<Vec<_>>>().and_then(|row| row.try_into().ok());
        column(values.ok_or_else(|| {
            Error::Internal(format!("the catalog's row of a column of \"{table}\" is not understood"))
        })?)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if columns.is_empty() {
        return Err(Error::TableNotFound(table.to_owned()));
    }
    Ok(TableDefinition { name: table.to_owned(), columns })
}
