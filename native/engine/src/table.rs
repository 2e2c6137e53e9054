//! Tables: SQL types, columns and definitions, and their Arrow counterparts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::sql_text::identifier;
use boundary_bench_kernel::{Error, Result};

/// The largest precision of [`SqlType::Decimal`], in decimal digits.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SqlType {
    /// `BOOLEAN`.
    Bool,
    /// `SMALLINT`, 16 bits.
    SmallInt,
    /// `INTEGER`, 32 bits.
    Int,
    /// `BIGINT`, 64 bits.
    BigInt,
    /// `REAL`, IEEE 754 binary32.
    Real,
    /// `DOUBLE`, IEEE 754 binary64.
    Double,
    /// `DECIMAL(precision, scale)`, exact.
    Decimal {
        /// The number of all digits, 1 to 38.
        precision: u8,
        /// The number of digits behind the point, 0 to `precision`.
        scale: u8,
    },
    /// `VARCHAR`, UTF-8.
    Text,
    /// `BLOB`.
    Bytes,
    /// `DATE`: days since 1970-01-01.
    Date,
    /// `TIMESTAMP` without a zone: microseconds since 1970-01-01T00:00:00.
    Timestamp,
}

impl SqlType {
    /// The Arrow type of this column's values.
    pub fn to_arrow(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::SmallInt => DataType::Int16,
            Self::Int => DataType::Int32,
            Self::BigInt => DataType::Int64,
            Self::Real => DataType::Float32,
            Self::Double => DataType::Float64,
            #[expect(clippy::cast_possible_wrap, reason = "scale is at most 38")]
            Self::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    /// The SQL type whose Arrow type is `data_type`, if there is one.
    pub fn from_arrow(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool,
            DataType::Int16 => Self::SmallInt,
            DataType::Int32 => Self::Int,
            DataType::Int64 => Self::BigInt,
            DataType::Float32 => Self::Real,
            DataType::Float64 => Self::Double,
            DataType::Decimal128(precision, scale) => {
                Self::Decimal { precision: *precision, scale: u8::try_from(*scale).ok()? }
            }
            DataType::Utf8 => Self::Text,
            DataType::Binary => Self::Bytes,
            DataType::Date32 => Self::Date,
            DataType::Timestamp(TimeUnit::Microsecond, None) => Self::Timestamp,
            _ => return None,
        })
    }

    /// The type's name in SQL.
    pub fn to_sql(self) -> String {
        match self {
            Self::Bool => "BOOLEAN".to_owned(),
            Self::SmallInt => "SMALLINT".to_owned(),
            Self::Int => "INTEGER".to_owned(),
            Self::BigInt => "BIGINT".to_owned(),
            Self::Real => "REAL".to_owned(),
            Self::Double => "DOUBLE".to_owned(),
            Self::Decimal { precision, scale } => format!("DECIMAL({precision}, {scale})"),
            Self::Text => "VARCHAR".to_owned(),
            Self::Bytes => "BLOB".to_owned(),
            Self::Date => "DATE".to_owned(),
            Self::Timestamp => "TIMESTAMP".to_owned(),
        }
    }

    /// The number of bytes of one value in a frame, or `None` for types of varying width.
    pub fn fixed_width(self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::SmallInt => Some(2),
            Self::Int | Self::Real | Self::Date => Some(4),
            Self::BigInt | Self::Double | Self::Timestamp => Some(8),
            Self::Decimal { .. } => Some(16),
            Self::Text | Self::Bytes => None,
        }
    }
}

/// A column of a table or of a query's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// The name of the column, unique within its table.
    pub name: String,
    /// The type of the values.
    #[serde(flatten)]
    pub sql_type: SqlType,
    /// Whether the column may hold NULL.
    pub nullable: bool,
}

impl Column {
    /// The definition of the column in `CREATE TABLE`.
    pub fn to_sql(&self) -> String {
        self.definition(&identifier(&self.name), &self.sql_type.to_sql())
    }

    /// The definition of the column in `CREATE TABLE`, with its name and type as a server writes them.
    pub fn definition(&self, name: &str, type_name: &str) -> String {
        let constraint = if self.nullable { "" } else { " NOT NULL" };
        format!("{name} {type_name}{constraint}")
    }
}

/// The name and columns of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDefinition {
    /// The name of the table, unquoted.
    pub name: String,
    /// The columns of the table, in order.
    pub columns: Vec<Column>,
}

impl TableDefinition {
    /// Checks that the definition is usable.
    pub fn validate(&self) -> Result<()> {
        let problem = |text: String| Err(Error::InvalidArgument(text));
        if self.name.is_empty() || self.name.contains('\0') {
            return problem("a table needs a name without NUL characters".to_owned());
        }
        if self.columns.is_empty() {
            return problem(format!("table \"{}\" needs at least one column", self.name));
        }
        let mut seen = HashSet::new();
        for column in &self.columns {
            if column.name.is_empty() || column.name.contains('\0') {
                return problem(format!("table \"{}\": a column needs a name without NUL characters", self.name));
            }
            if !seen.insert(column.name.to_lowercase()) {
                return problem(format!("table \"{}\" names column \"{}\" twice", self.name, column.name));
            }
            if let SqlType::Decimal { precision, scale } = column.sql_type
                && (precision == 0 || precision > MAX_DECIMAL_PRECISION || scale > precision)
            {
                return problem(format!(
                    "column \"{}\": DECIMAL({precision}, {scale}) needs a precision of 1 to 38 and a scale of at most that",
                    column.name
                ));
            }
        }
        Ok(())
    }

