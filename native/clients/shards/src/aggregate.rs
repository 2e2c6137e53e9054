//! Sums over a column of the rows that pass a filter. Each block is processed column by column, so that the compiler vectorizes
//! every loop.

use boundary_bench_kernel::{Error, Result};

use crate::block::Columns;

/// Rows processed at a time: their masks stay in the first-level cache.
const PART_ROWS: usize = 1024;

/// A column of numbers, to sum or to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The key.
    Key,
    /// The quantity.
    Quantity,
    /// The price.
    Price,
    /// The time of the last update.
    UpdatedAt,
}

impl Column {
    /// All columns of numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Key, Self::Quantity, Self::Price, Self::UpdatedAt];
}

/// How a filter compares a column with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::Less, Self::LessOrEqual, Self::Greater, Self::GreaterOrEqual];
}

/// A number of the type of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A value of a column of integers.
    Integer(i64),
    /// A value of the column price.
    Real(f64),
}

/// A filter. A row passes it if its column compares with the value as `comparison` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filter {
    /// The column that is compared.
    pub column: Column,
    /// The comparison, with the column on its left side.
    pub comparison: Comparison,
    /// The value on the right side of the comparison.
    pub value: Number,
}

/// An aggregation: the column to sum, and a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregation {
    /// The column to sum.
    pub column: Column,
    /// The filter that rows must pass. `None`: all rows count.
    pub filter: Option<Filter>,
}

/// The sum of a column's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// A sum of integers. It can't overflow.
    Integer(i128),
    /// A sum of prices.
    Real(f64),
}

/// The count, sum, minimum and maximum of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregate {
    /// The number of rows that passed the filter.
    pub count: u64,
    /// The sum of the values.
    pub sum: Sum,
    /// The smallest value, or `None` without rows. A NaN is neither smallest nor largest.
    pub min: Option<Number>,
    /// The largest value, or `None` without rows.
    pub max: Option<Number>,
}

impl Aggregation {
    /// Checks the type of the filter's value.
    pub fn validate(&self) -> Result<()> {
        let fits = |filter: &Filter| matches!(filter.value, Number::Real(_)) == (filter.column == Column::Price);
        if self.filter.is_none_or(|filter| fits(&filter)) {
            return Ok(());
        }
        Err(Error::InvalidArgument(
            "the value of a filter must be a real number for the column price, and an integer for others".to_owned(),
        ))
    }
}

impl Aggregate {
    /// The aggregate of no rows.
    pub fn none(column: Column) -> Self {
        let sum = if column == Column::Price { Sum::Real(0.0) } else { Sum::Integer(0) };
        Self { count: 0, sum, min: None, max: None }
    }

    /// Merges the aggregate of other rows into this one.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = match (self.sum, other.sum) {
            (Sum::Integer(left), Sum::Integer(right)) => Sum::Integer(left + right),
            (left, right) => Sum::Real(real(left) + real(right)),
        };
        self.min = chosen(self.min, other.min, |left, right| right < left);
        self.max = chosen(self.max, other.max, |left, right| right > left);
    }

    /// Adds the rows that pass the filter. `aggregation` must be valid.
    pub fn add(&mut self, aggregation: &Aggregation, rows: Columns<'_>) {
        let mut start = 0;
        while start < rows.len() {
            let end = rows.len().min(start + PART_ROWS);
            self.add_part(aggregation, rows.slice(start, end));
            start = end;
        }
    }

    fn add_part(&mut self, aggregation: &Aggregation, rows: Columns<'_>) {
        let mut passes = [PASSES; PART_ROWS];
        let passes = &mut passes[..rows.len()];
        if let Some(filter) = &aggregation.filter {
            match (filter.column, filter.value) {
                (Column::Key, Number::Integer(value)) => compare(rows.keys, filter.comparison, value, passes),
                (Column::UpdatedAt, Number::Integer(value)) => {
                    compare(rows.updated_at, filter.comparison, value, passes);
                }
                (Column::Quantity, Number::Integer(value)) => quantities(rows, filter.comparison, value, passes),
                (Column::Price, Number::Real(value)) => compare(rows.prices, filter.comparison, value, passes),
                // Validation refuses a value of the other type.
                _ => passes.fill(FAILS),
            }
        }
        let part = match aggregation.column {
            Column::Key => integers(rows.keys, passes),
            Column::Quantity => small_integers(rows.quantities, passes),
            Column::UpdatedAt => integers(rows.updated_at, passes),
            Column::Price => reals(rows.prices, passes),
        };
        self.merge(&part);
    }
}

fn real(sum: Sum) -> f64 {
    match sum {
        Sum::Integer(sum) => sum as f64,
        Sum::Real(sum) => sum,
    }
}

