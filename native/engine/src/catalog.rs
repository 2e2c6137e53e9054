//! The tables and their columns, as the rows of queries on a server's catalog tell them.

use boundary_bench_kernel::{Error, Result};

use crate::sql_text::name_parts;
use crate::table::{Column, TableDefinition};

/// The place of a table on a server: its name, and its schema if it is not in the one that the server takes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePath {
    /// The name of the schema.
    pub schema: Option<String>,
    /// The name of the table.
    pub table: String,
}

impl TablePath {
    /// The place that a name means. A name with a dot (`schema.table`, with quotes where needed) names a table in a schema, if there is
    /// such a schema and no table of the whole name. Otherwise it is taken as it is.
    ///
    /// # Errors
    /// The errors of the two questions to the server.
    pub fn find(
        name: &str,
        is_table: impl FnOnce(&Self) -> Result<bool>,
        is_schema: impl FnOnce(&str) -> Result<bool>,
    ) -> Result<Self> {
        let plain = Self { schema: None, table: name.to_owned() };
        match name_parts(name).map(<[String; 2]>::try_from) {
            Some(Ok([schema, table])) if !is_table(&plain)? && is_schema(&schema)? => {
                Ok(Self { schema: Some(schema), table })
            }
            _ => Ok(plain),
        }
    }

    /// The place as SQL writes it, with the server's quotes.
    pub fn to_sql(&self, identifier: impl Fn(&str) -> String) -> String {
        let table = identifier(&self.table);
        self.schema.as_ref().map_or_else(|| table.clone(), |schema| format!("{}.{table}", identifier(schema)))
    }
}

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
