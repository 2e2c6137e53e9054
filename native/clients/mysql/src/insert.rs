//! Inserts of many rows into one table: as the file of `LOAD DATA LOCAL INFILE`, in packets of many rows if the server takes
//! them (`MariaDB`) and each column has values of one type, else by statements of many rows.

use std::ops::Range;

use boundary_bench_kernel::{Error, Result};

use crate::calendar::{self, Clock, Date};
use crate::cells::{Cell, CellLists, NO_SUCH_DATE, NO_SUCH_DOUBLE, NO_SUCH_TIMESTAMP, Parameters};
use crate::codec::{CommandResult, Failure, command, garbled, type_id};
use crate::connection::Started;
use crate::pool::Session;
use crate::sql;

/// The most bytes of a packet, even if the server takes more: the next packet is encoded while the server stores this one.
const PACKET_BYTES: usize = 1 << 20;

/// The bytes of a packet beside its rows, at most.
const PACKET_HEAD: usize = 1 << 10;

/// The most rows of one statement if each row takes placeholders of its own. More rows gain nothing.
const STATEMENT_ROWS: usize = 1000;

/// The most parameters of one statement: the protocol counts them with 16 bits.
const MOST_PARAMETERS: usize = 65_535;

/// The flag of `COM_STMT_BULK_EXECUTE` for types before the rows.
const SEND_TYPES: u16 = 128;

/// Statements around the statements of an insert. An insert is done as a whole or not at all.
struct Bracket {
    begin: &'static str,
    commit: &'static str,
    undo: &'static str,
    /// The statement behind `commit` or `undo`.
    last: Option<&'static str>,
}

/// A transaction of the insert's own.
const TRANSACTION: Bracket = Bracket { begin: "BEGIN", commit: "COMMIT", undo: "ROLLBACK", last: None };

/// A transaction that leaves locks of tables to the caller: `BEGIN` would end them.
const WITH_LOCKS: Bracket =
    Bracket { begin: "SET autocommit = 0", commit: "COMMIT", undo: "ROLLBACK", last: Some("SET autocommit = 1") };

/// A part of a transaction of the caller's. The transaction goes on after a rollback to the savepoint.
const SAVEPOINT: Bracket = Bracket {
    begin: "SAVEPOINT boundary_bench",
    commit: "RELEASE SAVEPOINT boundary_bench",
    undo: "ROLLBACK TO SAVEPOINT boundary_bench",
    last: None,
};

/// A source of rows to insert.
pub trait Rows: Sync {
    /// The number of rows.
    fn count(&self) -> usize;

    /// The number of values in each row.
    fn width(&self) -> usize;

    /// The bytes that a row takes, or an upper estimate.
    fn size(&self, row: usize) -> usize;

    /// Calls `visit` with each value of a row, in order.
    fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()>;
}

impl Rows for CellLists {
    fn count(&self) -> usize {
        self.len()
    }

    fn width(&self) -> usize {
        CellLists::width(self)
    }

    fn size(&self, row: usize) -> usize {
        // A length on the wire takes up to nine bytes.
        CellLists::size(self, row) + 5 * CellLists::width(self)
    }

    fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
        self.cells(row).try_for_each(visit)
    }
}

/// The table and the columns that rows are inserted into.
pub(crate) struct Target<'a> {
    /// The name of the table, quoted for SQL.
    pub(crate) table: &'a str,
    /// The names of the columns.
    pub(crate) columns: &'a [String],
    /// The largest packet that the server takes, in bytes.
    pub(crate) max_packet: usize,
}

impl Target<'_> {
    fn statement(&self, rows: usize) -> String {
        let names: Vec<_> = self.columns.iter().map(|name| sql::identifier(name)).collect();
        let row = format!("({})", vec!["?"; names.len()].join(","));
        format!("INSERT INTO {} ({}) VALUES {}", self.table, names.join(", "), vec![row; rows].join(","))
    }

    fn packet_bytes(&self) -> usize {
        self.max_packet.min(PACKET_BYTES).saturating_sub(PACKET_HEAD).max(PACKET_HEAD)
    }

    /// The end of the range of rows, from `start` on, that fit into one packet.
    fn packet_end(&self, rows: &dyn Rows, start: usize, most: usize) -> Result<usize> {
        let first = rows.size(start);
        if first + PACKET_HEAD > self.max_packet {
            return Err(Error::InvalidArgument(format!(
                "row {start} takes {first} bytes, more than the server's max_allowed_packet of {} leaves room for; raise \
                 that, or insert less at a time",
                self.max_packet
            )));
        }
        let (mut end, mut room) = (start + 1, self.packet_bytes().saturating_sub(first));
        while end < rows.count() && end - start < most && rows.size(end) <= room {
            room -= rows.size(end);
            end += 1;
        }
        Ok(end)
    }
}