fn chosen(left: Option<Number>, right: Option<Number>, is_better: fn(Number, Number) -> bool) -> Option<Number> {
    match (left, right) {
        (Some(left), Some(right)) => Some(if is_better(left, right) { right } else { left }),
        (left, right) => left.or(right),
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(right)),
            (Self::Real(left), Self::Real(right)) => left.partial_cmp(right),
            _ => None,
        }
    }
}

/// The masks of a row that passes a filter, and of one that does not. They are as wide as the narrowest values (32 bits), so
/// that vectors of them are made and widened in few instructions.
const PASSES: i32 = -1;
const FAILS: i32 = 0;

fn compare<T: PartialOrd + Copy>(values: &[T], comparison: Comparison, with: T, passes: &mut [i32]) {
    fn each<T: Copy>(values: &[T], passes: &mut [i32], test: impl Fn(T) -> bool) {
        passes.iter_mut().zip(values).for_each(|(pass, value)| *pass = -i32::from(test(*value)));
    }
    match comparison {
        Comparison::Equal => each(values, passes, |value| value == with),
        Comparison::NotEqual => each(values, passes, |value| value != with),
        Comparison::Less => each(values, passes, |value| value < with),
        Comparison::LessOrEqual => each(values, passes, |value| value <= with),
        Comparison::Greater => each(values, passes, |value| value > with),
        Comparison::GreaterOrEqual => each(values, passes, |value| value >= with),
    }
}

/// Compares quantities with a value that may lie outside their range.
fn quantities(rows: Columns<'_>, comparison: Comparison, with: i64, passes: &mut [i32]) {
    if let Ok(with) = i32::try_from(with) {
        return compare(rows.quantities, comparison, with, passes);
    }
    let is_above = with > 0;
    let passing = match comparison {
        Comparison::Equal => false,
        Comparison::NotEqual => true,
        Comparison::Less | Comparison::LessOrEqual => is_above,
        Comparison::Greater | Comparison::GreaterOrEqual => !is_above,
    };
    passes.fill(if passing { PASSES } else { FAILS });
}

fn count(passes: &[i32]) -> u64 {
    // The count is at most the rows of a part.
    u64::from(passes.iter().fold(0_i32, |sum, pass| sum - pass).unsigned_abs())
}

/// The aggregate of one part. High and low halves of 32 bits are summed apart, so that neither sum can overflow.
fn integers(values: &[i64], passes: &[i32]) -> Aggregate {
    let (mut high, mut low) = (0_i64, 0_i64);
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    for (value, pass) in values.iter().zip(passes) {
        let mask = i64::from(*pass);
        let kept = value & mask;
        high += kept >> 32;
        low += kept & 0xffff_ffff;
        min = min.min(kept | (i64::MAX & !mask));
        max = max.max(kept | (i64::MIN & !mask));
    }
    let count = count(passes);
    let number = |value| (count > 0).then_some(Number::Integer(value));
    let sum = (i128::from(high) << 32) + i128::from(low);
    Aggregate { count, sum: Sum::Integer(sum), min: number(min), max: number(max) }
}

fn small_integers(values: &[i32], passes: &[i32]) -> Aggregate {
    let mut sum = 0_i64;
    let (mut min, mut max) = (i32::MAX, i32::MIN);
    for (value, mask) in values.iter().zip(passes) {
        let kept = value & mask;
        sum += i64::from(kept);
        min = min.min(kept | (i32::MAX & !mask));
        max = max.max(kept | (i32::MIN & !mask));
    }
    let count = count(passes);
    let number = |value| (count > 0).then_some(Number::Integer(i64::from(value)));
    Aggregate { count, sum: Sum::Integer(i128::from(sum)), min: number(min), max: number(max) }
}

/// Sums kept side by side, since the compiler must not change the order of additions.
const LANES: usize = 4;

