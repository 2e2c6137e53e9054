//! TPC-H's `lineitem` in the embedded engine, the same rows each time: the table of the SQL aggregates and of the engine's
//! scans.
//!
//! A row's values come from its number by a multiplicative hash, with TPC-H's ranges and rules, but not its generator: one row
//! in fifty has each quantity, ships on any of 2526 days, and is flagged by its dates. The columns of free text are left out.

use std::sync::Arc;

use boundary_bench_core::Result;
use boundary_bench_core::engine::{CancelToken, Engine, open};

/// The name of the table's database in requests.
pub(crate) const DATABASE: &str = "tpch";

/// The name of the table.
pub(crate) const TABLE: &str = "lineitem";

/// Rows at the scale factor 1.
const ROWS: f64 = 6_000_000.0;

/// The number of rows of a scale factor.
pub(crate) fn rows(scale_factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a scale factor is 0 to 1")]
    let rows = (ROWS * scale_factor).round() as u64;
    rows
}

/// A new engine with the table of that scale factor. It reads and writes no files.
///
/// # Errors
/// [`boundary_bench_core::Error::Engine`] where the engine does not open or does not make the table.
pub(crate) fn load(scale_factor: f64) -> Result<Arc<dyn Engine>> {
    let engine = open("embedded:")?;
    let cancel = CancelToken::default();
    engine.execute(&create(rows(scale_factor)), &cancel)?;
    // The lock guards the files of this machine: queries come from anybody who reaches the port.
    engine.execute("SET enable_external_access = false; SET lock_configuration = true", &cancel)?;
    Ok(engine)
}

fn create(rows: u64) -> String {
    // Knuth's factor spreads the numbers; each column takes other bits, and begins elsewhere.
    let hash = |column: u64, bits: u32| format!("(((i + {column} * 7919) * 2654435761) % 4294967296 >> {bits})");
    let (quantity, price, discount, tax) = (hash(1, 7), hash(2, 5), hash(3, 9), hash(4, 11));
    let (ship, receipt, commit, flag) = (hash(5, 8), hash(6, 6), hash(7, 4), hash(8, 10));
    let (part, supplier) = (hash(9, 3), hash(10, 12));
    format!(
        "CREATE TABLE {TABLE} AS
         WITH numbers AS (
           SELECT i, 1 + {quantity} % 50 AS quantity, 90000 + {price} % 110001 AS cents, {discount} % 11 AS discount,
                  {tax} % 9 AS tax, DATE '1992-01-02' + ({ship} % 2526)::INTEGER AS ship,
                  1 + ({receipt} % 30)::INTEGER AS receipt, 30 + ({commit} % 61)::INTEGER AS committed,
                  {flag} % 2 = 0 AS returned, 1 + {part} % 200000 AS part, 1 + {supplier} % 10000 AS supplier
           FROM range({rows}) AS numbers(i))
         SELECT (i // 4 + 1)::INTEGER AS l_orderkey, part::INTEGER AS l_partkey, supplier::INTEGER AS l_suppkey,
                (i % 4 + 1)::INTEGER AS l_linenumber, quantity::DECIMAL(15, 2) AS l_quantity,
                (quantity * cents / 100.0)::DECIMAL(15, 2) AS l_extendedprice,
                (discount / 100.0)::DECIMAL(15, 2) AS l_discount, (tax / 100.0)::DECIMAL(15, 2) AS l_tax,
                CASE WHEN ship + receipt > DATE '1995-06-17' THEN 'N' WHEN returned THEN 'R' ELSE 'A' END AS l_returnflag,
                CASE WHEN ship > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
                ship AS l_shipdate, ship + committed - 60 AS l_commitdate, ship + receipt AS l_receiptdate
         FROM numbers"
    )
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use boundary_bench_core::engine::QueryOptions;

    use super::*;

    #[test]
    fn the_rows_are_those_of_the_scale_factor_in_four_groups() {
        let engine = load(0.001).unwrap();
        let sql = "SELECT count(*), count(DISTINCT l_shipdate), count(DISTINCT l_returnflag || l_linestatus),
                          count(*) FILTER (l_receiptdate <= l_shipdate OR l_quantity NOT BETWEEN 1 AND 50) FROM lineitem";
        let batch = engine.query(sql, &QueryOptions::default()).unwrap().next_batch().unwrap().unwrap();
        let column = |index: usize| batch.column(index).as_primitive::<Int64Type>().value(0);
        assert_eq!((column(0), column(2), column(3)), (6000, 4, 0));
        assert!(column(1) > 2000, "{} days", column(1));
    }

    #[test]
    fn queries_reach_no_files() {
        let engine = load(0.0001).unwrap();
        let cancel = CancelToken::default();
        for sql in ["SET enable_external_access = true", "COPY lineitem TO '/tmp/bb-never.csv'"] {
            assert!(engine.execute(sql, &cancel).is_err(), "{sql}");
        }
        let read = engine.query("SELECT * FROM read_text('/etc/hostname')", &QueryOptions::default());
        assert!(read.and_then(|mut stream| stream.next_batch()).is_err());
    }
}
