//! Points in memory, and how they are divided into tables.
//!
//! A table has a cell for each of its rows and columns, with or without a value. Therefore points whose fields differ much go
//! to different tables, and the bytes of a table are limited for the flush.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::registry::Database;
use crate::points::{FieldKind, FieldValue, Points, Shape, parse_key, place_of, text_of};
use crate::rules::{check_series, check_shape, check_times};
use crate::{Error, Result};

/// The cells that a table may have for each of its values.
const CELLS_PER_VALUE: usize = 4;

/// The cells that a table may always have: a separate file for each few points costs more.
const SMALL_TABLE: usize = 1 << 20;

/// Bytes of a cell without its text.
const CELL_BYTES: usize = 8;

/// Bytes of a table, at most: while it is written, some five times as many are used.
pub(super) const MOST_TABLE_BYTES: usize = 64 << 20;

/// Bytes of a block besides the contents of its arrays; 16 for the allocator's header of each of eight arrays.
const BLOCK_BYTES: usize = size_of::<Block>() + 8 * 16;

/// The points of one write.
pub(super) struct Block {
    pub database: Arc<Database>,
    /// For each series of the write, its number in the database.
    pub series: Vec<u32>,
    pub shapes: Vec<Arc<Shape<'static>>>,
    pub series_of: Vec<u32>,
    pub shape_of: Vec<u32>,
    pub times: Vec<i64>,
    pub values: Vec<u64>,
    pub text: String,
}

impl Block {
    /// The block's size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let names = self.series.len() * size_of::<u32>() + self.shapes.len() * size_of::<usize>();
        BLOCK_BYTES + names + self.times.len() * 16 + self.values.len() * 8 + self.text.len()
    }

    fn has(&self, database: &str, measurement: &str) -> bool {
        self.database.name == database && self.shapes.iter().any(|shape| shape.measurement == measurement)
    }

    /// The number of points of a measurement, or of those that have the field.
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

    /// The points of the block, grouped by shape.
    fn runs(&self) -> Vec<Run<'_>> {
        if let [shape] = &self.shapes[..] {
            return vec![Run { block: self, shape, rows: Rows::All(0..self.times.len()) }];
        }
        let mut lists = vec![Vec::new(); self.shapes.len()];
        let mut next_value = 0;
        for (index, shape) in self.shape_of.iter().enumerate() {
            lists[*shape as usize].push((place_of(index), place_of(next_value)));
            next_value += self.shapes[*shape as usize].fields.len();
        }
        let runs = self.shapes.iter().zip(lists).filter(|(_, list)| !list.is_empty());
        runs.map(|(shape, list)| Run { block: self, shape, rows: Rows::list(list) }).collect()
    }
}

/// Points of one write that share a shape.
#[derive(Clone)]
pub(super) struct Run<'b> {
    pub block: &'b Block,
    pub shape: &'b Arc<Shape<'static>>,
    rows: Rows,
}

#[derive(Clone)]
enum Rows {
    /// A range of the points of a block with a single shape.
    All(Range<usize>),
    /// For each point, its index and the index of its first value; a range of this list.
    List(Arc<[(u32, u32)]>, Range<usize>),
}

impl Rows {
    fn list(points: Vec<(u32, u32)>) -> Self {
        let all = 0..points.len();
        Self::List(points.into(), all)
    }

    fn range(&self) -> &Range<usize> {
        let (Self::All(range) | Self::List(_, range)) = self;
        range
    }
}

impl<'b> Run<'b> {
    pub fn len(&self) -> usize {
        self.rows.range().len()
    }

    /// The index of each point, and the index of its first value.
    pub fn points(&self) -> impl Iterator<Item = (usize, usize)> {
        let fields = self.shape.fields.len();
        self.rows.range().clone().map(move |row| match &self.rows {
            Rows::All(_) => (row, row * fields),
            Rows::List(list, _) => (list[row].0 as usize, list[row].1 as usize),
        })
    }

