//! The plan of a cell: the statements of its workload in `bench/matrix.json`, their parameters, and the sums that they must
//! yield.

use std::collections::{BTreeMap, HashSet};

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::Cell;
use serde::Deserialize;

use super::data::{Sbtest, Sums, User, c_of, int, k_of};
use crate::matrix::FamilyPart;
use crate::requests::RequestSpec;

/// The family `sql` of the matrix.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Family {
    /// The database of the tables, where the server's URL names none.
    pub(super) database: String,
    /// The factor that spreads consecutive numbers over a table. It is a prime, so that every row gets its turn.
    stride: u64,
    /// The number of rows in a range query of sysbench.
    range_rows: u64,
    tables: BTreeMap<TableName, TableEntry>,
    workloads: BTreeMap<String, WorkloadEntry>,
}

/// The tables of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TableName {
    Users,
    Sbtest,
}

/// A table of the matrix.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TableEntry {
    pub(super) rows: u64,
    pub(super) columns: Vec<String>,
    pub(super) definition: String,
}

/// A workload of the matrix.
#[derive(Debug, Clone, Deserialize)]
struct WorkloadEntry {
    direction: Direction,
    table: Option<TableName>,
    transaction: Option<Transaction>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    /// The workload changes its table, which is read back after each sample.
    In,
    /// The workload only reads.
    Out,
}

/// The work of one transaction, for workloads that use transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transaction {
    /// One transaction for all operations of a thread in a sample.
    Sample,
    /// One transaction for each operation.
    Operation,
}

/// A statement of an operation.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Step {
    #[serde(default)]
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) sql: String,
    #[serde(default)]
    pub(super) parameters: Parameters,
    /// The number of runs in one operation, each with other parameters.
    #[serde(default = "once")]
    pub(super) times: u64,
}

fn once() -> u64 {
    1
}

/// How a statement is sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Prepared,
    /// As constant text, without parameters.
    Text,
    /// As text that contains its parameters.
    Literal,
    /// A ping of the protocol, in place of a statement.
    Ping,
    /// One insert of all rows of a request.
    Rows,
}

/// The parameters of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Parameters {
    #[default]
    None,
    /// The columns of the operation's user.
    User,
    /// A key of the table.
    Key,
    /// The first key of a range of a tenth of the table, and the key after its last one.
    Tenth,
    /// The key before a range that no other operation has, and the range's last key.
    Slice,
    /// The first and the last key of a range of sysbench.
    Hundred,
    /// A key of the half of the table whose rows are updated, from this thread's own share.
    CountedKey,
    /// The new text of a row in the updated half of the table, and the row's key.
    NewText,
    /// A key of the other half, whose rows are deleted and inserted again, from this thread's own share.
    RenewedKey,
    /// The columns of the row with the [`Parameters::RenewedKey`].
    RenewedRow,
}

/// The plan of a cell.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) transaction: Option<Transaction>,
    pub(super) table: Option<(TableName, TableEntry)>,
    pub(super) writes: bool,
    /// Whether the table is empty before each sample.
    pub(super) starts_empty: bool,
    family: &'static Family,
    rows: u64,
    operations: u64,
    threads: u64,
}

/// One run of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The number of the operation.
    pub(super) operation: u64,
    /// The number of this run among the step's runs in all operations.
    pub(super) number: u64,
    /// The number of the thread.
    pub(super) thread: u64,
}

/// The family `sql` of the matrix.
pub(super) fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("sql", |part| Family::deserialize(part));
    FAMILY.get()
}

impl Plan {
    /// The plan of a cell whose table has this name, as SQL writes it.
    pub(super) fn new(spec: &RequestSpec, table: &str) -> Result<Self> {
        let family = family()?;
        let entry = family
            .workloads
            .get(&spec.workload)
            .ok_or_else(|| Error::InvalidArgument(format!("the family sql has no workload {}", spec.workload)))?;
        let steps: Vec<Step> =
            entry.steps.iter().map(|step| Step { sql: step.sql.replace("{table}", table), ..step.clone() }).collect();
        let uses = |parameters| steps.iter().any(|step| step.parameters == parameters);
        let starts_empty = uses(Parameters::User);
        let mut table = entry.table.and_then(|name| Some((name, family.tables.get(&name)?.clone())));
        if let Some((_, entry)) = &mut table {
            if let Some(rows) = spec.option("rows")? {
                entry.rows = rows;
            }
            // Every operation needs a slice of its own, and every thread rows of its own in both halves.
            let least = if uses(Parameters::Slice) { spec.operations } else { 0 };
            entry.rows = entry.rows.max(least).max(2 * u64::from(spec.threads)).max(10 * family.range_rows);
        }
        Ok(Self {
            family,
            transaction: entry.transaction,
            rows: table.as_ref().map_or(0, |(_, table)| table.rows),
            table,
            writes: entry.direction == Direction::In,
            starts_empty,
            steps,
            operations: spec.operations,
            threads: spec.threads.into(),
        })
    }

