//! Metadata of the database: catalogs, schemas, tables and the server's own description.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_flight::sql::metadata::{
    GetCatalogsBuilder, GetDbSchemasBuilder, GetTablesBuilder, SqlInfoData, SqlInfoDataBuilder,
};
use arrow_flight::sql::{
    Command, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables, SqlInfo, SqlSupportedTransaction,
};
use arrow_schema::{DataType, Field, Schema};
use boundary_bench_engine::sql_text::{identifier, literal};
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_kernel::{Error, Result};
use tonic::Status;

use super::{FlightService, not_offered};

const TABLE: &str = "TABLE";
const VIEW: &str = "VIEW";

/// The server's description of itself.
pub(super) fn sql_info(engine: &Arc<dyn Engine>) -> Result<SqlInfoData> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "boundary-bench");
    let version = format!("{} ({} {})", env!("CARGO_PKG_VERSION"), engine.name(), engine.version());
    info.append(SqlInfo::FlightSqlServerVersion, version.as_str());
    info.append(SqlInfo::FlightSqlServerArrowVersion, "1.4");
    info.append(SqlInfo::FlightSqlServerReadOnly, false);
    info.append(SqlInfo::FlightSqlServerSql, engine.capabilities().sql);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::None as i32);
    info.append(SqlInfo::FlightSqlServerCancel, true);
    info.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    info.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, false);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.build().map_err(internal)
}

/// The names of the database and of the schema that hold the tables. If the engine has no such names, its own name and `main`.
pub(super) fn place(engine: &Arc<dyn Engine>) -> (String, String) {
    let ask = || {
        let sql = "SELECT current_database(), current_schema()";
        let batch = engine.query(sql, &QueryOptions::default()).ok()?.next_batch().ok()??;
        let text = |column: usize| Some(batch.column(column).as_string_opt::<i32>()?.value(0).to_owned());
        Some((text(0)?, text(1)?))
    };
    ask().unwrap_or_else(|| (engine.name().to_owned(), "main".to_owned()))
}

impl FlightService {
    /// The schema of the result of a metadata command.
    pub(super) fn metadata_schema(&self, command: &Command) -> std::result::Result<Schema, Status> {
        let schema = match command {
            Command::CommandGetCatalogs(_) => GetCatalogsBuilder::new().schema(),
            Command::CommandGetDbSchemas(command) => command.clone().into_builder().schema(),
            Command::CommandGetTables(command) => command.clone().into_builder().schema(),
            Command::CommandGetTableTypes(_) => CommandGetTableTypes {}.into_builder().schema(),
            Command::CommandGetSqlInfo(_) => self.info.schema(),
            Command::CommandGetPrimaryKeys(_) => Arc::new(primary_keys()),
            other => return Err(not_offered(other)),
        };
        Ok(schema.as_ref().clone())
    }

    /// The result of a metadata command.
    pub(super) fn metadata(&self, command: Command) -> Result<RecordBatch> {
        match command {
            Command::CommandGetCatalogs(command) => {
                let mut builder = command.into_builder();
                builder.append(&self.catalog);
                builder.build().map_err(internal)
            }
            Command::CommandGetDbSchemas(command) => self.schemas(command),
            Command::CommandGetTables(command) => self.tables(&command),
            Command::CommandGetTableTypes(command) => {
                let mut builder = command.into_builder();
                builder.append(TABLE);
                builder.append(VIEW);
                builder.build().map_err(internal)
            }
            Command::CommandGetSqlInfo(command) => command.into_builder(&self.info).build().map_err(internal),
            // The engine's tables have no primary keys.
            Command::CommandGetPrimaryKeys(_) => Ok(RecordBatch::new_empty(Arc::new(primary_keys()))),
            other => Err(Error::Unsupported(not_offered(&other).message().to_owned())),
        }
    }

    fn schemas(&self, command: CommandGetDbSchemas) -> Result<RecordBatch> {
        let mut builder = GetDbSchemasBuilder::new(None::<String>, None::<String>);
        let wanted = command.catalog.is_none_or(|catalog| catalog == self.catalog);
        for schema in self.schema_names() {
            if wanted && matches_pattern(command.db_schema_filter_pattern.as_deref(), &schema) {
                builder.append(&self.catalog, &schema);
            }
        }
        builder.build().map_err(internal)
    }

