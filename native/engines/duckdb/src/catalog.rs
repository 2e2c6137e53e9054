//! The catalog: the tables of the database, and their columns.

use arrow_array::Array;
use arrow_array::cast::AsArray;

use super::ffi::{Connection, c_string};
use super::sql;
use super::statement::Statements;
use super::stream::EmbeddedStream;
use super::vector::{Mapping, stored_mapping};
use boundary_bench_engine::BatchStream;
use boundary_bench_engine::sql_text::{identifier, literal, name_parts};
use boundary_bench_engine::table::{Column, TableDefinition};
use boundary_bench_kernel::{Error, Result};

/// The condition on `duckdb_tables()` and its like for what a name without a schema may mean: the current schema, the other schemas
/// of the search path, and temporary tables.
const VISIBLE: &str = "((database_name = current_database() AND schema_name IN (SELECT unnest(current_schemas(false)))) OR \
                       (database_name = current_database() AND schema_name = current_schema()) OR database_name = 'temp')";

/// The values of the first column of a result. They must be texts.
fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut stream = EmbeddedStream::internal(connection, sql)?;
    let mut texts = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        let column = batch.column(0).as_string::<i32>();
        texts.extend((0..column.len()).map(|row| column.value(row).to_owned()));
    }
    Ok(texts)
}

/// The values of the only row of a result, which are texts, or `None` if there is no row.
fn row<const COLUMNS: usize>(connection: &Connection, sql: &str) -> Result<Option<[String; COLUMNS]>> {
    let mut stream = EmbeddedStream::internal(connection, sql)?;
    let found = stream.next_batch()?.filter(|batch| batch.num_rows() > 0);
    let found =
        found.map(|batch| std::array::from_fn(|column| batch.column(column).as_string::<i32>().value(0).to_owned()));
    // A result that is dropped before its end interrupts the transaction.
    stream.next_batch()?;
    Ok(found)
}

/// The place of a table: its name, and its schema and its database if the name alone does not find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TablePath {
    pub(super) within: Option<(String, String)>,
    pub(super) table: String,
}

impl TablePath {
    /// The place that a name means. A name with dots names a table in a schema or in an attached database, if there is such a schema or
    /// database. Otherwise it is taken as it is.
    pub(super) fn find(connection: &Connection, name: &str) -> Result<Self> {
        let plain = Self { within: None, table: name.to_owned() };
        let Some(parts) = name_parts(name).filter(|parts| (2..=3).contains(&parts.len())) else { return Ok(plain) };
        if exists(connection, &plain)? {
            return Ok(plain);
        }
        let (qualifiers, table) = parts.split_at(parts.len() - 1);
        let condition = match qualifiers {
            [database, schema] => format!(
                "lower(database_name) = lower({}) AND lower(schema_name) = lower({})",
                literal(database),
                literal(schema)
            ),
            // DuckDB takes a schema of the current database first, then the default schema of an attached one.
            _ => format!(
                "(database_name = current_database() AND lower(schema_name) = lower({0})) OR \
                 (lower(database_name) = lower({0}) AND schema_name IN ('main', 'public'))",
                literal(&qualifiers[0])
            ),
        };
        let sql = format!(
            "SELECT database_name, schema_name FROM duckdb_schemas() WHERE {condition} \
             ORDER BY database_name <> current_database(), schema_name LIMIT 1"
        );
        Ok(row(connection, &sql)?
            .map_or(plain, |[database, schema]| Self { within: Some((database, schema)), table: table[0].clone() }))
    }

    /// The place with its schema and database, as other sessions find it, and whether only this session can insert rows. Other
    /// sessions do not find a temporary table, and have other settings and variables, on which the checks of a table may depend.
    pub(super) fn resolved(mut self, connection: &Connection) -> Result<(Self, bool)> {
        let sql = format!(
            "SELECT database_name, schema_name, (database_name = 'temp' OR check_constraint_count > 0)::VARCHAR FROM duckdb_tables() \
             WHERE {} ORDER BY database_name <> 'temp', schema_name <> current_schema() LIMIT 1",
            self.condition()
        );
        let Some([database, schema, is_own]) = row(connection, &sql)? else { return Ok((self, false)) };
        self.within = Some((database, schema));
        Ok((self, is_own == "true"))
    }

    /// The identity of the table at this place, which another table of the same name does not have. `None` if there is no table.
    pub(super) fn identity(&self, connection: &Connection) -> Result<Option<String>> {
        let sql = format!("SELECT table_oid::VARCHAR FROM duckdb_tables() WHERE {}", self.condition());
        texts(connection, &sql).map(|mut found| found.pop())
    }

    /// The place as SQL writes it.
    pub(super) fn to_sql(&self) -> String {
        let table = identifier(&self.table);
        match &self.within {
            Some((database, schema)) => format!("{}.{}.{table}", identifier(database), identifier(schema)),
            None => table,
        }
    }