/// Inserts rows over a session.
pub(crate) async fn insert_lists(
    session: &mut Session,
    table: &str,
    columns: &[String],
    rows: &CellLists,
    max_packet: usize,
) -> Result<u64> {
    if !rows.is_empty() && (columns.is_empty() || rows.width() != columns.len()) {
        return Err(Error::InvalidArgument(format!(
            "rows of {} values don't fit {} columns",
            rows.width(),
            columns.len()
        )));
    }
    let table: Vec<_> = table.splitn(2, '.').map(sql::identifier).collect();
    let target = Target { table: &table.join("."), columns, max_packet };
    Ok(insert(session, &target, rows).await?)
}

/// Inserts rows, all or none of them, and returns the number that the server took. In a transaction of the caller's,
/// they become part of it.
pub(crate) async fn insert(session: &mut Session, target: &Target<'_>, rows: &dyn Rows) -> CommandResult<u64> {
    if rows.count() == 0 {
        return Ok(0);
    }
    // All values are checked before anything is sent: a packet that can't be finished costs the connection, and with it
    // the caller's transaction.
    let types = column_types(rows)?.filter(|_| session.connection.has_bulk());
    let types = types.as_deref();
    let most =
        if types.is_some() { usize::MAX } else { STATEMENT_ROWS.min(MOST_PARAMETERS / rows.width().max(1)).max(1) };
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < rows.count() {
        let end = target.packet_end(rows, start, most)?;
        ranges.push(start..end);
        start = end;
    }
    match insert_ranges(session, target, rows, &ranges, types).await {
        // Nothing was inserted.
        Err(failure) if failure.is_forgotten() && session.connection.is_idle() => {
            session.close_statements(|_| true);
            insert_ranges(session, target, rows, &ranges, types).await
        }
        inserted => inserted,
    }
}

/// Inserts the rows of all ranges or none of them, each range by a packet.
async fn insert_ranges(
    session: &mut Session,
    target: &Target<'_>,
    rows: &dyn Rows,
    ranges: &[Range<usize>],
    types: Option<&[u8]>,
) -> CommandResult<u64> {
    if ranges.len() == 1 {
        return send_all(session, target, rows, ranges, types).await;
    }
    let bracket = if session.connection.settled().await? || !session.connection.autocommits().await? {
        &SAVEPOINT
    } else if session.held().has_locks() {
        &WITH_LOCKS
    } else {
        &TRANSACTION
    };
    session.connection.run(bracket.begin).await?;
    match send_all(session, target, rows, ranges, types).await {
        Ok(inserted) => {
            if let Err(failure) = session.connection.run(bracket.commit).await {
                run_last(session, bracket).await?;
                return Err(failure);
            }
            run_last(session, bracket).await.map(|()| inserted)
        }
        Err(Failure::Lost(error)) => Err(Failure::Lost(error)),
        Err(failure) => {
            if session.connection.run(bracket.undo).await.is_err() {
                // Closing the session rolls the transaction back.
                session.connection.condemn();
            } else {
                run_last(session, bracket).await?;
            }
            Err(failure)
        }
    }
}

/// Runs the last statement of a bracket. A session that refuses it is not as the caller has left it.
async fn run_last(session: &mut Session, bracket: &Bracket) -> CommandResult<()> {
    let Some(last) = bracket.last else { return Ok(()) };
    session.connection.run(last).await.map(drop).inspect_err(|_| session.connection.condemn())
}

