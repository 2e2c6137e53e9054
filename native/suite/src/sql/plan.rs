//! The plan of a cell: the statements of its workload in `bench/matrix.json`, their parameters, and the sums that they must
//! yield.

use std::collections::BTreeMap;

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::Cell;
use serde::Deserialize;

use super::data::{Sbtest, Sums, TableRow, User, c_of, int, k_of, shown, version_of};
use crate::matrix::FamilyPart;
use crate::requests::RequestSpec;

/// The family `sql` of the matrix.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Family {
    /// The database of the tables, if the server's URL names none.
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
    /// The workload changes its table. The table is read back after each sample.
    In,
    /// The workload only reads.
    Out,
}

/// The work of one transaction, for workloads that use transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transaction {
    /// One transaction for all operations of a connection in a sample.
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
    pub(super) parameters: Parameters,
    pub(super) answers: ExpectedRows,
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
    /// A ping of the protocol, instead of a statement.
    Ping,
    /// One insert of all rows of a request.
    Rows,
}

/// The parameters of a statement, and with them the rows that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Parameters {
    /// No parameters, all rows.
    None,
    /// No parameters, the active users.
    Active,
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
    /// A key of the half of the table whose rows are updated, from this connection's own share.
    CountedKey,
    /// The new text of a row in the updated half of the table, and the row's key.
    NewText,
    /// A key of the other half, whose rows are deleted and inserted again, from this connection's own share.
    RenewedKey,
    /// The columns of the row with the [`Parameters::RenewedKey`].
    RenewedRow,
}

/// The server's answer about the rows that a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ExpectedRows {
    /// No rows.
    Nothing,
    /// The number 1.
    One,
    /// The number of the rows.
    Count,
    /// The sum of their column `k`.
    SumOfK,
    /// The rows of users.
    Users,
    /// Their column `c`.
    Texts,
    /// No rows, and the number of the rows as affected ones.
    Affected,
}

/// The rows that a statement is about: `count` of them, from the id `first` on, each `every` above the previous id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    first: u64,
    count: u64,
    every: u64,
}

impl Ids {
    fn from(first: u64, count: u64) -> Self {
        Self { first, count, every: 1 }
    }

    /// The ids themselves.
    fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |place| self.first + place * self.every)
    }

    /// The id after the last one.
    fn end(self) -> u64 {
        self.first + self.count * self.every
    }
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
    connections: u64,
}

/// One run of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The number of the operation.
    pub(super) operation: u64,
    /// The number of this run among the step's runs in all operations.
    pub(super) number: u64,
    /// The number of the connection.
    pub(super) connection: u64,
}

