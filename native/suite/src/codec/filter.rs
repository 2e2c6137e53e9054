//! Expressions over rows and columns: the rows for which `age > 18 AND active = TRUE`.
//!
//! The row `i` has the age `i % 80`, and is active if `i` is even. An operation is a row. Its result is 1 if the row matches.

use std::hint::black_box;

use boundary_bench_kernel::Result;
use serde::Deserialize;

use crate::calls::{InProcessSpec, timed_work};
use crate::matrix::FamilyPart;
use crate::sample::CellSample;

/// The part of the family `codec` in the matrix that is read here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    /// The rows that are filtered, over and over.
    filter_rows: usize,
}

fn filter_rows() -> Result<usize> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("codec");
    FAMILY.get().map(|family| family.filter_rows)
}

/// A value of a row. None is null: the columns of the table are `NOT NULL`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(i32),
    /// A truth value.
    Truth(bool),
}

impl Value {
    /// The integer that it is compared as: TRUE is 1, as in SQL.
    fn integer(self) -> i32 {
        match self {
            Self::Integer(integer) => integer,
            Self::Truth(truth) => i32::from(truth),
        }
    }
}

impl From<i32> for Value {
    fn from(integer: i32) -> Self {
        Self::Integer(integer)
    }
}

impl From<u8> for Value {
    fn from(byte: u8) -> Self {
        Self::Truth(byte != 0)
    }
}

/// The values of a column.
#[derive(Debug, Clone, Copy)]
pub enum Column<'rows> {
    /// Integers.
    Integers(&'rows [i32]),
    /// Truth values, of which each byte but 0 is true.
    Truths(&'rows [u8]),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Truths(values) => values.len(),
        }
    }

    /// The part of the column from the row `start` on.
    fn part(&self, start: usize, rows: usize) -> Self {
        match self {
            Self::Integers(values) => Self::Integers(&values[start..start + rows]),
            Self::Truths(values) => Self::Truths(&values[start..start + rows]),
        }
    }
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Greater,
    /// `=`
    Equal,
}

impl Comparison {
    fn holds(self, left: i32, right: i32) -> bool {
        match self {
            Self::Greater => left > right,
            Self::Equal => left == right,
        }
    }
}

/// An expression, as a tree. It is evaluated by walking the tree: for one row, or for many rows by each node.
#[derive(Debug)]
pub enum Expression {
    /// The value of the column at this index.
    Column(usize),
    /// The same value for each row.
    Constant(Value),
    /// Whether two values compare so.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// Whether both expressions are true.
    And(Box<Expression>, Box<Expression>),
}

/// The rows for which a tree is walked at once: their truth values stay in the cache nearest to the processor.
const CHUNK: usize = 1024;

impl Expression {
    /// `age > 18 AND active = TRUE`, of which `age` is the first column and `active` the second one.
    pub fn of_the_family() -> Self {
        let compare = |comparison, column, value| {
            let (column, value) = (Box::new(Self::Column(column)), Box::new(Self::Constant(value)));
            Box::new(Self::Compare(comparison, column, value))
        };
        let age = compare(Comparison::Greater, 0, Value::Integer(18));
        Self::And(age, compare(Comparison::Equal, 1, Value::Truth(true)))
    }

    /// The value for a row. A column that the row lacks is FALSE.
    pub fn evaluate(&self, row: &[Value]) -> Value {
        match self {
            Self::Column(_) | Self::Constant(_) => self.operand(row),
            Self::Compare(comparison, left, right) => {
                Value::Truth(comparison.holds(left.operand(row).integer(), right.operand(row).integer()))
            }
            Self::And(left, right) => Value::Truth(left.matches(row) && right.matches(row)),
        }
    }

    /// The same as [`Self::evaluate`], without a call if the expression is a leaf, as most operands are.
    #[inline]
    fn operand(&self, row: &[Value]) -> Value {
        match self {
            Self::Column(column) => row.get(*column).copied().unwrap_or(Value::Truth(false)),
            Self::Constant(value) => *value,
            _ => self.evaluate(row),
        }
    }

    /// Whether the expression is true for a row.
    pub fn matches(&self, row: &[Value]) -> bool {
        self.evaluate(row).integer() != 0
    }

