//! The work of each stage on a body, and the sums of its results.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampNanosecondType};
use boundary_bench_codecs::arrow::columns_to_arrow;
use boundary_bench_codecs::line::{LineHead, parse_lines_into, put_columns};
use boundary_bench_codecs::msgpack::{ColumnBuffers, ColumnarBatch, ColumnsWriter, columns_to_points, decode_columns};
use boundary_bench_codecs::{MOST_POINTS, Points, Precision, ReadOptions};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_server::points::{Database, Entry, Registry, Wal, read_entry, replay};

use super::reader::Reader;
use super::{InputBatch, MILLISECOND, Stage, StageSpec, columns_writer, line_head};
use crate::ingest::room;

const LINES: ReadOptions = ReadOptions { precision: Precision::Milliseconds, now: 0, most_points: MOST_POINTS };

/// The database in which the stages register series.
const DATABASE: &str = "benchdb";

/// A stage and its buffers. The buffers are reused for each body.
pub(super) struct StageRun {
    stage: Stage,
    durable: bool,
    registry: Option<(Registry, Arc<Database>)>,
    wal: Option<Wal>,
    points: Points<'static>,
    columns: ColumnBuffers,
    arrow: Option<RecordBatch>,
    lines: LineHead,
    writer: ColumnsWriter,
    encoded: Vec<u8>,
    encoded_len: usize,
}

impl StageRun {
    pub(super) fn open(spec: &StageSpec) -> Result<Self> {
        use Stage::{ColumnarFastWal, ColumnarMetadata, ColumnarWal, LineProtocolMetadata, LineProtocolWal};
        let stage = spec.workload;
        let registers =
            matches!(stage, LineProtocolMetadata | LineProtocolWal | ColumnarMetadata | ColumnarWal | ColumnarFastWal);
        let registry = if registers {
            let registry = Registry::default();
            let database = registry.create_database(DATABASE)?;
            Some((registry, database))
        } else {
            None
        };
        Ok(Self {
            stage,
            durable: spec.durable,
            registry,
            wal: None,
            points: Points::default(),
            columns: ColumnBuffers::default(),
            arrow: None,
            lines: line_head()?,
            writer: columns_writer()?,
            encoded: Vec::new(),
            encoded_len: 0,
        })
    }

    fn logs(&self) -> bool {
        matches!(self.stage, Stage::LineProtocolWal | Stage::ColumnarWal | Stage::ColumnarFastWal)
    }

    /// Empties the log, for stages that log.
    pub(super) fn begin(&mut self, folder: &Path) -> Result<()> {
        if self.logs() {
            let log = folder.join("wal");
            self.wal = None;
            if let Err(source) = std::fs::remove_dir_all(&log)
                && source.kind() != std::io::ErrorKind::NotFound
            {
                return Err(Error::Io { path: log.display().to_string(), source: source.into() });
            }
            self.wal = Some(Wal::open(&log, self.durable)?);
        }
        Ok(())
    }

    /// Runs the stage on an input: on its columns for a stage that encodes, else on its body. Returns the number of points.
    pub(super) fn run_input(&mut self, input: &InputBatch) -> Result<usize> {
        let times = Some(&input.times[..]);
        match self.stage {
            Stage::ColumnarEncode => {
                let needed = self.writer.most_bytes(input.values.len(), true);
                self.encoded_len = self.writer.encode(&input.values, times, room(&mut self.encoded, needed))?;
            }
            Stage::LineProtocolEncode => {
                let needed = self.lines.most_bytes(input.values.len());
                self.encoded_len = put_columns(room(&mut self.encoded, needed), &self.lines, &input.values, times)?;
            }
            _ => return self.run(&input.body),
        }
        Ok(input.values.len())
    }