    /// The condition on `duckdb_tables()` and its like for what this place may mean.
    fn condition(&self) -> String {
        let table = format!("lower(table_name) = lower({})", literal(&self.table));
        match &self.within {
            Some((database, schema)) => {
                format!("database_name = {} AND schema_name = {} AND {table}", literal(database), literal(schema))
            }
            None => format!("{VISIBLE} AND {table}"),
        }
    }
}

/// The names of all tables of the current schema, and of the temporary tables, sorted.
pub(super) fn table_names(connection: &Connection) -> Result<Vec<String>> {
    texts(
        connection,
        "SELECT DISTINCT table_name FROM duckdb_tables() WHERE ((database_name = current_database() \
         AND schema_name = current_schema()) OR database_name = 'temp') AND NOT internal ORDER BY table_name",
    )
}

/// Whether a table or view exists at this place. Names are compared without regard to case.
pub(super) fn exists(connection: &Connection, path: &TablePath) -> Result<bool> {
    Ok(!columns_in_catalog(connection, "column_name", path)?.is_empty())
}

/// Whether the setting is the same in all sessions. DuckDB's tables of settings do not tell it. Its refusal to reset the setting for
/// this session does. Nothing else uses this session.
pub(super) fn is_global_setting(connection: &Connection, name: &str) -> Result<bool> {
    let sql = c_string(&format!("RESET SESSION {}", identifier(name)), "the setting")?;
    let refused = |message: &str| ["locally", "globally"].iter().any(|word| message.contains(word));
    Ok(matches!(connection.run(&sql), Err(Error::Engine { message, .. }) if refused(&message)))
}

/// Whether an `EXECUTE` runs a statement of SQL's own `PREPARE` that returns the rows which it changes.
pub(super) fn executes_returning(connection: &Connection, sql: &str) -> Result<bool> {
    let Some(name) = sql::executed_name(sql) else { return Ok(false) };
    let kept =
        format!("SELECT statement FROM duckdb_prepared_statements() WHERE lower(name) = lower({})", literal(&name));
    let kept = texts(connection, &kept)?;
    Ok(kept.iter().flat_map(|kept| sql::statements(kept)).any(|kept| sql::returns_changed_rows(&kept)))
}

/// Whether a view or a macro of the databases has a function in its text that describes a table.
pub(super) fn hides_catalog_functions(connection: &Connection) -> Result<bool> {
    let hides = |text: &str| {
        format!(
            r"regexp_matches({text}, 'pragma_|\b(describe|summarize|show|currval|nextval|force_checkpoint|checkpoint)\b', 'i')"
        )
    };
    let sql = format!(
        "(SELECT view_name FROM duckdb_views() WHERE NOT internal AND {} LIMIT 1) UNION ALL \
         (SELECT function_name FROM duckdb_functions() WHERE NOT internal AND {} LIMIT 1)",
        hides("sql"),
        hides("macro_definition")
    );
    Ok(!texts(connection, &sql)?.is_empty())
}

/// The text of `expression` for each column of a table, from the whole catalog, or none if there is no such table.
fn columns_in_catalog(connection: &Connection, expression: &str, path: &TablePath) -> Result<Vec<String>> {
    let sql = format!("SELECT {expression} FROM duckdb_columns() WHERE {} ORDER BY column_index", path.condition());
    texts(connection, &sql)
}

/// Whether a column may be null, whether a row that leaves it out gets a value, and the type as SQL writes it.
#[derive(Debug, Clone)]
struct ColumnTraits {
    nullable: bool,
    has_default: bool,
    type_name: String,
}

impl ColumnTraits {
    /// Reads the words that the queries of [`column_traits`] select.
    fn parse(words: &str) -> Self {
        let mut words = words.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default();
        Self { nullable: next() == "true", has_default: next() == "true", type_name: next().to_owned() }
    }
}

/// The traits of each column of a table.
fn column_traits(connection: &Connection, path: &TablePath, name: &str) -> Result<Vec<ColumnTraits>> {
    // The function for a single table is tried first: the whole catalog takes a millisecond, and that would show in a
    // small insert.
    let sql = format!(
        "SELECT (NOT \"notnull\")::VARCHAR || ' ' || (dflt_value IS NOT NULL)::VARCHAR || ' ' || \"type\" FROM pragma_table_info({})",
        literal(&path.to_sql())
    );
    let found = texts(connection, &sql).or_else(|_| {
        // The table does not exist, or its name has quotes that the function can't read.
        let words = "is_nullable::VARCHAR || ' ' || (column_default IS NOT NULL)::VARCHAR || ' ' || data_type";
        columns_in_catalog(connection, words, path)
    })?;
    if found.is_empty() {
        Err(Error::TableNotFound(name.to_owned()))
    } else {
        Ok(found.iter().map(|words| ColumnTraits::parse(words)).collect())
    }
}

