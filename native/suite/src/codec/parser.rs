//! SQL parsed to a tree by the crate `sqlparser`.
//!
//! Of each statement the same is read on every side, as [`result_of`] has it. `src/families/codec/parser.ts` has the texts and the
//! results for the other sides.

use std::collections::BTreeMap;
use std::hint::black_box;

use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;
use sqlparser::ast::{FromTable, ObjectName, SetExpr, Statement, TableFactor, TableObject, TableWithJoins};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::boundary::TURNS;
use crate::calls::{InProcessSpec, timed_work};
use crate::matrix::FamilyPart;
use crate::sample::CellSample;

/// The most tokens of a statement, blanks included. A chain of operators becomes a tree as deep as the chain is long, and a tree is
/// dropped and written by recursion.
const MOST_TOKENS: usize = 1000;

/// The kinds of statements, as their numbers in the results.
const SELECT: u32 = 1;
const CREATE: u32 = 2;
const INSERT: u32 = 3;
const UPDATE: u32 = 4;
const DELETE: u32 = 5;

/// The family `codec` of the matrix.
#[derive(Deserialize)]
struct Family {
    statements: BTreeMap<String, StatementText>,
}

/// A statement that is parsed.
#[derive(Deserialize)]
struct StatementText {
    sql: String,
    table: String,
}

impl StatementText {
    /// The statement with another table for each turn: the first one, whose name ends with another letter.
    fn of_turn(&self, turn: usize) -> String {
        let mut table = self.table.clone();
        let last = table.pop().map_or(0, u32::from);
        let letter = u32::try_from(turn % TURNS).ok().and_then(|turn| char::from_u32(last + turn));
        table.extend(letter);
        self.sql.replacen(&self.table, &table, 1)
    }
}

fn statements() -> Result<&'static BTreeMap<String, StatementText>> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("codec");
    Ok(&FAMILY.get()?.statements)
}

/// The texts of a workload, in turn. A text of `parse.mixed` has `batch` statements, of the names in order over and over.
fn texts(workload: &str, batch: usize) -> Result<Option<[String; TURNS]>> {
    let statements = statements()?;
    Ok(match workload.strip_prefix("parse.") {
        Some("mixed") => Some(std::array::from_fn(|turn| {
            let in_order = statements.values().cycle().take(batch).enumerate();
            in_order.map(|(place, statement)| statement.of_turn(turn + place)).collect::<Vec<_>>().join("; ")
        })),
        Some(name) => statements.get(name).map(|statement| std::array::from_fn(|turn| statement.of_turn(turn))),
        None => None,
    })
}

/// The result of reading a statement: the number of its kind, the name of the first table, and the number of its items, columns or
/// assignments.
fn result_of(kind: u32, table: &str, parts: usize) -> f64 {
    let last = table.chars().next_back().map_or(0, u32::from);
    f64::from(100 * kind + last) + 10.0 * parts as f64
}

/// The trees of a text's statements. Refuses a text that is no SQL, and a statement of more than [`MOST_TOKENS`] tokens.
pub fn parse(sql: &str) -> Result<Vec<Statement>> {
    let invalid = |problem: ParserError| Error::InvalidArgument(problem.to_string());
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().map_err(|error| invalid(error.into()))?;
    if tokens.split(|token| token.token == Token::SemiColon).any(|statement| statement.len() > MOST_TOKENS) {
        return Err(Error::TooLarge(format!("a statement has more than {MOST_TOKENS} tokens")));
    }
    Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements().map_err(invalid)
}

/// Reads the trees of a text. Returns NaN if it is no SQL.
fn read(sql: &str) -> f64 {
    parse(sql).map_or(f64::NAN, |statements| statements.iter().map(read_statement).sum())
}

fn read_statement(statement: &Statement) -> f64 {
    let name = |table: &ObjectName| {
        table.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone()).unwrap_or_default()
    };
    let first = |tables: &[TableWithJoins]| match tables.first().map(|table| &table.relation) {
        Some(TableFactor::Table { name: table, .. }) => name(table),
        _ => String::new(),
    };
    match statement {
        Statement::Query(query) => match &*query.body {
            SetExpr::Select(select) => result_of(SELECT, &first(&select.from), select.projection.len()),
            _ => f64::NAN,
        },
        Statement::CreateTable(create) => result_of(CREATE, &name(&create.name), create.columns.len()),
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(table) => result_of(INSERT, &name(table), insert.columns.len()),
            _ => f64::NAN,
        },
        Statement::Update(update) => {
            result_of(UPDATE, &first(std::slice::from_ref(&update.table)), update.assignments.len())
        }
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            result_of(DELETE, &first(from), 0)
        }
        _ => f64::NAN,
    }
}

/// Executes a cell once. The texts are read in turn, as many as the batches are.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let batch = spec.batch.max(1);
    let Some(texts) = texts(&spec.workload, batch as usize)? else { return Err(spec.unknown()) };
    let calls = (spec.calls / batch) as usize;
    Ok(timed_work(spec.times(), || (0..calls).map(|call| read(black_box(&texts[call % TURNS]))).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sql_or_would_be_too_deep_is_refused() {
        for nested in ["SELECT (".to_owned(), format!("SELECT {}", "(".repeat(900))] {
            assert_eq!(parse(&nested).unwrap_err().code(), "BB_INVALID_ARGUMENT");
            assert!(read(&nested).is_nan());
        }
        let chain = |terms: usize| format!("SELECT 1{}; SELECT 2", "+1".repeat(terms));
        assert_eq!(parse(&chain(400)).unwrap().len(), 2);
        assert_eq!(parse(&chain(100_000)).unwrap_err().code(), "BB_TOO_LARGE");
    }
}