    fn tables(&self, command: &CommandGetTables) -> Result<RecordBatch> {
        let mut builder = GetTablesBuilder::new(
            None::<String>,
            None::<String>,
            None::<String>,
            Vec::<String>::new(),
            command.include_schema,
        );
        let here = command.catalog.as_ref().is_none_or(|catalog| *catalog == self.catalog);
        let wants =
            |kind: &str| here && (command.table_types.is_empty() || command.table_types.iter().any(|t| t == kind));
        // A client that names no schema means the one in which names without a schema are.
        let mut schemas = vec![self.schema.clone()];
        if let Some(pattern) = &command.db_schema_filter_pattern {
            schemas = self.schema_names();
            schemas.retain(|schema| matches_pattern(Some(pattern), schema));
        }
        for within in schemas {
            let mut found = Vec::new();
            if wants(TABLE) {
                found.extend(self.table_names(&within)?.into_iter().map(|name| (name, TABLE)));
            }
            if wants(VIEW) {
                found.extend(
                    self.catalog_names("view_name", "duckdb_views()", &within).into_iter().map(|name| (name, VIEW)),
                );
            }
            found.retain(|(name, _)| matches_pattern(command.table_name_filter_pattern.as_deref(), name));
            for (name, kind) in found {
                let schema = if command.include_schema { self.table_schema(&within, &name) } else { Schema::empty() };
                builder.append(&self.catalog, &within, &name, kind, &schema).map_err(internal)?;
            }
        }
        builder.build().map_err(internal)
    }

    /// The schema of a table. It is empty if the table has a column of an unknown type or was dropped meanwhile.
    fn table_schema(&self, schema: &str, name: &str) -> Schema {
        self.engine
            .describe_table(&self.name_in(schema, name))
            .map_or_else(|_| Schema::empty(), |table| table.to_arrow().as_ref().clone())
    }

    /// The name by which the engine finds a table of a schema.
    pub(super) fn name_in(&self, schema: &str, table: &str) -> String {
        if schema == self.schema { table.to_owned() } else { format!("{}.{}", identifier(schema), identifier(table)) }
    }

    fn table_names(&self, schema: &str) -> Result<Vec<String>> {
        if schema == self.schema {
            return self.engine.list_tables();
        }
        Ok(self.catalog_names("table_name", "duckdb_tables()", schema))
    }

    /// The schemas of the database: all, or the one with the tables if the engine has no catalog of schemas.
    pub(super) fn schema_names(&self) -> Vec<String> {
        let mut names = self.texts("SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()");
        if !names.contains(&self.schema) {
            names.push(self.schema.clone());
        }
        names
    }

    /// The names of the views or of the tables of a schema, or none if the engine has no catalog of them.
    fn catalog_names(&self, column: &str, catalog: &str, schema: &str) -> Vec<String> {
        self.texts(&format!(
            "SELECT {column} FROM {catalog} WHERE database_name = current_database() AND schema_name = {} AND NOT internal",
            literal(schema)
        ))
    }

    /// The texts in the only column of a query's result, or none if the engine does not know the query.
    fn texts(&self, sql: &str) -> Vec<String> {
        let Ok(mut stream) = self.engine.query(sql, &QueryOptions::default()) else { return Vec::new() };
        let mut names = Vec::new();
        while let Ok(Some(batch)) = stream.next_batch() {
            let Some(column) = batch.column(0).as_string_opt::<i32>() else { break };
            names.extend((0..column.len()).map(|row| column.value(row).to_owned()));
        }
        names
    }
}

/// Whether a name matches a pattern, in which `%` stands for any text and `_` for one character.
fn matches_pattern(pattern: Option<&str>, name: &str) -> bool {
    let Some(pattern) = pattern else { return true };
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The positions in pattern and name after the last %. A retry lets that % match one character more.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('%') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '_' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut retry {
                Some((after, start)) => {
                    *start += 1;
                    (p, n) = (*after, *start);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '%')
}

/// The columns of the result of `CommandGetPrimaryKeys`.
fn primary_keys() -> Schema {
    Schema::new(vec![
        Field::new("catalog_name", DataType::Utf8, true),
        Field::new("db_schema_name", DataType::Utf8, true),
        Field::new("table_name", DataType::Utf8, false),
        Field::new("column_name", DataType::Utf8, false),
        Field::new("key_name", DataType::Utf8, true),
        Field::new("key_sequence", DataType::Int32, false),
    ])
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        for (pattern, name) in [("%", ""), ("a%c", "abbc"), ("a_c", "aäc"), ("%b%", "abc"), ("a\\_", "a\\b"), ("", "")]
        {
            assert!(matches_pattern(Some(pattern), name), "{pattern} {name}");
        }
        assert!(matches_pattern(None, "x"));
        for (pattern, name) in [("a", "ab"), ("_", ""), ("%a", "ab"), ("a%b%c", "acb"), ("a_c", "äbc")] {
            assert!(!matches_pattern(Some(pattern), name), "{pattern} {name}");
        }
    }
}