/// The columns of a table, the types that they are stored in, and their traits.
fn stored_columns(
    connection: &Connection,
    path: &TablePath,
    name: &str,
) -> Result<Vec<(Column, Mapping, ColumnTraits)>> {
    let column_traits = column_traits(connection, path, name)?;
    let sql = format!("SELECT * FROM {}", path.to_sql());
    let statement = Statements::parse(connection, &c_string(&sql, "the table's name")?)?.prepare(0)?;
    let columns = statement.columns().into_iter().zip(column_traits);
    Ok(columns
        .map(|((name, logical), column_traits)| {
            let mapping = stored_mapping(&logical);
            (Column { name, sql_type: mapping.sql_type, nullable: column_traits.nullable }, mapping, column_traits)
        })
        .collect())
}

/// The definition of a table, under the name that was given for it.
pub(super) fn describe(connection: &Connection, name: &str) -> Result<TableDefinition> {
    let path = TablePath::find(connection, name)?;
    let columns = stored_columns(connection, &path, name)?.into_iter().map(|(column, ..)| column).collect();
    Ok(TableDefinition { name: name.to_owned(), columns })
}

/// Whether the default of a column is computed. One that is a literal is not.
const IS_COMPUTED: &str = "(column_default IS NOT NULL AND NOT (regexp_full_match(column_default, \
    '[-+.0-9eE]+|NULL|CAST\\(''[tf]'' AS BOOLEAN\\)') OR (data_type = 'VARCHAR' AND regexp_full_match(column_default, '''[^'']*'''))))::VARCHAR";

/// The columns that an insert goes to.
pub(super) struct InsertColumns {
    /// The form of each column of the definition, in its order.
    pub(super) mappings: Vec<Mapping>,
    /// The type of each as SQL writes it.
    pub(super) type_names: Vec<String>,
    /// Whether they are all columns of the table, in the table's order.
    pub(super) are_all: bool,
    /// Whether a column that is left out has a default that is computed.
    pub(super) computes_defaults: bool,
}

/// Checks that the table has the columns of the definition, and that it can do without the others.
pub(super) fn insert_columns(
    connection: &Connection,
    path: &TablePath,
    table: &TableDefinition,
) -> Result<InsertColumns> {
    let stored = stored_columns(connection, path, &table.name)?;
    let mut mappings = Vec::with_capacity(table.columns.len());
    let mut type_names = Vec::with_capacity(table.columns.len());
    let mut places = Vec::with_capacity(table.columns.len());
    let mut found = Vec::with_capacity(table.columns.len());
    for given in &table.columns {
        let Some(place) = stored.iter().position(|(column, ..)| column.name == given.name) else {
            return Err(Error::SchemaMismatch(format!(
                "table \"{}\" has no column \"{}\"; its columns are {}",
                table.name,
                given.name,
                stored.iter().map(|(column, ..)| column.to_sql()).collect::<Vec<_>>().join(", ")
            )));
        };
        let (column, mapping, column_traits) = &stored[place];
        found.push(column.clone());
        type_names.push(column_traits.type_name.clone());
        mappings.push(mapping.clone());
        places.push(place);
    }
    TableDefinition { name: table.name.clone(), columns: found }.check_columns(table, Column::to_sql)?;
    let left_out = stored.iter().enumerate().filter(|(place, _)| !places.contains(place));
    let mut defaults = Vec::new();
    for (place, (column, _, column_traits)) in left_out {
        if column_traits.has_default && !is_generated(connection, path, &column.name) {
            defaults.push(place);
        }
        if !column_traits.nullable && !column_traits.has_default {
            return Err(Error::SchemaMismatch(format!(
                "the definition given leaves out the column {} of table \"{}\", which has no default",
                column.to_sql(),
                table.name
            )));
        }
    }
    for (place, given) in places.iter().zip(&table.columns) {
        if stored[*place].2.has_default && is_generated(connection, path, &given.name) {
            return Err(Error::SchemaMismatch(format!(
                "the column \"{}\" of table \"{}\" is generated from others; leave it out of the definition given",
                given.name, table.name
            )));
        }
    }
    let are_all = places.iter().copied().eq(0..stored.len());
    let computes_defaults = !defaults.is_empty() && {
        let are_computed = columns_in_catalog(connection, IS_COMPUTED, path)?;
        defaults.iter().any(|place| are_computed.get(*place).is_none_or(|word| word == "true"))
    };
    Ok(InsertColumns { mappings, type_names, are_all, computes_defaults })
}

/// Whether DuckDB computes the column. Its catalog does not tell it.
fn is_generated(connection: &Connection, path: &TablePath, column: &str) -> bool {
    let sql = format!("INSERT INTO {} ({}) VALUES (NULL)", path.to_sql(), identifier(column));
    let prepared = c_string(&sql, "the column's name").and_then(|sql| Statements::parse(connection, &sql)?.prepare(0));
    matches!(prepared, Err(Error::Engine { message, .. }) if message.contains("generated column"))
}
