//! Points in memory, and the points of one measurement as a table.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use boundary_bench_core as core;
use boundary_bench_core::table::{Column, SqlType, TableDefinition};

use super::registry::Database;
use crate::Result;
use crate::arrow::TIME;
use crate::points::{FieldKind, FieldValue, Shape, parse_key};

/// The rows of a batch of a table.
const BATCH_ROWS: usize = 65_536;

/// The digits of an unsigned integer of 64 bits.
pub(super) const UNSIGNED_DIGITS: u8 = 20;

/// The points of one write.
pub(super) struct Block {
    pub database: Arc<Database>,
    /// Of each series of the write, its number in the database.
    pub series: Vec<u32>,
    pub shapes: Vec<Arc<Shape<'static>>>,
    pub series_of: Vec<u32>,
    pub shape_of: Vec<u32>,
    pub times: Vec<i64>,
    pub values: Vec<u64>,
    pub text: String,
}

impl Block {
    /// Its size in memory.
    pub fn bytes(&self) -> usize {
        self.times.len() * 16 + self.values.len() * 8 + self.text.len()
    }

    fn has(&self, database: &str, measurement: &str) -> bool {
        self.database.name == database && self.shapes.iter().any(|shape| shape.measurement == measurement)
    }

    /// The points of a measurement, each with its place and the place of its first value.
    fn points_of(&self, measurement: &str) -> impl Iterator<Item = (usize, &Shape<'static>, usize)> {
        let mut next_value = 0;
        let points = self.shape_of.iter().enumerate().map(move |(index, shape)| {
            let shape = self.shapes[*shape as usize].as_ref();
            let first_value = next_value;
            next_value += shape.fields.len();
            (index, shape, first_value)
        });
        points.filter(move |(_, shape, _)| shape.measurement == measurement)
    }

    /// How many points of a measurement there are, and how many of them have a field.
    pub fn count(&self, database: &str, measurement: &str, field: Option<&str>) -> usize {
        if !self.has(database, measurement) {
            return 0;
        }
        let counts = |shape: &Shape<'_>| {
            shape.measurement == measurement
                && field.is_none_or(|field| shape.fields.iter().any(|(name, _)| name == field))
        };
        let counted: Vec<bool> = self.shapes.iter().map(|shape| counts(shape)).collect();
        self.shape_of.iter().filter(|shape| counted[**shape as usize]).count()
    }
}

/// The measurements that blocks have points of, by database.
pub(super) fn measurements_of(blocks: &[Arc<Block>]) -> BTreeSet<(&str, &str)> {
    let all = blocks.iter().flat_map(|block| {
        let used: HashSet<u32> = block.shape_of.iter().copied().collect();
        used.into_iter().map(|shape| (block.database.name.as_str(), block.shapes[shape as usize].measurement.as_ref()))
    });
    all.collect()
}

/// A tag or a field of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub name: String,
    /// Of a field, its type; a tag has none.
    pub kind: Option<FieldKind>,
}

/// The points of one measurement as a table: their time in nanoseconds, their tags and their fields.
pub(super) struct MeasurementTable<'b> {
    measurement: &'b str,
    blocks: Vec<&'b Block>,
    pub names: Vec<Name>,
    pub definition: TableDefinition,
    places: HashMap<Name, usize>,
}

impl<'b> MeasurementTable<'b> {
    /// The points that blocks have of a measurement.
    pub fn new(blocks: &'b [Arc<Block>], database: &str, measurement: &'b str, table: &str) -> Self {
        let blocks: Vec<&Block> =
            blocks.iter().map(AsRef::as_ref).filter(|block| block.has(database, measurement)).collect();
        let (mut tags, mut fields) = (BTreeSet::new(), BTreeSet::new());
        for block in &blocks {
            for series in &block.series {
                let key = block.database.series_key(*series);
                let key = parse_key(&key);
                if key.measurement() == measurement {
                    tags.extend(key.tags().into_iter().map(|(name, _)| name.into_owned()));
                }
            }
            let shapes = block.shapes.iter().filter(|shape| shape.measurement == measurement);
            fields.extend(shapes.flat_map(|shape| &shape.fields).map(|(name, kind)| (name.to_string(), *kind as u8)));
        }
        let tags = tags.into_iter().map(|name| Name { name, kind: None });
        let fields =
            fields.into_iter().map(|(name, kind)| Name { name, kind: FieldKind::ALL.get(kind as usize).copied() });
        let names: Vec<Name> = tags.chain(fields).collect();
        let definition = definition_of(table, &names);
        let places = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        Self { measurement, blocks, names, definition, places }
    }

