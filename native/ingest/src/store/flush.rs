//! Writes points in memory to files of Parquet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boundary_bench_core as core;
use boundary_bench_core::engine::{CancelToken, CreateMode, Engine};
use boundary_bench_core::table::SqlType;

use super::catalog::{DataColumn, DataFile};
use super::table::{Block, MeasurementTable, Name, measurements_of};
use super::wal::sync_directory;
use crate::arrow::TIME;
use crate::{Error, Result};

/// The table that points go through on their way to a file.
const TABLE: &str = "flush";

pub(super) fn file_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:012}.parquet"))
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A path as SQL's text.
pub(super) fn path_literal(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::InvalidArgument(format!("the path {} is not UTF-8; take another folder", path.display()))
    })?;
    Ok(literal(text))
}

/// Puts a table of points into the engine, in place of one of this name.
pub(super) fn ingest(engine: &Arc<dyn Engine>, table: &MeasurementTable<'_>) -> Result<usize> {
    engine.create_table(&table.definition, CreateMode::Replace)?;
    let mut ingest = engine.ingest(&table.definition)?;
    let mut rows = 0;
    table.batches(|batch| {
        rows += batch.num_rows();
        Ok(ingest.write(batch)?)
    })?;
    ingest.commit()?;
    Ok(rows)
}

/// Writes the points of blocks to files, one a measurement, durably. `next_number` is that of the next file.
pub(super) fn write_files(
    engine: &Arc<dyn Engine>,
    directory: &Path,
    blocks: &[Arc<Block>],
    mut next_number: u64,
) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    for (database, measurement) in measurements_of(blocks) {
        let table = MeasurementTable::new(blocks, database, measurement, TABLE);
        let rows = ingest(engine, &table)?;
        let path = file_path(directory, next_number);
        // Without a row group's sort, a file holds the points as they came; their time is sorted for its statistics.
        let columns = table.definition.columns.iter().map(|column| match column.sql_type {
            _ if column.name == TIME => format!("make_timestamp_ns({TIME}) AS {TIME}"),
            SqlType::Decimal { .. } => format!("CAST({0} AS UBIGINT) AS {0}", quoted(&column.name)),
            _ => quoted(&column.name),
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let sql = format!(
            "COPY (SELECT {columns} FROM {TABLE} ORDER BY {TIME}) TO {} (FORMAT parquet)",
            path_literal(&path)?
        );
        engine.execute(&sql, &CancelToken::default())?;
        std::fs::File::open(&path).and_then(|file| file.sync_all()).map_err(|source| Error::io(&path, source))?;
        let counted = |(index, name): (usize, &Name)| DataColumn {
            name: name.name.clone(),
            kind: name.kind,
            column: table.definition.columns[index + 1].name.clone(),
            values: match name.kind {
                None => rows,
                Some(_) => blocks.iter().map(|block| block.count(database, measurement, Some(&name.name))).sum(),
            },
        };
        files.push(DataFile {
            number: next_number,
            database: database.to_owned(),
            measurement: measurement.to_owned(),
            rows,
            columns: table.names.iter().enumerate().map(counted).collect(),
        });
        next_number += 1;
        engine.drop_table(TABLE)?;
    }
    sync_directory(directory)?;
    Ok(files)
}

/// Removes the files that no catalogue knows: those of a flush that was cut off.
pub(super) fn remove_unknown(directory: &Path, known: &[DataFile]) -> Result<u64> {
    let remove = || {
        for file in std::fs::read_dir(directory)? {
            let path = file?.path();
            let is_data = path.extension().is_some_and(|extension| extension == "parquet");
            if is_data && !known.iter().any(|file| file_path(directory, file.number) == path) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    };
    remove().map_err(|source| Error::io(directory, source))?;
    Ok(known.iter().map(|file| file.number + 1).max().unwrap_or(1))
}

/// The engine that writes and reads files.
pub(super) fn open_engine() -> Result<Arc<dyn Engine>> {
    Ok(core::engine::open("embedded:")?)
}
