//! Many rows into one table: as the file of `LOAD DATA LOCAL INFILE`, in packets of many rows where the server takes such
//! (`MariaDB`), else by statements of many rows.

use boundary_bench_core::{Error, Result};

use crate::calendar::{self, Date};
use crate::cells::{Cell, CellLists, put_parameters};
use crate::codec::{Failure, command, type_id};
use crate::connection::Started;
use crate::pool::Session;
use crate::sql;

type Answer<T> = std::result::Result<T, Failure>;

/// Bytes of one packet at most, also where the server takes more: the next one is made while the server stores it.
const PACKET_BYTES: usize = 1 << 20;

/// Bytes of a packet that are not its rows'.
const PACKET_HEAD: usize = 1 << 10;

/// Rows of one statement at most, where each takes placeholders of its own. More gain nothing.
const STATEMENT_ROWS: usize = 1000;

/// Parameters of one statement at most: the protocol counts them with 16 bits.
const MOST_PARAMETERS: usize = 65_535;

/// Rows to insert.
pub(crate) trait Rows {
    fn count(&self) -> usize;

    fn width(&self) -> usize;

    /// About the bytes that a row takes, or more.
    fn size(&self, row: usize) -> usize;

    /// Hands over the values of a row, one by one.
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
        // A length takes up to nine bytes.
        CellLists::size(self, row) + 5 * CellLists::width(self)
    }

    fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
        self.cells(row).try_for_each(visit)
    }
}

/// The table and the columns that rows go into.
pub(crate) struct Target<'a> {
    /// The table, as SQL writes it.
    pub(crate) table: &'a str,
    /// The names of the columns.
    pub(crate) columns: &'a [String],
    /// The greatest packet that the server takes.
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

    /// The first row from `start` on that no longer goes into the packet with `start`.
    fn packet_end(&self, rows: &dyn Rows, start: usize, most: usize) -> Result<usize> {
        let limit = self.packet_bytes();
        let (mut end, mut bytes) = (start, 0);
        while end < rows.count() && end - start < most {
            bytes += rows.size(end);
            if bytes > limit && end > start {
                break;
            }
            end += 1;
        }
        if end == start + 1 && bytes + PACKET_HEAD > self.max_packet {
            return Err(Error::InvalidArgument(format!(
                "row {start} takes {bytes} bytes, more than the server's max_allowed_packet of {}; raise that, or \
                 insert less at a time",
                self.max_packet
            )));
        }
        Ok(end)
    }
}

/// Inserts rows, all or none of them where the session is in no transaction, and returns how many the server took.
pub(crate) async fn insert(session: &mut Session, target: &Target<'_>, rows: &dyn Rows) -> Answer<u64> {
    if rows.count() == 0 {
        return Ok(0);
    }
    let is_bulk = session.connection.has_bulk();
    let most = if is_bulk { usize::MAX } else { STATEMENT_ROWS.min(MOST_PARAMETERS / rows.width().max(1)).max(1) };
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < rows.count() {
        let end = target.packet_end(rows, start, most)?;
        ranges.push(start..end);
        start = end;
    }
    let is_split = ranges.len() > 1;
    if is_split {
        session.connection.run("SAVEPOINT boundary_bench").await.map(drop).or_else(refused)?;
        session.connection.run("BEGIN").await?;
    }
    let inserted = send_all(session, target, rows, &ranges, is_bulk).await;
    if is_split {
        let end = if inserted.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = session.connection.run(end).await;
        if inserted.is_ok() {
            ended?;
        }
    }
    inserted
}

fn refused(failure: Failure) -> Answer<()> {
    match failure {
        Failure::Refused(_) => Ok(()),
        Failure::Lost(error) => Err(Failure::Lost(error)),
    }
}
