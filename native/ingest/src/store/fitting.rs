//! Writes that leave out values whose type contradicts that of their field.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::ingest_store::IngestStore;
use super::registry::Database;
use crate::points::{FieldKind, Points};
use crate::{Error, Result};

impl IngestStore {
    /// Writes points as [`IngestStore::write_points`] does, but leaves out values whose type contradicts that of their field;
    /// they are read back as null. `HyperbyteDB` acknowledges such values in lines and rows, and refuses them in columns.
    ///
    /// # Errors
    /// The errors of [`IngestStore::write_points`], except [`Error::TypeConflict`].
    pub fn write_fitting_points(&self, database: &str, mut points: Points<'_>) -> Result<usize> {
        loop {
            match self.take_points(database, &mut points) {
                // Another write may register a field in the meantime, so that its type contradicts once more at most.
                Err(Error::TypeConflict { .. }) => {
                    let out = contradicting(self.database(database)?.as_ref(), &points);
                    points.leave_out(|shape, field| out.contains(&(shape, field)));
                }
                outcome => return outcome,
            }
        }
    }
}

/// The fields, by the indexes of their shape and in it, whose type contradicts the registered one or that of an earlier shape.
fn contradicting(database: &Database, points: &Points<'_>) -> HashSet<(usize, usize)> {
    let mut kinds: HashMap<&str, HashMap<Cow<'_, str>, FieldKind>> = HashMap::new();
    let mut out = HashSet::new();
    for (place, shape) in points.shapes().iter().enumerate() {
        let measurement = shape.measurement.as_ref();
        let known = kinds.entry(measurement).or_insert_with(|| {
            database.fields(measurement).into_iter().map(|(name, kind)| (Cow::Owned(name), kind)).collect()
        });
        for (index, (field, kind)) in shape.fields.iter().enumerate() {
            let registered = known.entry(Cow::Borrowed(field.as_ref())).or_insert(*kind);
            match registered.widened(*kind) {
                Some(widened) => *registered = widened,
                None => drop(out.insert((place, index))),
            }
        }
    }
    out
}
