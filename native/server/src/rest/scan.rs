//! Scans: rows of a table as an answer that is made while it is sent. So a client can pull rows in place of having them
//! aggregated. `RonDB`'s endpoint of this name takes filters beside, and needs a limit; this one has no filters.

use std::sync::Arc;

use boundary_bench_core::engine::{CancelToken, Engine, QueryOptions};
use boundary_bench_core::{Error, Result};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::error::RestError;
use super::index::Keys;
use super::json::{Scan, text};
use super::validate;
use super::values::{Form, write};
use crate::front::answer::{Answer, Cut, JSON, parts};
use crate::lineitem;
use crate::tables::{Row, Tables, escaped};

/// Bytes of a part of the answer, about.
const PART_BYTES: usize = 64 << 10;

/// Parts that wait for a slow client; then the scan waits.
const PARTS: usize = 4;

/// Rows of a batch of the engine.
const BATCH_ROWS: usize = 4096;

/// Writes the rows.
type Work = Box<dyn FnOnce(&mut Output) -> Result<()> + Send>;

/// Where the answer goes, part by part.
struct Output {
    bytes: Vec<u8>,
    parts: mpsc::Sender<std::result::Result<Bytes, Cut>>,
    is_first: bool,
}

impl Output {
    /// Begins the next row.
    fn row(&mut self) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.bytes.extend_from_slice(b",\n");
        }
        &mut self.bytes
    }

    /// Sends what there is, once it is enough.
    fn send(&mut self, least: usize) -> Result<()> {
        if self.bytes.len() < least {
            return Ok(());
        }
        let next = Vec::with_capacity(PART_BYTES + PART_BYTES / 8);
        let part = std::mem::replace(&mut self.bytes, next);
        // The client is gone.
        self.parts.blocking_send(Ok(part.into())).map_err(|_| Error::Cancelled)
    }
}

/// The answer to a scan.
pub(super) fn answer(
    tables: &Arc<Tables>,
    engine: Option<&Arc<dyn Engine>>,
    (database, table): (&str, &str),
    body: &[u8],
) -> std::result::Result<Answer, RestError> {
    let scan: Scan<'_> = serde_json::from_slice(body).map_err(|error| RestError::parse(&error))?;
    validate::path(database, table)?;
    let id = text(scan.operation_id.as_ref());
    validate::operation_id(id)?;
    let asked = scan.read_columns.as_deref().unwrap_or_default();
    validate::read_columns(asked)?;
    validate::unique(asked.iter().map(|column| text(column.column.as_ref())))?;
    let asked: Vec<&str> = asked.iter().map(|column| text(column.column.as_ref())).collect();
    let limit = scan.limit.unwrap_or(u64::MAX);
    // Without them there would be more rows than were asked for.
    if scan.filters.is_some() {
        return Err(RestError::coded(41, "this server scans without filters: name a range of an index, or use RonSQL"));
    }
    let no_table = || RestError::no_table(database, table);
    let work: Work = if (database, table) == (lineitem::DATABASE, lineitem::TABLE) {
        let engine = Arc::clone(engine.ok_or_else(no_table)?);
        if scan.index.is_some() {
            return Err(RestError::coded(41, format!("Index does not exist. {table} has none on this server")));
        }
        let columns = engine.describe_table(table)?.columns;
        let wanted = if asked.is_empty() { columns.iter().map(|column| column.name.as_str()).collect() } else { asked };
        if let Some(name) = wanted.iter().find(|name| !columns.iter().any(|column| column.name == **name)) {
            return Err(RestError::no_column(name));
        }
        let sql = format!("SELECT {} FROM {table} LIMIT {}", wanted.join(", "), limit.min(i64::MAX.unsigned_abs()));
        let labels = labels(&wanted);
        Box::new(move |output| of_engine(&engine, &sql, &labels, output))
    } else {
        let index = tables.find(database, table).ok_or_else(no_table)?;
        let columns = &tables.table(index).columns;
        let keys = scan.index.as_ref().map_or_else(|| Ok(Keys::all()), |asked| Keys::of(tables.table(index), asked))?;
        let wanted = if asked.is_empty() { columns.iter().map(|column| column.name.as_str()).collect() } else { asked };
        let position = |name: &&str| tables.table(index).column(name).ok_or_else(|| RestError::no_column(name));
        let positions = wanted.iter().map(position).collect::<std::result::Result<Vec<_>, _>>()?;
        let (tables, labels) = (Arc::clone(tables), labels(&wanted));
        Box::new(move |output| of_table(&tables, index, keys, (&positions, &labels), limit, output))
    };
    let (sender, receiver) = mpsc::channel(PARTS);
    let mut bytes = br#"{"code":200,"operationId":"#.to_vec();
    escaped(id, &mut bytes);
    bytes.extend_from_slice(b",\"data\":[\n");
    let mut output = Output { bytes, parts: sender, is_first: true };
    tokio::task::spawn_blocking(move || {
        let done = boundary_bench_core::error::catch_panic(|| {
            work(&mut output)?;
            output.bytes.extend_from_slice(b"\n]}");
            output.send(0)
        });
        if let Err(error) = done {
            let _ = output.parts.blocking_send(Err(Cut(error.to_string())));
        }
    });
    Ok(parts(JSON, receiver))
}

