//! Scans: the rows of a table as a streamed response, so that a client can pull rows instead of having them aggregated.
//! `RonDB`'s endpoint of this name also takes filters, and requires a limit; this one has no filters.
//!
//! A scan holds a thread only while it makes parts of its response, never while it waits for the client to read.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_core::engine::{BatchStream, CancelToken, Engine, QueryOptions};
use boundary_bench_core::{Error, Result};
use bytes::Bytes;

use super::Rest;
use super::error::RestError;
use super::index::Keys;
use super::json::{Scan, text};
use super::validate;
use super::values::{Form, write};
use crate::front::answer::{Answer, JSON, parts};
use crate::lineitem;
use crate::tables::{Row, Tables, escaped};

/// The approximate bytes of one part of the response.
const PART_BYTES: usize = 64 << 10;

/// Parts queued for a slow client, at most; then the scan waits, without a thread.
const PARTS: usize = 4;

/// Rows of one batch of the engine.
const BATCH_ROWS: usize = 4096;

/// A function that appends the next row; it returns `false` at the end of the rows.
type NextRow = Box<dyn FnMut(&mut Vec<u8>) -> Result<bool> + Send>;

/// The parts of a response body.
struct Output {
    bytes: Vec<u8>,
    rows: NextRow,
    is_first: bool,
    is_ended: bool,
}

impl Output {
    /// The next part; `None` after the last one.
    fn next_part(&mut self) -> Result<Option<Bytes>> {
        while !self.is_ended && self.bytes.len() < PART_BYTES {
            let end = self.bytes.len();
            if !std::mem::take(&mut self.is_first) {
                self.bytes.extend_from_slice(b",\n");
            }
            if !(self.rows)(&mut self.bytes)? {
                self.bytes.truncate(end);
                self.bytes.extend_from_slice(b"\n]}");
                self.is_ended = true;
            }
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let next = if self.is_ended { Vec::new() } else { Vec::with_capacity(PART_BYTES + PART_BYTES / 8) };
        Ok(Some(std::mem::replace(&mut self.bytes, next).into()))
    }
}

/// The response to a scan.
pub(super) fn answer(
    rest: &Rest,
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
    // Ignoring the filters would send more rows than the client asked for.
    if scan.filters.is_some() {
        return Err(RestError::coded(41, "this server scans without filters: name a range of an index, or use RonSQL"));
    }
    let no_table = || RestError::no_table(database, table);
    let rows = if (database, table) == (lineitem::DATABASE, lineitem::TABLE) {
        let engine = Arc::clone(rest.sql.as_ref().ok_or_else(no_table)?);
        if scan.index.is_some() {
            return Err(RestError::coded(41, format!("Index does not exist. {table} has none on this server")));
        }
        let columns = engine.describe_table(table)?.columns;
        let wanted = if asked.is_empty() { columns.iter().map(|column| column.name.as_str()).collect() } else { asked };
        if let Some(name) = wanted.iter().find(|name| !columns.iter().any(|column| column.name == **name)) {
            return Err(RestError::no_column(name));
        }
        let sql = format!("SELECT {} FROM {table} LIMIT {}", wanted.join(", "), limit.min(i64::MAX.unsigned_abs()));
        of_engine(engine, sql, labels(&wanted))
    } else {
        let tables = &rest.tables;
        let index = tables.find(database, table).ok_or_else(no_table)?;
        let columns = &tables.table(index).columns;
        let keys = scan.index.as_ref().map_or_else(|| Ok(Keys::all()), |asked| Keys::of(tables.table(index), asked))?;
        let wanted = if asked.is_empty() { columns.iter().map(|column| column.name.as_str()).collect() } else { asked };
        let position = |name: &&str| tables.table(index).column(name).ok_or_else(|| RestError::no_column(name));
        let positions = wanted.iter().map(position).collect::<std::result::Result<Vec<_>, _>>()?;
        of_table(Arc::clone(tables), index, keys, (positions, labels(&wanted)), limit)
    };
    let place = rest.scans.admit()?;
    let mut bytes = br#"{"code":200,"operationId":"#.to_vec();
    escaped(id, &mut bytes);
    bytes.extend_from_slice(b",\"data\":[\n");
    let mut output = Output { bytes, rows, is_first: true, is_ended: false };
    Ok(parts(JSON, place.produce(PARTS, rest.stall_time, move || output.next_part().transpose())))
}

/// The JSON before each value: a brace or comma, the column's name, a colon.
fn labels(names: &[&str]) -> Vec<Vec<u8>> {
    let label = |(index, name): (usize, &&str)| {
        let mut label = vec![if index == 0 { b'{' } else { b',' }];
        escaped(name, &mut label);
        label.push(b':');
        label
    };
    names.iter().enumerate().map(label).collect()
}

fn of_engine(engine: Arc<dyn Engine>, sql: String, labels: Vec<Vec<u8>>) -> NextRow {
    let options = QueryOptions { batch_rows: BATCH_ROWS, cancel: CancelToken::default() };
    let mut stream: Option<Box<dyn BatchStream>> = None;
    let mut batch = None;
    let mut row = 0;
    Box::new(move |out| {
        let stream = match &mut stream {
            Some(stream) => stream,
            // The query begins on the first row's thread, which may block.
            None => stream.insert(engine.query(&sql, &options)?),
        };
        if batch.as_ref().is_none_or(|batch: &RecordBatch| row == batch.num_rows()) {
            (batch, row) = (stream.next_batch()?, 0);
        }
        let Some(batch) = &batch else { return Ok(false) };
        for (column, label) in labels.iter().enumerate() {
            out.extend_from_slice(label);
            write(batch, column, row, Form::Json, out);
        }
        out.push(b'}');
        row += 1;
        Ok(true)
    })
}

fn of_table(
    tables: Arc<Tables>,
    index: usize,
    keys: Keys,
    (positions, labels): (Vec<usize>, Vec<Vec<u8>>),
    limit: u64,
) -> NextRow {
    let mut key_values: Vec<Vec<u8>> = vec![Vec::new(); tables.table(index).key_columns];
    let Keys { mut ranges, is_descending } = keys;
    if is_descending {
        ranges.reverse();
    }
    let scanned = Arc::clone(&tables);
    let rows = ranges.into_iter().flat_map(move |range| {
        let rows = scanned.scan(index, range);
        let rows: Box<dyn Iterator<Item = _> + Send> =
            if is_descending { Box::new(rows.rev()) } else { Box::new(rows) };
        rows
    });
    let mut rows = rows.take(usize::try_from(limit).unwrap_or(usize::MAX));
    Box::new(move |out| {
        let Some(row) = rows.next() else { return Ok(false) };
        let (key, row) = row?;
        let table = tables.table(index);
        let broken = || Error::Internal(format!("a row of {}.{} is not readable", table.database, table.name));
        let mut rest = &key[..];
        for (column, value) in table.key().iter().zip(&mut key_values) {
            value.clear();
            rest = column.kind.read_key(rest, value).ok_or_else(broken)?;
        }
        let row = Row::new(&row, table.values().len()).ok_or_else(broken)?;
        for (position, label) in positions.iter().zip(&labels) {
            out.extend_from_slice(label);
            let value = match key_values.get(*position) {
                Some(value) => value,
                None => row.value(position - table.key_columns).ok_or_else(broken)?,
            };
            out.extend_from_slice(value);
        }
        out.push(b'}');
        Ok(true)
    })
}
