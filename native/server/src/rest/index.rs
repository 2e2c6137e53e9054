//! Scans by the primary key: ranges of keys, in either order.

use std::ops::Bound;

use super::error::RestError;
use super::json::{Index, KeyBound, text};
use super::row::wrong_value;
use crate::tables::{KeyRange, Table};

/// The name of a point table's only index.
const PRIMARY: &str = "PRIMARY";

/// The keys that a scan reads, and their order.
#[derive(Debug)]
pub(super) struct Keys {
    /// Disjoint ranges in ascending order.
    pub(super) ranges: Vec<KeyRange>,
    pub(super) is_descending: bool,
}

impl Keys {
    /// All keys, in ascending order.
    pub(super) fn all() -> Self {
        Self { ranges: vec![(Bound::Unbounded, Bound::Unbounded)], is_descending: false }
    }

    /// The keys that a request names.
    pub(super) fn of(table: &Table, index: &Index<'_>) -> Result<Self, RestError> {
        let refused = |problem: String| Err(RestError::coded(41, problem));
        let name = text(index.name.as_ref());
        if name != PRIMARY {
            return refused(format!("Index does not exist. Table: {} Index: {name}; there is {PRIMARY}", table.name));
        }
        let named = index.key_columns.iter().flatten().map(|column| &*column.0);
        if !named.eq(table.key().iter().map(|column| column.name.as_str())) {
            return refused(format!("Wrong key_columns. Expecting those of the key of {}", table.name));
        }
        let is_descending = match text(index.order.as_ref()) {
            "" | "asc" => false,
            "desc" => true,
            other => return refused(format!("Invalid order {other:?}: asc or desc")),
        };
        let mut ranges = Vec::new();
        for range in index.ranges.iter().flatten() {
            ranges.push((bound(table, range.lower.as_ref())?, bound(table, range.upper.as_ref())?));
        }
        if ranges.is_empty() {
            return Ok(Self { is_descending, ..Self::all() });
        }
        Ok(Self { ranges: merged(ranges), is_descending })
    }
}

fn bound(table: &Table, bound: Option<&KeyBound<'_>>) -> Result<Bound<Vec<u8>>, RestError> {
    let values = bound.and_then(|bound| bound.values.as_deref()).unwrap_or_default();
    if values.is_empty() {
        return Ok(Bound::Unbounded);
    }
    if values.len() != table.key_columns {
        let message = format!("Wrong number of bounds. Expecting: {} Got: {}", table.key_columns, values.len());
        return Err(RestError::coded(41, message));
    }
    let mut key = Vec::new();
    for (column, value) in table.key().iter().zip(values) {
        column.kind.write_key(value, &mut key).map_err(|invalid| wrong_value(invalid, column))?;
    }
    let is_inclusive = bound.and_then(|bound| bound.inclusive).unwrap_or_default();
    Ok(if is_inclusive { Bound::Included(key) } else { Bound::Excluded(key) })
}

/// The same keys as disjoint ranges in ascending order, without the empty ranges.
fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    // A range's begin and end as positions among all keys: the position behind a key sorts after the one before it.
    fn begin(bound: &Bound<Vec<u8>>) -> (&[u8], bool) {
        match bound {
            Bound::Unbounded => (&[], false),
            Bound::Included(key) => (key, false),
            Bound::Excluded(key) => (key, true),
        }
    }
    fn end(bound: &Bound<Vec<u8>>) -> Option<(&[u8], bool)> {
        match bound {
            Bound::Unbounded => None,
            Bound::Included(key) => Some((key, true)),
            Bound::Excluded(key) => Some((key, false)),
        }
    }
    ranges.retain(|(lower, upper)| end(upper).is_none_or(|end| begin(lower) < end));
    ranges.sort_by(|(one, _), (other, _)| begin(one).cmp(&begin(other)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for (lower, upper) in ranges {
        if let Some((_, last)) = merged.last_mut()
            && end(last).is_none_or(|last| begin(&lower) <= last)
        {
            let is_longer = match (end(last), end(&upper)) {
                (Some(last), Some(upper)) => upper > last,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if is_longer {
                *last = upper;
            }
        } else {
            merged.push((lower, upper));
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::*;

    fn bounds() -> impl Strategy<Value = Bound<Vec<u8>>> {
        prop_oneof![
            Just(Bound::Unbounded),
            (0_u8..12).prop_map(|key| Bound::Included(vec![key])),
            (0_u8..12).prop_map(|key| Bound::Excluded(vec![key])),
        ]
    }

    proptest! {
        #[test]
        fn merged_ranges_hold_each_key_once(ranges in proptest::collection::vec((bounds(), bounds()), 0..6)) {
            let merged = merged(ranges.clone());
            for key in (0_u8..12).map(|key| vec![key]) {
                let holds = |ranges: &[KeyRange]| ranges.iter().filter(|range| range.contains(&key)).count();
                prop_assert_eq!(holds(&merged), usize::from(holds(&ranges) > 0), "{:?} {:?}", ranges, merged);
            }
            // No merged range is one that the store refuses.
            let is_range = |(lower, upper): &KeyRange| match (lower, upper) {
                (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => lower <= upper,
                _ => true,
            };
            prop_assert!(merged.iter().all(is_range), "{:?}", merged);
        }
    }
}
