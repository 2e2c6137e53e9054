//! The exact check of the rows and aggregates that a cell read or stored, beside its samples and untimed. The sum of the rows'
//! hashes does not show that two answers were exchanged.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_shards::{Aggregate, Columns, Row};

use super::data::AGGREGATED;

/// The check of what one load read.
#[derive(Debug)]
pub(crate) struct Check {
    /// The number of rows that were right.
    rows: u64,
    /// For reads of all rows: whether the row of each key came. Empty for reads by key.
    seen: Vec<bool>,
    aggregate: Aggregate,
}

impl Check {
    /// The check of reads by key, or of aggregations.
    pub(super) fn by_key() -> Self {
        Self { rows: 0, seen: Vec::new(), aggregate: Aggregate::none(AGGREGATED) }
    }

    /// The check of reads of all rows of the keys from 0 to `total_rows`, in any order.
    pub(super) fn of_all(total_rows: u64) -> Self {
        Self { seen: vec![false; usize::try_from(total_rows).unwrap_or(usize::MAX)], ..Self::by_key() }
    }

    /// Checks the row that was read for a key.
    pub(super) fn add_row(&mut self, key: i64, row: Option<&Row>) -> Result<()> {
        let row = row.ok_or_else(|| wrong(format!("the row of the key {key} is missing")))?;
        let expected = Row::made(key);
        // Compared by their bytes, since a price of another sign or a NaN must be noticed too.
        if row.to_bytes() != expected.to_bytes() {
            return Err(wrong(format!("{row:?} should be {expected:?}")));
        }
        self.rows += 1;
        Ok(())
    }

    /// Checks rows of a scan.
    pub(super) fn add_scanned(&mut self, rows: Columns<'_>) -> Result<()> {
        for index in 0..rows.len() {
            let row = rows.row(index);
            let seen = usize::try_from(row.key).ok().and_then(|key| self.seen.get_mut(key));
            let seen = seen.ok_or_else(|| wrong(format!("{row:?} should not be among the rows")))?;
            if std::mem::replace(seen, true) {
                return Err(wrong(format!("the row of the key {} came twice", row.key)));
            }
            self.add_row(row.key, Some(&row))?;
        }
        Ok(())
    }

    pub(super) fn add_aggregate(&mut self, part: &Aggregate) {
        self.aggregate.merge(part);
    }

    /// Adds the check of another connection of the same load.
    pub(super) fn merge(&mut self, part: &Self) -> Result<()> {
        self.rows += part.rows;
        self.aggregate.merge(&part.aggregate);
        for (key, (all, seen)) in self.seen.iter_mut().zip(&part.seen).enumerate() {
            if *all && *seen {
                return Err(wrong(format!("the row of the key {key} came twice")));
            }
            *all |= seen;
        }
        Ok(())
    }

    /// Ends the check of reads of `expected` rows.
    pub(super) fn finish_rows(&self, expected: u64) -> Result<()> {
        if let Some(key) = self.seen.iter().position(|seen| !seen) {
            return Err(wrong(format!("the row of the key {key} is missing")));
        }
        if self.rows == expected {
            return Ok(());
        }
        Err(wrong(format!("{} rows were read: there must be {expected}", self.rows)))
    }

    /// Ends the check of an aggregation.
    pub(super) fn finish_aggregate(&self, expected: &Aggregate) -> Result<()> {
        if self.aggregate == *expected {
            return Ok(());
        }
        Err(wrong(format!("{:?} should be {expected:?}", self.aggregate)))
    }
}

fn wrong(problem: String) -> Error {
    Error::WrongRows(problem)
}
