//! The tables of a cell: one for each worker.

use std::sync::Arc;

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_engine::lanes::row_writer::RowWriter;
use boundary_bench_engine::measurements::{self, RowRange, SENSORS, TIMESTAMP_START, TIMESTAMP_STEP, VALUE_STEP};
use boundary_bench_engine::sql_text::name;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

use crate::measurements::matrix;
use crate::row_check::RowCheck;
use crate::sample::merge;
use crate::spec::{CellSpec, check_workers};

/// The names of the workers' tables: `table` itself for one worker, else `table_0`, `table_1`, ...
pub fn table_names(table: &str, workers: u32) -> Vec<String> {
    if workers == 1 {
        return vec![table.to_owned()];
    }
    (0..workers).map(|worker| format!("{table}_{worker}")).collect()
}

/// The rows of each worker: consecutive ranges of `rows / workers` rows. The last range also has the remainder.
pub fn worker_ranges(start: u64, rows: u64, workers: u32) -> Result<Vec<RowRange>> {
    check_workers(workers)?;
    // The whole range is checked first, so that no sum below overflows.
    RowRange::new(start, rows)?;
    let share = rows / u64::from(workers);
    (0..u64::from(workers))
        .map(|worker| {
            let is_last = worker + 1 == u64::from(workers);
            RowRange::new(start + worker * share, if is_last { rows - worker * share } else { share })
        })
        .collect()
}

/// The tables of workers, and the rows of each.
pub(crate) fn shares(table: &str, rows: u64, workers: u32) -> Result<Vec<(String, RowRange)>> {
    // Computed first, since it refuses too many workers before a name is allocated for each of them.
    let ranges = worker_ranges(0, rows, workers)?;
    Ok(table_names(table, workers).into_iter().zip(ranges).collect())
}

/// The queries of a cell's workers.
pub(crate) fn queries(spec: &CellSpec) -> Result<Vec<String>> {
    table_names(&spec.table, spec.workers).iter().map(|table| matrix()?.query(spec.workload, table)).collect()
}

/// Checks what a cell reads: `read` executes the query of a worker, and gives its rows to the check.
pub(crate) fn check_queries(spec: &CellSpec, mut read: impl FnMut(String, &mut RowCheck) -> Result<()>) -> Result<()> {
    let ranges = worker_ranges(0, spec.rows, spec.workers)?;
    for (sql, range) in queries(spec)?.into_iter().zip(ranges) {
        let mut check = RowCheck::new(spec.workload, range);
        read(sql, &mut check)?;
        check.finish()?;
    }
    Ok(())
}

/// Makes and fills the tables that the queries of `workers` workers read, untimed. Existing tables are replaced. A server that
/// takes no rows makes them by itself.
pub fn load(engine: &Arc<dyn Engine>, table: &str, rows: u64, workers: u32) -> Result<()> {
    for (own, range) in shares(table, rows, workers)? {
        let table = measurements::table(&own);
        engine.create_table(&table, CreateMode::Replace)?;
        match fill(engine, table, range) {
            Err(Error::Unsupported(refusal)) => fill_by_server(&**engine, &own, range).map_err(|error| match error {
                Error::Unsupported(_) => Error::Unsupported(refusal),
                other => other,
            }),
            filled => filled,
        }?;
    }
    Ok(())
}

/// Loads the tables unless they hold all their rows: another process may have loaded them, or have ended while it did.
pub fn load_missing(engine: &Arc<dyn Engine>, table: &str, rows: u64, workers: u32) -> Result<()> {
    check_workers(workers)?;
    // A table that is missing can't be read.
    match contents(&**engine, &table_names(table, workers)) {
        Ok(found) if found.rows == rows => Ok(()),
        _ => load(engine, table, rows, workers),
    }
}

fn fill(engine: &Arc<dyn Engine>, table: TableDefinition, range: RowRange) -> Result<()> {
    let mut writer = RowWriter::begin(Arc::clone(engine), table)?;
    for row in range.iter() {
        writer.push(&row)?;
    }
    writer.execute().map(drop)
}

/// Lets the server insert the rows of a range, by their closed form.
fn fill_by_server(engine: &dyn Engine, table: &str, range: RowRange) -> Result<()> {
    let numbers = engine.numbers(range.indexes())?;
    // The step has an exponent, without which a server may take it for a decimal, whose products differ in their last bits.
    let sql = format!(
        "INSERT INTO {} SELECT CAST(i AS INTEGER), CAST(i % {SENSORS} AS INTEGER), i * {VALUE_STEP:e}, \
         {TIMESTAMP_START} + i * {TIMESTAMP_STEP} FROM {numbers}",
        name(table)
    );
    engine.execute(&sql, &CancelToken::default()).map(drop)
}

/// Drops the tables of [`load`] or of an insert.
pub fn unload(engine: &Arc<dyn Engine>, table: &str, workers: u32) -> Result<()> {
    check_workers(workers)?;
    table_names(table, workers).iter().try_for_each(|name| engine.drop_table(name).map(|_| ()))
}

