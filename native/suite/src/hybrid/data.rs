//! The keys and queries of the family's cells, and the checksums that they must return, all by formula.

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::Result;
use boundary_bench_shards::{
    Aggregate, Aggregation, Column, Comparison, Filter, Number, Row, Sum, key_hash, made_checksum, made_hash,
};
use serde::Deserialize;

use crate::matrix::FamilyPart;

/// The family `hybrid` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Family {
    /// The least quantity of the rows that the aggregation selects.
    least_quantity: i64,
    /// The number of keys in one call of blanking and of reading back.
    pub(super) keys_at_once: usize,
    /// The number of rows that are changed before a population, so that a population that does nothing is noticed.
    pub(super) changed_rows: u64,
}

/// The family `hybrid` of the matrix.
pub(super) fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("hybrid");
    FAMILY.get()
}

/// The column that is aggregated.
pub(super) const AGGREGATED: Column = Column::Price;

/// The aggregation: the prices of the rows with a quantity of at least [`Family::least_quantity`].
pub(super) fn aggregation() -> Result<Aggregation> {
    let value = Number::Integer(family()?.least_quantity);
    let filter = Filter { column: Column::Quantity, comparison: Comparison::GreaterOrEqual, value };
    Ok(Aggregation { column: AGGREGATED, filter: Some(filter) })
}

/// The key of an operation, spread over all keys by a hash.
pub(super) fn key_of(operation: u64, total_rows: u64) -> i64 {
    (u64::from(key_hash(operation.cast_signed())) % total_rows.max(1)).cast_signed()
}

/// The row that replaces the row of a key before a sample of writes. Its hash differs from that row's.
pub(super) fn blank(key: i64) -> Row {
    Row { quantity: -1, ..Row::made(key) }
}

/// The sums of the results of a sample: the hashes of rows, or the sums of aggregations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sums {
    Rows { rows: u64, hash: u32 },
    Aggregate(Aggregate),
}

impl Sums {
    pub(super) fn of_rows() -> Self {
        Self::Rows { rows: 0, hash: 0 }
    }

    pub(super) fn add_hash(&mut self, count: u64, added: u32) {
        if let Self::Rows { rows, hash } = self {
            *rows += count;
            *hash = hash.wrapping_add(added);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (sums @ Self::Rows { .. }, Self::Rows { rows, hash }) => sums.add_hash(*rows, *hash),
            (Self::Aggregate(all), Self::Aggregate(part)) => all.merge(part),
            _ => {}
        }
    }

    pub(super) fn checksum(&self) -> Checksum {
        match self {
            Self::Rows { rows, hash } => Checksum::from_sums(*rows, [("hash", ChecksumSum::Int((*hash).into()))]),
            Self::Aggregate(aggregate) => {
                let real = |number: Option<Number>| match number {
                    Some(Number::Real(value)) => value,
                    Some(Number::Integer(value)) => value as f64,
                    None => 0.0,
                };
                let sum = match aggregate.sum {
                    Sum::Real(sum) => sum,
                    Sum::Integer(sum) => sum as f64,
                };
                let sums = [
                    ("price", ChecksumSum::Float(sum)),
                    ("min", ChecksumSum::Float(real(aggregate.min))),
                    ("max", ChecksumSum::Float(real(aggregate.max))),
                ];
                Checksum::from_sums(aggregate.count, sums)
            }
        }
    }
}

/// The checksum that `operations` reads or writes of rows must return.
pub(super) fn expected_rows(operations: u64, total_rows: u64) -> Checksum {
    let hash = (0..operations).fold(0_u32, |sum, index| sum.wrapping_add(made_hash(key_of(index, total_rows))));
    Sums::Rows { rows: operations, hash }.checksum()
}

/// The checksum that a scan of all rows must return.
pub(super) fn expected_scan(total_rows: u64) -> Checksum {
    Sums::Rows { rows: total_rows, hash: made_checksum(total_rows) }.checksum()
}

/// The aggregate of all rows. Prices are quarters, so their sum is exact in any order.
pub(super) fn expected_aggregate(total_rows: u64) -> Result<Aggregate> {
    let least_quantity = family()?.least_quantity;
    let mut all = Aggregate::none(AGGREGATED);
    for key in 0..total_rows {
        let row = Row::made(key.cast_signed());
        if i64::from(row.quantity) >= least_quantity {
            let price = Some(Number::Real(row.price));
            all.merge(&Aggregate { count: 1, sum: Sum::Real(row.price), min: price, max: price });
        }
    }
    Ok(all)
}
