//! The queries on the server's catalog, and the types in their rows.

use boundary_bench_engine::catalog::{self, Row, TablePath};
use boundary_bench_engine::table::{Column, MAX_DECIMAL_PRECISION, SqlType, TableDefinition};
use boundary_bench_kernel::{Error, Result};

use crate::sql;

/// The query for the names of all tables.
pub(crate) const TABLES: &str =
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'";

/// The types without a character set for whose values the server reads texts and bytes alike.
const READ_FROM_TEXT: &str = "tinyint smallint mediumint int bigint float double decimal date datetime timestamp time binary varbinary \
                              tinyblob blob mediumblob longblob";

/// The query for the columns of a table.
pub(crate) fn columns_query(path: &TablePath) -> String {
    let schema = path.schema.as_ref().map_or_else(|| "DATABASE()".to_owned(), |schema| sql::literal(schema));
    format!(
        "SELECT table_name, column_name, column_type, is_nullable, character_set_name FROM information_schema.columns \
         WHERE table_schema = {schema} AND table_name = {} ORDER BY ordinal_position",
        sql::literal(&path.table)
    )
}

/// The query for the database of a name. It has a row if there is one.
pub(crate) fn schema_query(name: &str) -> String {
    format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {}", sql::literal(name))
}

/// The table `name` in the rows of [`columns_query`] for its place.
pub(crate) fn definition(name: &str, path: &TablePath, rows: Vec<Row>) -> Result<TableDefinition> {
    // The server compares names without regard to case.
    let rows = rows.into_iter().filter(|row| row.first().is_some_and(|name| name.as_ref() == Some(&path.table)));
    let rows = rows.map(|mut row| {
        row.truncate(4);
        row
    });
    catalog::definition(name, rows, |row| column(name, row))
}

/// Whether `LOAD DATA ... CHARACTER SET binary` stores in all these columns what a statement would, given the rows of [`columns_query`]. It
/// stores the bytes of a text in any character set, and reads all values from texts: `BIT` then takes their bytes, `YEAR` takes 0 for 2000,
/// and an address of 16 bytes is taken for a binary one.
pub(crate) fn takes_bytes(rows: &[Row]) -> bool {
    rows.iter().all(|row| {
        let [_, _, Some(type_name), _, charset] = row.as_slice() else { return false };
        let type_name = type_name.to_ascii_lowercase();
        match charset {
            Some(charset) => charset.to_ascii_lowercase().starts_with("utf8"),
            None => READ_FROM_TEXT.split(' ').any(|name| type_name.split(['(', ' ']).next() == Some(name)),
        }
    })
}

fn column(table: &str, [_, name, type_name, nullable]: [String; 4]) -> Result<Column> {
    let sql_type = sql_type(&type_name).ok_or_else(|| {
        Error::Unsupported(format!(
            "column \"{name}\" of table \"{table}\" has the type {type_name}, which has no counterpart here"
        ))
    })?;
    Ok(Column { name, sql_type, nullable: nullable == "YES" })
}

/// The type that a query returns for a column whose type has this name in the catalog: `int(10) unsigned`,
/// `decimal(38,10)`.
fn sql_type(text: &str) -> Option<SqlType> {
    let text = text.to_ascii_lowercase();
    let unsigned = text.contains("unsigned");
    let name = text.split(['(', ' ']).next()?;
    let digits = || text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(digits, _)| digits);
    Some(match name {
        "tinyint" if digits() == Some("1") && !unsigned => SqlType::Bool,
        "bit" if digits() == Some("1") => SqlType::Bool,
        "bit" if digits() == Some("64") => SqlType::Decimal { precision: 20, scale: 0 },
        "bigint" if unsigned => SqlType::Decimal { precision: 20, scale: 0 },
        "tinyint" | "year" => SqlType::SmallInt,
        "smallint" if !unsigned => SqlType::SmallInt,
        "smallint" | "mediumint" => SqlType::Int,
        "int" if !unsigned => SqlType::Int,
        "int" | "bigint" | "bit" => SqlType::BigInt,
        "float" => SqlType::Real,
        "double" => SqlType::Double,
        "decimal" => {
            let (precision, scale) = digits()?.split_once(',')?;
            match precision.parse().ok()? {
                precision if precision <= MAX_DECIMAL_PRECISION => {
                    SqlType::Decimal { precision, scale: scale.parse().ok()? }
                }
                _ => SqlType::Text,
            }
        }
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" | "json" | "time"
        | "uuid" | "inet4" | "inet6" => SqlType::Text,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector" | "geometry" | "point"
        | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon" | "geometrycollection"
        | "geomcollection" => SqlType::Bytes,
        "date" => SqlType::Date,
        "datetime" | "timestamp" => SqlType::Timestamp,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_loaded_only_into_columns_that_take_its_bytes() {
        let row = |type_name: &str, charset: Option<&str>| {
            vec![
                Some("t".into()),
                Some("c".into()),
                Some(type_name.into()),
                Some("YES".into()),
                charset.map(Into::into),
            ]
        };
        let number = row("INT(10) unsigned", None);
        for (type_name, charset, expected) in [
            ("longtext", Some("utf8mb4"), true),
            ("varchar(9)", Some("utf8mb3"), true),
            ("enum('utf8')", Some("latin1"), false),
            ("text", Some("ucs2"), false),
            ("varbinary(8)", None, true),
            ("decimal(10,2)", None, true),
            ("bit(8)", None, false),
            ("year(4)", None, false),
            ("inet6", None, false),
            ("json", None, false),
        ] {
            assert_eq!(takes_bytes(&[number.clone(), row(type_name, charset)]), expected, "{type_name}");
        }
    }

    #[test]
    fn types_are_those_that_queries_return() {
        for (text, expected) in [
            ("tinyint(1)", SqlType::Bool),
            ("tinyint(4)", SqlType::SmallInt),
            ("tinyint", SqlType::SmallInt),
            ("smallint(5) unsigned", SqlType::Int),
            ("int(10) unsigned zerofill", SqlType::BigInt),
            ("bigint unsigned", SqlType::Decimal { precision: 20, scale: 0 }),
            ("decimal(10,2)", SqlType::Decimal { precision: 10, scale: 2 }),
            ("decimal(65,30)", SqlType::Text),
            ("geometry", SqlType::Bytes),
            ("uuid", SqlType::Text),
            ("enum('unsigned','a(1)')", SqlType::Text),
            ("varbinary(8)", SqlType::Bytes),
            ("timestamp(6)", SqlType::Timestamp),
        ] {
            assert_eq!(sql_type(text), Some(expected), "{text}");
        }
        assert_eq!(sql_type("row"), None);
    }
}
