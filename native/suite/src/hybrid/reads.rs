//! The use of the rows that a cell's requests read: samples add them up, the check compares each.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_shards::{Aggregate, Columns, MultiGet, Row};

use super::check::Check;
use super::data::Sums;

/// The rows that one connection has read.
#[derive(Debug)]
pub(crate) enum Reads {
    Summed(Sums),
    Checked(Check),
}

impl Reads {
    /// Takes the row of a key.
    pub(super) fn row(&mut self, key: i64, row: Option<&Row>) -> Result<()> {
        match (self, row) {
            (Self::Summed(sums), Some(row)) => sums.add_hash(1, row.hash()),
            (Self::Summed(_), None) => {}
            (Self::Checked(check), row) => check.add_row(key, row)?,
        }
        Ok(())
    }

    /// Takes the rows of keys, in their order.
    pub(super) fn found(&mut self, keys: &[i64], answer: MultiGet) -> Result<()> {
        if let Some(failure) = answer.failures.into_iter().next() {
            return Err(failure.error);
        }
        let found = answer.rows.found();
        if found < answer.rows.len() {
            // The number of rows is wrong, even if the found rows are right.
            let Self::Summed(sums) = self else {
                return Err(Error::WrongRows(format!("{found} rows are found of {}", keys.len())));
            };
            sums.add_hash(found as u64, 0);
            return Ok(());
        }
        let batch = answer.rows.into_batch()?;
        let rows = Columns::of_batch(&batch)?;
        match self {
            Self::Summed(sums) => sums.add_hash(rows.len() as u64, rows.checksum()),
            Self::Checked(check) if rows.len() == keys.len() => {
                for (index, key) in keys.iter().enumerate() {
                    check.add_row(*key, Some(&rows.row(index)))?;
                }
            }
            Self::Checked(_) => {
                return Err(Error::WrongRows(format!("{} rows answer {} keys", rows.len(), keys.len())));
            }
        }
        Ok(())
    }

    /// Takes packed rows. Bit i of `found` tells whether the key `keys[i]` has a row. `rows` holds those rows in order.
    #[cfg(feature = "all")]
    pub(super) fn packed(&mut self, keys: &[i64], found: &[u8], rows: &[u8]) -> Result<()> {
        let (packed, rest) = rows.as_chunks::<{ boundary_bench_shards::ROW_BYTES }>();
        let is_found = |index: usize| found.get(index / 8).is_some_and(|byte| byte & (1 << (index % 8)) != 0);
        let keys = || keys.iter().enumerate().map(|(index, key)| (*key, is_found(index)));
        if keys().filter(|(_, is_found)| *is_found).count() != packed.len() || !rest.is_empty() {
            return Err(Error::WrongRows(format!("{} bytes of rows are not those that are found", rows.len())));
        }
        let mut packed = packed.iter();
        for (key, is_found) in keys() {
            let row = if is_found { packed.next().map(Row::from_bytes) } else { None };
            self.row(key, row.as_ref())?;
        }
        Ok(())
    }

    /// Takes rows of a scan.
    pub(super) fn scanned(&mut self, rows: Columns<'_>) -> Result<()> {
        match self {
            Self::Summed(sums) => sums.add_hash(rows.len() as u64, rows.checksum()),
            Self::Checked(check) => check.add_scanned(rows)?,
        }
        Ok(())
    }

