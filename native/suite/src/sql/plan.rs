//! The plan of a cell: the statements of its workload in `bench/matrix.json`, their parameters, and the sums that they must
//! yield.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::Cell;
use serde::Deserialize;

use super::data::{Sbtest, Sums, TableRow, User, c_of, int, k_of, shown};
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
    /// The columns of its further indexes, by their names. Each is a statement of its own, as in sysbench: not every server takes
    /// a `KEY` in `CREATE TABLE`.
    #[serde(default)]
    pub(super) indexes: BTreeMap<String, String>,
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

/// A statement of an operation: that of a step, or the one that begins or ends the transaction.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Text(&'static str),
    Step(usize, &'a Step, Turn),
}

/// The answer to one run of a statement.
pub(super) enum Answer {
    /// The users of these ids.
    Users(Range<u64>),
    /// The column `c` of the rows of sysbench's table with these ids.
    Texts(Range<u64>),
    Number(i64),
    /// No rows.
    Nothing,
}

impl Answer {
    /// The rows of the answer, as text.
    pub(super) fn rows(self) -> Vec<String> {
        match self {
            Self::Users(ids) => ids.map(|id| shown(User::of(id).cells())).collect(),
            Self::Texts(ids) => ids.map(|id| shown([Cell::Text(&c_of(id, 0))])).collect(),
            Self::Number(number) => vec![shown([Cell::Int(number)])],
            Self::Nothing => Vec::new(),
        }
    }
}

/// The family `sql` of the matrix.
pub(super) fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("sql");
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

    /// The statements of an operation in their order, where this thread runs it.
    pub(super) fn statements(&self, operation: u64, thread: u64) -> impl Iterator<Item = Part<'_>> {
        let bound = |sql| (self.transaction == Some(Transaction::Operation)).then_some(Part::Text(sql));
        let steps = self.steps.iter().enumerate().flat_map(move |(index, step)| {
            let turn = move |time| Turn { operation, number: operation * step.times + time, thread };
            (0..step.times).map(move |time| Part::Step(index, step, turn(time)))
        });
        bound("BEGIN").into_iter().chain(steps).chain(bound("COMMIT"))
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
                let tenth = self.tenth(turn);
                run(&[int(tenth.start), int(tenth.end)])
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

    /// The keys of a tenth of the table.
    fn tenth(&self, turn: Turn) -> Range<u64> {
        let (rows, count) = (self.rows, self.rows / 10);
        let first = self.key(turn.number, rows - count);
        first..first + count
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

    /// The answer to one run of a step, where no other statement changes the table.
    pub(super) fn answer_of(&self, step: &Step, turn: Turn) -> Answer {
        let rows = self.rows;
        let ids = match step.parameters {
            _ if !step.sql.starts_with("SELECT") => return Answer::Nothing,
            Parameters::None if step.sql == "SELECT 1" => return Answer::Number(1),
            Parameters::None => return Answer::Number(rows.cast_signed()),
            Parameters::Tenth => self.tenth(turn),
            Parameters::Hundred => {
                let (first, last) = self.range(turn.number);
                first..last + 1
            }
            _ => {
                let id = self.key(turn.number, rows);
                id..id + 1
            }
        };
        if step.sql.contains("SUM(k)") {
            return Answer::Number(ids.map(|id| k_of(id, rows)).sum::<u64>().cast_signed());
        }
        if matches!(self.table, Some((TableName::Sbtest, _))) { Answer::Texts(ids) } else { Answer::Users(ids) }
    }

    /// Adds the rows that one run of a step reads, or the affected rows that the server must report.
    fn expect(&self, step: &Step, turn: Turn, sums: &mut Sums) {
        match self.answer_of(step, turn) {
            Answer::Users(ids) => ids.for_each(|id| sums.add_rows(std::iter::once(User::of(id).cells()))),
            Answer::Texts(ids) => {
                let count = ids.end - ids.start;
                sums.rows += count;
                sums.texts += i128::from(count) * c_of(1, 0).len() as i128;
            }
            Answer::Number(number) => {
                sums.rows += 1;
                sums.ints += i128::from(number);
            }
            // A statement without a result counts as one row.
            Answer::Nothing if !self.writes => sums.rows += 1,
            Answer::Nothing => {
                sums.affected += match step.parameters {
                    Parameters::None => i128::from(self.rows / 2),
                    Parameters::Tenth => i128::from(self.rows / 10),
                    Parameters::Slice => i128::from(self.rows / self.operations),
                    _ => 1,
                };
            }
        }
    }

    /// The sums of the table's contents that a sample must leave.
    fn expect_contents(&self, spec: &RequestSpec, affected: i128) -> Sums {
        let mut sums = Sums { affected, ..Sums::default() };
        match &self.table {
            Some((TableName::Users, _)) => {
                if !self.starts_empty && !self.uses(Parameters::Slice) {
                    // Each row that an update finds gets a score that is 1 higher.
                    sums.doubles = affected as f64;
                }
                for id in self.contents_ids() {
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
                let changed: HashSet<u64> = self.turns(spec).map(|turn| self.own_key(turn, 1)).collect();
                sums.ints += changed.len() as i128;
            }
            None => {}
        }
        sums
    }

    /// One turn of each operation, by the thread that has it.
    fn turns(&self, spec: &RequestSpec) -> impl Iterator<Item = Turn> {
        let (batch, threads) = (u64::from(spec.batch), self.threads);
        let turn = move |operation| Turn { operation, number: operation, thread: operation / batch % threads };
        (0..self.operations).map(turn)
    }

    /// The rows that a sample must leave in the table, as text: their columns in the order of the table.
    pub(super) fn contents(&self, spec: &RequestSpec) -> Vec<String> {
        if let Some((TableName::Sbtest, _)) = &self.table {
            let mut rows: Vec<Sbtest> = (1..=self.rows).map(|id| Sbtest::of(id, self.rows)).collect();
            let place = |id: u64| usize::try_from(id - 1).unwrap_or(usize::MAX);
            for turn in self.turns(spec) {
                rows[place(self.own_key(turn, 0))].k += 1;
                let changed = self.own_key(turn, 1);
                rows[place(changed)].c = c_of(changed, 1);
            }
            return rows.iter().map(|row| shown(row.cells())).collect();
        }
        let mut users: Vec<User> = self.contents_ids().map(User::of).collect();
        // Each row that an update finds gets a score that is 1 higher.
        if !self.starts_empty && !self.uses(Parameters::Slice) {
            for turn in self.turns(spec) {
                let tenth = self.tenth(turn);
                let finds =
                    |user: &User| if self.uses(Parameters::Tenth) { tenth.contains(&user.id) } else { user.active };
                users.iter_mut().filter(|user| finds(user)).for_each(|user| user.score += 1.0);
            }
        }
        users.iter().map(|user| shown(user.cells())).collect()
    }

    fn uses(&self, parameters: Parameters) -> bool {
        self.steps.iter().any(|step| step.parameters == parameters)
    }

    /// The ids of the users that a sample must leave in the table.
    fn contents_ids(&self) -> Range<u64> {
        if self.starts_empty {
            1..self.operations + 1
        } else if self.uses(Parameters::Slice) {
            self.rows / self.operations * self.operations + 1..self.rows + 1
        } else {
            1..self.rows + 1
        }
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
