//! Table definitions as JavaScript objects.

use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::values::arrays::length_of;
use boundary_bench_node::values::numbers::digits;
use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, ToNapiValue};
use napi::sys;
use napi_derive::napi;

/// The SQL type of a column.
#[napi(string_enum = "lowercase")]
pub enum ColumnKind {
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
    /// `DECIMAL(precision, scale)`.
    Decimal,
    /// `VARCHAR`.
    Text,
    /// `BLOB`.
    Bytes,
    /// `DATE`: days since 1970-01-01.
    Date,
    /// `TIMESTAMP`: microseconds since 1970-01-01T00:00:00.
    Timestamp,
}

/// A column of a table or of a query's result.
#[napi(object)]
pub struct ColumnSpec {
    /// The name of the column, unique within its table.
    pub name: String,
    /// The type of the column's values.
    pub kind: ColumnKind,
    /// The number of all digits of a decimal, 1 to 38.
    pub precision: Option<f64>,
    /// The number of a decimal's digits after the decimal point.
    pub scale: Option<f64>,
    /// Whether the column may hold null.
    pub nullable: bool,
}

/// The most columns of a table.
const MOST_COLUMNS: u32 = 1 << 16;

/// The columns of a table.
pub struct ColumnSpecs(Vec<ColumnSpec>);

impl FromNapiValue for ColumnSpecs {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: both handles belong to the call under way.
        let columns = unsafe { Object::from_napi_value(env, value) }?;
        let length = length_of(&columns, "a table", "columns", MOST_COLUMNS)?;
        (0..length).map(|index| columns.get_element(index)).collect::<napi::Result<_>>().map(Self)
    }
}

impl ToNapiValue for ColumnSpecs {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller's promise.
        unsafe { Vec::to_napi_value(env, value.0) }
    }
}

/// A table's name and columns.
#[napi(object)]
pub struct TableSpec {
    /// The table's name, unquoted.
    pub name: String,
    /// The table's columns, in order.
    #[napi(ts_type = "Array<ColumnSpec>")]
    pub columns: ColumnSpecs,
}

impl TryFrom<ColumnSpec> for Column {
    type Error = napi::Error;

    fn try_from(spec: ColumnSpec) -> napi::Result<Self> {
        let sql_type = match spec.kind {
            ColumnKind::Bool => SqlType::Bool,
            ColumnKind::SmallInt => SqlType::SmallInt,
            ColumnKind::Int => SqlType::Int,
            ColumnKind::BigInt => SqlType::BigInt,
            ColumnKind::Real => SqlType::Real,
            ColumnKind::Double => SqlType::Double,
            ColumnKind::Decimal => match (spec.precision, spec.scale) {
                (Some(precision), Some(scale)) => {
                    SqlType::Decimal { precision: digits(precision, "precision")?, scale: digits(scale, "scale")? }
                }
                _ => return Err(invalid(format!("column \"{}\": a decimal needs precision and scale", spec.name))),
            },
            ColumnKind::Text => SqlType::Text,
            ColumnKind::Bytes => SqlType::Bytes,
            ColumnKind::Date => SqlType::Date,
            ColumnKind::Timestamp => SqlType::Timestamp,
        };
        Ok(Self { name: spec.name, sql_type, nullable: spec.nullable })
    }
}

impl From<&Column> for ColumnSpec {
    fn from(column: &Column) -> Self {
        let (kind, precision, scale) = match column.sql_type {
            SqlType::Bool => (ColumnKind::Bool, None, None),
            SqlType::SmallInt => (ColumnKind::SmallInt, None, None),
            SqlType::Int => (ColumnKind::Int, None, None),
            SqlType::BigInt => (ColumnKind::BigInt, None, None),
            SqlType::Real => (ColumnKind::Real, None, None),
            SqlType::Double => (ColumnKind::Double, None, None),
            SqlType::Decimal { precision, scale } => {
                (ColumnKind::Decimal, Some(f64::from(precision)), Some(f64::from(scale)))
            }
            SqlType::Text => (ColumnKind::Text, None, None),
            SqlType::Bytes => (ColumnKind::Bytes, None, None),
            SqlType::Date => (ColumnKind::Date, None, None),
            SqlType::Timestamp => (ColumnKind::Timestamp, None, None),
        };
        Self { name: column.name.clone(), kind, precision, scale, nullable: column.nullable }
    }
}

impl TryFrom<TableSpec> for TableDefinition {
    type Error = napi::Error;

    fn try_from(spec: TableSpec) -> napi::Result<Self> {
        let columns = spec.columns.0.into_iter().map(Column::try_from).collect::<napi::Result<_>>()?;
        let table = Self { name: spec.name, columns };
        table.validate().map_err(js)?;
        Ok(table)
    }
}

impl From<TableDefinition> for TableSpec {
    fn from(table: TableDefinition) -> Self {
        Self { columns: ColumnSpecs(table.columns.iter().map(ColumnSpec::from).collect()), name: table.name }
    }
}