    /// Takes an aggregate.
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) {
        match self {
            Self::Summed(sums) => sums.merge(&Sums::Aggregate(*aggregate)),
            Self::Checked(check) => check.add_aggregate(aggregate),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use boundary_bench_shards::{Block, PAYLOAD_BYTES};

    use super::*;
    use crate::hybrid::data::blank;

    const KEYS: [i64; 3] = [11, 2, 7];

    type Change = fn(&mut Vec<Row>);

    fn rows_after(change: Change) -> Vec<Row> {
        let mut rows = KEYS.map(Row::made).to_vec();
        change(&mut rows);
        rows
    }

    fn packed_of(rows: &[Row]) -> Vec<u8> {
        rows.iter().flat_map(Row::to_bytes).collect()
    }

    /// The usual ways in which answers are wrong, and whether the sum of hashes shows them.
    const WRONG: [(&str, Change, bool); 6] = [
        ("replies exchanged", |rows| rows.swap(0, 2), false),
        ("a column exchanged", |rows| (rows[0].price, rows[1].price) = (rows[1].price, rows[0].price), true),
        ("payloads exchanged", |rows| (rows[0].payload, rows[1].payload) = (rows[1].payload, rows[0].payload), true),
        ("one twice, one missing", |rows| rows[1] = rows[0], true),
        ("a stale row", |rows| rows[1] = blank(rows[1].key), true),
        ("a payload that ends early", |rows| rows[2].payload[PAYLOAD_BYTES - 1] = 0, true),
    ];

    #[test]
    fn every_wrong_answer_is_found_by_its_key() {
        let hash_of = |rows: &[Row]| rows.iter().fold(0_u32, |sum, row| sum.wrapping_add(row.hash()));
        let right = rows_after(|_| {});
        let checked = |rows: &[Row]| {
            let mut reads = Reads::Checked(Check::by_key());
            reads.packed(&KEYS, &[0b111], &packed_of(rows)).map(|()| reads)
        };
        let Ok(Reads::Checked(check)) = checked(&right) else { panic!("right rows are refused") };
        check.finish_rows(3).unwrap();
        assert_eq!(check.finish_rows(4).unwrap_err().code(), "BB_CHECKSUM_MISMATCH");
        for (name, change, is_in_sums) in WRONG {
            let rows = rows_after(change);
            assert_eq!(checked(&rows).err().map(|error| error.code()), Some("BB_CHECKSUM_MISMATCH"), "{name}");
            assert_eq!(hash_of(&rows) != hash_of(&right), is_in_sums, "{name}");
        }
    }

    #[test]
    fn rows_that_are_not_as_many_as_found_are_refused() {
        let packed = packed_of(&rows_after(|_| {}));
        let outcome = |found: u8, rows: &[u8]| {
            let mut reads = Reads::Checked(Check::by_key());
            reads.packed(&KEYS, &[found], rows).err().map(|error| error.code())
        };
        assert_eq!(outcome(0b111, &packed), None);
        for (found, bytes) in [(0b111, 599), (0b111, 400), (0b011, 600), (0b011, 400), (0, 0)] {
            assert_eq!(outcome(found, &packed[..bytes]), Some("BB_CHECKSUM_MISMATCH"), "{found:b} {bytes}");
        }
    }

    #[test]
    fn each_row_of_a_scan_must_come_once() {
        let outcome = |keys: &[i64], change: Change| {
            let mut rows: Vec<Row> = keys.iter().map(|key| Row::made(*key)).collect();
            change(&mut rows);
            let mut block = Block::with_capacity(rows.len());
            rows.iter().for_each(|row| block.push(row));
            let batch = Arc::new(block).to_batch()?;
            let mut check = Check::of_all(4);
            check.add_scanned(Columns::of_batch(&batch)?)?;
            check.finish_rows(4)
        };
        assert!(outcome(&[2, 0, 3, 1], |_| {}).is_ok());
        for keys in [&[0, 1, 2][..], &[0, 1, 2, 2], &[0, 1, 2, 2, 3], &[0, 1, 2, 4], &[0, 1, 2, -1]] {
            assert_eq!(outcome(keys, |_| {}).unwrap_err().code(), "BB_CHECKSUM_MISMATCH", "{keys:?}");
        }
        for (name, change, _) in WRONG.iter().filter(|(name, ..)| *name != "replies exchanged") {
            assert_eq!(outcome(&[2, 0, 3, 1], *change).unwrap_err().code(), "BB_CHECKSUM_MISMATCH", "{name}");
        }
    }

    #[test]
    fn connections_that_read_the_same_row_of_a_scan_are_found() {
        let read = |keys: &[i64]| {
            let mut check = Check::of_all(4);
            for key in keys {
                check.add_scanned(Columns::of_row(&Row::made(*key))).unwrap();
            }
            check
        };
        let mut all = read(&[0, 2]);
        all.merge(&read(&[1, 3])).unwrap();
        all.finish_rows(4).unwrap();
        assert_eq!(read(&[0, 2]).merge(&read(&[2])).unwrap_err().code(), "BB_CHECKSUM_MISMATCH");
    }
}
