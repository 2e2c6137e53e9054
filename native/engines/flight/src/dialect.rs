//! The SQL of a server, of which Flight SQL tells little: how it quotes names, what it calls types, and how it counts rows.

use std::ops::Range;

use boundary_bench_engine::sql_text::{identifier, literal};
use boundary_bench_engine::table::{Column, SqlType};

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB and `DataFusion`: standard names and types, and the table function `range`.
    DuckDb,
    /// Spark and Sail: names between backticks, types of Spark, and the table function `range`.
    Spark,
    /// Standard names and types without any function, as for Dremio.
    Plain,
}

/// Every dialect with its name in URLs, in the order in which they are tried.
const DIALECTS: [(&str, Dialect); 3] =
    [("duckdb", Dialect::DuckDb), ("spark", Dialect::Spark), ("plain", Dialect::Plain)];

/// The dialects of servers by a part of the names that they tell, in small letters.
const SERVERS: [(&str, Dialect); 5] = [
    ("duckdb", Dialect::DuckDb),
    ("datafusion", Dialect::DuckDb),
    ("spark", Dialect::Spark),
    ("sail", Dialect::Spark),
    ("dremio", Dialect::Plain),
];

/// The number of rows that [`Dialect::probe`] counts.
const PROBED: u64 = 3;

/// The sum that [`Dialect::probe`] returns if the server understands the dialect.
pub(crate) const PROBE_SUM: i64 = 3;

impl Dialect {
    /// All dialects, in the order in which they are tried on an unknown server.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        DIALECTS.into_iter().map(|(_, dialect)| dialect)
    }

    /// The names of the dialects in URLs.
    pub(crate) fn names() -> String {
        DIALECTS.map(|(name, _)| name).join(", ")
    }

    /// The dialect of a name in a URL.
    pub(crate) fn named(name: &str) -> Option<Self> {
        DIALECTS.into_iter().find(|(known, _)| *known == name).map(|(_, dialect)| dialect)
    }

    /// The dialect of a server that tells this name, if it is a known one.
    pub(crate) fn of_server(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        SERVERS.into_iter().find(|(part, _)| name.contains(part)).map(|(_, dialect)| dialect)
    }

    /// Quotes a name.
    pub(crate) fn identifier(self, name: &str) -> String {
        match self {
            Self::DuckDb | Self::Plain => identifier(name),
            Self::Spark => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// The definition of a column in `CREATE TABLE`.
    pub(crate) fn column(self, column: &Column) -> String {
        column.definition(&self.identifier(&column.name), &self.type_name(column.sql_type))
    }

    fn type_name(self, sql_type: SqlType) -> String {
        let name = match (self, sql_type) {
            (Self::Spark, SqlType::Real) => "FLOAT",
            (Self::Spark, SqlType::Text) => "STRING",
            (Self::Spark, SqlType::Bytes) => "BINARY",
            // The plain type has a time zone there.
            (Self::Spark, SqlType::Timestamp) => "TIMESTAMP_NTZ",
            _ => return sql_type.to_sql(),
        };
        name.to_owned()
    }

    /// The query for the names of all tables, or of those in a schema, and the column of its result that has them.
    pub(crate) fn table_names(self, schema: Option<&str>) -> (String, &'static str) {
        match (self, schema) {
            (Self::Spark, Some(schema)) => (format!("SHOW TABLES IN {}", self.identifier(schema)), "tableName"),
            (Self::Spark, None) => ("SHOW TABLES".to_owned(), "tableName"),
            (Self::DuckDb | Self::Plain, _) => {
                let within =
                    schema.map(|schema| format!(" AND table_schema = {}", literal(schema))).unwrap_or_default();
                let from = "FROM information_schema.tables WHERE table_type = 'BASE TABLE'";
                (format!("SELECT table_name {from}{within}"), "table_name")
            }
        }
    }

    /// The query for the names of all schemas. They are its first column.
    pub(crate) fn schema_names(self) -> &'static str {
        match self {
            Self::Spark => "SHOW DATABASES",
            Self::DuckDb | Self::Plain => "SELECT schema_name FROM information_schema.schemata",
        }
    }

    /// An item of `FROM` whose only column `i` counts through a range, as a BIGINT.
    pub(crate) fn numbers(self, range: &Range<u64>) -> String {
        let Range { start, end } = range;
        match self {
            Self::DuckDb | Self::Spark => format!("range({start}, {end}) AS numbers(i)"),
            Self::Plain => {
                let count = end.saturating_sub(*start);
                let places = count.saturating_sub(1).checked_ilog10().unwrap_or(0) + 1;
                let ones = (1..10).map(|digit| format!("SELECT {digit}")).collect::<Vec<_>>().join(" UNION ALL ");
                let digits = |place| format!("(SELECT CAST(0 AS BIGINT) AS d UNION ALL {ones}) AS d{place}");
                let sum = (0..places).map(|place| format!("{} * d{place}.d", 10_u64.pow(place))).collect::<Vec<_>>();
                let tables = (0..places).map(digits).collect::<Vec<_>>().join(" CROSS JOIN ");
                let all = format!("(SELECT {} AS n FROM {tables}) AS everything", sum.join(" + "));
                format!("(SELECT n + {start} AS i FROM {all} WHERE n < {count}) AS numbers")
            }
        }
    }

    /// A query that tells whether a server understands the dialect: its only value is then [`PROBE_SUM`].
    pub(crate) fn probe(self) -> String {
        let name = self.identifier("n");
        format!("SELECT CAST(sum(i) AS BIGINT) AS {name} FROM {}", self.numbers(&(0..PROBED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_a_part_of_their_names() {
        assert_eq!(Dialect::of_server("Apache DataFusion 50"), Some(Dialect::DuckDb));
        assert_eq!(Dialect::of_server("Dremio 26"), Some(Dialect::Plain));
        assert_eq!(Dialect::of_server("unknown"), None);
    }

    #[test]
    fn names_and_types_are_those_of_the_dialect() {
        let column = |sql_type| Column { name: "a`\"b".to_owned(), sql_type, nullable: false };
        assert_eq!(Dialect::Spark.column(&column(SqlType::Double)), "`a``\"b` DOUBLE NOT NULL");
        assert_eq!(Dialect::Spark.column(&column(SqlType::BigInt)), "`a``\"b` BIGINT NOT NULL");
        assert_eq!(Dialect::Plain.column(&column(SqlType::Double)), "\"a`\"\"b\" DOUBLE NOT NULL");
    }
}
