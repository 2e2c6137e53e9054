//! Reads points back, from memory and from files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use boundary_bench_engine::{Engine, QueryOptions};

use super::block::{Block, divide, runs_of};
use super::catalog::DataFile;
use super::flush::{file_path, ingest, path_literal, quoted};
use super::table::{MeasurementTable, Name, UNSIGNED_DIGITS};
use crate::Result;
use crate::points::FieldKind;
use crate::rules::TIME;

/// The prefix of the names of the tables that hold points in memory.
const TABLE: &str = "unflushed";

/// The parameters of a select.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Select {
    /// The name of the measurement.
    pub measurement: String,
    /// The names of the tags and fields to read; if empty, all of them.
    pub columns: Vec<String>,
    /// The first time that is included, in nanoseconds.
    pub from: Option<i64>,
    /// The first time that is excluded again, in nanoseconds.
    pub until: Option<i64>,
    /// The number of rows, at most.
    pub limit: Option<usize>,
    /// The number of rows to skip first.
    pub offset: usize,
    /// Whether the latest rows come first.
    pub descending: bool,
}

/// A value of a selected row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The point has no value of this column.
    Null,
    /// A 64-bit float.
    Float(f64),
    /// A signed 64-bit integer; also the time, in nanoseconds.
    Integer(i64),
    /// An unsigned 64-bit integer.
    UInteger(u64),
    /// Text, of a field or a tag.
    Text(String),
    /// True or false.
    Boolean(bool),
}

/// The result of a select. The first column is the time, the others are tags and fields by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryRows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, in the order of their times.
    pub rows: Vec<Vec<Value>>,
}

/// The places that hold points: files and memory.
pub(super) struct Sources<'a> {
    pub directory: &'a Path,
    pub files: &'a [DataFile],
    pub blocks: &'a [Arc<Block>],
}

/// The SQL type that a column is read as.
fn sql_type(kind: Option<FieldKind>) -> String {
    match kind {
        None | Some(FieldKind::String) => "VARCHAR".to_owned(),
        Some(FieldKind::Float) => "DOUBLE".to_owned(),
        Some(FieldKind::Integer) => "BIGINT".to_owned(),
        Some(FieldKind::UInteger) => format!("DECIMAL({UNSIGNED_DIGITS}, 0)"),
        Some(FieldKind::Boolean) => "BOOLEAN".to_owned(),
    }
}

/// Runs a select over all points of a measurement, whose tags and fields are `names`.
pub(super) fn run(
    engine: &Arc<dyn Engine>,
    sources: &Sources<'_>,
    database: &str,
    select: &Select,
    names: Vec<Name>,
) -> Result<QueryRows> {
    let measurement = select.measurement.as_str();
    let selected = |name: &Name| select.columns.is_empty() || select.columns.contains(&name.name);
    let names: Vec<Name> = names.into_iter().filter(selected).collect();
    let files = sources.files.iter().filter(|file| file.database == database && file.measurement == measurement);
    // Files with the same columns are read together: planning thousands of single reads takes longer than the reads.
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let columns_of = |name: &Name| {
            let columns = file.columns.iter().filter(|column| is_of(&column.name, column.kind, name));
            columns.map(|column| (column.column.clone(), column.kind)).collect()
        };
        let path = path_literal(&file_path(sources.directory, file.number))?;
        alike.entry(part_of(&names, &format!("epoch_ns({TIME})"), columns_of)).or_default().push(path);
    }
    // With Hive partitioning, an equals sign in a folder's name would make a column.
    let read = |(part, paths): (String, Vec<String>)| {
        format!("{part} FROM read_parquet([{}], hive_partitioning = false)", paths.join(", "))
    };
    let mut parts: Vec<String> = alike.into_iter().map(read).collect();
    let tables = Tables::of(engine, sources.blocks, database, measurement, &names)?;
    for table in &tables.tables {
        let columns_of = |name: &Name| {
            let columns = table.names.iter().zip(&table.definition.columns[1..]);
            let columns = columns.filter(|(other, _)| is_of(&other.name, other.kind, name));
            columns.map(|(other, column)| (column.name.clone(), other.kind)).collect()
        };
        parts.push(format!("{} FROM {}", part_of(&names, TIME, columns_of), table.definition.name));
    }
    let columns = std::iter::once(TIME.to_owned()).chain(names.iter().map(|name| name.name.clone())).collect();
    if parts.is_empty() {
        return Ok(QueryRows { columns, rows: Vec::new() });
    }
    let mut stream = engine.query(&sql_of(select, &parts), &QueryOptions::default())?;
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        read_batch(&batch, &names, &mut rows);
    }
    Ok(QueryRows { columns, rows })
}