    /// The values of a point, given the index of its first value.
    pub fn values(&self, first_value: usize) -> impl Iterator<Item = FieldValue<'b>> {
        let block = self.block;
        let fields = self.shape.fields.iter().zip(&block.values[first_value..]);
        fields.map(|((_, kind), bits)| FieldValue::from_bits(*kind, *bits, &block.text))
    }

    fn split_at(self, rows: usize) -> (Self, Self) {
        let Range { start, end } = *self.rows.range();
        let of = |range| match &self.rows {
            Rows::All(_) => Rows::All(range),
            Rows::List(list, _) => Rows::List(Arc::clone(list), range),
        };
        let (left, right) = (of(start..start + rows), of(start + rows..end));
        (Self { rows: left, ..self }, Self { rows: right, ..self })
    }

    /// Splits off the points whose times can't be stored, with the reason.
    fn split_by_time(self) -> (Self, Option<(Self, Error)>) {
        let check = |index: usize| check_times(&self.block.times[index..=index]);
        let Some(reason) = self.points().find_map(|(index, _)| check(index).err()) else { return (self, None) };
        let place = |(index, first_value)| (place_of(index), place_of(first_value));
        let (good, bad): (Vec<_>, Vec<_>) = self.points().partition(|(index, _)| check(*index).is_ok());
        let run = |points: Vec<_>| Self { rows: Rows::list(points.into_iter().map(place).collect()), ..self };
        (run(good), Some((run(bad), reason)))
    }

    /// The indexes of the series of the points in the block, each with the bytes of its key.
    fn series(&self) -> HashMap<u32, usize> {
        let mut series = HashMap::new();
        let mut last = None;
        for (index, _) in self.points() {
            let of = self.block.series_of[index];
            if last != Some(of) {
                last = Some(of);
                series.entry(of).or_insert_with(|| self.series_key(of).len());
            }
        }
        series
    }

    /// The key of the series at this index of the block.
    pub fn series_key(&self, series: u32) -> Arc<str> {
        self.block.database.series_key(self.block.series[series as usize])
    }

    /// A copy of the points, in the form of a log entry.
    pub fn to_points(&self) -> Points<'static> {
        let mut points = Points { shapes: vec![self.shape.as_ref().clone()], ..Points::default() };
        let mut places = HashMap::new();
        for (index, first_value) in self.points() {
            let series = self.block.series_of[index];
            let place = *places.entry(series).or_insert_with(|| {
                let key = self.series_key(series);
                let key = parse_key(&key);
                let (text, measurement_end) = (key.text.into_owned().into(), key.measurement_end);
                points.series.push(crate::points::SeriesKey { text, measurement_end });
                place_of(points.series.len() - 1)
            });
            points.series_of.push(place);
            points.shape_of.push(0);
            points.times.push(self.block.times[index]);
            let bits = &self.block.values[first_value..first_value + self.shape.fields.len()];
            for ((_, kind), bits) in self.shape.fields.iter().zip(bits) {
                let kept = match kind {
                    FieldKind::String => points.keep_text(text_of(&self.block.text, *bits)),
                    _ => *bits,
                };
                points.values.push(kept);
            }
        }
        points
    }
}

/// The points of the blocks, by database and measurement, as far as these are `wanted`.
pub(super) fn runs_of(
    blocks: &[Arc<Block>],
    wanted: impl Fn(&str, &str) -> bool,
) -> BTreeMap<(&str, &str), Vec<Run<'_>>> {
    let mut all: BTreeMap<(&str, &str), Vec<Run<'_>>> = BTreeMap::new();
    for block in blocks {
        let database = block.database.name.as_str();
        if block.shapes.iter().any(|shape| wanted(database, &shape.measurement)) {
            for run in block.runs().into_iter().filter(|run| wanted(database, &run.shape.measurement)) {
                all.entry((database, &run.shape.measurement)).or_default().push(run);
            }
        }
    }
    all
}

/// Points of one measurement that go to one table.
#[derive(Clone, Default)]
pub(super) struct TablePoints<'b> {
    pub runs: Vec<Run<'b>>,
    pub tags: BTreeSet<String>,
    /// The names of the fields, with the numbers of their types.
    pub fields: BTreeSet<(String, u8)>,
    rows: usize,
    values: usize,
    text_bytes: usize,
}

/// Points that can't be stored, and the reason.
pub(super) struct Unstorable<'b> {
    pub runs: Vec<Run<'b>>,
    pub reason: Error,
}

impl<'b> TablePoints<'b> {
    /// An empty table with the columns of a run, whose names must keep the rules; and the run's series.
    fn of_run(run: &Run<'_>) -> Result<(Self, HashMap<u32, usize>)> {
        check_shape(run.shape)?;
        let series = run.series();
        let mut tags = BTreeSet::new();
        for place in series.keys() {
            let key = run.series_key(*place);
            let key = parse_key(&key);
            check_series(&key)?;
            tags.extend(key.tags().into_iter().map(|(name, _)| name.into_owned()));
        }
        let fields = run.shape.fields.iter().map(|(name, kind)| (name.to_string(), *kind as u8)).collect();
        Ok((Self { tags, fields, ..Self::default() }, series))
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.tags.len() + self.fields.len()
    }

