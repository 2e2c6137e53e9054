//! The queries on the server's catalog, and the types in their rows.

use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field, TimeUnit};
use boundary_bench_engine::catalog::{self, Row, TablePath};
use boundary_bench_engine::sql_text::literal;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_kernel::{Error, Result};

/// The query for the names of all tables.
pub(crate) const TABLES: &str = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public'";

/// The query for the schema of a name. It has a row if there is one.
pub(crate) fn schema_query(name: &str) -> String {
    format!("SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname = {}", literal(name))
}

/// The query for the columns of a table.
pub(crate) fn columns_query(path: &TablePath) -> String {
    format!(
        "SELECT a.attname, a.atttypid, a.atttypmod, a.attnotnull FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class c ON a.attrelid = c.oid JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid \
         WHERE n.nspname = {} AND c.relname = {} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        literal(path.schema.as_deref().unwrap_or("public")),
        literal(&path.table)
    )
}

/// The table `name` in the rows of [`columns_query`] for its place, and the form of each column.
pub(crate) fn definition(name: &str, rows: Vec<Row>) -> Result<(TableDefinition, Vec<Form>)> {
    let forms = RefCell::new(Vec::new());
    let table = catalog::definition(name, rows, |[column, type_id, modifier, not_null]| {
        let number = type_id.parse().unwrap_or(0);
        let (sql_type, form) = column_type(number, modifier.parse().unwrap_or(-1)).ok_or_else(|| {
            Error::Unsupported(format!(
                "column \"{column}\" of table \"{name}\" has a type (number {type_id} of the catalog) with no counterpart here"
            ))
        })?;
        forms.borrow_mut().push(form);
        Ok(Column { name: column, sql_type, nullable: !not_null.starts_with('t') })
    })?;
    Ok((table, forms.into_inner()))
}

/// The form in which the server takes and sends the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The form of our type.
    Own,
    /// Text of at most `most` characters, if there is a limit, under a name of the server for the type.
    Text { name: Option<&'static str>, most: Option<usize> },
    /// A whole number of 32 bits without a sign.
    Oid,
    /// A time with the time zone UTC.
    Zoned,
    /// Bytes that only the server makes: it stores any, and can't read others again.
    Opaque,
    /// Neither Arrow nor we have the type. SQL casts it to text and back.
    Cast,
}

/// Our type for a type of the catalog, and its form, or `None` if it has no counterpart here.
pub(crate) fn column_type(id: u32, modifier: i32) -> Option<(SqlType, Form)> {
    // The modifier of a type with a limit is the limit plus 4.
    let packed = modifier.checked_sub(4).and_then(|packed| usize::try_from(packed).ok());
    let text = |name, most| (SqlType::Text, Form::Text { name, most });
    let own = match id {
        16 => SqlType::Bool,
        21 => SqlType::SmallInt,
        23 => SqlType::Int,
        20 => SqlType::BigInt,
        700 => SqlType::Real,
        701 => SqlType::Double,
        17 => SqlType::Bytes,
        25 => SqlType::Text,
        1082 => SqlType::Date,
        1114 => SqlType::Timestamp,
        // Precision and scale have 16 bits each.
        1700 => SqlType::Decimal {
            precision: u8::try_from(packed? >> 16).ok()?,
            scale: u8::try_from(packed? & 0xffff).ok()?,
        },
        // varchar(n), char(n), char(1), json
        1043 => return Some(text(None, packed)),
        1042 => return Some(text(Some("Char"), packed)),
        18 => return Some(text(Some("Char1"), Some(1))),
        114 => return Some(text(Some("JSON"), None)),
        26 => return Some((SqlType::BigInt, Form::Oid)),
        // timestamptz
        1184 => return Some((SqlType::Timestamp, Form::Zoned)),
        // geography
        5003 => return Some((SqlType::Bytes, Form::Opaque)),
        // time, interval, uuid
        1083 | 1186 | 2950 => return Some((SqlType::Text, Form::Cast)),
        _ => return None,
    };
    Some((own, Form::Own))
}

impl Form {
    /// The field of a column in the Arrow stream of an insert.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a form that no stream can have.
    pub(crate) fn field(self, column: &Field) -> Result<Field> {
        let refused = |what: &str| {
            Err(Error::Unsupported(format!("rows can't be inserted into the column \"{}\": {what}", column.name())))
        };
        let field = column.clone();
        Ok(match self {
            Self::Own => field,
            Self::Text { name, most } => {
                let name = name.map(|name| ("hyper:type".to_owned(), name.to_owned()));
                let most = most.map(|most| ("hyper:max_string_length".to_owned(), most.to_string()));
                // A name of one character is the whole type.
                let most = most.filter(|_| name.as_ref().is_none_or(|(_, name)| name != "Char1"));
                field.with_metadata(name.into_iter().chain(most).collect())
            }
            Self::Oid => field
                .with_data_type(DataType::UInt32)
                .with_metadata([("hyper:type".to_owned(), "Oid".to_owned())].into()),
            Self::Zoned => field.with_data_type(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
            Self::Opaque => return refused("only the server makes its values; use SQL"),
            Self::Cast => return refused("the server takes its type only by a CAST; use SQL"),
        })
    }

    /// The values of a column in this form. `first_row` is the number of rows before them.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a value that does not fit the column: the server would store it, or a part of it.
    pub(crate) fn values(self, array: &ArrayRef, field: &Field, first_row: u64) -> Result<ArrayRef> {
        let misfit = |row: usize, problem: String| {
            Err(Error::InvalidValue { row: first_row + row as u64, column: field.name().clone(), problem })
        };
        Ok(match self {
            Self::Text { most: Some(most), .. } => {
                let is_long = |text: &str| text.len() > most && text.chars().count() > most;
                if let Some(row) = array.as_string::<i32>().iter().position(|text| text.is_some_and(is_long)) {
                    return misfit(row, format!("the text has more than the {most} characters of the column"));
                }
                Arc::clone(array)
            }
            Self::Oid => {
                let numbers = array.as_primitive::<Int64Type>();
                let is_other = |number: Option<i64>| number.is_some_and(|number| u32::try_from(number).is_err());
                if let Some(row) = numbers.iter().position(is_other) {
                    return misfit(row, format!("the number is not from 0 to {}", u32::MAX));
                }
                Arc::new(
                    numbers
                        .iter()
                        .map(|number| number.and_then(|number| u32::try_from(number).ok()))
                        .collect::<UInt32Array>(),
                )
            }
            Self::Zoned => Arc::new(array.as_primitive::<TimestampMicrosecondType>().clone().with_timezone("UTC")),
            _ => Arc::clone(array),
        })
    }
}