    /// Checks that this table, as it is stored, has exactly the columns of the given definition. `to_sql` formats a column
    /// for the error as its engine does.
    pub fn check_columns(&self, given: &Self, to_sql: impl Fn(&Column) -> String) -> Result<()> {
        if self.columns.len() != given.columns.len() {
            return Err(Error::SchemaMismatch(format!(
                "table \"{}\" has {} columns, the definition given has {}",
                given.name,
                self.columns.len(),
                given.columns.len()
            )));
        }
        match self.columns.iter().zip(&given.columns).find(|(stored, given)| stored != given) {
            None => Ok(()),
            Some((stored, other)) => Err(Error::SchemaMismatch(format!(
                "table \"{}\" has the column {} where the definition given has {}",
                given.name,
                to_sql(stored),
                to_sql(other)
            ))),
        }
    }

    /// The Arrow schema of this table's batches.
    pub fn to_arrow(&self) -> SchemaRef {
        arrow_schema_of(&self.columns)
    }
}

/// The Arrow schema of batches with these columns.
pub fn arrow_schema_of(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(
        columns
            .iter()
            .map(|column| Field::new(&column.name, column.sql_type.to_arrow(), column.nullable))
            .collect::<Vec<_>>(),
    ))
}

/// An array of a type of fixed width, but for BOOLEAN, over the memory of its values.
pub fn fixed_array(
    sql_type: SqlType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> std::result::Result<ArrayRef, ArrowError> {
    ArrayData::builder(sql_type.to_arrow()).len(rows).add_buffer(values).nulls(nulls).build().map(make_array)
}

/// Gives each repeated name the first free suffix of `_1`, `_2`, ..., for results of queries, whose names must be
/// unique.
pub fn unique_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let given: HashSet<&str> = names.clone().collect();
    let mut used: HashSet<String> = HashSet::new();
    // The suffix that each name got last. Beginning at 1 each time would take time by the square of the repetitions.
    let mut suffixes: HashMap<&str, usize> = HashMap::new();
    names
        .map(|name| {
            let mut unique = name.to_owned();
            while !used.insert(unique.clone()) {
                let suffix = suffixes.entry(name).or_default();
                // A suffixed name must not equal the name of a later column.
                loop {
                    *suffix += 1;
                    unique = format!("{name}_{suffix}");
                    if !given.contains(unique.as_str()) {
                        break;
                    }
                }
            }
            unique
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_a_suffix_that_no_column_has() {
        assert_eq!(unique_names(["a", "b", "a", "a", "a_1"].into_iter()), ["a", "b", "a_2", "a_3", "a_1"]);
    }

    #[test]
    fn many_equal_names_take_no_longer_than_as_many_different_ones() {
        let names = unique_names(std::iter::repeat_n("a", 50_000));
        assert_eq!([&*names[0], &*names[1], &*names[49_999]], ["a", "a_1", "a_49999"]);
        // Names that begin alike but differ also meet the suffixed ones of others.
        let mixed = unique_names((0..25_000).flat_map(|_| ["a", "a_1"]));
        assert_eq!(mixed.iter().collect::<HashSet<_>>().len(), 50_000);
    }

    fn table(columns: &[(&str, SqlType)]) -> TableDefinition {
        TableDefinition {
            name: "t".to_owned(),
            columns: columns
                .iter()
                .map(|(name, sql_type)| Column { name: (*name).to_owned(), sql_type: *sql_type, nullable: true })
                .collect(),
        }
    }

    #[test]
    fn a_column_named_twice_is_refused_without_regard_to_case() {
        let error = table(&[("id", SqlType::Int), ("ID", SqlType::Int)]).validate().unwrap_err();
        assert_eq!(error.to_string(), "table \"t\" names column \"ID\" twice");
    }

    #[test]
    fn a_table_of_other_columns_is_told_with_the_first_that_differs() {
        let stored = table(&[("id", SqlType::Int), ("a\"b", SqlType::Text)]);
        assert!(stored.check_columns(&stored, Column::to_sql).is_ok());
        for (given, expected) in [
            (table(&[("id", SqlType::Int)]), "table \"t\" has 2 columns, the definition given has 1"),
            (
                table(&[("id", SqlType::Int), ("a\"b", SqlType::Bytes)]),
                "table \"t\" has the column \"a\"\"b\" VARCHAR where the definition given has \"a\"\"b\" BLOB",
            ),
        ] {
            let error = stored.check_columns(&given, Column::to_sql).unwrap_err();
            assert_eq!((error.code(), error.to_string().as_str()), ("BB_SCHEMA_MISMATCH", expected));
        }
        let mut given = stored.clone();
        given.columns[0].nullable = false;
        let error = stored.check_columns(&given, |column| format!("{}?{}", column.name, column.nullable)).unwrap_err();
        assert!(error.to_string().ends_with("the column id?true where the definition given has id?false"), "{error}");
    }

    #[test]
    fn a_decimal_out_of_range_is_refused() {
        for (precision, scale) in [(0, 0), (39, 2), (4, 5)] {
            assert!(table(&[("d", SqlType::Decimal { precision, scale })]).validate().is_err());
        }
        assert!(table(&[("d", SqlType::Decimal { precision: 38, scale: 38 })]).validate().is_ok());
    }

    #[test]
    fn every_type_survives_the_way_through_arrow() {
        for sql_type in [
            SqlType::Bool,
            SqlType::SmallInt,
            SqlType::Int,
            SqlType::BigInt,
            SqlType::Real,
            SqlType::Double,
            SqlType::Decimal { precision: 12, scale: 3 },
            SqlType::Text,
            SqlType::Bytes,
            SqlType::Date,
            SqlType::Timestamp,
        ] {
            assert_eq!(SqlType::from_arrow(&sql_type.to_arrow()), Some(sql_type));
        }
    }
}