fn reals(values: &[f64], passes: &[i32]) -> Aggregate {
    let mut lanes = ([0.0; LANES], [f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (whole, rest) = values.as_chunks::<LANES>();
    let (whole_passes, rest_passes) = passes.as_chunks::<LANES>();
    whole.iter().zip(whole_passes).for_each(|(values, passes)| add_reals(&mut lanes, values, passes));
    // The padding of the last lanes does not pass.
    let (mut last, mut last_passes) = ([0.0; LANES], [FAILS; LANES]);
    last[..rest.len()].copy_from_slice(rest);
    last_passes[..rest.len()].copy_from_slice(rest_passes);
    add_reals(&mut lanes, &last, &last_passes);
    let (sums, mins, maxs) = lanes;
    let min = mins.into_iter().fold(f64::INFINITY, f64::min);
    let max = maxs.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let count = count(passes);
    // If every value is NaN, min is still above max.
    let number = |value| (count > 0 && min <= max).then_some(Number::Real(value));
    Aggregate { count, sum: Sum::Real(sums.into_iter().sum()), min: number(min), max: number(max) }
}

/// Adds values to sums, minima and maxima, lane by lane.
fn add_reals(lanes: &mut ([f64; LANES], [f64; LANES], [f64; LANES]), values: &[f64; LANES], passes: &[i32; LANES]) {
    let (sums, mins, maxs) = lanes;
    for lane in 0..LANES {
        let mask = i64::from(passes[lane]).cast_unsigned();
        let kept = values[lane].to_bits() & mask;
        sums[lane] += f64::from_bits(kept);
        let low = f64::from_bits(kept | (f64::INFINITY.to_bits() & !mask));
        let high = f64::from_bits(kept | (f64::NEG_INFINITY.to_bits() & !mask));
        mins[lane] = if low < mins[lane] { low } else { mins[lane] };
        maxs[lane] = if high > maxs[lane] { high } else { maxs[lane] };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::Block;
    use crate::row::{PAYLOAD_BYTES, Row};

    fn passes(comparison: Comparison, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match comparison {
            Comparison::Equal => order == Some(Equal),
            Comparison::NotEqual => order != Some(Equal),
            Comparison::Less => order == Some(Less),
            Comparison::LessOrEqual => matches!(order, Some(Less | Equal)),
            Comparison::Greater => order == Some(Greater),
            Comparison::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
        }
    }

    fn number(row: &Row, column: Column) -> Number {
        match column {
            Column::Key => Number::Integer(row.key),
            Column::Quantity => Number::Integer(row.quantity.into()),
            Column::Price => Number::Real(row.price),
            Column::UpdatedAt => Number::Integer(row.updated_at),
        }
    }

    /// The aggregate computed row by row, as simply as possible.
    fn slow(aggregation: &Aggregation, rows: &[Row]) -> Aggregate {
        let mut all = Aggregate::none(aggregation.column);
        for row in rows {
            let passes = aggregation
                .filter
                .is_none_or(|filter| passes(filter.comparison, number(row, filter.column).partial_cmp(&filter.value)));
            if passes {
                let value = number(row, aggregation.column);
                let (sum, is_number) = match value {
                    Number::Integer(value) => (Sum::Integer(value.into()), true),
                    Number::Real(value) => (Sum::Real(value), !value.is_nan()),
                };
                let chosen = is_number.then_some(value);
                all.merge(&Aggregate { count: 1, sum, min: chosen, max: chosen });
            }
        }
        all
    }

    fn columns() -> impl Strategy<Value = Column> {
        prop::sample::select(Column::ALL.as_slice())
    }

    proptest! {
        #[test]
        fn the_sums_are_those_of_the_rows(
            // The prices are such that their sums are exact in any order.
            values in prop::collection::vec((any::<i64>(), any::<i32>(), -1000_i32..1000, any::<i64>(), 0..9), 0..300),
            column in columns(),
            by in columns(),
            comparison in prop::sample::select(Comparison::ALL.as_slice()),
            with: i64,
            is_filtered: bool,
            is_near: bool,
        ) {
            let rows: Vec<Row> = values.iter().map(|(key, quantity, price, updated_at, kind)| Row {
                key: *key,
                quantity: *quantity,
                price: if *kind == 0 { f64::NAN } else { f64::from(*price) * 0.25 },
                updated_at: *updated_at,
                payload: [0; PAYLOAD_BYTES],
            }).collect();
            let near = rows.first().filter(|_| is_near).map(|row| number(row, by));
            let value = near.unwrap_or(if by == Column::Price { Number::Real((with % 500) as f64) } else { Number::Integer(with) });
            let filter = is_filtered.then_some(Filter { column: by, comparison, value });
            let aggregation = Aggregation { column, filter };
            prop_assert!(aggregation.validate().is_ok());
            let mut block = Block::with_capacity(rows.len());
            rows.iter().for_each(|row| block.push(row));
            let mut fast = Aggregate::none(column);
            fast.add(&aggregation, block.columns());
            let slow = slow(&aggregation, &rows);
            prop_assert_eq!((fast.count, fast.min, fast.max), (slow.count, slow.min, slow.max));
            match (fast.sum, slow.sum) {
                (Sum::Real(fast), Sum::Real(slow)) => {
                    prop_assert!((fast - slow).abs() < 0.1 || fast.is_nan() && slow.is_nan());
                },
                (fast, slow) => prop_assert_eq!(fast, slow),
            }
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused() {
        let filter = Filter { column: Column::Price, comparison: Comparison::Less, value: Number::Integer(3) };
        let error = Aggregation { column: Column::Key, filter: Some(filter) }.validate().unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
    }
}