/// Sends the packets of all ranges. With `types` of the columns, they are packets of many rows. Each packet is encoded while
/// the server stores the previous one.
async fn send_all(
    session: &mut Session,
    target: &Target<'_>,
    rows: &dyn Rows,
    ranges: &[Range<usize>],
    types: Option<&[u8]>,
) -> CommandResult<u64> {
    let (mut inserted, mut failure, mut in_flight) = (0, None, 0);
    // An error may end the transaction, and the server would store a packet behind it outside.
    let is_alone = session.connection.in_transaction() && session.connection.autocommits().await?;
    let mut alone = Vec::new();
    for range in ranges {
        // Preparing reads the next answer, so all earlier ones must have been read.
        let sql = target.statement(if types.is_some() { 1 } else { range.len() });
        if session.known(&sql).is_none() {
            while in_flight > 0 {
                answer(session, &mut inserted, &mut failure).await?;
                in_flight -= 1;
            }
        }
        let id = session.prepared(&sql).await?.id;
        let put = |packet: &mut Vec<u8>| match types {
            Some(types) => put_bulk(packet, id, types, rows, range.clone()),
            None => put_rows(packet, rows, range.clone()),
        };
        let mut put_done = Ok(());
        if is_alone {
            alone.clear();
            put_done = put(&mut alone);
            while in_flight > 0 {
                answer(session, &mut inserted, &mut failure).await?;
                in_flight -= 1;
            }
            if failure.is_some() {
                break;
            }
        }
        let mut write =
            |packet: &mut Vec<u8>| if is_alone { packet.append(&mut alone) } else { put_done = put(packet) };
        match types {
            Some(_) => session.connection.send(command::STMT_BULK_EXECUTE, &mut write),
            None => session.connection.send_execute(id, &mut write),
        }
        if let Err(error) = put_done {
            // The packet is incomplete and must not be sent.
            session.connection.condemn();
            return Err(Failure::Lost(error));
        }
        in_flight += 1;
        session.connection.push().await?;
        if in_flight > 1 {
            answer(session, &mut inserted, &mut failure).await?;
            in_flight -= 1;
        }
        if failure.is_some() {
            break;
        }
    }
    while in_flight > 0 {
        answer(session, &mut inserted, &mut failure).await?;
        in_flight -= 1;
    }
    failure.map_or(Ok(inserted), Err)
}

/// Reads the answer to one packet. The first refusal is kept.
async fn answer(session: &mut Session, inserted: &mut u64, failure: &mut Option<Failure>) -> CommandResult<()> {
    match session.connection.started(None).await {
        Ok(Started::Done(done)) if !done.has_more => *inserted += done.affected_rows,
        Ok(_) => {
            session.connection.condemn();
            return Err(garbled("answer to an insert").into());
        }
        Err(Failure::Lost(error)) => return Err(Failure::Lost(error)),
        Err(refused) => _ = failure.get_or_insert(refused),
    }
    Ok(())
}

/// The type of each column in the protocol, or `None` if a column has values of several types. A packet of many rows has one type per
/// column, and servers store values by their type: 2.5 as a double is not the `INT` that it is as a text. Integers of all sizes are alike.
fn column_types(rows: &dyn Rows) -> Result<Option<Vec<u8>>> {
    let is_integer = |id| matches!(id, type_id::TINY | type_id::LONG | type_id::LONGLONG);
    let (mut types, mut is_mixed) = (vec![type_id::NULL; rows.width()], false);
    for row in 0..rows.count() {
        let mut column = 0;
        rows.visit(row, &mut |cell| {
            cell.check().map_err(|problem| unusable_value(row, column + 1, problem))?;
            let found = cell.type_id();
            let known = &mut types[column];
            if *known != found && found != type_id::NULL {
                match *known {
                    type_id::NULL => *known = found,
                    id if is_integer(id) && is_integer(found) => *known = type_id::LONGLONG,
                    _ => is_mixed = true,
                }
            }
            column += 1;
            Ok(())
        })?;
    }
    Ok((!is_mixed).then_some(types))
}