    /// Gives its batches to `each`.
    pub fn batches(&self, mut each: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut builder = Builder::new(&self.names);
        for block in &self.blocks {
            let tags: Vec<_> = block.series.iter().map(|series| self.tags_of(&block.database, *series)).collect();
            let places: Vec<_> = block.shapes.iter().map(|shape| self.places_of(shape)).collect();
            for (index, shape, first_value) in block.points_of(self.measurement) {
                builder.times.append_value(block.times[index]);
                for (place, value) in &tags[block.series_of[index] as usize] {
                    builder.columns[*place].push_text(value);
                }
                for (offset, place) in places[block.shape_of[index] as usize].iter().enumerate() {
                    let kind = shape.fields[offset].1;
                    let value = FieldValue::from_bits(kind, block.values[first_value + offset], &block.text);
                    builder.columns[*place].push(value);
                }
                builder.end_row();
                if builder.rows == BATCH_ROWS {
                    each(&builder.finish(&self.definition)?)?;
                }
            }
        }
        if builder.rows > 0 {
            each(&builder.finish(&self.definition)?)?;
        }
        Ok(())
    }

    fn tags_of(&self, database: &Database, series: u32) -> Vec<(usize, String)> {
        let key = database.series_key(series);
        let key = parse_key(&key);
        let place = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
            let place = self.places.get(&Name { name: name.into_owned(), kind: None })?;
            Some((*place, value.into_owned()))
        };
        key.tags().into_iter().filter_map(place).collect()
    }

    fn places_of(&self, shape: &Shape<'_>) -> Vec<usize> {
        let place = |(name, kind): &(Cow<'_, str>, FieldKind)| {
            self.places.get(&Name { name: name.to_string(), kind: Some(*kind) }).copied()
        };
        if shape.measurement == self.measurement { shape.fields.iter().filter_map(place).collect() } else { Vec::new() }
    }
}

/// The table of these names. Its columns have names of their own where a tag and a field share one, or two names differ
/// by case only, which SQL does not tell apart.
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
}

/// A column, and how many values it has.
struct ColumnBuilder {
    values: Values,
    len: usize,
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
        Self { values, len: 0 }
    }

    fn push_text(&mut self, text: &str) {
        self.push(FieldValue::String(text));
    }

    fn push(&mut self, value: FieldValue<'_>) {
        match (&mut self.values, value) {
            (Values::Float(values), FieldValue::Float(value)) => values.append_value(value),
            (Values::Integer(values), FieldValue::Integer(value)) => values.append_value(value),
            (Values::UInteger(values), FieldValue::UInteger(value)) => values.append_value(i128::from(value)),
            (Values::Text(values), FieldValue::String(value)) => values.append_value(value),
            (Values::Boolean(values), FieldValue::Boolean(value)) => values.append_value(value),
            // Its place was found by its type.
            _ => return,
        }
        self.len += 1;
    }

    /// Adds nulls until there are so many values.
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
                Arc::new(typed.map_err(|error| core::Error::Internal(error.to_string()))?)
            }
            Values::Text(values) => Arc::new(values.finish()),
            Values::Boolean(values) => Arc::new(values.finish()),
        })
    }
}

impl Builder {
    fn new(names: &[Name]) -> Self {
        let columns = names.iter().map(|name| ColumnBuilder::new(name.kind)).collect();
        Self { times: Int64Builder::new(), columns, rows: 0 }
    }

    fn end_row(&mut self) {
        self.rows += 1;
        self.columns.iter_mut().for_each(|column| column.fill(self.rows));
    }

    fn finish(&mut self, definition: &TableDefinition) -> Result<RecordBatch> {
        self.rows = 0;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.times.finish())];
        for column in &mut self.columns {
            columns.push(column.finish()?);
        }
        let batch = RecordBatch::try_new(definition.to_arrow(), columns);
        Ok(batch.map_err(|error| core::Error::Internal(error.to_string()))?)
    }
}