    pub(super) fn run(&mut self, body: &[u8]) -> Result<usize> {
        let memory = std::mem::take(&mut self.points);
        match self.stage {
            Stage::LineProtocolParse | Stage::LineProtocolMetadata | Stage::LineProtocolWal => {
                self.take_points(parse_lines_into(body, &LINES, memory)?)
            }
            Stage::LineProtocolEncode | Stage::ColumnarEncode => {
                Err(Error::InvalidArgument("a stage that encodes takes columns, not a body".to_owned()))
            }
            _ => {
                let buffers = std::mem::take(&mut self.columns);
                let batch = decode_columns(body, buffers, MOST_POINTS)?;
                self.take_columns(batch, memory)
            }
        }
    }

    fn take_columns<'a>(&mut self, batch: ColumnarBatch<'a>, memory: Points<'a>) -> Result<usize> {
        let len = batch.head.len;
        match self.stage {
            Stage::ColumnarToArrow => {
                self.arrow = Some(columns_to_arrow(batch, Precision::Milliseconds, 0)?);
                return Ok(len);
            }
            Stage::ColumnarToPoints | Stage::ColumnarMetadata | Stage::ColumnarWal => {
                let points = columns_to_points(&batch, Precision::Milliseconds, 0, memory)?;
                self.take_points(points)?;
            }
            Stage::ColumnarFastWal => self.log_columns(&batch)?,
            _ => {}
        }
        self.columns = batch.recycle();
        Ok(len)
    }

    /// Registers and logs columns as they are, without converting them to points.
    fn log_columns(&mut self, batch: &ColumnarBatch<'_>) -> Result<()> {
        let series = [batch.head.series()?];
        let shapes = [batch.head.shape()];
        if let (Some((registry, database)), Some(wal)) = (&self.registry, &self.wal) {
            registry.register(database, &series, &shapes)?;
            let entry = Entry::of_columns(DATABASE, batch, (&series, &shapes), Precision::Milliseconds, 0);
            wal.append(|out| entry.write(out))?;
        }
        Ok(())
    }

    /// Registers points and logs them, if the stage does so.
    fn take_points(&mut self, points: Points<'_>) -> Result<usize> {
        if let Some((registry, database)) = &self.registry {
            registry.register(database, &points.series, &points.shapes)?;
        }
        if let Some(wal) = &self.wal {
            wal.append(|out| Entry::of_points(DATABASE, &points).write(out))?;
        }
        let len = points.len();
        self.points = points.without_names();
        Ok(len)
    }

    pub(super) fn consume(&mut self, reader: &mut impl Reader) -> Result<()> {
        match self.stage {
            // The log is read back in `finish`.
            _ if self.logs() => Ok(()),
            Stage::LineProtocolEncode => {
                reader.add_points(&parse_lines_into(&self.encoded[..self.encoded_len], &LINES, Points::default())?)
            }
            Stage::ColumnarEncode => {
                let batch =
                    decode_columns(&self.encoded[..self.encoded_len], std::mem::take(&mut self.columns), MOST_POINTS)?;
                reader.add_names(&batch.head.series()?, batch.head.field)?;
                self.columns = batch.recycle();
                self.add_columns(reader)
            }
            Stage::ColumnarDecode => self.add_columns(reader),
            Stage::ColumnarToArrow => {
                let batch = self.arrow.take().ok_or_else(|| Error::Internal("there is no Arrow batch".to_owned()))?;
                let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
                let values = batch.column(batch.num_columns() - 1).as_primitive::<Float64Type>();
                reader.add(values.values(), times.values(), 1)
            }
            _ => reader.add_points(&self.points),
        }
    }

    fn add_columns(&self, reader: &mut impl Reader) -> Result<()> {
        reader.add(self.columns.last_values(), self.columns.last_timestamps(), MILLISECOND)
    }

    pub(super) fn finish(&mut self, folder: &Path, reader: &mut impl Reader) -> Result<()> {
        if self.logs() {
            self.wal = None;
            let mut read = Ok(());
            replay(&folder.join("wal"), 0, |entry| {
                if let (Some((DATABASE, points)), true) = (read_entry(entry), read.is_ok()) {
                    read = reader.add_points(&points);
                }
                Ok(())
            })?;
            read?;
        }
        Ok(())
    }
}
