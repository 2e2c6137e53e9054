//! The readers of the answers to a cell's statements: their sums, and the check of each of them.

use std::collections::HashSet;

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::Cell;

use super::data::{Sums, show, version_of};
use super::plan::{ExpectedRows, Plan, Step, Turn};

/// A receiver of the rows that statements read.
pub(crate) trait Reader: Send + 'static {
    /// Begins a row.
    fn begin_row(&mut self);

    /// Takes the next value of the row.
    fn add(&mut self, cell: Cell<'_>);
}

/// A reader of all answers of a connection. It knows the request of each answer.
pub(super) trait StatementReader: Reader {
    /// The number of rows that have begun.
    fn rows(&self) -> u64;

    /// Ends the answer to a statement. It had no rows if `is_empty`.
    fn end(&mut self, plan: &Plan, run: (&Step, Turn), is_empty: bool, affected: u64) -> Result<()>;
}

impl Reader for Sums {
    fn begin_row(&mut self) {
        self.rows += 1;
    }

    fn add(&mut self, cell: Cell<'_>) {
        self.add_cell(cell);
    }
}

impl StatementReader for Sums {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn end(&mut self, _plan: &Plan, (step, _): (&Step, Turn), is_empty: bool, affected: u64) -> Result<()> {
        match step.answers {
            ExpectedRows::Affected => self.affected += i128::from(affected),
            ExpectedRows::Nothing if is_empty => self.rows += 1,
            ExpectedRows::Nothing => return Err(Error::WrongRows("rows came where none were expected".to_owned())),
            _ => {}
        }
        Ok(())
    }
}

/// The sums of the rows of a table.
#[derive(Default)]
pub(super) struct TableSums {
    pub(super) sums: Sums,
    /// The column whose first digits are added as a number.
    version: Option<usize>,
    column: usize,
}

impl TableSums {
    pub(super) fn new(version: Option<usize>) -> Self {
        Self { version, ..Self::default() }
    }
}

impl Reader for TableSums {
    fn begin_row(&mut self) {
        self.sums.begin_row();
        self.column = 0;
    }

    fn add(&mut self, cell: Cell<'_>) {
        self.sums.add_cell(cell);
        if let Cell::Text(text) = cell
            && self.version == Some(self.column)
        {
            self.sums.ints += version_of(text);
        }
        self.column += 1;
    }
}

/// The check that each answer has the rows of its statement, each of them once.
#[derive(Default)]
pub(super) struct RowsCheck {
    /// The rows of the answer that is being read, as text.
    found: Vec<String>,
    rows: u64,
}

impl RowsCheck {
    /// Compares the rows that were read with those that they must be, in any order, and forgets them.
    pub(super) fn compare(
        &mut self,
        expected: impl IntoIterator<Item = String>,
        what: impl Fn() -> String,
    ) -> Result<()> {
        let mut expected: HashSet<String> = expected.into_iter().collect();
        let found = std::mem::take(&mut self.found);
        if found.len() != expected.len() {
            let problem = format!("{}: {} rows came instead of {}", what(), found.len(), expected.len());
            return Err(Error::WrongRows(problem));
        }
        // A row that came twice is no longer expected.
        let wrong = found.into_iter().find(|row| !expected.remove(row));
        wrong.map_or(Ok(()), |row| Err(Error::WrongRows(format!("{}: the row {row} is none of its rows", what()))))
    }
}

impl Reader for RowsCheck {
    fn begin_row(&mut self) {
        self.rows += 1;
        self.found.push(String::new());
    }

    fn add(&mut self, cell: Cell<'_>) {
        if let Some(row) = self.found.last_mut() {
            show(cell, row);
        }
    }
}

impl StatementReader for RowsCheck {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn end(&mut self, plan: &Plan, (step, turn): (&Step, Turn), _is_empty: bool, _affected: u64) -> Result<()> {
        // Other transactions change the rows that a transaction reads. The rows that it leaves in the table are checked.
        if plan.writes {
            self.found.clear();
            return Ok(());
        }
        self.compare(plan.answer_rows(step, turn), || plan.literal(step, turn))
    }
}
