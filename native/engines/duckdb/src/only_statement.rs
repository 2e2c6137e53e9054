//! The only statement of a text, of which DuckDB may make several: of a `PIVOT` those that make a type of its columns, and the query.

use super::ffi::{Connection, c_string};
use super::run_command;
use super::sql;
use super::statement::{Prepared, Statements};
use boundary_bench_engine::not_a_query;
use boundary_bench_engine::sql_text::{analyzed, postgres_token};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The known facts about a statement, from its text.
#[derive(Clone)]
pub(super) struct Facts {
    /// Whether the statement may return the rows that it changes.
    pub(super) returns_changed_rows: bool,
    /// Whether the statement must be planned again for each run, in the transaction of the run. It must be if its plan depends on rows, or
    /// holds pointers into the catalog that are not valid any more when another transaction has dropped a table.
    pub(super) is_planned_anew: bool,
    /// Whether the statement may hide functions that describe a table in a view or a macro, and whether in a temporary one.
    pub(super) hides_catalog_entries: Option<bool>,
    /// The statement that an `EXPLAIN ANALYZE` runs.
    analyzed: Option<String>,
}

/// A statement, parsed but not planned.
pub(super) struct OnlyStatement {
    parsed: Statements,
    /// The index of the statement itself. The statements before it prepare for it.
    main: u64,
    pub(super) facts: Facts,
}

impl OnlyStatement {
    /// Parses a text. It must hold exactly one statement. `what` names it in the error.
    pub(super) fn parse(connection: &Connection, text: &str, what: &str) -> Result<Self> {
        let parsed = Statements::parse(connection, &c_string(text, what)?)?;
        let written = sql::statements(text);
        let count = if parsed.count() > 1 { written.len() as u64 } else { parsed.count() };
        let (1, Some(statement)) = (count, written.first()) else {
            return Err(Error::InvalidArgument(format!("{what} is exactly one statement, here are {count}")));
        };
        let facts = Facts {
            returns_changed_rows: sql::returns_changed_rows(statement),
            is_planned_anew: parsed.count() > 1 || sql::holds_catalog_entries(statement),
            hides_catalog_entries: sql::hides_catalog_entries(statement),
            analyzed: analyzed(statement, postgres_token).map(str::to_owned),
        };
        let mut main = parsed.count() - 1;
        // DuckDB puts some statements between `BEGIN` and `COMMIT`. A parsed statement is planned once only, so another is asked.
        if main > 0
            && Statements::parse(connection, &c_string(text, what)?)?
                .prepare(main)
                .is_ok_and(|last| last.is_transaction())
        {
            main -= 1;
        }
        Ok(Self { parsed, main, facts })
    }

    /// Plans the statement, after those that DuckDB puts before it have run. Must be called once only.
    pub(super) fn prepare(&self, cancel: &CancelToken) -> Result<Prepared> {
        for index in 0..self.main {
            let statement = self.parsed.prepare(index)?;
            // There is a transaction already.
            if !statement.is_transaction() {
                run_command(&statement, "", cancel)?;
            }
        }
        self.parsed.prepare(self.main)
    }
}

impl Facts {
    /// Checks that an `EXPLAIN ANALYZE` runs a statement that only reads.
    pub(super) fn check_only_reads(&self, connection: &Connection) -> Result<()> {
        let Some(analyzed) = &self.analyzed else { return Ok(()) };
        let statements = Statements::parse(connection, &c_string(analyzed, "a query")?)?;
        // The last of several is the query: the others make the type of a PIVOT.
        if statements.count() > 1 || statements.prepare(0)?.reads() { Ok(()) } else { Err(not_a_query()) }
    }
}
