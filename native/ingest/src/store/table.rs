//! Points of one measurement as a table.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_kernel as kernel;

use super::block::{Run, TablePoints};
use crate::Result;
use crate::points::{FieldKind, FieldValue, Shape, parse_key};
use crate::rules::TIME;

/// The approximate bytes of one batch of a table.
const BATCH_BYTES: usize = 8 << 20;

/// Bytes of a cell without its text.
const CELL_BYTES: usize = 8;

/// The decimal digits of an unsigned 64-bit integer.
pub(super) const UNSIGNED_DIGITS: u8 = 20;

/// The name of a tag or field of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub name: String,
    /// The type of a field; `None` for a tag.
    pub kind: Option<FieldKind>,
}

/// Points of one measurement as a table: their times in nanoseconds, their tags and their fields.
pub(super) struct MeasurementTable<'b> {
    runs: Vec<Run<'b>>,
    pub names: Vec<Name>,
    pub definition: TableDefinition,
    places: HashMap<Name, usize>,
}

/// A bounded cache: for each series, the indexes of its tags' columns and their values.
struct TagCache<'t, 'b> {
    table: &'t MeasurementTable<'b>,
    tags: HashMap<u32, Vec<(usize, String)>>,
}

/// The number of series in the cache, at most.
const KEPT_SERIES: usize = 4096;

impl<'b> MeasurementTable<'b> {
    /// The table of the points, with the tags and fields that are `wanted`.
    pub fn new(points: TablePoints<'b>, table: &str, wanted: impl Fn(&Name) -> bool) -> Self {
        let tags = points.tags.into_iter().map(|name| Name { name, kind: None });
        let fields = points.fields.into_iter();
        let fields = fields.map(|(name, kind)| Name { name, kind: FieldKind::ALL.get(kind as usize).copied() });
        let names: Vec<Name> = tags.chain(fields).filter(wanted).collect();
        let definition = definition_of(table, &names);
        let places = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        Self { runs: points.runs, names, definition, places }
    }

    /// Calls `each` with the batches of the table; returns the number of values in each column.
    pub fn batches(&self, mut each: impl FnMut(&RecordBatch) -> Result<()>) -> Result<Vec<usize>> {
        let mut builder = Builder::new(&self.names);
        for run in &self.runs {
            let places = self.places_of(run.shape);
            let mut tags = TagCache { table: self, tags: HashMap::new() };
            for (index, first_value) in run.points() {
                builder.times.append_value(run.block.times[index]);
                for (place, value) in tags.of(run, run.block.series_of[index]) {
                    builder.bytes += value.len();
                    builder.columns[*place].push(FieldValue::String(value));
                }
                for (place, value) in places.iter().zip(run.values(first_value)) {
                    if let FieldValue::String(text) = value {
                        builder.bytes += text.len();
                    }
                    if let Some(place) = place {
                        builder.columns[*place].push(value);
                    }
                }
                builder.end_row();
                if builder.is_full() {
                    each(&builder.finish(&self.definition)?)?;
                }
            }
        }
        if builder.rows > 0 {
            each(&builder.finish(&self.definition)?)?;
        }
        Ok(builder.columns.iter().map(|column| column.count).collect())
    }

    /// For each field, the index of its column; `None` for fields that are not wanted.
    fn places_of(&self, shape: &Shape<'_>) -> Vec<Option<usize>> {
        let place = |(name, kind): &(Cow<'_, str>, FieldKind)| {
            self.places.get(&Name { name: name.to_string(), kind: Some(*kind) }).copied()
        };
        shape.fields.iter().map(place).collect()
    }
}

impl TagCache<'_, '_> {
    fn of(&mut self, run: &Run<'_>, series: u32) -> &[(usize, String)] {
        if self.tags.len() >= KEPT_SERIES && !self.tags.contains_key(&series) {
            self.tags.clear();
        }
        let table = self.table;
        self.tags.entry(series).or_insert_with(|| {
            let key = run.series_key(series);
            let place = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
                let place = table.places.get(&Name { name: name.into_owned(), kind: None })?;
                Some((*place, value.into_owned()))
            };
            parse_key(&key).tags().into_iter().filter_map(place).collect()
        })
    }
}