    fn bytes(&self, rows: usize) -> usize {
        rows * (self.columns() + 1) * CELL_BYTES + self.text_bytes
    }

    /// Adds the columns of `other`, unless too many cells would then be empty.
    fn take_columns(&mut self, other: &Self, rows: usize) -> bool {
        let tags = other.tags.iter().filter(|name| !self.tags.contains(*name)).count();
        let fields = other.fields.iter().filter(|field| !self.fields.contains(*field)).count();
        let cells = (self.rows + rows) * (self.columns() + tags + fields);
        let values = self.values + rows * other.columns();
        if self.rows > 0 && cells > SMALL_TABLE.max(CELLS_PER_VALUE * values) {
            return false;
        }
        if tags + fields > 0 {
            self.tags.extend(other.tags.iter().cloned());
            self.fields.extend(other.fields.iter().cloned());
        }
        true
    }

    /// Adds points while there is room, but at least one; returns the rest of the run.
    fn push(&mut self, run: Run<'b>, series: &HashMap<u32, usize>) -> Option<Run<'b>> {
        let has_text = run.shape.fields.iter().any(|(_, kind)| *kind == FieldKind::String);
        let mut taken = 0;
        for (index, first_value) in run.points() {
            let mut text = series.get(&run.block.series_of[index]).copied().unwrap_or_default();
            if has_text {
                let length = |value| if let FieldValue::String(text) = value { text.len() } else { 0 };
                text += run.values(first_value).map(length).sum::<usize>();
            }
            if self.rows > 0 && self.bytes(self.rows + 1) + text > MOST_TABLE_BYTES {
                break;
            }
            self.rows += 1;
            self.text_bytes += text;
            taken += 1;
        }
        self.values += taken * run.shape.fields.len();
        let (fitting, rest) = if taken == run.len() {
            (run, None)
        } else {
            let (fitting, rest) = run.split_at(taken);
            (fitting, Some(rest))
        };
        if taken > 0 {
            self.runs.push(fitting);
        }
        rest
    }

    /// Splits the table into two of half of the points each.
    pub fn halves(self) -> [Self; 2] {
        let mut halves = [Self::default(), Self::default()];
        let mut left = self.rows / 2;
        for run in self.runs {
            let rows = left.min(run.len());
            left -= rows;
            let (first, second) = run.split_at(rows);
            for (half, run) in halves.iter_mut().zip([first, second]).filter(|(_, run)| run.len() > 0) {
                half.rows += run.len();
                half.tags.clone_from(&self.tags);
                half.fields.extend(run.shape.fields.iter().map(|(name, kind)| (name.to_string(), *kind as u8)));
                half.runs.push(run);
            }
        }
        halves
    }
}

/// Divides the points of a measurement into tables. Points that can't be stored are returned apart.
pub(super) fn divide(mut runs: Vec<Run<'_>>) -> (Vec<TablePoints<'_>>, Vec<Unstorable<'_>>) {
    // Points of one shape are put together, in the order of their first writes.
    let mut order = HashMap::new();
    for run in &runs {
        let next = order.len();
        order.entry(Arc::as_ptr(run.shape)).or_insert(next);
    }
    runs.sort_by_key(|run| order[&Arc::as_ptr(run.shape)]);
    let (mut tables, mut unstorable) = (Vec::new(), Vec::new());
    let mut open = TablePoints::default();
    for run in runs {
        let (run, outside) = run.split_by_time();
        unstorable.extend(outside.map(|(run, reason)| Unstorable { runs: vec![run], reason }));
        if run.len() == 0 {
            continue;
        }
        let (columns, series) = match TablePoints::of_run(&run) {
            Ok(found) => found,
            Err(reason) => {
                unstorable.push(Unstorable { runs: vec![run], reason });
                continue;
            }
        };
        let mut rest = Some(run);
        while let Some(run) = rest {
            if open.take_columns(&columns, run.len()) {
                rest = open.push(run, &series);
            } else {
                rest = Some(run);
            }
            if rest.is_some() {
                tables.push(std::mem::take(&mut open));
            }
        }
    }
    if open.rows > 0 {
        tables.push(open);
    }
    (tables, unstorable)
}