    /// Calls `run` with the parameters of one run of a step; `users` holds the users to insert, by operation.
    pub(super) fn with_parameters<T>(
        &self,
        parameters: Parameters,
        turn: Turn,
        users: &[User],
        run: impl FnOnce(&[Cell<'_>]) -> T,
    ) -> T {
        let rows = self.rows;
        match parameters {
            Parameters::None => run(&[]),
            Parameters::User => {
                let index = usize::try_from(turn.operation).unwrap_or(usize::MAX);
                match users.get(index) {
                    Some(user) => run(&user.cells()),
                    None => run(&[]),
                }
            }
            Parameters::Key => run(&[int(self.key(turn.number, rows))]),
            Parameters::Tenth => {
                let first = self.key(turn.number, rows - rows / 10);
                run(&[int(first), int(first + rows / 10)])
            }
            Parameters::Slice => {
                let share = rows / self.operations;
                run(&[int(turn.operation * share), int((turn.operation + 1) * share)])
            }
            Parameters::Hundred => {
                let (first, last) = self.range(turn.number);
                run(&[int(first), int(last)])
            }
            Parameters::CountedKey => run(&[int(self.own_key(turn, 0))]),
            Parameters::NewText => {
                let id = self.own_key(turn, 1);
                run(&[Cell::Text(&c_of(id, 1)), int(id)])
            }
            Parameters::RenewedKey => run(&[int(self.renewed(turn))]),
            Parameters::RenewedRow => run(&Sbtest::of(self.renewed(turn), rows).cells()),
        }
    }

    /// The text of a statement with its parameters, which are integers, in place of the question marks.
    pub(super) fn literal(&self, step: &Step, turn: Turn) -> String {
        self.with_parameters(step.parameters, turn, &[], |cells| {
            let mut parts = step.sql.split('?');
            let mut sql = parts.next().unwrap_or_default().to_owned();
            for (cell, part) in cells.iter().zip(parts) {
                if let Cell::Int(value) = cell {
                    sql += &value.to_string();
                }
                sql += part;
            }
            sql
        })
    }

    /// The key number `number` (from 0) in the sequence that spreads over a table of `rows` rows.
    fn key(&self, number: u64, rows: u64) -> u64 {
        1 + number.wrapping_mul(self.family.stride) % rows
    }

    /// The first and the last key of a range of sysbench.
    fn range(&self, number: u64) -> (u64, u64) {
        let count = self.family.range_rows;
        let first = self.key(number, self.rows - count + 1);
        (first, first + count - 1)
    }

    /// The number of rows in each half of the table that belong to one thread.
    fn share(&self) -> u64 {
        self.rows / (2 * self.threads)
    }

    fn own_key(&self, turn: Turn, offset: u64) -> u64 {
        (self.key(turn.operation + offset, self.share()) - 1) * self.threads + turn.thread + 1
    }

    fn renewed(&self, turn: Turn) -> u64 {
        self.share() * self.threads + self.own_key(turn, 0)
    }

    /// The sums that a sample must have: of the rows that it reads or, for writers, of the table's contents afterwards.
    pub(super) fn expected(&self, spec: &RequestSpec) -> Sums {
        let mut sums = Sums::default();
        for step in &self.steps {
            for operation in 0..self.operations {
                for time in 0..step.times {
                    let thread = operation / u64::from(spec.batch) % self.threads;
                    let turn = Turn { operation, number: operation * step.times + time, thread };
                    self.expect(step, turn, &mut sums);
                }
            }
        }
        if self.writes { self.expect_contents(spec, sums.affected) } else { sums }
    }

    /// Adds the rows that one run of a step reads, or the affected rows that the server must report.
    fn expect(&self, step: &Step, turn: Turn, sums: &mut Sums) {
        let rows = self.rows;
        let is_update = step.sql.starts_with("UPDATE") || step.sql.starts_with("DELETE");
        match step.parameters {
            Parameters::None if step.sql == "SELECT 1" => {
                sums.rows += 1;
                sums.ints += 1;
            }
            Parameters::None if step.sql.starts_with("SELECT COUNT(*)") => {
                sums.rows += 1;
                sums.ints += i128::from(rows);
            }
            Parameters::None if is_update => sums.affected += i128::from(rows / 2),
            // A statement without a result counts as one row.
            Parameters::None => sums.rows += 1,
            Parameters::User
            | Parameters::CountedKey
            | Parameters::NewText
            | Parameters::RenewedKey
            | Parameters::RenewedRow => sums.affected += 1,
            Parameters::Key => {
                let id = self.key(turn.number, rows);
                if matches!(self.table, Some((TableName::Sbtest, _))) {
                    sums.rows += 1;
                    sums.texts += c_of(id, 0).len() as i128;
                } else {
                    sums.add_rows(std::iter::once(User::of(id).cells()));
                }
            }
            Parameters::Tenth if is_update => sums.affected += i128::from(rows / 10),
            Parameters::Tenth => {
                let first = self.key(turn.number, rows - rows / 10);
                for id in first..first + rows / 10 {
                    sums.add_rows(std::iter::once(User::of(id).cells()));
                }
            }
            Parameters::Slice => sums.affected += i128::from(rows / self.operations),
            Parameters::Hundred if step.sql.contains("SUM(k)") => {
                let (first, last) = self.range(turn.number);
                sums.rows += 1;
                sums.ints += (first..=last).map(|id| i128::from(k_of(id, rows))).sum::<i128>();
            }
            Parameters::Hundred => {
                sums.rows += self.family.range_rows;
                sums.texts += i128::from(self.family.range_rows) * c_of(1, 0).len() as i128;
            }
        }
    }

    /// The sums of the table's contents that a sample must leave.
    fn expect_contents(&self, spec: &RequestSpec, affected: i128) -> Sums {
        let mut sums = Sums { affected, ..Sums::default() };
        let uses = |parameters| self.steps.iter().any(|step| step.parameters == parameters);
        match &self.table {
            Some((TableName::Users, _)) => {
                let ids = if self.starts_empty {
                    1..self.operations + 1
                } else if uses(Parameters::Slice) {
                    self.rows / self.operations * self.operations + 1..self.rows + 1
                } else {
                    // Each row that an update finds gets a score that is 1 higher.
                    sums.doubles = affected as f64;
                    1..self.rows + 1
                };
                for id in ids {
                    sums.add_rows(std::iter::once(User::of(id).cells()));
                }
            }
            Some((TableName::Sbtest, _)) => {
                for id in 1..=self.rows {
                    let row = Sbtest::of(id, self.rows);
                    sums.rows += 1;
                    sums.ints += i128::from(row.id) + i128::from(row.k) + i128::from(id * 97);
                    sums.texts += (row.c.len() + row.pad.len()) as i128;
                }
                sums.ints += i128::from(self.operations);
                let changed: HashSet<u64> = (0..self.operations)
                    .map(|operation| {
                        let thread = operation / u64::from(spec.batch) % self.threads;
                        self.own_key(Turn { operation, number: operation, thread }, 1)
                    })
                    .collect();
                sums.ints += changed.len() as i128;
            }
            None => {}
        }
        sums
    }

    /// The query for the sums of the table's contents.
    pub(super) fn contents_query(&self, table: &str) -> String {
        match &self.table {
            Some((TableName::Users, _)) => format!(
                "SELECT COUNT(*), COALESCE(SUM(id), 0) + COALESCE(SUM(age), 0) + COALESCE(SUM(active), 0), \
                 COALESCE(SUM(score), 0), COALESCE(SUM(LENGTH(name)), 0) + COALESCE(SUM(LENGTH(email)), 0) FROM {table}"
            ),
            _ => format!(
                "SELECT COUNT(*), SUM(id) + SUM(k) + SUM(CAST(LEFT(c, 11) AS SIGNED)), 0.0, \
                 SUM(LENGTH(c)) + SUM(LENGTH(pad)) FROM {table}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_of_the_matrix_is_understood() {
        for (name, entry) in &family().unwrap().workloads {
            assert!(!entry.steps.is_empty(), "{name}");
            assert!(entry.direction == Direction::Out || entry.table.is_some(), "{name}");
            for step in &entry.steps {
                let placeholders = step.sql.matches('?').count();
                let plan = Plan { rows: 1000, ..plan(name) };
                let turn = Turn { operation: 3, number: 3, thread: 1 };
                let users: Vec<User> = (1..10).map(User::of).collect();
                let count = plan.with_parameters(step.parameters, turn, &users, |cells| cells.len());
                assert!(count == placeholders || step.kind == Kind::Rows, "{name}: {}", step.sql);
            }
        }
    }

    fn plan(workload: &str) -> Plan {
        let spec = serde_json::from_value(serde_json::json!({
            "family": "sql", "workload": workload, "lane": "call", "url": "mysql://h/", "threads": 4, "batch": 1,
            "operations": 20, "prefix": "p"
        }));
        Plan::new(&spec.unwrap(), "`t`").unwrap()
    }

    #[test]
    fn the_keys_that_threads_write_are_their_own() {
        let plan = plan("oltp_read_write");
        let mut owners = BTreeMap::new();
        for operation in 0..2000 {
            let turn = Turn { operation, number: operation, thread: operation % 4 };
            for id in [plan.own_key(turn, 0), plan.own_key(turn, 1), plan.renewed(turn)] {
                assert!((1..=plan.rows).contains(&id));
                assert_eq!(*owners.entry(id).or_insert(turn.thread), turn.thread);
            }
            assert!(plan.own_key(turn, 0) <= plan.rows / 2 && plan.renewed(turn) > plan.rows / 2);
        }
    }
}