/// The definition of a table with these names. Columns are renamed where a tag and a field share a name, or two names differ
/// only in case, which SQL ignores.
fn definition_of(table: &str, names: &[Name]) -> TableDefinition {
    let mut columns = vec![Column { name: TIME.to_owned(), sql_type: SqlType::BigInt, nullable: false }];
    let mut taken: HashSet<String> = HashSet::from([TIME.to_owned()]);
    for Name { name, kind } in names {
        let candidates = std::iter::once(name.clone()).chain((1..).map(|number| format!("{name}_{number}")));
        let unique = candidates.into_iter().find(|candidate| taken.insert(candidate.to_lowercase()));
        let sql_type = match kind {
            None | Some(FieldKind::String) => SqlType::Text,
            Some(FieldKind::Float) => SqlType::Double,
            Some(FieldKind::Integer) => SqlType::BigInt,
            Some(FieldKind::UInteger) => SqlType::Decimal { precision: UNSIGNED_DIGITS, scale: 0 },
            Some(FieldKind::Boolean) => SqlType::Bool,
        };
        columns.push(Column { name: unique.unwrap_or_default(), sql_type, nullable: true });
    }
    TableDefinition { name: table.to_owned(), columns }
}

struct Builder {
    times: Int64Builder,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    /// Bytes of the text of the rows.
    bytes: usize,
}

/// A column of the batch that is being built.
struct ColumnBuilder {
    values: Values,
    /// The number of rows, including nulls.
    len: usize,
    /// The number of values in all batches, without nulls.
    count: usize,
}

enum Values {
    Float(Float64Builder),
    Integer(Int64Builder),
    UInteger(Decimal128Builder),
    Text(StringBuilder),
    Boolean(BooleanBuilder),
}

impl ColumnBuilder {
    fn new(kind: Option<FieldKind>) -> Self {
        let values = match kind {
            None | Some(FieldKind::String) => Values::Text(StringBuilder::new()),
            Some(FieldKind::Float) => Values::Float(Float64Builder::new()),
            Some(FieldKind::Integer) => Values::Integer(Int64Builder::new()),
            Some(FieldKind::UInteger) => Values::UInteger(Decimal128Builder::new()),
            Some(FieldKind::Boolean) => Values::Boolean(BooleanBuilder::new()),
        };
        Self { values, len: 0, count: 0 }
    }

    fn push(&mut self, value: FieldValue<'_>) {
        match (&mut self.values, value) {
            (Values::Float(values), FieldValue::Float(value)) => values.append_value(value),
            (Values::Integer(values), FieldValue::Integer(value)) => values.append_value(value),
            (Values::UInteger(values), FieldValue::UInteger(value)) => values.append_value(i128::from(value)),
            (Values::Text(values), FieldValue::String(value)) => values.append_value(value),
            (Values::Boolean(values), FieldValue::Boolean(value)) => values.append_value(value),
            // Unreachable: the column was chosen by the value's type.
            _ => return,
        }
        self.len += 1;
        self.count += 1;
    }

    /// Appends nulls until the column has `rows` rows.
    fn fill(&mut self, rows: usize) {
        while self.len < rows {
            match &mut self.values {
                Values::Float(values) => values.append_null(),
                Values::Integer(values) => values.append_null(),
                Values::UInteger(values) => values.append_null(),
                Values::Text(values) => values.append_null(),
                Values::Boolean(values) => values.append_null(),
            }
            self.len += 1;
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.len = 0;
        Ok(match &mut self.values {
            Values::Float(values) => Arc::new(values.finish()),
            Values::Integer(values) => Arc::new(values.finish()),
            Values::UInteger(values) => {
                let typed = values.finish().with_precision_and_scale(UNSIGNED_DIGITS, 0);
                Arc::new(typed.map_err(|error| kernel::Error::Internal(error.to_string()))?)
            }
            Values::Text(values) => Arc::new(values.finish()),
            Values::Boolean(values) => Arc::new(values.finish()),
        })
    }
}

impl Builder {
    fn new(names: &[Name]) -> Self {
        let columns = names.iter().map(|name| ColumnBuilder::new(name.kind)).collect();
        Self { times: Int64Builder::new(), columns, rows: 0, bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows * (self.columns.len() + 1) * CELL_BYTES + self.bytes >= BATCH_BYTES
    }

    fn end_row(&mut self) {
        self.rows += 1;
        self.columns.iter_mut().for_each(|column| column.fill(self.rows));
    }

    fn finish(&mut self, definition: &TableDefinition) -> Result<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.times.finish())];
        for column in &mut self.columns {
            columns.push(column.finish()?);
        }
        let batch = RecordBatch::try_new(definition.to_arrow(), columns);
        Ok(batch.map_err(|error| kernel::Error::Internal(error.to_string()))?)
    }
}
