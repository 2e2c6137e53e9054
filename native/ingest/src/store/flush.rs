//! Flushes points in memory to Parquet files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boundary_bench_engine::table::SqlType;
use boundary_bench_engine::{CreateMode, Engine};
use boundary_bench_kernel as kernel;
use boundary_bench_kernel::cancel::CancelToken;

use super::block::{Block, TablePoints, Unstorable, divide, runs_of};
use super::catalog::{DataColumn, DataFile};
use super::files::{Files, LogFile};
use super::table::{MeasurementTable, Name};
use crate::rules::TIME;
use crate::{Error, Result};

/// The name of the temporary table that points pass through on their way to a file.
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

/// A path as a SQL string literal.
pub(super) fn path_literal(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::InvalidArgument(format!("the path {} is not UTF-8; take another folder", path.display()))
    })?;
    Ok(literal(text))
}

/// Copies a table of points into the engine, replacing a table of that name; returns the number of values in each column.
pub(super) fn ingest(engine: &Arc<dyn Engine>, table: &MeasurementTable<'_>) -> Result<Vec<usize>> {
    engine.create_table(&table.definition, CreateMode::Replace)?;
    let mut ingest = engine.ingest(&table.definition)?;
    let values = table.batches(|batch| Ok(ingest.write(batch)?))?;
    ingest.commit()?;
    Ok(values)
}

/// The engine that writes and reads files, opened at its first use. An engine that met a fatal error refuses all later work, so
/// it is dropped and the next use opens another.
#[derive(Default)]
pub(super) struct EngineSlot(Option<Arc<dyn Engine>>);

impl EngineSlot {
    pub fn run<T>(&mut self, work: impl FnOnce(&Arc<dyn Engine>) -> Result<T>) -> Result<T> {
        let engine = match self.0.take() {
            Some(engine) => engine,
            None => boundary_bench_duckdb::EmbeddedEngine::open("")?,
        };
        let done = kernel::error::catch_panic(|| Ok(work(&engine))).unwrap_or_else(|panic| Err(panic.into()));
        if done.is_ok() || engine.check().is_ok() {
            self.0 = Some(engine);
        }
        done
    }
}

/// How often one flush may halve a table that it can't write, to find the points that are at fault.
const MOST_DIVISIONS: usize = 64;

/// The column of the file that shows whether any file can be written.
const PROBE: &str = "probe";

/// Writes points to files; each file holds one table of one measurement.
pub(super) struct FileWriter<'a, 'b, F> {
    engine: &'a mut EngineSlot,
    files: &'a F,
    directory: &'a Path,
    /// The number of the next file; numbers are never reused.
    next_number: &'a mut u64,
    divisions: usize,
    has_probed: bool,
    written: Vec<DataFile>,
    unstorable: Vec<Unstorable<'b>>,
}

impl<'a, 'b, F: Files> FileWriter<'a, 'b, F> {
    pub fn new(engine: &'a mut EngineSlot, files: &'a F, directory: &'a Path, next_number: &'a mut u64) -> Self {
        let (written, unstorable) = (Vec::new(), Vec::new());
        let divisions = MOST_DIVISIONS;
        Self { engine, files, directory, next_number, divisions, has_probed: false, written, unstorable }
    }

    /// Writes the points of blocks, durably; returns the files, and the points that can't be stored.
    ///
    /// # Errors
    /// Errors of the disk, and of an engine that can't write any file; then no file is left.
    pub fn write(mut self, blocks: &'b [Arc<Block>]) -> Result<(Vec<DataFile>, Vec<Unstorable<'b>>)> {
        let written = self.write_all(blocks).and_then(|()| {
            let synced = self.files.sync_folder(self.directory);
            synced.map_err(|source| Error::io(self.directory, source))
        });
        match written {
            Ok(()) => Ok((self.written, self.unstorable)),
            Err(error) => {
                for file in &self.written {
                    self.remove(file.number);
                }
                Err(error)
            }
        }
    }

    fn write_all(&mut self, blocks: &'b [Arc<Block>]) -> Result<()> {
        for ((database, measurement), runs) in runs_of(blocks, |_, _| true) {
            let (tables, unstorable) = divide(runs);
            self.unstorable.extend(unstorable);
            for table in tables {
                self.write_table(database, measurement, table)?;
            }
        }
        Ok(())
    }

    /// Writes a table to a file. Where that fails because of its points, writes its halves, and so on.
    fn write_table(&mut self, database: &str, measurement: &str, points: TablePoints<'b>) -> Result<()> {
        // The points are cloned, since they are needed again if the file can't be written.
        let error = match self.write_file(database, measurement, points.clone()) {
            Ok(file) => {
                self.written.push(file);
                return Ok(());
            }
            Err(error) => error,
        };
        if is_of_disk(&error) {
            return Err(error);
        }
        self.probe()?;
        if points.rows() == 1 || self.divisions == 0 {
            self.unstorable.push(Unstorable { runs: points.runs, reason: error });
            return Ok(());
        }
        self.divisions -= 1;
        points.halves().into_iter().try_for_each(|half| self.write_table(database, measurement, half))
    }

    /// Checks that a file of one point can be written: if not, the failure before says nothing about its points.
    fn probe(&mut self) -> Result<()> {
        if !self.has_probed {
            let number = *self.next_number;
            *self.next_number += 1;
            let path = file_path(self.directory, number);
            let sql = format!("COPY (SELECT 1 AS {PROBE}) TO {} (FORMAT parquet)", path_literal(&path)?);
            let written = self.engine.run(|engine| Ok(engine.execute(&sql, &CancelToken::default())?));
            self.remove(number);
            written?;
            self.has_probed = true;
        }
        Ok(())
    }

