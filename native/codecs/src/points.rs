//! Points: the representation that every format is decoded to.
//!
//! A point has a series, a time, and values of some fields. The points of a write share few series and few sets of fields, so
//! each of these is stored once. A point is a row in four arrays: its series, its shape, its time, and its values one after
//! another. Nothing is allocated for a single point, and a write-ahead log or a store takes the arrays as they are.

mod key;
mod kind;
mod shapes;

use std::borrow::Cow;

pub(crate) use key::check_tags;
pub use key::{DuplicateTag, SeriesKey, parse_key, push_measurement, push_tag};
pub use kind::FieldKind;
pub(crate) use shapes::{FieldList, ShapeIndex};

/// A value read from [`Points`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    /// A 64-bit float.
    Float(f64),
    /// A signed 64-bit integer.
    Integer(i64),
    /// An unsigned 64-bit integer.
    UInteger(u64),
    /// Text.
    String(&'a str),
    /// True or false.
    Boolean(bool),
}

impl<'a> FieldValue<'a> {
    /// Decodes a value from its bits. The bits of text are a place in `text`.
    pub fn from_bits(kind: FieldKind, bits: u64, text: &'a str) -> Self {
        match kind {
            FieldKind::Float => Self::Float(f64::from_bits(bits)),
            FieldKind::Integer => Self::Integer(bits.cast_signed()),
            FieldKind::UInteger => Self::UInteger(bits),
            FieldKind::String => Self::String(text_of(text, bits)),
            FieldKind::Boolean => Self::Boolean(bits != 0),
        }
    }
}

/// The text at the place that a value's bits encode: the start in the upper half, the length in the lower.
pub fn text_of(text: &str, bits: u64) -> &str {
    let half = |half: u64| usize::try_from(half).unwrap_or(usize::MAX);
    let (start, length) = (half(bits >> 32), half(bits & u64::from(u32::MAX)));
    text.get(start..start.saturating_add(length)).unwrap_or_default()
}

/// The fields of some points of one measurement, in the order of their values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape<'a> {
    /// The measurement.
    pub measurement: Cow<'a, str>,
    /// The names of the fields, each once, and their types.
    pub fields: Vec<(Cow<'a, str>, FieldKind)>,
}

/// The points of one write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points<'a> {
    /// The series of the points, each once.
    pub series: Vec<SeriesKey<'a>>,
    /// The shapes of the points.
    pub shapes: Vec<Shape<'a>>,
    /// For each point, the index of its series.
    pub series_of: Vec<u32>,
    /// For each point, the index of its shape.
    pub shape_of: Vec<u32>,
    /// The time of each point, in nanoseconds.
    pub times: Vec<i64>,
    /// The values of the points, one point after another, as bits: a float's bits, an integer, or the place of a text.
    pub values: Vec<u64>,
    /// The concatenated text of all text values.
    pub text: String,
}

/// One point of [`Points`].
#[derive(Debug, Clone, Copy)]
pub struct Point<'p, 'a> {
    points: &'p Points<'a>,
    /// The point's index.
    pub index: usize,
    first_value: usize,
}

impl<'p, 'a> Point<'p, 'a> {
    /// The point's time, in nanoseconds.
    pub fn time(&self) -> i64 {
        self.points.times[self.index]
    }

    /// The point's measurement and tags.
    pub fn series(&self) -> &'p SeriesKey<'a> {
        &self.points.series[self.points.series_of[self.index] as usize]
    }

    /// The point's fields and their values.
    pub fn fields(&self) -> impl Iterator<Item = (&'p str, FieldValue<'p>)> + use<'p, 'a> {
        let points = self.points;
        let shape = &points.shapes[points.shape_of[self.index] as usize];
        let values = &points.values[self.first_value..];
        let value = |((name, kind), bits): (&'p (Cow<'a, str>, FieldKind), &u64)| {
            (name.as_ref(), FieldValue::from_bits(*kind, *bits, &points.text))
        };
        shape.fields.iter().zip(values).map(value)
    }
}

impl<'a> Points<'a> {
    /// The number of points.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The points, one after another.
    pub fn iter(&self) -> impl Iterator<Item = Point<'_, 'a>> {
        let mut next_value = 0;
        (0..self.len()).map(move |index| {
            let first_value = next_value;
            next_value += self.shapes[self.shape_of[index] as usize].fields.len();
            Point { points: self, index, first_value }
        })
    }

    /// Removes all points and names, and keeps the memory for points that borrow another text.
    pub fn recycle<'b>(mut self) -> Points<'b> {
        self.series_of.clear();
        self.shape_of.clear();
        self.times.clear();
        self.values.clear();
        self.text.clear();
        self.without_names()
    }

    /// Removes the values of the fields for which `is_out` returns true, given the index of a shape and of a field in it. The
    /// points stay, even those without other values.
    pub fn leave_out(&mut self, is_out: impl Fn(usize, usize) -> bool) {
        let place =
            |(shape, fields): (usize, &Shape<'a>)| (0..fields.fields.len()).map(|f| !is_out(shape, f)).collect();
        let kept: Vec<Vec<bool>> = self.shapes.iter().enumerate().map(place).collect();
        let fields = self.shape_of.iter().flat_map(|shape| &kept[*shape as usize]);
        let values = self.values.iter().zip(fields).filter(|(_, is_kept)| **is_kept);
        self.values = values.map(|(bits, _)| *bits).collect();
        for (shape, kept) in self.shapes.iter_mut().zip(kept) {
            let mut kept = kept.into_iter();
            shape.fields.retain(|_| kept.next().unwrap_or(true));
        }
    }

    /// Drops the names, since they borrow the body, and keeps the times and values.
    pub fn without_names<'b>(self) -> Points<'b> {
        Points {
            series: Vec::new(),
            shapes: Vec::new(),
            series_of: self.series_of,
            shape_of: self.shape_of,
            times: self.times,
            values: self.values,
            text: self.text,
        }
    }

    /// Finds or adds the shape of these fields, in the measurement of this series. Returns its index. A new shape takes the fields.
    pub(crate) fn intern_shape(&mut self, series: usize, fields: &mut FieldList<'a>, index: &mut ShapeIndex) -> usize {
        let measurement = self.series[series].measurement();
        let is_it = |shape: &Shape<'_>| shape.measurement == measurement && shape.fields == fields.fields;
        let known = index.find(&self.shapes, (&measurement, &fields.fields), is_it);
        known.unwrap_or_else(|| {
            let shape = Shape { measurement: Cow::Owned(measurement.into_owned()), fields: fields.take() };
            index.add(&shape, self.shapes.len());
            self.shapes.push(shape);
            self.shapes.len() - 1
        })
    }

    /// Stores a text, and returns the bits of its place.
    pub fn keep_text(&mut self, text: &str) -> u64 {
        let start = self.text.len() as u64;
        self.text.push_str(text);
        start << 32 | text.len() as u64
    }
}

/// The index of a series or shape as 32 bits. There are fewer of them than points, whose limit is lower.
pub fn place_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