/// The checksum of the contents of these tables, untimed: summed by the engine itself if it runs SQL, else over a scan.
pub(crate) fn contents(engine: &dyn Engine, tables: &[String]) -> Result<Checksum> {
    let read = if engine.capabilities().sql { summed_by_engine } else { scanned };
    merge(tables.iter().map(|table| read(engine, table)).collect::<Result<Vec<_>>>()?)
}

fn summed_by_engine(engine: &dyn Engine, table: &str) -> Result<Checksum> {
    // Exact sums of 64-bit integers need more than 64 bits, and not every engine widens them by itself. Exact sums of 32-bit
    // integers don't.
    let whole = |column, what| format!("CAST(coalesce(sum({what}), 0) AS DECIMAL(38, 0)) AS {column}");
    let sql = format!(
        "SELECT count(*) AS row_count, {}, {}, coalesce(sum(value), 0) AS value, {} FROM {}",
        whole("id", "id"),
        whole("sensor_id", "sensor_id"),
        whole("timestamp", "CAST(timestamp AS DECIMAL(38, 0))"),
        name(table)
    );
    let mut sums = read_all(engine, &sql)?;
    let (_, rows) = sums.sums.0.remove(0);
    if let ChecksumSum::Int(rows) = rows {
        sums.rows = u64::try_from(rows).unwrap_or_default();
    }
    Ok(sums)
}

fn scanned(engine: &dyn Engine, table: &str) -> Result<Checksum> {
    read_all(engine, &scan(table))
}

fn scan(table: &str) -> String {
    format!("SELECT id, sensor_id, value, timestamp FROM {}", name(table))
}

/// Checks each row of a table, untimed.
pub(crate) fn check_rows(engine: &dyn Engine, table: &str, mut check: RowCheck) -> Result<()> {
    check.add_stream(&mut *engine.query(&scan(table), &QueryOptions::default())?)?;
    check.finish()
}

fn read_all(engine: &dyn Engine, sql: &str) -> Result<Checksum> {
    let mut stream = engine.query(sql, &QueryOptions::default())?;
    let mut checksum = Checksum::new(&stream.schema())?;
    while let Some(batch) = stream.next_batch()? {
        checksum.add_batch(&batch)?;
    }
    Ok(checksum)
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
    use boundary_bench_engine::measurements::expected_all;
    use boundary_bench_engines::open;

    use super::*;

    #[test]
    fn rows_are_split_without_loss() {
        let ranges = worker_ranges(5, 11, 3).unwrap();
        assert_eq!(ranges, [(5, 3), (8, 3), (11, 5)].map(|(start, rows)| RowRange::new(start, rows).unwrap()));
        assert!(worker_ranges(u64::MAX, 2, 1).is_err());
        assert!(worker_ranges(0, 2, 0).is_err());
    }

    #[test]
    fn what_the_engine_holds_is_read_back_on_every_engine() {
        for uri in ["memory:", "embedded:"] {
            let engine = open(uri).unwrap();
            for rows in [0, 1001] {
                load(&engine, "a b", rows, 2).unwrap();
                let found = contents(&*engine, &table_names("a b", 2)).unwrap();
                let expected = expected_all(RowRange::new(0, rows).unwrap());
                assert_eq!(found.difference(&expected, FLOAT_TOLERANCE), None, "{uri} {rows}");
            }
            unload(&engine, "a b", 2).unwrap();
            assert!(engine.list_tables().unwrap().is_empty());
        }
    }

    #[test]
    fn only_missing_rows_are_loaded() {
        let engine = open("embedded:").unwrap();
        load_missing(&engine, "t", 10, 1).unwrap();
        engine.execute("UPDATE t SET sensor_id = 7", &CancelToken::default()).unwrap();
        let sensors = || contents(&*engine, &["t".to_owned()]).unwrap().sums.0[1].1;
        load_missing(&engine, "t", 10, 1).unwrap();
        assert_eq!(sensors(), ChecksumSum::Int(70));
        // Half of a table, as a process leaves it that has ended while it loaded.
        load_missing(&engine, "t", 20, 1).unwrap();
        assert_eq!(sensors(), ChecksumSum::Int(90));
    }

    #[test]
    fn sums_beyond_64_bits_are_read_back_whole() {
        let engine = open("embedded:").unwrap();
        let table = measurements::table("t");
        engine.create_table(&table, CreateMode::Create).unwrap();
        let sql = format!("INSERT INTO t SELECT i, i, i, {} FROM range(4) rows(i)", i64::MAX);
        engine.execute(&sql, &CancelToken::default()).unwrap();
        let sums = contents(&*engine, &["t".to_owned()]).unwrap().sums.0;
        let expected = ChecksumSum::Int(4 * i128::from(i64::MAX));
        assert!(sums.iter().any(|(name, sum)| name == "timestamp" && *sum == expected), "{sums:?}");
    }
}