/// A statement of an operation: the statement of a step, or the statement that begins or ends the transaction.
#[derive(Clone, Copy)]
pub(super) enum PlannedStatement<'a> {
    Text(&'static str),
    Step(usize, &'a Step, Turn),
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
            // Every operation needs a slice of its own, and every connection rows of its own in both halves.
            let least = if uses(Parameters::Slice) { spec.operations } else { 0 };
            entry.rows = entry.rows.max(least).max(2 * u64::from(spec.connections)).max(10 * family.range_rows);
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
            connections: spec.connections.into(),
        })
    }

    /// The statements of an operation in their order, if this connection runs it.
    pub(super) fn statements(&self, operation: u64, connection: u64) -> impl Iterator<Item = PlannedStatement<'_>> {
        let bound = |sql| (self.transaction == Some(Transaction::Operation)).then_some(PlannedStatement::Text(sql));
        let steps = self.steps.iter().enumerate().flat_map(move |(index, step)| {
            let turn = move |time| Turn { operation, number: operation * step.times + time, connection };
            (0..step.times).map(move |time| PlannedStatement::Step(index, step, turn(time)))
        });
        bound("BEGIN").into_iter().chain(steps).chain(bound("COMMIT"))
    }

    /// Calls `run` with the parameters of one run of a step. `users` holds the users to insert, by operation.
    pub(super) fn with_parameters<T>(
        &self,
        parameters: Parameters,
        turn: Turn,
        users: &[User],
        run: impl FnOnce(&[Cell<'_>]) -> T,
    ) -> T {
        let ids = self.ids(parameters, turn);
        match parameters {
            Parameters::None | Parameters::Active => run(&[]),
            Parameters::User => {
                let index = usize::try_from(turn.operation).unwrap_or(usize::MAX);
                match users.get(index) {
                    Some(user) => run(&user.cells()),
                    None => run(&[]),
                }
            }
            Parameters::Key | Parameters::CountedKey | Parameters::RenewedKey => run(&[int(ids.first)]),
            Parameters::Tenth => run(&[int(ids.first), int(ids.end())]),
            Parameters::Slice => run(&[int(ids.first - 1), int(ids.end() - 1)]),
            Parameters::Hundred => run(&[int(ids.first), int(ids.end() - 1)]),
            Parameters::NewText => run(&[Cell::Text(&c_of(ids.first, 1)), int(ids.first)]),
            Parameters::RenewedRow => run(&Sbtest::of(ids.first, self.rows).cells()),
        }
    }

    /// The rows that one run of a step is about.
    fn ids(&self, parameters: Parameters, turn: Turn) -> Ids {
        let rows = self.rows;
        match parameters {
            Parameters::None => Ids::from(1, rows),
            Parameters::Active => Ids { first: 2, count: rows / 2, every: 2 },
            Parameters::User => Ids::from(turn.operation + 1, 1),
            Parameters::Key => Ids::from(self.key(turn.number, rows), 1),
            Parameters::Tenth => Ids::from(self.key(turn.number, rows - rows / 10), rows / 10),
            Parameters::Slice => {
                let share = rows / self.operations;
                Ids::from(turn.operation * share + 1, share)
            }
            Parameters::Hundred => {
                let count = self.family.range_rows;
                Ids::from(self.key(turn.number, rows - count + 1), count)
            }
            Parameters::CountedKey => Ids::from(self.own_key(turn, 0), 1),
            Parameters::NewText => Ids::from(self.own_key(turn, 1), 1),
            Parameters::RenewedKey | Parameters::RenewedRow => Ids::from(self.renewed(turn), 1),
        }
    }

    /// The text of a statement with its parameters instead of the question marks. The parameters are integers.
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

    /// The number of rows in each half of the table that belong to one connection.
    fn share(&self) -> u64 {
        self.rows / (2 * self.connections)
    }

    fn own_key(&self, turn: Turn, offset: u64) -> u64 {
        (self.key(turn.operation + offset, self.share()) - 1) * self.connections + turn.connection + 1
    }

    fn renewed(&self, turn: Turn) -> u64 {
        self.share() * self.connections + self.own_key(turn, 0)
    }

    /// The sums that a sample must have: of the rows that it reads or, for writers, of the table's contents afterwards.
    pub(super) fn expected(&self, spec: &RequestSpec) -> Sums {
        let mut sums = Sums::default();
        for step in &self.steps {
            for operation in 0..self.operations {
                for time in 0..step.times {
                    let connection = operation / u64::from(spec.batch) % self.connections;
                    let turn = Turn { operation, number: operation * step.times + time, connection };
                    self.expect(step, turn, &mut sums);
                }
            }
        }
        if self.writes { Sums { affected: sums.affected, ..self.after(spec).sums() } } else { sums }
    }

    /// The rows that a statement must answer, as text, if no other statement changes the table.
    pub(super) fn answer_rows(&self, step: &Step, turn: Turn) -> Vec<String> {
        let ids = self.ids(step.parameters, turn);
        match step.answers {
            ExpectedRows::Users => ids.iter().map(|id| shown(User::of(id).cells())).collect(),
            ExpectedRows::Texts => ids.iter().map(|id| shown([Cell::Text(&c_of(id, 0))])).collect(),
            ExpectedRows::Nothing | ExpectedRows::Affected => Vec::new(),
            ExpectedRows::One | ExpectedRows::Count | ExpectedRows::SumOfK => {
                vec![shown([int(self.number(step.answers, ids))])]
            }
        }
    }

    /// The number that a statement answers which answers one.
    fn number(&self, answers: ExpectedRows, ids: Ids) -> u64 {
        match answers {
            ExpectedRows::One => 1,
            ExpectedRows::SumOfK => ids.iter().map(|id| k_of(id, self.rows)).sum(),
            _ => ids.count,
        }
    }

    /// Adds the rows that one run of a step reads, or the affected rows that the server must report.
    fn expect(&self, step: &Step, turn: Turn, sums: &mut Sums) {
        let ids = self.ids(step.parameters, turn);
        match step.answers {
            ExpectedRows::Users => ids.iter().for_each(|id| sums.add_rows(std::iter::once(User::of(id).cells()))),
            ExpectedRows::Texts => {
                sums.rows += ids.count;
                sums.texts += i128::from(ids.count) * c_of(1, 0).len() as i128;
            }
            // A statement without a result counts as one row.
            ExpectedRows::Nothing => sums.rows += 1,
            ExpectedRows::Affected => sums.affected += i128::from(ids.count),
            ExpectedRows::One | ExpectedRows::Count | ExpectedRows::SumOfK => {
                sums.rows += 1;
                sums.ints += i128::from(self.number(step.answers, ids));
            }
        }
    }

    /// One turn of each operation, by the connection that has it.
    fn turns(&self, spec: &RequestSpec) -> impl Iterator<Item = Turn> {
        let (batch, connections) = (u64::from(spec.batch), self.connections);
        let turn = move |operation| Turn { operation, number: operation, connection: operation / batch % connections };
        (0..self.operations).map(turn)
    }

    /// The rows of the table before a sample.
    pub(super) fn before(&self) -> Contents {
        match &self.table {
            Some((TableName::Sbtest, _)) => {
                Contents::Sbtest((1..=self.rows).map(|id| Sbtest::of(id, self.rows)).collect())
            }
            _ if self.starts_empty => Contents::Users(Vec::new()),
            _ => Contents::Users((1..=self.rows).map(User::of).collect()),
        }
    }

    /// The rows that a sample must leave in the table.
    pub(super) fn after(&self, spec: &RequestSpec) -> Contents {
        match self.before() {
            Contents::Sbtest(mut rows) => {
                let place = |id: u64| usize::try_from(id - 1).unwrap_or(usize::MAX);
                for turn in self.turns(spec) {
                    rows[place(self.own_key(turn, 0))].k += 1;
                    let changed = self.own_key(turn, 1);
                    rows[place(changed)].c = c_of(changed, 1);
                }
                Contents::Sbtest(rows)
            }
            Contents::Users(_) if self.starts_empty => Contents::Users((1..=self.operations).map(User::of).collect()),
            Contents::Users(users) if self.uses(Parameters::Slice) => {
                let deleted = self.rows / self.operations * self.operations;
                Contents::Users(users.into_iter().filter(|user| user.id > deleted).collect())
            }
            Contents::Users(mut users) => {
                // Each row that an update finds gets a score that is 1 higher.
                for (step, turn) in self.steps.iter().flat_map(|step| self.turns(spec).map(move |turn| (step, turn))) {
                    for id in self.ids(step.parameters, turn).iter() {
                        users[usize::try_from(id - 1).unwrap_or(usize::MAX)].score += 1.0;
                    }
                }
                Contents::Users(users)
            }
        }
    }

    fn uses(&self, parameters: Parameters) -> bool {
        self.steps.iter().any(|step| step.parameters == parameters)
    }
}

/// The rows of a table.
pub(super) enum Contents {
    Users(Vec<User>),
    Sbtest(Vec<Sbtest>),
}

impl Contents {
    /// Each row as text: its columns in the order of the table.
    pub(super) fn rows(&self) -> Vec<String> {
        match self {
            Self::Users(users) => users.iter().map(|user| shown(user.cells())).collect(),
            Self::Sbtest(rows) => rows.iter().map(|row| shown(row.cells())).collect(),
        }
    }

    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        match self {
            Self::Users(users) => sums.add_rows(users.iter().map(User::cells)),
            Self::Sbtest(rows) => {
                sums.add_rows(rows.iter().map(Sbtest::cells));
                sums.ints += rows.iter().map(|row| version_of(&row.c)).sum::<i128>();
            }
        }
        sums
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
                let turn = Turn { operation: 3, number: 3, connection: 1 };
                let users: Vec<User> = (1..10).map(User::of).collect();
                let count = plan.with_parameters(step.parameters, turn, &users, |cells| cells.len());
                assert!(count == placeholders || step.kind == Kind::Rows, "{name}: {}", step.sql);
                let has_rows = !matches!(step.answers, ExpectedRows::Nothing | ExpectedRows::Affected);
                assert_eq!(step.sql.starts_with("SELECT"), has_rows, "{name}: {}", step.sql);
                assert_eq!(plan.answer_rows(step, turn).is_empty(), !has_rows, "{name}: {}", step.sql);
            }
        }
    }

    fn plan(workload: &str) -> Plan {
        let spec = serde_json::from_value(serde_json::json!({
            "family": "sql", "workload": workload, "lane": "call", "url": "mysql://h/", "connections": 4, "batch": 1,
            "operations": 20, "prefix": "p"
        }));
        Plan::new(&spec.unwrap(), "`t`").unwrap()
    }

    #[test]
    fn the_keys_that_threads_write_are_their_own() {
        let plan = plan("oltp_read_write");
        let mut owners = BTreeMap::new();
        for operation in 0..2000 {
            let turn = Turn { operation, number: operation, connection: operation % 4 };
            for id in [plan.own_key(turn, 0), plan.own_key(turn, 1), plan.renewed(turn)] {
                assert!((1..=plan.rows).contains(&id));
                assert_eq!(*owners.entry(id).or_insert(turn.connection), turn.connection);
            }
            assert!(plan.own_key(turn, 0) <= plan.rows / 2 && plan.renewed(turn) > plan.rows / 2);
        }
    }
}
