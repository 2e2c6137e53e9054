//! Look-up of shapes and fields in time that does not grow with their number: a body may have hundreds of thousands of either.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use super::{FieldKind, Shape};

/// The number up to which a linear search is faster than hashing.
const FEW: usize = 16;

type Field<'a> = (Cow<'a, str>, FieldKind);

/// The fields of one point, each name once.
#[derive(Debug, Default)]
pub(crate) struct FieldList<'a> {
    pub(super) fields: Vec<Field<'a>>,
    /// The names, once there are more than [`FEW`].
    names: HashSet<Cow<'a, str>>,
}

impl<'a> FieldList<'a> {
    /// Adds a field.
    pub fn push(&mut self, name: Cow<'a, str>, kind: FieldKind) -> Result<(), Cow<'a, str>> {
        let is_new = if self.fields.len() < FEW {
            self.fields.iter().all(|(other, _)| *other != name)
        } else {
            if self.names.is_empty() {
                self.names.extend(self.fields.iter().map(|(name, _)| name.clone()));
            }
            self.names.insert(name.clone())
        };
        if !is_new {
            return Err(name);
        }
        self.fields.push((name, kind));
        Ok(())
    }

    /// Adds fields whose names are known to differ.
    pub fn extend(&mut self, fields: &[Field<'a>]) {
        self.names.clear();
        self.fields.extend_from_slice(fields);
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn clear(&mut self) {
        self.fields.clear();
        self.names.clear();
    }

    pub(super) fn take(&mut self) -> Vec<Field<'a>> {
        self.names.clear();
        std::mem::take(&mut self.fields)
    }
}

/// Finds the indexes of shapes.
#[derive(Debug, Default)]
pub(crate) struct ShapeIndex {
    hasher: RandomState,
    /// The indexes of shapes, by the hash of measurement and fields.
    places: HashMap<u64, Vec<usize>>,
}

impl ShapeIndex {
    /// The index of the shape with this measurement and these fields.
    pub(super) fn find(
        &self,
        shapes: &[Shape<'_>],
        (measurement, fields): (&str, &[Field<'_>]),
        is_it: impl Fn(&Shape<'_>) -> bool,
    ) -> Option<usize> {
        if shapes.len() <= FEW {
            return shapes.iter().rposition(is_it);
        }
        let places = self.places.get(&self.hasher.hash_one((measurement, fields)))?;
        places.iter().copied().find(|place| is_it(&shapes[*place]))
    }

    /// Adds a shape at the index `place`.
    pub(super) fn add(&mut self, shape: &Shape<'_>, place: usize) {
        let hash = self.hasher.hash_one((&*shape.measurement, &shape.fields[..]));
        self.places.entry(hash).or_default().push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::points::SeriesKey;

    #[test]
    fn a_name_is_there_once_among_many() {
        let mut list = FieldList::default();
        for round in 0..3 {
            list.clear();
            for name in 0..100 {
                assert_eq!(list.push(format!("{name}").into(), FieldKind::Float), Ok(()), "{round}");
            }
            for name in [0, FEW - 1, FEW, 99] {
                assert!(list.push(format!("{name}").into(), FieldKind::Integer).is_err());
            }
        }
        let known = list.take();
        list.extend(&known);
        assert!(list.push("50".into(), FieldKind::Float).is_err());
        assert!(list.push("other".into(), FieldKind::Float).is_ok());
    }

    #[test]
    fn shapes_are_found_again_among_few_and_many() {
        let mut points = Points::default();
        points.series.push(SeriesKey::of("m", &mut []).unwrap());
        let (mut list, mut index) = (FieldList::default(), ShapeIndex::default());
        for _ in 0..2 {
            for shape in 0..3 * FEW {
                for kind in [FieldKind::Float, FieldKind::Integer] {
                    list.clear();
                    list.push(format!("{shape}").into(), kind).unwrap();
                    assert_eq!(points.intern_shape(0, &mut list, &mut index), 2 * shape + kind as usize);
                }
            }
        }
        assert_eq!(points.shapes.len(), 6 * FEW);
    }
}