/// The temporary tables of the points in memory, dropped at the end.
struct Tables<'e, 'b> {
    engine: &'e Arc<dyn Engine>,
    tables: Vec<MeasurementTable<'b>>,
}

impl<'e, 'b> Tables<'e, 'b> {
    fn of(
        engine: &'e Arc<dyn Engine>,
        blocks: &'b [Arc<Block>],
        database: &str,
        measurement: &str,
        names: &[Name],
    ) -> Result<Self> {
        let mut all = Self { engine, tables: Vec::new() };
        let runs = runs_of(blocks, |other, name| other == database && name == measurement);
        for runs in runs.into_values() {
            for points in divide(runs).0 {
                let name = format!("{TABLE}_{}", all.tables.len());
                let selected = |stored: &Name| names.iter().any(|name| is_of(&stored.name, stored.kind, name));
                all.tables.push(MeasurementTable::new(points, &name, selected));
            }
        }
        all.tables.iter().try_for_each(|table| ingest(engine, table).map(drop))?;
        Ok(all)
    }
}

impl Drop for Tables<'_, '_> {
    fn drop(&mut self) {
        for table in &self.tables {
            // A table that can't be dropped is replaced by the next of its name.
            let _ = self.engine.drop_table(&table.definition.name);
        }
    }
}

/// The name of a stored column, and the type of its field; a tag has none.
type Stored = (String, Option<FieldKind>);

/// Whether a stored column has values of a tag or field. A field whose type was widened has columns of both types.
fn is_of(stored: &str, kind: Option<FieldKind>, name: &Name) -> bool {
    let is_kind = match (kind, name.kind) {
        (Some(stored), Some(kind)) => stored.widened(kind) == Some(kind),
        (stored, kind) => stored == kind,
    };
    is_kind && stored == name.name
}

/// The SQL expression of a stored column in the type that it is read as. Negative integers are null in an unsigned column.
fn widened(column: &str, stored: Option<FieldKind>, kind: Option<FieldKind>) -> String {
    let column = quoted(column);
    let value = match (stored, kind) {
        (Some(FieldKind::Integer), Some(FieldKind::UInteger)) => format!("CASE WHEN {column} >= 0 THEN {column} END"),
        _ => column,
    };
    format!("CAST({value} AS {})", sql_type(kind))
}

/// The SELECT of the columns `t`, `c0`, `c1`, ... from one source.
fn part_of(names: &[Name], time: &str, columns_of: impl Fn(&Name) -> Vec<Stored>) -> String {
    let columns = names.iter().enumerate().map(|(index, name)| {
        let stored: Vec<_> =
            columns_of(name).iter().map(|(column, stored)| widened(column, *stored, name.kind)).collect();
        let value = match &stored[..] {
            [] => format!("CAST(NULL AS {})", sql_type(name.kind)),
            [one] => one.clone(),
            several => format!("COALESCE({})", several.join(", ")),
        };
        format!(", {value} AS c{index}")
    });
    format!("SELECT {time} AS t{}", columns.collect::<String>())
}

fn sql_of(select: &Select, parts: &[String]) -> String {
    let mut conditions = Vec::new();
    conditions.extend(select.from.map(|time| format!("t >= {time}")));
    conditions.extend(select.until.map(|time| format!("t < {time}")));
    let filter = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let order = if select.descending { "DESC" } else { "ASC" };
    let limit = select.limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    let union = parts.join(" UNION ALL ");
    format!("SELECT * FROM ({union}){filter} ORDER BY t {order}{limit} OFFSET {}", select.offset)
}

fn read_batch(batch: &RecordBatch, names: &[Name], rows: &mut Vec<Vec<Value>>) {
    for row in 0..batch.num_rows() {
        let time = Value::Integer(batch.column(0).as_primitive::<Int64Type>().value(row));
        let values = names.iter().zip(&batch.columns()[1..]).map(|(name, column)| value_of(name, column.as_ref(), row));
        rows.push(std::iter::once(time).chain(values).collect());
    }
}

fn value_of(name: &Name, column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match name.kind {
        None | Some(FieldKind::String) => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        Some(FieldKind::Float) => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        Some(FieldKind::Integer) => Value::Integer(column.as_primitive::<Int64Type>().value(row)),
        Some(FieldKind::UInteger) => {
            let value = column.as_primitive::<Decimal128Type>().value(row);
            Value::UInteger(u64::try_from(value).unwrap_or_default())
        }
        Some(FieldKind::Boolean) => Value::Boolean(column.as_boolean().value(row)),
    }
}