/// Appends `COM_STMT_BULK_EXECUTE` without its first byte.
fn put_bulk(packet: &mut Vec<u8>, id: u32, types: &[u8], rows: &dyn Rows, range: Range<usize>) -> Result<()> {
    packet.extend_from_slice(&id.to_le_bytes());
    packet.extend_from_slice(&SEND_TYPES.to_le_bytes());
    for type_id in types {
        packet.extend_from_slice(&[*type_id, 0]);
    }
    for row in range {
        let mut column = 0;
        rows.visit(row, &mut |cell| {
            let wanted = types[column];
            column += 1;
            packet.push(u8::from(cell == Cell::Null));
            match (cell, wanted) {
                (Cell::Int(value), type_id::LONGLONG) => packet.extend_from_slice(&value.to_le_bytes()),
                (Cell::Bool(value), type_id::LONGLONG) => packet.extend_from_slice(&i64::from(value).to_le_bytes()),
                _ => cell.write(packet).map_err(|problem| unusable_value(row, column, problem))?,
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Appends all values of the rows as the parameters of one statement.
fn put_rows(packet: &mut Vec<u8>, rows: &dyn Rows, range: Range<usize>) -> Result<()> {
    let count = range.len() * rows.width();
    let mut parameters = Parameters::begin(packet, count);
    for row in range {
        let mut column = 0;
        rows.visit(row, &mut |cell| {
            column += 1;
            parameters.push(cell).map_err(|problem| unusable_value(row, column, problem))
        })?;
    }
    Ok(())
}

fn unusable_value(row: usize, column: usize, problem: &str) -> Error {
    Error::InvalidArgument(format!("row {row}, value {column}: {problem}"))
}

/// Appends a value as text without quotes.
pub(crate) fn put_plain(target: &mut Vec<u8>, cell: Cell<'_>) -> std::result::Result<(), &'static str> {
    use std::io::Write;
    // Writing into a `Vec` does not fail.
    let _ = match cell {
        Cell::Null => Ok(()),
        Cell::Bool(value) => write!(target, "{}", u8::from(value)),
        Cell::Int(value) => write!(target, "{value}"),
        Cell::Double(value) if value.is_finite() => write!(target, "{value:?}"),
        Cell::Double(_) => return Err(NO_SUCH_DOUBLE),
        Cell::Text(text) | Cell::Decimal(text) => target.write_all(text.as_bytes()),
        Cell::Bytes(bytes) => target.write_all(bytes),
        Cell::Date(days) => {
            let Date { year, month, day } = Date::of_days(days).ok_or(NO_SUCH_DATE)?;
            write!(target, "{year:04}-{month:02}-{day:02}")
        }
        Cell::Timestamp(microseconds) => {
            let (date, clock) = calendar::split(microseconds).ok_or(NO_SUCH_TIMESTAMP)?;
            let (Date { year, month, day }, Clock { hour, minute, second, microsecond }) = (date, clock);
            write!(target, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{microsecond:06}")
        }
    };
    Ok(())
}

/// Appends a row as a line for `LOAD DATA`: values separated by tabs, with special bytes escaped by a backslash.
pub(crate) fn put_line(
    target: &mut Vec<u8>,
    rows: &dyn Rows,
    row: usize,
) -> std::result::Result<(), (usize, &'static str)> {
    let (mut column, mut problem) = (0, None);
    let _ = rows.visit(row, &mut |cell| {
        if column > 0 {
            target.push(b'\t');
        }
        match cell {
            Cell::Null => target.extend_from_slice(b"\\N"),
            Cell::Text(text) => put_escaped(target, text.as_bytes()),
            Cell::Bytes(bytes) => put_escaped(target, bytes),
            other => {
                if let Err(found) = put_plain(target, other) {
                    problem.get_or_insert((column, found));
                }
            }
        }
        column += 1;
        Ok(())
    });
    target.push(b'\n');
    problem.map_or(Ok(()), Err)
}

fn put_escaped(target: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(position) = bytes.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r' | 0)) {
        target.extend_from_slice(&bytes[..position]);
        target.push(b'\\');
        target.push(if bytes[position] == 0 { b'0' } else { bytes[position] });
        bytes = &bytes[position + 1..];
    }
    target.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Column<'a>(&'a [Cell<'a>]);

    impl Rows for Column<'_> {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn width(&self) -> usize {
            1
        }

        fn size(&self, _row: usize) -> usize {
            16
        }

        fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
            visit(self.0[row])
        }
    }

    #[test]
    fn a_column_has_one_type_only_if_all_its_values_have_it() {
        use type_id::{DOUBLE, LONG, LONGLONG, NULL, TINY};
        let (short, long) = (Cell::Int(7), Cell::Int(1 << 40));
        for (cells, expected) in [
            (&[Cell::Null, Cell::Null][..], Some(NULL)),
            (&[Cell::Null, short, Cell::Null], Some(LONG)),
            (&[short, long, Cell::Bool(true)], Some(LONGLONG)),
            (&[Cell::Bool(true), Cell::Bool(false)], Some(TINY)),
            (&[Cell::Bool(true), short], Some(LONGLONG)),
            (&[Cell::Double(2.5), Cell::Null], Some(DOUBLE)),
            (&[Cell::Double(2.5), short], None),
            (&[short, Cell::Text("7")], None),
            (&[Cell::Text("x"), Cell::Bytes(b"x")], None),
            (&[Cell::Date(1), Cell::Timestamp(1)], None),
        ] {
            assert_eq!(column_types(&Column(cells)).unwrap(), expected.map(|id| vec![id]), "{cells:?}");
        }
        let error = column_types(&Column(&[short, Cell::Text("x"), Cell::Double(f64::NAN)])).unwrap_err();
        assert!(error.to_string().starts_with("row 2, value 1"), "{error}");
    }

    #[test]
    fn the_rows_of_a_packet_have_the_types_in_its_head() {
        let mut packet = Vec::new();
        let cells = [Cell::Int(-1), Cell::Bool(true), Cell::Null];
        put_bulk(&mut packet, 3, &[type_id::LONGLONG], &Column(&cells), 0..3).unwrap();
        let rows = [&[0][..], &[255; 8], &[0, 1, 0, 0, 0, 0, 0, 0, 0], &[1]].concat();
        assert_eq!(packet, [&[3, 0, 0, 0, 128, 0, type_id::LONGLONG, 0][..], &rows].concat());
    }
}