/// What stands before each value.
fn labels(names: &[&str]) -> Vec<Vec<u8>> {
    let label = |(index, name): (usize, &&str)| {
        let mut label = vec![if index == 0 { b'{' } else { b',' }];
        escaped(name, &mut label);
        label.push(b':');
        label
    };
    names.iter().enumerate().map(label).collect()
}

fn of_engine(engine: &Arc<dyn Engine>, sql: &str, labels: &[Vec<u8>], output: &mut Output) -> Result<()> {
    let options = QueryOptions { batch_rows: BATCH_ROWS, cancel: CancelToken::default() };
    let mut stream = engine.query(sql, &options)?;
    while let Some(batch) = stream.next_batch()? {
        for row in 0..batch.num_rows() {
            let out = output.row();
            for (column, label) in labels.iter().enumerate() {
                out.extend_from_slice(label);
                write(&batch, column, row, Form::Json, out);
            }
            out.push(b'}');
            output.send(PART_BYTES)?;
        }
    }
    Ok(())
}

fn of_table(
    tables: &Tables,
    index: usize,
    keys: Keys,
    (positions, labels): (&[usize], &[Vec<u8>]),
    limit: u64,
    output: &mut Output,
) -> Result<()> {
    let table = tables.table(index);
    let broken = || Error::Internal(format!("a row of {}.{} is not readable", table.database, table.name));
    let mut key_values: Vec<Vec<u8>> = vec![Vec::new(); table.key_columns];
    let Keys { mut ranges, is_descending } = keys;
    if is_descending {
        ranges.reverse();
    }
    let rows = ranges.into_iter().flat_map(|range| {
        let rows = tables.scan(index, range);
        let rows: Box<dyn Iterator<Item = _>> = if is_descending { Box::new(rows.rev()) } else { Box::new(rows) };
        rows
    });
    for row in rows.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        let (key, row) = row?;
        let mut rest = &key[..];
        for (column, value) in table.key().iter().zip(&mut key_values) {
            value.clear();
            rest = column.kind.read_key(rest, value).ok_or_else(broken)?;
        }
        let row = Row::new(&row, table.values().len()).ok_or_else(broken)?;
        let out = output.row();
        for (position, label) in positions.iter().zip(labels) {
            out.extend_from_slice(label);
            let value = match key_values.get(*position) {
                Some(value) => value,
                None => row.value(position - table.key_columns).ok_or_else(broken)?,
            };
            out.extend_from_slice(value);
        }
        out.push(b'}');
        output.send(PART_BYTES)?;
    }
    Ok(())
}