    /// The number of rows for which the expression is true: of as many as the shortest column has.
    pub fn count(&self, columns: &[Column<'_>]) -> usize {
        let rows = columns.iter().map(Column::len).min().unwrap_or_default();
        let mut truths = [0; CHUNK];
        let mut count = 0;
        for start in (0..rows).step_by(CHUNK) {
            let truths = &mut truths[..CHUNK.min(rows - start)];
            self.fill(columns, start, truths);
            // A sum of so few truth values fits in 16 bits, of which an instruction adds up more at once than of 64.
            count += usize::from(truths.iter().map(|truth| u16::from(*truth)).sum::<u16>());
        }
        count
    }

    /// Fills in whether the expression is true, 0 or 1, for the rows from `start` on.
    fn fill(&self, columns: &[Column<'_>], start: usize, truths: &mut [u8]) {
        if let Self::And(left, right) = self {
            left.fill(columns, start, truths);
            let mut others = [0; CHUNK];
            let others = &mut others[..truths.len()];
            right.fill(columns, start, others);
            truths.iter_mut().zip(others).for_each(|(truth, other)| *truth &= *other);
            return;
        }
        if let Self::Compare(comparison, left, right) = self
            && let (Self::Column(column), Self::Constant(value)) = (&**left, &**right)
            && let Some(column) = columns.get(*column)
        {
            let value = value.integer();
            match column.part(start, truths.len()) {
                Column::Integers(values) => fill_compared(truths, values, *comparison, value),
                Column::Truths(values) => fill_compared(truths, values, *comparison, value),
            }
            return;
        }
        // Two columns or two constants are compared by rows. The family has none.
        let mut row = vec![Value::Truth(false); columns.len()];
        for (at, truth) in truths.iter_mut().enumerate() {
            for (value, column) in row.iter_mut().zip(columns) {
                *value = match column {
                    Column::Integers(values) => values[start + at].into(),
                    Column::Truths(values) => values[start + at].into(),
                };
            }
            *truth = u8::from(self.matches(&row));
        }
    }
}

/// Fills in which values of a column compare so with a constant.
fn fill_compared<T: Copy>(truths: &mut [u8], values: &[T], comparison: Comparison, constant: i32)
where
    Value: From<T>,
{
    let compared = truths.iter_mut().zip(values).map(|(truth, value)| (truth, Value::from(*value).integer()));
    match comparison {
        Comparison::Greater => compared.for_each(|(truth, value)| *truth = u8::from(value > constant)),
        Comparison::Equal => compared.for_each(|(truth, value)| *truth = u8::from(value == constant)),
    }
}

/// The age and the activity of the rows.
fn rows() -> Result<(Vec<i32>, Vec<u8>)> {
    let numbers = 0..filter_rows()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "an age is below 80")]
    let ages = numbers.clone().map(|row| (row % 80) as i32).collect();
    Ok((ages, numbers.map(|row| u8::from(row % 2 == 0)).collect()))
}

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let expression = Expression::of_the_family();
    let expression = black_box(&expression);
    let (ages, active) = rows()?;
    let rows: Vec<[Value; 2]> =
        ages.iter().zip(&active).map(|(age, active)| [Value::Integer(*age), Value::Truth(*active != 0)]).collect();
    let (times, calls, batch) = (spec.times(), spec.calls as usize, spec.batch as usize);
    let batches = calls / batch.max(1);
    let each = black_box(&rows);
    Ok(match (spec.workload.as_str(), spec.lane.as_str()) {
        ("filter", "call") if batch == 1 => timed_work(times, || {
            each.iter().cycle().take(calls).map(|row| f64::from(u8::from(expression.matches(row)))).sum()
        }),
        ("filter", "call") if batch == rows.len() => timed_work(times, || {
            (0..batches).map(|_| black_box(&rows).iter().filter(|row| expression.matches(*row)).count()).sum::<usize>()
                as f64
        }),
        ("filter", "columns") if batch == rows.len() => timed_work(times, || {
            let columns = || [Column::Integers(black_box(&ages)), Column::Truths(black_box(&active))];
            (0..batches).map(|_| expression.count(&columns())).sum::<usize>() as f64
        }),
        _ => return Err(spec.unknown()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn any_expression() -> impl Strategy<Value = Expression> {
        let value = prop_oneof![(-3..4).prop_map(Value::Integer), any::<bool>().prop_map(Value::Truth)];
        let leaf = prop_oneof![(0_usize..3).prop_map(Expression::Column), value.prop_map(Expression::Constant)];
        leaf.prop_recursive(4, 16, 2, |inner| {
            let pair = (any::<Option<bool>>(), inner.clone(), inner);
            pair.prop_map(|(comparison, left, right)| {
                let (left, right) = (Box::new(left), Box::new(right));
                match comparison {
                    None => Expression::And(left, right),
                    Some(true) => Expression::Compare(Comparison::Greater, left, right),
                    Some(false) => Expression::Compare(Comparison::Equal, left, right),
                }
            })
        })
    }

    proptest! {
        #[test]
        fn columns_and_rows_match_alike(
            expression in any_expression(), rows in vec((-3_i32..4, 0_u8..3), 0..20), copies in 0_usize..200,
        ) {
            // Enough rows for several chunks.
            let rows = rows.repeat(copies);
            let (integers, truths): (Vec<i32>, Vec<u8>) = rows.iter().copied().unzip();
            let of_row = |(integer, truth): &(i32, u8)| [Value::Integer(*integer), Value::Truth(*truth != 0)];
            let expected = rows.iter().filter(|row| expression.matches(&of_row(row))).count();
            prop_assert_eq!(expression.count(&[Column::Integers(&integers), Column::Truths(&truths)]), expected);
        }
    }

    #[test]
    fn the_shortest_column_has_the_rows() {
        let expression = Expression::of_the_family();
        assert_eq!(expression.count(&[Column::Integers(&[19; 9]), Column::Truths(&[1, 1, 0])]), 2);
        assert_eq!(expression.count(&[Column::Integers(&[]), Column::Truths(&[1])]), 0);
        assert_eq!(expression.count(&[]), 0);
        assert!(!expression.matches(&[]));
    }
}
