//! The rows of the family's tables and the keys of its requests: pure functions of a number, the same on every side.

use std::fmt::Write;

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::Result;
use boundary_bench_mysql::{Cell, Rows};

/// A row of one of the family's tables.
pub(super) trait TableRow<const COLUMNS: usize>: Sync {
    fn cells(&self) -> [Cell<'_>; COLUMNS];

    /// The size of the row in an insert, as [`Rows::size`] has it.
    fn size(&self) -> usize;
}

/// The rows of one insert.
pub(super) struct TableRows<'a, Row, const COLUMNS: usize>(pub(super) &'a [Row]);

impl<Row: TableRow<COLUMNS>, const COLUMNS: usize> Rows for TableRows<'_, Row, COLUMNS> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn width(&self) -> usize {
        COLUMNS
    }

    fn size(&self, row: usize) -> usize {
        self.0[row].size()
    }

    fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
        self.0[row].cells().into_iter().try_for_each(visit)
    }
}

/// A row of `bench_users`.
pub(crate) struct User {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) age: u64,
    pub(super) active: bool,
    pub(super) score: f64,
    pub(super) email: String,
}

impl User {
    pub(super) fn of(id: u64) -> Self {
        Self {
            id,
            name: format!("user_{id:06}"),
            age: 18 + id % 62,
            active: id.is_multiple_of(2),
            score: (1000 + id % 1000) as f64 / 10.0,
            email: format!("u{id}@b.local"),
        }
    }
}

impl TableRow<6> for User {
    fn cells(&self) -> [Cell<'_>; 6] {
        [
            int(self.id),
            Cell::Text(&self.name),
            int(self.age),
            Cell::Bool(self.active),
            Cell::Double(self.score),
            Cell::Text(&self.email),
        ]
    }

    fn size(&self) -> usize {
        64 + self.name.len() + self.email.len()
    }
}

/// A row of sysbench's table. The first group of digits of `c` is `97 * id` plus the row's version: 1 after an update, else 0.
pub(super) struct Sbtest {
    pub(super) id: u64,
    pub(super) k: u64,
    pub(super) c: String,
    pub(super) pad: String,
}

impl Sbtest {
    pub(super) fn of(id: u64, rows: u64) -> Self {
        Self { id, k: k_of(id, rows), c: c_of(id, 0), pad: groups(5, |group| id * 6007 + group * 15_485_863) }
    }
}

impl TableRow<4> for Sbtest {
    fn cells(&self) -> [Cell<'_>; 4] {
        [int(self.id), int(self.k), Cell::Text(&self.c), Cell::Text(&self.pad)]
    }

    fn size(&self) -> usize {
        256
    }
}

pub(super) fn k_of(id: u64, rows: u64) -> u64 {
    1 + id * 31 % rows
}

pub(super) fn c_of(id: u64, version: u64) -> String {
    groups(10, |group| if group == 0 { id * 97 + version } else { id * 7919 + group * 104_729 })
}

/// The number that the first digits of a column `c` are.
pub(super) fn version_of(text: &str) -> i128 {
    // Any other text yields a sum that never matches the expected one.
    text.get(..11).and_then(|digits| digits.parse().ok()).unwrap_or(i128::from(i64::MIN))
}

/// Groups of eleven digits with dashes between them, the format of sysbench's texts.
fn groups(count: u64, number: impl Fn(u64) -> u64) -> String {
    let groups: Vec<String> = (0..count).map(|group| format!("{:011}", number(group) % 100_000_000_000)).collect();
    groups.join("-")
}

pub(super) fn int(value: u64) -> Cell<'static> {
    Cell::Int(value.cast_signed())
}

/// The values of a row as text.
pub(super) fn shown<'a>(cells: impl IntoIterator<Item = Cell<'a>>) -> String {
    let mut row = String::new();
    cells.into_iter().for_each(|cell| show(cell, &mut row));
    row
}

/// Appends a value as text, in which clients agree: truth values as numbers, decimals without their type.
pub(super) fn show(cell: Cell<'_>, row: &mut String) {
    if !row.is_empty() {
        row.push_str(", ");
    }
    // Writing to a string does not fail.
    let _ = match cell {
        Cell::Int(value) => write!(row, "{value}"),
        Cell::Bool(value) => write!(row, "{}", i32::from(value)),
        Cell::Double(value) => write!(row, "{value}"),
        Cell::Text(text) | Cell::Decimal(text) => write!(row, "{text}"),
        other => write!(row, "{other:?}"),
    };
}

/// The sums of the rows that were read, or that a table holds: the number of rows, the sums of their numbers, and the bytes of
/// their texts. For writers also the number of affected rows that the server reported.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sums {
    pub(super) rows: u64,
    pub(super) ints: i128,
    pub(super) doubles: f64,
    pub(super) texts: i128,
    pub(super) affected: i128,
}

impl Sums {
    /// Adds a value to the sum of its type.
    pub(super) fn add_cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Int(value) => self.ints += i128::from(value),
            Cell::Bool(value) => self.ints += i128::from(value),
            Cell::Double(value) => self.doubles += value,
            Cell::Text(text) => self.texts += text.len() as i128,
            // Servers return sums of integers as decimals. Any other text yields a sum that never matches the expected one.
            Cell::Decimal(text) => self.ints += text.parse::<i128>().unwrap_or(i128::from(i64::MIN)),
            Cell::Null | Cell::Bytes(_) | Cell::Date(_) | Cell::Timestamp(_) => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.ints += other.ints;
        self.doubles += other.doubles;
        self.texts += other.texts;
        self.affected += other.affected;
    }

    /// Adds rows whose values are all cells.
    pub(super) fn add_rows<'a, const N: usize>(&mut self, rows: impl Iterator<Item = [Cell<'a>; N]>) {
        for row in rows {
            self.rows += 1;
            for cell in row {
                self.add_cell(cell);
            }
        }
    }
}

impl From<Sums> for Checksum {
    fn from(sums: Sums) -> Self {
        Self::from_sums(
            sums.rows,
            [
                ("ints", ChecksumSum::Int(sums.ints)),
                ("doubles", ChecksumSum::Float(sums.doubles)),
                ("texts", ChecksumSum::Int(sums.texts)),
                ("affected", ChecksumSum::Int(sums.affected)),
            ],
        )
    }
}