    fn remove(&self, number: u64) {
        // A file that can't be removed now is removed when the store is opened, since no catalogue names it.
        let _ = self.files.remove(&file_path(self.directory, number));
    }

    fn write_file(&mut self, database: &str, measurement: &str, points: TablePoints<'b>) -> Result<DataFile> {
        // A number is never reused: after a failed sync it is unknown which bytes of the file are on the disk.
        let number = *self.next_number;
        *self.next_number += 1;
        let path = file_path(self.directory, number);
        let rows = points.rows();
        let written = self.engine.run(|engine| {
            let table = MeasurementTable::new(points, TABLE, |_| true);
            let values = ingest(engine, &table)?;
            let copied = engine.execute(&copy_to(&table, &path)?, &CancelToken::default());
            engine.drop_table(TABLE)?;
            copied?;
            Ok((table, values))
        });
        let synced = written.and_then(|written| {
            let sync = || self.files.open(&path)?.sync();
            sync().map_err(|source| Error::io(&path, source)).map(|()| written)
        });
        let (table, values) = match synced {
            Ok(written) => written,
            Err(error) => {
                self.remove(number);
                return Err(error);
            }
        };
        let columns = table.names.iter().zip(&table.definition.columns[1..]).zip(values);
        let columns = columns.map(|((Name { name, kind }, column), values)| DataColumn {
            name: name.clone(),
            kind: *kind,
            column: column.name.clone(),
            values,
        });
        Ok(DataFile {
            number,
            database: database.to_owned(),
            measurement: measurement.to_owned(),
            rows,
            columns: columns.collect(),
        })
    }
}

/// Whether an error is one of the disk or of memory, which says nothing about the points to be written.
fn is_of_disk(error: &Error) -> bool {
    match error {
        Error::DiskFull { .. } | Error::Core(kernel::Error::Io { .. } | kernel::Error::NotEnoughMemory(_)) => true,
        Error::Core(kernel::Error::Engine { message, .. }) => message.contains("IO Error"),
        _ => false,
    }
}

/// The SQL statement that writes a table to a file.
fn copy_to(table: &MeasurementTable<'_>, path: &Path) -> Result<String> {
    // Rows are sorted by time for the statistics of the row groups; unsorted, a file would hold the points in the order they
    // came.
    let columns = table.definition.columns.iter().map(|column| match column.sql_type {
        _ if column.name == TIME => format!("make_timestamp_ns({TIME}) AS {TIME}"),
        SqlType::Decimal { .. } => format!("CAST({0} AS UBIGINT) AS {0}", quoted(&column.name)),
        _ => quoted(&column.name),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let path = path_literal(path)?;
    Ok(format!("COPY (SELECT {columns} FROM {TABLE} ORDER BY {TIME}) TO {path} (FORMAT parquet)"))
}

/// Removes the files that the catalogue does not name, left by an interrupted flush; returns the number of the next file.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{LineOptions, parse_lines};
    use crate::store::files::Disk;
    use crate::store::registry::Registry;
    use crate::store::storing::block_of;

    #[test]
    fn points_that_can_t_be_written_do_not_keep_others_from_it() {
        let folder = std::env::temp_dir().join(format!("bb-flush-{}", std::process::id()));
        let data = folder.join("data");
        std::fs::create_dir_all(&data).unwrap();
        let registry = Registry::open(&folder.join("metadata"), 100).unwrap();
        registry.create_database("db").unwrap();
        let database = registry.database("db").unwrap();
        let block = |lines: String| {
            let points = parse_lines(lines.as_bytes(), &LineOptions::default()).unwrap();
            let resolved = registry.register(&database, points.series(), points.shapes()).unwrap();
            block_of(&database, resolved, points)
        };
        let line = |time: i64| format!("m,host=a v=1,n=2 {time}\n");
        let lines = |range: std::ops::Range<i64>| range.map(line).collect::<Vec<_>>().concat();
        let mut broken = block(lines(0..100));
        // The values of the last two points are missing, which fails when they are read.
        broken.values.truncate(195);
        broken.shape_of.truncate(99);
        broken.times.truncate(99);
        let late = Block { times: vec![1, i64::MAX, 3], ..block(lines(0..3)) };
        let blocks = [block(lines(200..300)), broken, late, block("other v=1 1".to_owned())].map(Arc::new);
        let (mut engine, mut next) = (EngineSlot::default(), 1);
        let writer = FileWriter::new(&mut engine, &Disk, &data, &mut next);
        let (files, unstorable) = writer.write(&blocks).unwrap();
        let stored =
            |name: &str| files.iter().filter(|file| file.measurement == name).map(|file| file.rows).sum::<usize>();
        assert_eq!((stored("m"), stored("other")), (100 + 98 + 2, 1));
        let reasons: Vec<_> = unstorable.iter().map(|unstorable| unstorable.reason.to_string()).collect();
        assert_eq!(
            unstorable.iter().map(|unstorable| unstorable.runs[0].len()).collect::<Vec<_>>(),
            [1, 1],
            "{reasons:?}"
        );
        assert!(reasons[0].contains("9223372036854775807 ns") && reasons[1].contains("out of range"), "{reasons:?}");
        // The files of failed attempts are removed, and no number was used twice.
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), files.len());
        assert!(files.windows(2).all(|pair| pair[0].number < pair[1].number) && files.len() > 2);
        // Where no file can be written, no points are set aside.
        let nowhere = folder.join("nowhere");
        let writer = FileWriter::new(&mut engine, &Disk, &nowhere, &mut next);
        assert!(writer.write(&blocks).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
