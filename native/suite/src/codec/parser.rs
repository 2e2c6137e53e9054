//! SQL parsed to a tree: our flat tree, and the one of the crate `sqlparser`.
//!
//! Of each statement the same is read on every side, as [`result_of`] has it. `src/families/codec/statements.ts` has the texts and the
//! results for the other sides.

use std::collections::BTreeMap;
use std::hint::black_box;

use boundary_bench_codecs::sql::{Kind, Parser, Tree};
use boundary_bench_kernel::Result;
use serde::Deserialize;
#[cfg(feature = "all")]
use sqlparser::ast::{FromTable, ObjectName, SetExpr, Statement, TableFactor, TableObject, TableWithJoins};
#[cfg(feature = "all")]
use sqlparser::dialect::GenericDialect;

use crate::calls::{InProcessSpec, timed_work};
use crate::matrix::FamilyPart;
use crate::sample::CellSample;

/// The number of different texts of a workload, in turn.
const TURNS: usize = 4;

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
        Some("walk") => of_turns(statements.get("select_complex")),
        Some(name) => of_turns(statements.get(name)),
        None => None,
    })
}

fn of_turns(statement: Option<&StatementText>) -> Option<[String; TURNS]> {
    statement.map(|statement| std::array::from_fn(|turn| statement.of_turn(turn)))
}

/// The result of reading a statement: the number of its kind, the name of the first table, and the number of its items, columns or
/// assignments.
fn result_of(kind: u32, table: &str, parts: usize) -> f64 {
    let last = table.chars().next_back().map_or(0, u32::from);
    f64::from(100 * kind + last) + 10.0 * parts as f64
}

/// Reads a text whose statements our parser parses. Returns NaN if it can't.
fn read_ours(parser: &mut Parser, sql: &str) -> f64 {
    let Ok(tree) = parser.parse(sql) else { return f64::NAN };
    let root = tree.len() - 1;
    tree.children_backwards(root).map(|statement| read_statement(tree, sql, statement)).sum()
}

fn read_statement(tree: &Tree, sql: &str, statement: usize) -> f64 {
    let (mut first, mut second) = (statement, statement);
    for child in tree.children_backwards(statement) {
        (first, second) = (child, first);
    }
    let name = |node: usize| tree.node(node).text(sql);
    let count = |node: usize| tree.children_backwards(node).count();
    match tree.node(statement).kind {
        Kind::Select => {
            let first_child = |node: usize| tree.children_backwards(node).last().unwrap_or(node);
            result_of(SELECT, name(first_child(first_child(second))), count(first))
        }
        Kind::CreateTable => {
            let is_column = |child: &usize| tree.node(*child).kind == Kind::Column;
            result_of(CREATE, name(first), tree.children_backwards(second).filter(is_column).count())
        }
        Kind::Insert => result_of(INSERT, name(first), count(second)),
        Kind::Update => result_of(UPDATE, name(first), count(second)),
        Kind::Delete => result_of(DELETE, name(first), 0),
        _ => f64::NAN,
    }
}

/// The number of nodes and the bytes of their own texts, each of which is read.
fn walk(parser: &mut Parser, sql: &str) -> f64 {
    let Ok(tree) = parser.parse(sql) else { return f64::NAN };
    let texts = tree.nodes().filter(|node| node.kind.has_text()).map(|node| black_box(node.text(sql)).len());
    (tree.len() + texts.sum::<usize>()) as f64
}

/// Reads a text whose statements the crate parses. Returns NaN if it can't.
#[cfg(feature = "all")]
fn read_crate(sql: &str) -> f64 {
    sqlparser::parser::Parser::parse_sql(&GenericDialect {}, sql)
        .map_or(f64::NAN, |statements| statements.iter().map(read_crate_statement).sum())
}

#[cfg(feature = "all")]
fn read_crate_statement(statement: &Statement) -> f64 {
    let name = |table: &ObjectName| {
        // The names of these statements have no quotes, so that the value is what is written.
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

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let batch = spec.batch.max(1);
    let Some(texts) = texts(&spec.workload, batch as usize)? else { return Err(spec.unknown()) };
    let mut parser = Parser::new();
    match (spec.client.as_deref(), spec.workload.as_str()) {
        (None, "parse.walk") => Ok(timed_texts(spec, &texts, |sql| walk(&mut parser, sql))),
        (None, _) => Ok(timed_texts(spec, &texts, |sql| read_ours(&mut parser, sql))),
        #[cfg(feature = "all")]
        (Some("sqlparser"), _) => Ok(timed_texts(spec, &texts, read_crate)),
        _ => Err(spec.unknown()),
    }
}

/// Reads the texts in turn, as many as the batches are.
fn timed_texts(spec: &InProcessSpec, texts: &[String; TURNS], mut read: impl FnMut(&str) -> f64) -> CellSample {
    let calls = (spec.calls / spec.batch.max(1)) as usize;
    timed_work(spec.times(), || (0..calls).map(|call| read(black_box(&texts[call % TURNS]))).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix's expectations of a statement.
    #[derive(Deserialize)]
    struct Expected {
        kind: String,
        parts: usize,
        /// The nodes of its tree and the bytes of their texts.
        walk: Option<f64>,
    }

    fn expected() -> BTreeMap<String, Expected> {
        let part: FamilyPart<serde_json::Value> = FamilyPart::new("codec");
        serde_json::from_value(part.get().unwrap()["statements"].clone()).unwrap()
    }

    #[test]
    fn each_statement_is_read_as_the_matrix_says() {
        let kinds = ["select", "create", "insert", "update", "delete"];
        let mut parser = Parser::new();
        for (name, Expected { kind, parts, walk: walked }) in expected() {
            let kind = kinds.iter().position(|other| **other == kind).unwrap() + 1;
            let table = &statements().unwrap()[&name].table;
            for (turn, sql) in texts(&format!("parse.{name}"), 1).unwrap().unwrap().iter().enumerate() {
                let last = f64::from(table.chars().next_back().map_or(0, u32::from)) + turn as f64;
                let expected = (100 * kind + 10 * parts) as f64 + last;
                assert_eq!(read_ours(&mut parser, sql).to_bits(), expected.to_bits(), "{sql}");
                #[cfg(feature = "all")]
                assert_eq!(read_crate(sql).to_bits(), expected.to_bits(), "{sql}");
                if let Some(walked) = walked {
                    assert_eq!(walk(&mut parser, sql).to_bits(), walked.to_bits(), "{sql}");
                }
            }
        }
    }

    #[test]
    fn a_text_of_many_statements_is_the_sum_of_them() {
        let mut parser = Parser::new();
        for text in texts("parse.mixed", 100).unwrap().unwrap() {
            let alone: f64 = text.split("; ").map(|sql| read_ours(&mut parser, sql)).sum();
            assert_eq!(text.split("; ").count(), 100);
            assert_eq!(read_ours(&mut parser, &text).to_bits(), alone.to_bits());
            #[cfg(feature = "all")]
            assert_eq!(read_crate(&text).to_bits(), alone.to_bits());
        }
    }

    #[test]
    fn what_is_no_statement_is_not_a_number() {
        assert!(read_ours(&mut Parser::new(), "SELECT").is_nan());
        #[cfg(feature = "all")]
        assert!(read_crate("SELECT (").is_nan());
        assert!(walk(&mut Parser::new(), "SELECT").is_nan());
    }
}
