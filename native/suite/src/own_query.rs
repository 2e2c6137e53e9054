//! A query of the user's own, of which all of the result is read, as the lane `columnar` reads.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use boundary_bench_engine::checksum::{Checksum, ChecksumSum, ColumnSums};
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_kernel::{Error, Result};

use crate::query::sample;
use crate::sample::CellSample;
use crate::workers::on_threads;

/// Executes a query `repeats` times. The checksum has a float for each column, by its position: the sum of numbers, the number of true
/// values, the lengths of texts in UTF-16 units, as JavaScript counts them, and of other types the number of values. Nulls add nothing.
pub fn read_query(engine: &Arc<dyn Engine>, sql: &str, repeats: u32) -> Result<CellSample> {
    let part = (Arc::clone(engine), sql.to_owned());
    let workers = on_threads(vec![part], move |(engine, sql), clock| {
        let mut checksum = Checksum::default();
        for _ in 0..repeats {
            checksum = read_all(&*engine, &sql)?;
        }
        Ok(clock.finish(checksum.into()))
    })?;
    sample(workers)
}

fn read_all(engine: &dyn Engine, sql: &str) -> Result<Checksum> {
    let mut stream = engine.query(sql, &QueryOptions::default())?;
    let mut columns = Columns::of(&stream.schema())?;
    while let Some(batch) = stream.next_batch()? {
        columns.add(&batch)?;
    }
    Ok(columns.checksum())
}

/// The sums of the columns of a result.
struct Columns {
    rows: u64,
    /// The positions of the columns of numbers, and their sums.
    numbers: (Vec<usize>, Checksum),
    /// The sums of the other columns, by their positions.
    others: Vec<(usize, u64)>,
}

impl Columns {
    fn of(schema: &Schema) -> Result<Self> {
        let (numbers, others): (Vec<_>, Vec<_>) =
            (0..schema.fields().len()).partition(|position| is_number(schema.field(*position).data_type()));
        let of_numbers = schema.project(&numbers).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self {
            rows: 0,
            numbers: (numbers, Checksum::new(&of_numbers)?),
            others: others.into_iter().map(|position| (position, 0)).collect(),
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let (positions, sums) = &mut self.numbers;
        sums.add_batch(&batch.project(positions).map_err(|error| Error::Internal(error.to_string()))?)?;
        self.rows += batch.num_rows() as u64;
        for (position, sum) in &mut self.others {
            *sum += value_of(batch.column(*position));
        }
        Ok(())
    }

    fn checksum(self) -> Checksum {
        let (positions, sums) = self.numbers;
        let numbers = positions.into_iter().zip(sums.sums.0.into_iter().map(|(_, sum)| as_float(sum)));
        let others = self.others.into_iter().map(|(position, sum)| (position, as_float(ChecksumSum::Int(sum.into()))));
        let mut all: Vec<_> = numbers.chain(others).collect();
        all.sort_unstable_by_key(|(position, _)| *position);
        let sums = all.into_iter().map(|(position, sum)| (position.to_string(), ChecksumSum::Float(sum))).collect();
        Checksum { rows: self.rows, sums: ColumnSums(sums) }
    }
}

fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Boolean | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64
    )
}

/// JavaScript's sums are floats, too.
#[expect(clippy::cast_precision_loss)]
fn as_float(sum: ChecksumSum) -> f64 {
    match sum {
        ChecksumSum::Int(sum) => sum as f64,
        ChecksumSum::Float(sum) => sum,
    }
}

/// The UTF-16 units of texts, and the number of values of other types.
fn value_of(array: &dyn Array) -> u64 {
    let DataType::Utf8 = array.data_type() else { return (array.len() - array.null_count()) as u64 };
    let texts = array.as_string::<i32>();
    texts
        .iter()
        .flatten()
        .map(|text| if text.is_ascii() { text.len() } else { text.encode_utf16().count() } as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use boundary_bench_engines::open;

    use super::*;

    fn sums_of(sql: &str) -> (u64, Vec<f64>) {
        let engine = open("embedded:").unwrap();
        let checksum = read_query(&engine, sql, 2).unwrap().checksum;
        let sums = checksum.sums.0.into_iter().map(|(_, sum)| as_float(sum)).collect();
        (checksum.rows, sums)
    }

    #[test]
    fn each_type_has_its_sum_without_nulls() {
        let sql = "SELECT * FROM (VALUES (1, 2.5::DOUBLE, 'a😀', TRUE, DATE '2025-01-01', 1.5::DECIMAL(4, 1)),
            (NULL, NULL, NULL, NULL, NULL, NULL), (3, 0.5, 'bc', FALSE, NULL, 2)) AS t";
        assert_eq!(sums_of(sql), (3, vec![4.0, 3.0, 5.0, 1.0, 1.0, 2.0]));
    }

    #[test]
    fn columns_of_one_name_and_results_without_rows_have_their_sums() {
        assert_eq!(sums_of("SELECT range AS a, range AS a FROM range(4)"), (4, vec![6.0, 6.0]));
        assert_eq!(sums_of("SELECT 1 AS a WHERE FALSE"), (0, vec![0.0]));
    }
}
