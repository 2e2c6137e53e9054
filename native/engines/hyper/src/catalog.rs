//! The queries on the server's catalog, and the types in their rows.

use boundary_bench_engine::catalog::{self, Row};
use boundary_bench_engine::sql_text::literal;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_kernel::{Error, Result};

/// The query for the names of all tables.
pub(crate) const TABLES: &str = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public'";

/// The query for the columns of a table.
pub(crate) fn columns_query(table: &str) -> String {
    format!(
        "SELECT a.attname, a.atttypid, a.atttypmod, a.attnotnull FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class c ON a.attrelid = c.oid JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid \
         WHERE n.nspname = 'public' AND c.relname = {} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        literal(table)
    )
}

/// The table in the rows of [`columns_query`].
pub(crate) fn definition(table: &str, rows: Vec<Row>) -> Result<TableDefinition> {
    catalog::definition(table, rows, |row| column(table, row))
}

fn column(table: &str, [name, type_id, modifier, not_null]: [String; 4]) -> Result<Column> {
    let sql_type = sql_type(type_id.parse().unwrap_or(0), modifier.parse().unwrap_or(-1)).ok_or_else(|| {
        Error::Unsupported(format!(
            "column \"{name}\" of table \"{table}\" has a type (number {type_id} of the catalog) with no counterpart here"
        ))
    })?;
    Ok(Column { name, sql_type, nullable: !not_null.starts_with('t') })
}

/// The type with a number of the catalog, or `None` if it has no counterpart here.
pub(crate) fn sql_type(id: u32, modifier: i32) -> Option<SqlType> {
    Some(match id {
        16 => SqlType::Bool,
        21 => SqlType::SmallInt,
        23 => SqlType::Int,
        20 => SqlType::BigInt,
        700 => SqlType::Real,
        701 => SqlType::Double,
        17 => SqlType::Bytes,
        25 | 1043 => SqlType::Text,
        1082 => SqlType::Date,
        1114 => SqlType::Timestamp,
        1700 => {
            // The modifier holds precision and scale in 16 bits each, plus 4.
            let packed = modifier.checked_sub(4).filter(|packed| *packed >= 0)?;
            let precision = u8::try_from(packed >> 16).ok()?;
            SqlType::Decimal { precision, scale: u8::try_from(packed & 0xffff).ok()? }
        }
        _ => return None,
    })
}
