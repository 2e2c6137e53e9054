//! Decoding of rows in `HyperBinary`, the server's own format, into Arrow's columns.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use boundary_bench_engine::table::{Column, SqlType, arrow_schema_of};
use boundary_bench_kernel::{Error, Result};

use crate::catalog::{self, Form};
use crate::engine_error;
use crate::wire::{Field, values_of};

/// 1970-01-01 as a Julian day. The server counts days so.
const EPOCH_DAY: i32 = 2_440_588;

/// [`EPOCH_DAY`] in microseconds.
const EPOCH_MICROSECONDS: i64 = EPOCH_DAY as i64 * 86_400_000_000;

/// Maximum number of digits of a decimal that is sent in 8 bytes. Longer decimals take 16 bytes.
const MAX_SHORT_PRECISION: u8 = 18;

/// The builder of a batch from rows.
pub(crate) struct RowBuilder {
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

/// The builder of one column.
enum ColumnBuilder {
    Bool(BooleanBuilder),
    SmallInt(Int16Builder),
    Int(Int32Builder),
    BigInt(Int64Builder),
    Oid(Int64Builder),
    Real(Float32Builder),
    Double(Float64Builder),
    ShortDecimal(Decimal128Builder),
    LongDecimal(Decimal128Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

/// Evaluates the same expression with the Arrow builder of any column.
macro_rules! on_builder {
    ($column:expr, $builder:ident => $call:expr) => {
        match $column {
            ColumnBuilder::Bool($builder) => $call,
            ColumnBuilder::SmallInt($builder) => $call,
            ColumnBuilder::Int($builder) => $call,
            ColumnBuilder::BigInt($builder) | ColumnBuilder::Oid($builder) => $call,
            ColumnBuilder::Real($builder) => $call,
            ColumnBuilder::Double($builder) => $call,
            ColumnBuilder::ShortDecimal($builder) | ColumnBuilder::LongDecimal($builder) => $call,
            ColumnBuilder::Text($builder) => $call,
            ColumnBuilder::Bytes($builder) => $call,
            ColumnBuilder::Date($builder) => $call,
            ColumnBuilder::Timestamp($builder) => $call,
        }
    };
}

impl RowBuilder {
    /// A builder for the rows of a result with these columns.
    pub(crate) fn new(fields: &[Field]) -> Result<Self> {
        let (columns, forms): (Vec<_>, Vec<_>) =
            fields.iter().map(column_of).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let builders =
            columns.iter().zip(forms).map(|(column, form)| ColumnBuilder::new(column.sql_type, form)).collect();
        Ok(Self { schema: arrow_schema_of(&columns), columns: builders, rows: 0, bytes: 0 })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows gathered for the next batch.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The encoded size of the gathered rows, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<()> {
        let mut values = values_of(row);
        for column in &mut self.columns {
            match values.next().transpose()? {
                Some(Some(value)) => {
                    column.push(value).ok_or_else(|| engine_error("the server sent a value of another type"))?;
                }
                Some(None) => on_builder!(column, builder => builder.append_null()),
                None => return Err(engine_error("the server sent a row that is too short")),
            }
        }
        self.rows += 1;
        self.bytes += row.len();
        Ok(())
    }

    /// Returns the gathered rows as a batch, and begins the next batch.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        let arrays = self
            .columns
            .iter_mut()
            .map(|column| on_builder!(column, builder => Arc::new(builder.finish()) as ArrayRef));
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect()).map_err(engine_error)
    }
}

impl ColumnBuilder {
    fn new(sql_type: SqlType, form: Form) -> Self {
        match sql_type {
            _ if form == Form::Oid => Self::Oid(Int64Builder::new()),
            SqlType::Bool => Self::Bool(BooleanBuilder::new()),
            SqlType::SmallInt => Self::SmallInt(Int16Builder::new()),
            SqlType::Int => Self::Int(Int32Builder::new()),
            SqlType::BigInt => Self::BigInt(Int64Builder::new()),
            SqlType::Real => Self::Real(Float32Builder::new()),
            SqlType::Double => Self::Double(Float64Builder::new()),
            SqlType::Decimal { precision, .. } => {
                let builder = Decimal128Builder::new().with_data_type(sql_type.to_arrow());
                if precision <= MAX_SHORT_PRECISION { Self::ShortDecimal(builder) } else { Self::LongDecimal(builder) }
            }
            SqlType::Text => Self::Text(StringBuilder::new()),
            SqlType::Bytes => Self::Bytes(BinaryBuilder::new()),
            SqlType::Date => Self::Date(Date32Builder::new()),
            SqlType::Timestamp => Self::Timestamp(TimestampMicrosecondBuilder::new()),
        }
    }

    /// Adds a value. Returns `None` if its bytes are no value of the column's type.
    fn push(&mut self, value: &[u8]) -> Option<()> {
        match self {
            Self::Bool(builder) => builder.append_value(i8::from_le_bytes(value.try_into().ok()?) != 0),
            Self::SmallInt(builder) => builder.append_value(i16::from_le_bytes(value.try_into().ok()?)),
            Self::Int(builder) => builder.append_value(i32::from_le_bytes(value.try_into().ok()?)),
            Self::Oid(builder) => builder.append_value(u32::from_le_bytes(value.try_into().ok()?).into()),
            Self::BigInt(builder) => builder.append_value(i64::from_le_bytes(value.try_into().ok()?)),
            Self::Real(builder) => builder.append_value(f32::from_le_bytes(value.try_into().ok()?)),
            Self::Double(builder) => builder.append_value(f64::from_le_bytes(value.try_into().ok()?)),
            Self::ShortDecimal(builder) => builder.append_value(i64::from_le_bytes(value.try_into().ok()?).into()),
            Self::LongDecimal(builder) => builder.append_value(i128::from_le_bytes(value.try_into().ok()?)),
            Self::Text(builder) => builder.append_value(std::str::from_utf8(value).ok()?),
            Self::Bytes(builder) => builder.append_value(value),
            Self::Date(builder) => {
                builder.append_value(i32::from_le_bytes(value.try_into().ok()?).checked_sub(EPOCH_DAY)?);
            }
            Self::Timestamp(builder) => {
                builder.append_value(i64::from_le_bytes(value.try_into().ok()?).checked_sub(EPOCH_MICROSECONDS)?);
            }
        }
        Some(())
    }
}

/// A column of a result in our types, and its form.
fn column_of(field: &Field) -> Result<(Column, Form)> {
    let known = catalog::column_type(field.type_id, field.modifier).filter(|(_, form)| *form != Form::Cast);
    let (sql_type, form) = known.ok_or_else(|| {
        Error::Unsupported(format!(
            "column \"{}\" has a type (number {} of the catalog) with no counterpart here; CAST it to TEXT in the query",
            field.name, field.type_id
        ))
    })?;
    Ok((Column { name: field.name.clone(), sql_type, nullable: true }, form))
}
